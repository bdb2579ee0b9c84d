# SPDX-License-Identifier: GPL-2.0-or-later
"""What Linux's inflate does for a node: its tokens, counted without unpacking them.

A code is looked up in a table of 9 bits for literals and lengths and of 6 for distances; a longer
one goes on in a further table (``inflate_table()`` builds both for each block that brings codes of
its own). ``inflate_fast()`` takes two bytes of input when it has less than 15 bits. It leaves what
is less than 258 bytes from the end of the output, or 6 of the input, to ``zlib_inflate()``, which
takes a byte when it needs one.

Source: lib/zlib_inflate/{inflate,inffast,inftrees}.c, which come from zlib 1.2.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from nandlab.flash.layouts.unpacking import count_zlib_header_bytes

OWN_BITS, ROOT_BITS, FAR_BITS = 7, 9, 6
"""Of the first table of the codes of lengths, of literals and lengths, of distances."""
FAST_OUT, FAST_IN = 258, 6
"""Bytes that inflate_fast() wants before the ends of output and input."""
WANTED_BITS = 15
"""Bits that it wants before it looks a code up; else it takes two bytes."""
END = 256
"""The symbol that ends a block; below are literals, above lengths."""
ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
"""In which the lengths of the code of lengths come (RFC 1951, 3.2.7)."""
LENGTHS = (
    *((n, 0) for n in range(3, 11)),
    *((11 + 2 * i, 1) for i in range(4)),
    *((19 + 4 * i, 2) for i in range(4)),
    *((35 + 8 * i, 3) for i in range(4)),
    *((67 + 16 * i, 4) for i in range(4)),
    *((131 + 32 * i, 5) for i in range(4)),
    (258, 0),
)
"""Least length and further bits of symbols 257 to 285 (RFC 1951, 3.2.5)."""
REPEATS = {16: (3, 2), 17: (3, 3), 18: (11, 7)}
"""Symbols of the code of lengths that repeat: at least so often, and further bits."""


class _HuffmanCode:
    """A canonical Huffman code, and what the kernel's tables for it take."""

    def __init__(self, lengths: Sequence[int], bits: int) -> None:
        """bits: of the first table, unless all codes are shorter or longer."""
        coded_symbols = sorted((length, symbol) for symbol, length in enumerate(lengths) if length)
        self.longest = coded_symbols[-1][0] if coded_symbols else 1
        self.root = max(min(bits, self.longest), coded_symbols[0][0]) if coded_symbols else 1
        self.cost = Counter(coded=len(lengths), used=len(coded_symbols))
        self.cost["entry"] = 1 << self.root
        self.table: list[tuple[int, int]] = [(-1, 0)] * (1 << self.longest)
        """The next bits -> symbol, and its own bits."""
        code = before = 0
        longer = []
        for length, symbol in coded_symbols:
            code <<= length - before
            if code >> length:
                raise ValueError("more codes than there are")
            turned = int(f"{code:0{length}b}"[::-1], 2)
            self.table[turned :: 1 << length] = [(symbol, length)] * (1 << self.longest - length)
            if length > self.root:
                longer.append((code >> length - self.root, length))
            code, before = code + 1, length
        for _, group in groupby(longer, key=lambda each: each[0]):
            self.cost["subtable"] += 1
            self.cost["entry"] += 1 << max(length for _, length in group) - self.root

    def decode_symbol(self, bits: int) -> tuple[int, int]:
        """The symbol that bits begin with, and how many they are."""
        symbol, length = self.table[bits & len(self.table) - 1]
        if not length:
            raise ValueError("a code that is none")
        return symbol, length


class _TokenWalk:
    """Goes through a node as the kernel does."""

    def __init__(self, packed: bytes, room: int, begin: int) -> None:
        self.packed, self.room = packed, room
        self.bytes_taken = begin
        """Bytes of the input that the kernel has taken, some of whose bits it holds."""
        self.bits_used = begin * 8
        """Bits of the input that were used."""
        self.bytes_made = 0
        self.counts: Counter[str] = Counter()

    def next(self) -> int:
        """The bits to come, 56 or more."""
        first, bit = divmod(self.bits_used, 8)
        return int.from_bytes(self.packed[first : first + 8], "little") >> bit

    def hold(self, bits: int, by: str = "pull") -> None:
        """Takes bytes until so many bits are held."""
        lacking = bits - (self.bytes_taken * 8 - self.bits_used)
        if lacking > 0:
            count = -(-lacking // 8)
            self.bytes_taken += count
            self.counts[by] += count
            if self.bytes_taken > len(self.packed):
                raise IndexError

    def bits(self, count: int, by: str = "pull") -> int:
        self.hold(count, by)
        value = self.next() & (1 << count) - 1
        self.bits_used += count
        return value

    def symbol(self, code: _HuffmanCode, by: str = "pull") -> tuple[int, int]:
        """The next symbol, and its bits."""
        symbol, length = code.decode_symbol(self.next())
        self.hold(length, by)
        self.bits_used += length
        return symbol, length

    def all(self) -> None:
        """All blocks."""
        while not self._block():
            pass

    def _block(self) -> bool:
        """A block; whether it was the last."""
        last, kind = self.bits(1), self.bits(2)
        if kind == 0:
            self._stored()
        elif kind == 1:
            self._symbols(*FIXED)
        elif kind == 2:
            self._symbols(*self._tables())
        else:
            raise ValueError("a block of no kind")
        return bool(last)

    def _stored(self) -> None:
        self.bits_used = (self.bits_used + 7) // 8 * 8
        count = self.bits(16)
        self.bits(16)
        self.bytes_taken = self.bits_used // 8 + count
        if self.bytes_taken > len(self.packed):
            raise IndexError
        self.bits_used = self.bytes_taken * 8
        self.counts["stored_byte"] += count
        self.bytes_made += count

    def _tables(self) -> tuple[_HuffmanCode, _HuffmanCode]:
        literals, distances, lengths = self.bits(5) + 257, self.bits(5) + 1, self.bits(4) + 4
        code_lengths = [0] * len(ORDER)
        for place in ORDER[:lengths]:
            code_lengths[place] = self.bits(3)
        code = _HuffmanCode(code_lengths, OWN_BITS)
        symbol_lengths: list[int] = []
        while len(symbol_lengths) < literals + distances:
            symbol, _ = self.symbol(code)
            self.counts["lens"] += 1
            least, extra_bits = REPEATS.get(symbol, (1, 0))
            again = symbol if symbol < 16 else symbol_lengths[-1] if symbol == 16 else 0
            symbol_lengths += [again] * (least + self.bits(extra_bits))
        codes = (
            _HuffmanCode(symbol_lengths[:literals], ROOT_BITS),
            _HuffmanCode(symbol_lengths[literals:], FAR_BITS),
        )
        for table in (code, *codes):
            self.counts += table.cost
        return codes

    def _symbols(self, literals: _HuffmanCode, distances: _HuffmanCode) -> None:
        """What a block has of symbols."""
        ended = False
        while not ended:
            far = self.room - self.bytes_made >= FAST_OUT
            fast = far and len(self.packed) - self.bytes_taken >= FAST_IN
            ended = (self._fast if fast else self._slow)(literals, distances)

    def _slow(self, literals: _HuffmanCode, distances: _HuffmanCode) -> bool:
        """A symbol by zlib_inflate(); whether it ends the block."""
        counts, by = self.counts, "slow_pull"
        symbol, length = self.symbol(literals, by)
        counts["slow_long"] += length > literals.root
        if symbol < END:
            counts["slow_literal"] += 1
            self.bytes_made += 1
            return False
        if symbol == END:
            return True
        least, extra_bits = LENGTHS[symbol - END - 1]
        count = least + self.bits(extra_bits, by)
        distance, length = self.symbol(distances, by)
        counts["slow_long"] += length > distances.root
        self.bits(max(0, distance // 2 - 1), by)
        counts["slow_match"] += 1
        counts["slow_match_byte"] += count
        self.bytes_made += count
        return False

    def _fast(self, literals: _HuffmanCode, distances: _HuffmanCode) -> bool:
        """As many symbols as inflate_fast() takes; whether the last ends the block."""
        counts = self.counts
        counts["fast"] += 1
        ended, more_in, more_out = False, len(self.packed) - FAST_IN, self.room - FAST_OUT
        while not ended:
            symbol = self._looked_up(literals)
            if symbol < END:
                counts["literal"] += 1
                self.bytes_made += 1
            elif symbol == END:
                ended = True
            else:
                self._match(*LENGTHS[symbol - END - 1], distances)
            if self.bytes_taken > more_in or self.bytes_made > more_out:
                break
        self.bytes_taken -= (
            self.bytes_taken * 8 - self.bits_used
        ) // 8  # what is not needed goes back
        return ended

    def _match(self, least: int, more: int, distances: _HuffmanCode) -> None:
        """What comes after a length's code, fast."""
        self.counts["further"] += more > 0
        count = least + self.bits(more, "")
        self.bits(max(0, self._looked_up(distances) // 2 - 1), "")
        self.counts["match"] += 1
        self.counts["match_byte"] += count
        self.bytes_made += count

    def _looked_up(self, code: _HuffmanCode) -> int:
        """A symbol, fast; what is beyond the input's end is not looked at."""
        if self.bytes_taken * 8 - self.bits_used < WANTED_BITS:
            self.bytes_taken += 2
            self.counts["refill"] += 1
        symbol, length = code.decode_symbol(self.next())
        self.bits_used += length
        self.counts["long"] += length > code.root
        return symbol


FIXED = _HuffmanCode([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8, 9), _HuffmanCode([5] * 30, 5)
"""The codes of a block that brings none (RFC 1951, 3.2.6)."""


def count_zlib_tokens(packed: bytes, room: int) -> tuple[Counter[str], int]:
    """Tokens of zlib, with its header or without, and the bytes that they make; room: bytes that
    there is room for. IndexError if the bytes end within a token, ValueError if one is none."""
    walk = _TokenWalk(packed, room, count_zlib_header_bytes(packed))
    walk.all()
    del walk.counts[""]
    return walk.counts, walk.bytes_made
