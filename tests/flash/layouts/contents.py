# SPDX-License-Identifier: GPL-2.0-or-later
"""Files put together from what a layout says is stored of them."""

from __future__ import annotations

import zlib
from collections import defaultdict

from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.layout import HOLE, FilePiece, Layout

DEFLATE = {"jffs2": zlib.MAX_WBITS, "ubifs": -zlib.MAX_WBITS}


def rtime(packed: bytes, plain_bytes: int) -> bytes:
    """JFFS2's own compressor, undone: each byte, and how often what followed it last follows."""
    out, last, at = bytearray(), [0] * 256, 0
    while len(out) < plain_bytes:
        value, repeat = packed[at : at + 2]
        at += 2
        out.append(value)
        back, last[value] = last[value], len(out)
        for i in range(repeat):
            out.append(out[back + i])
    return bytes(out)


def sums(partition: Partition, layout: Layout) -> dict[str, tuple[int, int | None]]:
    """Size and CRC-32 of each regular file by path; no CRC where this host cannot unpack."""
    of: dict[int, list[FilePiece]] = defaultdict(list)
    for piece in layout.pieces:
        of[piece.owner].append(piece)
    return {
        layout.paths[owner]: (size, _crc(partition, layout, size, of[owner]))
        for owner, size in layout.sizes.items()
        if owner in layout.paths
    }


def _crc(partition: Partition, layout: Layout, size: int, pieces: list[FilePiece]) -> int | None:
    content = bytearray(size)
    for p in pieces:
        block, at = divmod(p.at, partition.erasesize)
        stored = partition.data(block)[at : at + p.stored]
        if p.packing == "zlib":
            plain = zlib.decompressobj(DEFLATE[layout.filesystem]).decompress(stored)
        elif p.packing == "rtime":
            plain = rtime(stored, p.skip + p.bytes)
        elif p.packing == HOLE:
            plain = bytes(p.skip + p.bytes)
        elif p.packing:
            return None
        else:
            plain = stored
        assert p.offset + p.bytes <= -(-size // 4096) * 4096
        content[p.offset : p.offset + p.bytes] = plain[p.skip : p.skip + p.bytes]
    return zlib.crc32(content[:size])
