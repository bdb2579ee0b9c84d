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
    counts, position, last = Counter[str](), frame.at, False
    while not last:
        header = int.from_bytes(_take(packed, position, 3), "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        position += 3
        if kind == PACKED_BLOCK:
            _count_block(_take(packed, position, size), counts)
        elif kind not in (RAW_BLOCK, RLE_BLOCK):
            raise ValueError("a block of a kind that there is none of")
        position += 1 if kind == RLE_BLOCK else size
    counts["byte"] = frame.plain - counts["literal"]
    if counts["byte"] < 0:
        raise ValueError("more literals than bytes")
    return +counts, frame.plain


def _take(data: bytes, position: int, count: int) -> bytes:
    """These bytes; IndexError if there are not so many."""
    if position + count > len(data):
        raise IndexError
    return data[position : position + count]


def _read_frame(packed: bytes) -> Frame:
    if _take(packed, 0, 4) != MAGIC:
        raise ValueError("no zstd frame")
    descriptor = packed[4]
    alone, size_code, dictionary = descriptor >> 5 & 1, descriptor >> 6, descriptor & 3
    position = 5 + (0 if alone else 1) + (0, 1, 2, 4)[dictionary]
    width = (1 if alone else 0, 2, 4, 8)[size_code]
    if not width:
        raise ValueError("a frame without its content's size")
    plain = int.from_bytes(_take(packed, position, width), "little") + (256 if width == 2 else 0)
    return Frame(position + width, plain)


def _count_block(block: bytes, counts: Counter[str]) -> None:
    literals = _read_literals(block)
    if literals.kind in (PACKED_LITERALS, REPEATED_LITERALS):
        counts["literal"] += literals.plain
        if literals.kind == PACKED_LITERALS:
            header_byte = _take(block, literals.at, 1)[0]
            counts["code"] += 1
            counts["weight"] += (
                header_byte if header_byte < DIRECT else (header_byte - DIRECT + 2) // 2
            )
    position = literals.at + literals.packed
    count, position = _read_sequence_count(block, position)
    counts["sequence"] += count
    if not count:
        return
    modes, position = _take(block, position, 1)[0], position + 1
    for mode in (modes >> 6 & 3, modes >> 4 & 3, modes >> 2 & 3):
        if mode == OWN_TABLE:
            accuracy, position = _skip_table(block, position)
            counts["table"] += 1
            counts["cell"] += 1 << accuracy
        elif mode == RLE_TABLE:
            position += 1


def _read_literals(block: bytes) -> _Literals:
    """The section's header (RFC 8878, 3.1.1.3.1.1)."""
    first = _take(block, 0, 1)[0]
    kind, form = first & 3, first >> 2 & 3
    if kind in (RAW_LITERALS, RLE_LITERALS):
        width = (1, 2, 1, 3)[form]
        sizes = int.from_bytes(_take(block, 0, width), "little")
        plain = sizes >> (3 if width == 1 else 4)
        return _Literals(kind, plain, plain if kind == RAW_LITERALS else 1, width)
    width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    sizes = int.from_bytes(_take(block, 0, width), "little") >> 4
    mask = (1 << bits) - 1
    return _Literals(kind, sizes & mask, sizes >> bits & mask, width)


def _read_sequence_count(block: bytes, position: int) -> tuple[int, int]:
    """How many sequences, and the byte behind their number."""
    first = _take(block, position, 1)[0]
    if first < 128:
        return first, position + 1
    if first < 255:
        return ((first - 128) << 8) + _take(block, position + 1, 1)[0], position + 2
    return int.from_bytes(_take(block, position + 1, 2), "little") + 0x7F00, position + 3


def _skip_table(block: bytes, position: int) -> tuple[int, int]:
    """A described table's accuracy in bits, and the byte behind it (RFC 8878, 4.1.1)."""
    bits = int.from_bytes(block[position:], "little")
    end, bits_read = 8 * (len(block) - position), 4
    accuracy = (bits & 15) + ACCURACY_MIN
    cells_left = 1 << accuracy
    while cells_left > 0:
        wide = (cells_left + 1).bit_length()
        value = bits >> bits_read & ((1 << wide) - 1)
        short = (1 << wide) - 1 - (cells_left + 1)
        low = value & ((1 << (wide - 1)) - 1)
        if low < short:
            bits_read, value = bits_read + wide - 1, low
        else:
            bits_read += wide
            value -= short if value > (1 << (wide - 1)) - 1 else 0
        cells_left -= abs(value - 1)
        if value == 1:  # a symbol that never comes: how many follow it
            repeat = 3
            while repeat == 3:
                repeat, bits_read = bits >> bits_read & 3, bits_read + 2
        if bits_read > end:
            raise IndexError
    return accuracy, position + -(-bits_read // 8)
