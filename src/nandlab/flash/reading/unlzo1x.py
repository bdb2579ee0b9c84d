# SPDX-License-Identifier: GPL-2.0-or-later
"""What Linux's LZO1X decompressor does for a node: its tokens, counted without unpacking them.

``lzo1x_decompress_safe()`` copies 16 bytes a step, but byte by byte where a step might touch what
is beyond an end of the input or output, and where a match begins less than 8 bytes back.

Source: lib/lzo/lzo1x_decompress_safe.c with CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS. Streams with
runs of zeroes (lzo-rle), which begin with a byte of 17, are no file system's here.
"""

from __future__ import annotations

from collections import Counter

STEP = 16
"""Bytes that the fast way copies at once."""
COPY = 15
"""Bytes beyond a run or match that the fast way may touch."""
TWO = 2
"""Bytes of a match that only other programs' compressors make; Linux's lzo1x_1 makes none."""
NEAR = 8
"""Bytes back from which on a match can be copied by steps."""


class _TokenWalk:
    """Goes through a node."""

    def __init__(self, packed: bytes, room: int) -> None:
        self.packed, self.room = packed, room
        self.at = self.bytes_made = 0
        self.counts: Counter[str] = Counter()

    def byte(self) -> int:
        self.at += 1
        return self.packed[self.at - 1]

    def long(self, base: int) -> int:
        """A length that does not go into its token, and goes on in bytes of zero."""
        self.counts["length"] += 1
        length = base
        while (byte := self.byte()) == 0:
            length += 255
        return length + byte

    def run(self, count: int) -> None:
        """Bytes as they are."""
        if self.at + count + COPY > len(self.packed) or self.bytes_made + count + COPY > self.room:
            self.counts["slow_run_byte"] += count
        else:
            self.counts["run"] += 1
            self.counts["run_step"] += -(-count // STEP)
        self.at += count
        self.bytes_made += count

    def match(self, count: int, back: int) -> None:
        """Bytes that were there before. Two are copied by a way of their own, without a loop."""
        if count == TWO:
            self.counts["match"] += 1
        elif back < NEAR:
            self.counts["slow_match"] += 1
            self.counts["slow_match_byte"] += count
        elif self.bytes_made + count + COPY > self.room:
            self.counts["end_match"] += 1
            self.counts["end_match_byte"] += count
        else:
            self.counts["match"] += 1
            self.counts["match_step"] += -(-count // STEP)
        self.bytes_made += count

    def short(self, count: int) -> None:
        """Up to three bytes as they are, after a match: four are copied, but near an end."""
        self.at += count
        self.bytes_made += count

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


def count_lzo_tokens(packed: bytes, room: int) -> tuple[Counter[str], int]:
    """Tokens, and the bytes that they make; room: bytes that there is room for. IndexError if the
    bytes end within a token."""
    walk = _TokenWalk(packed, room)
    walk.all()
    return walk.counts, walk.bytes_made
