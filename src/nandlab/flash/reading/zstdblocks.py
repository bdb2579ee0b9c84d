# SPDX-License-Identifier: GPL-2.0-or-later
"""What Linux's zstd does for a node, by what its frame's headers tell; nothing is unpacked.

A node of 4 KiB is one block: literals, which are packed by a Huffman code or lie there as they are,
and sequences, each of which copies literals and a match. Headers tell how many of each there are,
and which tables are built for them. How the work is spread over single literals and sequences would
need the block unpacked, so what each takes is a mean.

Source: RFC 8878, sections 3.1.1 and 4.1.1; Linux 6.1, lib/zstd/decompress.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

MAGIC = b"\x28\xb5\x2f\xfd"
RAW_BLOCK, RLE_BLOCK, PACKED_BLOCK = range(3)
RAW_LITERALS, RLE_LITERALS, PACKED_LITERALS, REPEATED_LITERALS = range(4)
RLE_TABLE, OWN_TABLE = 1, 2
"""Of a sequence's three codes: one symbol alone, and a table that the block describes."""
ACCURACY_MIN = 5
DIRECT = 128
"""From here on a Huffman code's first byte says how many weights follow as they are, 127 too many;
below how many bytes they are packed to."""


class Frame(NamedTuple):
    """What a frame's header tells."""

    at: int
    """Its first block."""
    plain: int


class _Literals(NamedTuple):
    """A block's literals."""

    kind: int
    plain: int
    packed: int
    """Bytes of the section after its header."""
    at: int
    """The first of these."""


def count_zstd_tokens(packed: bytes, room: int) -> tuple[Counter[str], int]:
    """Tokens of a frame, and how many bytes it makes; room is of no account: there is one way.

    A literal is one of a Huffman code, whose description has weights; a cell is one of a table for
    sequences; a byte is one that is copied, of a match or as it is.
    ValueError where it is no frame that tells its content's size, IndexError where it ends early.
    """
    frame = _read_frame(packed)
    found, at, last = Counter[str](), frame.at, False
    while not last:
        header = int.from_bytes(_take(packed, at, 3), "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        at += 3
        if kind == PACKED_BLOCK:
            _count_block(_take(packed, at, size), found)
        elif kind not in (RAW_BLOCK, RLE_BLOCK):
            raise ValueError("a block of a kind that there is none of")
        at += 1 if kind == RLE_BLOCK else size
    found["byte"] = frame.plain - found["literal"]
    if found["byte"] < 0:
        raise ValueError("more literals than bytes")
    return +found, frame.plain


def _take(data: bytes, at: int, count: int) -> bytes:
    """These bytes; IndexError if there are not so many."""
    if at + count > len(data):
        raise IndexError
    return data[at : at + count]


def _read_frame(packed: bytes) -> Frame:
    if _take(packed, 0, 4) != MAGIC:
        raise ValueError("no zstd frame")
    descriptor = packed[4]
    alone, size_code, dictionary = descriptor >> 5 & 1, descriptor >> 6, descriptor & 3
    at = 5 + (0 if alone else 1) + (0, 1, 2, 4)[dictionary]
    width = (1 if alone else 0, 2, 4, 8)[size_code]
    if not width:
        raise ValueError("a frame without its content's size")
    plain = int.from_bytes(_take(packed, at, width), "little") + (256 if width == 2 else 0)
    return Frame(at + width, plain)


def _count_block(block: bytes, found: Counter[str]) -> None:
    literals = _read_literals(block)
    if literals.kind in (PACKED_LITERALS, REPEATED_LITERALS):
        found["literal"] += literals.plain
        if literals.kind == PACKED_LITERALS:
            told = _take(block, literals.at, 1)[0]
            found["code"] += 1
            found["weight"] += told if told < DIRECT else (told - DIRECT + 2) // 2
    at = literals.at + literals.packed
    count, at = _read_sequence_count(block, at)
    found["sequence"] += count
    if not count:
        return
    modes, at = _take(block, at, 1)[0], at + 1
    for mode in (modes >> 6 & 3, modes >> 4 & 3, modes >> 2 & 3):
        if mode == OWN_TABLE:
            accuracy, at = _skip_table(block, at)
            found["table"] += 1
            found["cell"] += 1 << accuracy
        elif mode == RLE_TABLE:
            at += 1


def _read_literals(block: bytes) -> _Literals:
    """The section's header (RFC 8878, 3.1.1.3.1.1)."""
    first = _take(block, 0, 1)[0]
    kind, form = first & 3, first >> 2 & 3
    if kind in (RAW_LITERALS, RLE_LITERALS):
        width = (1, 2, 1, 3)[form]
        told = int.from_bytes(_take(block, 0, width), "little")
        plain = told >> (3 if width == 1 else 4)
        return _Literals(kind, plain, plain if kind == RAW_LITERALS else 1, width)
    width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    told = int.from_bytes(_take(block, 0, width), "little") >> 4
    mask = (1 << bits) - 1
    return _Literals(kind, told & mask, told >> bits & mask, width)


def _read_sequence_count(block: bytes, at: int) -> tuple[int, int]:
    """How many sequences, and the byte behind their number."""
    first = _take(block, at, 1)[0]
    if first < 128:
        return first, at + 1
    if first < 255:
        return ((first - 128) << 8) + _take(block, at + 1, 1)[0], at + 2
    return int.from_bytes(_take(block, at + 1, 2), "little") + 0x7F00, at + 3


def _skip_table(block: bytes, at: int) -> tuple[int, int]:
    """A described table's accuracy in bits, and the byte behind it (RFC 8878, 4.1.1)."""
    bits = int.from_bytes(block[at:], "little")
    end, taken = 8 * (len(block) - at), 4
    accuracy = (bits & 15) + ACCURACY_MIN
    left = 1 << accuracy
    while left > 0:
        wide = (left + 1).bit_length()
        value = bits >> taken & ((1 << wide) - 1)
        short = (1 << wide) - 1 - (left + 1)
        low = value & ((1 << (wide - 1)) - 1)
        if low < short:
            taken, value = taken + wide - 1, low
        else:
            taken += wide
            value -= short if value > (1 << (wide - 1)) - 1 else 0
        left -= abs(value - 1)
        if value == 1:  # a symbol that never comes: how many follow it
            repeat = 3
            while repeat == 3:
                repeat, taken = bits >> taken & 3, taken + 2
        if taken > end:
            raise IndexError
    return accuracy, at + -(-taken // 8)
