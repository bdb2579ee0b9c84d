# SPDX-License-Identifier: GPL-2.0-or-later
"""What a decompressor does to unpack a node: its tokens, counted without unpacking them.

The kernel's decompressors take their time by tokens, and have a fast way and a slow one. LZO
(``lzo1x_decompress_safe()``) copies 16 bytes at a time, but byte by byte within 15 of an end, and
where a match begins less than 8 bytes back. zlib (``inflate_fast()``) leaves what is less than 258
bytes from the end of the output, or 6 of the input, to ``inflate()``; and it builds tables for each
block that brings codes of its own (``inflate_table()``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from types import MappingProxyType

from nandlab.onflash.packing import Unpackable

Tokens = Counter[str]
"""How many of each; the names are those of catalog/read-model.toml."""


def tokens(compressor: str, packed: bytes, plain: int) -> Tokens | None:
    """Of a node; plain: bytes that it unpacks to. None: of this compressor they are not known.

    Unpackable if the bytes end too early or make another number of bytes.
    """
    if compressor not in COUNTED:
        return None
    try:
        found, made = COUNTED[compressor](packed, plain)
    except IndexError:
        raise Unpackable(f"{compressor}: {len(packed)} bytes end within a token") from None
    if made != plain:
        raise Unpackable(f"{compressor}: {len(packed)} bytes make {made} bytes, not {plain}")
    found["node"] = 1
    return +found


COPY = 15
"""Bytes beyond a run or match that LZO's fast way may touch."""
NEAR = 8
"""Bytes back from which on it can copy a match by words."""


class _Lzo:
    """A walk through a node of LZO1X."""

    def __init__(self, packed: bytes, plain: int) -> None:
        self.packed, self.plain = packed, plain
        self.at = self.made = 0
        self.found: Tokens = Counter()

    def byte(self) -> int:
        self.at += 1
        return self.packed[self.at - 1]

    def long(self, base: int) -> int:
        """A length that goes on in bytes of zero."""
        length = base
        while (byte := self.byte()) == 0:
            length += 255
        return length + byte

    def run(self, count: int) -> None:
        """Bytes as they are."""
        near = self.at + count + COPY > len(self.packed) or self.made + count + COPY > self.plain
        if not near:
            self.found["run"] += 1
        self.found["slow_run_byte" if near else "run_byte"] += count
        self.at += count
        self.made += count

    def match(self, count: int, back: int) -> None:
        """Bytes that were there before."""
        slow = "slow_" if back < NEAR or self.made + count + COPY > self.plain else ""
        self.found[f"{slow}match"] += 1
        self.found[f"{slow}match_byte"] += count
        self.made += count

    def short(self, count: int) -> None:
        """Up to three bytes as they are, after a match."""
        self.found["short"] += count > 0
        self.at += count
        self.made += count

    def word(self) -> int:
        low = self.byte()
        return low | self.byte() << 8

    def all(self) -> None:
        """All tokens to the end mark."""
        after = self._first()
        while True:
            token = self.byte()
            if token < 16 and after == 0:
                self.run(token + 3 if token else self.long(18))
                after = 4
                continue
            word, count, back = self._match(token, after)
            if back == 0:
                return
            self.match(count, back)
            after = word & 3
            self.short(after)

    def _first(self) -> int:
        """The first token, if it is one of its own; what came before the next."""
        count = self.packed[0] - 17
        if count <= 0:
            return 0
        self.at = 1
        if count < 4:
            self.short(count)
            return count
        self.run(count)
        return 4

    def _match(self, token: int, after: int) -> tuple[int, int, int]:
        """The word whose last two bits say what follows, length and distance; 0: the end."""
        if token < 16:
            back = 1 + (token >> 2) + (self.byte() << 2)
            return (token, 2, back) if after < 4 else (token, 3, back + 0x800)
        if token >= 64:
            back = 1 + (token >> 2 & 7) + (self.byte() << 3)
            return token, (token >> 5) + 1, back
        if token >= 32:
            count = (token & 31) + 2 if token & 31 else self.long(33)
            word = self.word()
            return word, count, 1 + (word >> 2)
        count = (token & 7) + 2 if token & 7 else self.long(9)
        word = self.word()
        back = ((token & 8) << 11) + (word >> 2)
        return word, count, back + 0x4000 if back else 0


def lzo(packed: bytes, plain: int) -> tuple[Tokens, int]:
    """Tokens of LZO1X, and the bytes that they make."""
    walk = _Lzo(packed, plain)
    walk.all()
    return walk.found, walk.made


ROOT_BITS = 9
"""Of zlib's first table for literals and lengths: longer codes are looked up twice."""
FAST_OUT, FAST_IN = 258, 6
"""Bytes that inflate_fast() wants before the ends of output and input."""
LONGEST = 15
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


class _Code:
    """A canonical Huffman code."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.count = [0] * (LONGEST + 1)
        for length in lengths:
            self.count[length] += 1
        self.count[0] = 0
        self.symbols = sorted(
            (s for s, length in enumerate(lengths) if length), key=lambda s: (lengths[s], s)
        )


class _Inflate:
    """A walk through a node of zlib."""

    def __init__(self, packed: bytes, plain: int) -> None:
        self.packed, self.plain = packed, plain
        self.at = self.made = 0
        self.held = self.bits_held = 0
        self.found: Tokens = Counter()

    def bits(self, count: int) -> int:
        while self.bits_held < count:
            self.held |= self.packed[self.at] << self.bits_held
            self.at += 1
            self.bits_held += 8
        value = self.held & ((1 << count) - 1)
        self.held >>= count
        self.bits_held -= count
        return value

    def symbol(self, code: _Code) -> tuple[int, int]:
        """The next symbol, and its bits."""
        value = first = index = 0
        for length in range(1, LONGEST + 1):
            value |= self.bits(1)
            count = code.count[length]
            if value - first < count:
                return code.symbols[index + value - first], length
            index += count
            first = (first + count) << 1
            value <<= 1
        raise Unpackable("zlib: a code that is none")

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
            raise Unpackable("zlib: a block of no kind")
        return bool(last)

    def _stored(self) -> None:
        self.held = self.bits_held = 0
        count = self.packed[self.at] | self.packed[self.at + 1] << 8
        self.at += 4 + count
        self.made += count
        self.found["match_byte"] += count

    def _tables(self) -> tuple[_Code, _Code]:
        literals, distances, lengths = self.bits(5) + 257, self.bits(5) + 1, self.bits(4) + 4
        own = [0] * len(ORDER)
        for place in ORDER[:lengths]:
            own[place] = self.bits(3)
        code = _Code(own)
        each: list[int] = []
        while len(each) < literals + distances:
            symbol, _ = self.symbol(code)
            self.found["code"] += 1
            least, more = REPEATS.get(symbol, (1, 0))
            again = symbol if symbol < 16 else each[-1] if symbol == 16 else 0
            each += [again] * (least + self.bits(more))
        self.found["table"] += 1
        self.found["table_bit"] += max(each)
        self.found["used"] += sum(length > 0 for length in each)
        return _Code(each[:literals]), _Code(each[literals:])

    def _symbols(self, literals: _Code, distances: _Code) -> None:
        found = self.found
        while True:
            left = len(self.packed) - self.at + self.bits_held // 8
            symbol, bits = self.symbol(literals)
            slow = "slow_" if self.plain - self.made < FAST_OUT or left < FAST_IN else ""
            if symbol == 256:
                return
            if not slow and bits > ROOT_BITS:
                found["long"] += 1
            if symbol < 256:
                found[f"{slow}literal"] += 1
                self.made += 1
                continue
            least, more = LENGTHS[symbol - 257]
            count = least + self.bits(more)
            distance, _ = self.symbol(distances)
            self.bits(max(0, distance // 2 - 1))
            found[f"{slow}match"] += 1
            found[f"{slow}match_byte"] += count
            self.made += count


FIXED = (_Code([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8), _Code([5] * 30))
"""The codes of a block that brings none (RFC 1951, 3.2.6)."""
DEFLATE, HEADER = 8, 2


def zlib(packed: bytes, plain: int) -> tuple[Tokens, int]:
    """Tokens of zlib, with its header or, as JFFS2 may leave it out, without; and the bytes that
    they make."""
    walk = _Inflate(packed, plain)
    headed = packed[0] & 15 == DEFLATE and int.from_bytes(packed[:HEADER], "big") % 31 == 0
    walk.at = HEADER if headed else 0
    walk.all()
    return walk.found, walk.made


COUNTED: MappingProxyType[str, Callable[[bytes, int], tuple[Tokens, int]]] = MappingProxyType(
    {"lzo": lzo, "zlib": zlib}
)
"""The compressors whose tokens are counted."""
