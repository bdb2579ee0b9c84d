# SPDX-License-Identifier: GPL-2.0-or-later
"""A page's content as the kernel's file systems pack it when they write it.

Source: Linux 5.10 to 6.12, fs/jffs2/compr.c, compr_lzo.c, compr_zlib.c, compr_rtime.c; fs/ubifs/
compress.c, crypto/lzo.c, crypto/deflate.c. LZO is the kernel's, byte for byte, and so is UBIFS's
zlib. JFFS2's zlib may be off by a byte, and some more where a block cuts a node: it is flushed
within a page, and zlib since 1.2.6 finds matches that begin in the last two bytes before that,
which the kernel's does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import NamedTuple

from nandlab.flash.reading.lzo1x import pack_lzo1x


class PackedData(NamedTuple):
    """A node's data."""

    plain: int
    """Bytes of the file."""
    data: bytes
    """As they are stored."""
    packing: str = ""


Packer = Callable[[bytes, int], tuple[int, bytes] | None]
"""Packs bytes into so many at most: how many of them it took, and what they are packed; None: they
stay as they are."""


def _pack_lzo(data: bytes, room: int) -> tuple[int, bytes] | None:
    packed = pack_lzo1x(data)
    return (len(data), packed) if len(packed) <= room else None


JFFS2_LEVEL, UBIFS_LEVEL = 3, 6
UBIFS_WINDOW = 11
MEMORY = 8
"""Of the kernel's zlib, at most."""
ENDING = 12
"""STREAM_END_SPACE: bytes that zlib keeps for the end."""


def _pack_flushed_zlib(data: bytes, room: int) -> tuple[int, bytes] | None:
    """It is given what may fit even if it were not packed, then again, until no more fits."""
    deflate = zlib.compressobj(JFFS2_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY)
    packed, consumed = b"", 0
    while consumed < len(data) and (room_left := room - ENDING - len(packed)) > 0:
        packed += deflate.compress(data[consumed : consumed + room_left])
        packed += deflate.flush(zlib.Z_PARTIAL_FLUSH)
        consumed = min(consumed + room_left, len(data))
    packed += deflate.flush()
    return (consumed, packed) if len(packed) <= room and len(packed) < consumed else None


def _pack_rtime(data: bytes, room: int) -> tuple[int, bytes] | None:
    """Pairs: a byte, and how many that follow it are those that followed it the last time."""
    packed, after, position = bytearray(), [0] * 256, 0
    while position < len(data) and len(packed) <= room - 2 and room > 3:
        value, begin = data[position], position + 1
        position, before, after[value] = begin, after[value], begin
        while (
            before < position < len(data)
            and data[position] == data[before]
            and position - begin < 255
        ):
            position, before = position + 1, before + 1
        packed += bytes((value, position - begin))
    return (position, bytes(packed)) if len(packed) < position else None


JFFS2_PACKERS: MappingProxyType[str, Packer] = MappingProxyType(
    {"lzo": _pack_lzo, "zlib": _pack_flushed_zlib, "rtime": _pack_rtime}
)
"""In the order in which JFFS2 tries those that it has."""


def pack_for_jffs2(data: bytes, room: int, tried: Iterable[str]) -> PackedData:
    """Packed by the first that gains; tried: names of compressors."""
    room = min(room, len(data))
    for name in (name for name in JFFS2_PACKERS if name in set(tried)):
        found = JFFS2_PACKERS[name](data, room)
        if found:
            return PackedData(*found, name)
    return PackedData(room, data[:room])


UBIFS_LEAST, UBIFS_GAIN = 128, 64
"""UBIFS_MIN_COMPR_LEN, UBIFS_MIN_COMPRESS_DIFF: bytes to pack, and to gain by it."""


def _deflate_for_ubifs(data: bytes) -> bytes:
    deflate = zlib.compressobj(UBIFS_LEVEL, zlib.DEFLATED, -UBIFS_WINDOW, MEMORY)
    return deflate.compress(data) + deflate.flush()


UBIFS_PACKERS: MappingProxyType[str, Callable[[bytes], bytes]] = MappingProxyType(
    {"lzo": pack_lzo1x, "zlib": _deflate_for_ubifs}
)


def pack_for_ubifs(data: bytes, packing: str) -> PackedData:
    """Packed, if that gains enough; packing: a compressor of UBIFS, or none."""
    if packing and len(data) >= UBIFS_LEAST:
        packed = UBIFS_PACKERS[packing](data)
        if len(data) - len(packed) >= UBIFS_GAIN:
            return PackedData(len(data), packed, packing)
    return PackedData(len(data), data)
