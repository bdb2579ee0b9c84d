# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI: which physical block holds each logical block of each volume.

Source: Linux, drivers/mtd/ubi/ubi-media.h.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from nandlab.base.errors import UsageError
from nandlab.onflash.cells import Partition
from nandlab.onflash.layout import Kind, Walk, damaged

EC = struct.Struct(">4sB3xQIII32xI")
VID = struct.Struct(">4sBBBBII4xIIII4xQ12xI")
assert (EC.size, VID.size) == (64, 64)
LAYOUT_VOLUME = 0x7FFFEFFF
RECORD, RECORDS = 172, 128
"""Bytes of a volume's record in the volume table; the most that it has."""
FLAGS_AT, AUTORESIZE = 144, 1


@dataclass
class Attached:
    """An attached UBI device."""

    data_offset: int
    """Bytes of headers at the start of each physical block."""
    leb_bytes: int
    volumes: dict[int, dict[int, int]] = field(default_factory=dict)
    """Volume -> logical block -> physical block."""


def crc(data: bytes) -> int:
    """UBI's and UBIFS's CRC-32: begins with all ones and is not inverted."""
    return zlib.crc32(data) ^ 0xFFFFFFFF


def attach(on: Partition, walk: Walk) -> Attached:
    """Finds all logical blocks, and accounts for headers, free and old physical blocks."""
    offsets: set[tuple[int, int]] = set()
    newest: dict[tuple[int, int], tuple[int, int]] = {}
    older, free, erased = [], [], []
    for block in range(on.blocks):
        if block in on.bad:
            walk.add(block * on.erasesize, on.erasesize, Kind.BAD, "bad blocks")
            continue
        if on.erased(block):
            erased.append(block)
            continue
        data = on.data(block)
        offsets.add(_counter(data, block))
        if len(offsets) > 1:
            damaged("UBI headers that do not agree with those before", block, 0)
        vid_at, _ = next(iter(offsets))
        head = _volume(data, block, vid_at)
        if head is None:
            if data[vid_at:].strip(b"\xff"):
                damaged("a physical block with data and no UBI volume header", block, vid_at)
            free.append(block)
            continue
        volume, logical, sequence = head
        held = newest.get((volume, logical))
        if held is None or sequence > held[0]:
            newest[volume, logical] = (sequence, block)
            older += [held[1]] if held else []
        else:
            older.append(block)
    if not offsets:
        raise UsageError("no UBI header: the image is of another file system, or empty")
    return _accounted(on, walk, next(iter(offsets))[1], newest, (older, free, erased))


def _accounted(
    on: Partition,
    walk: Walk,
    data_at: int,
    newest: dict[tuple[int, int], tuple[int, int]],
    others: tuple[list[int], list[int], list[int]],
) -> Attached:
    found = Attached(data_at, on.erasesize - data_at)
    older, free, erased = others
    for (volume, logical), (_, block) in newest.items():
        walk.add(block * on.erasesize, data_at, Kind.METADATA, "UBI headers")
        found.volumes.setdefault(volume, {})[logical] = block
    table = found.volumes.pop(LAYOUT_VOLUME, {})
    for block in table.values():
        walk.add(block * on.erasesize + data_at, found.leb_bytes, Kind.METADATA, "volume table")
    for block in older:
        walk.add(block * on.erasesize, data_at, Kind.METADATA, "UBI headers")
        at = block * on.erasesize + data_at
        walk.add(at, found.leb_bytes, Kind.OBSOLETE, "UBI's older copies")
    unheld, headed = _unheld(on, found, table), set(free)
    for n, block in enumerate(sorted([*free, *erased])):
        header = data_at if block in headed else 0
        part = "free physical blocks" if n < unheld else "UBI's reserve"
        walk.add(block * on.erasesize, header, Kind.METADATA, "UBI headers")
        walk.add(block * on.erasesize + header, on.erasesize - header, Kind.FREE, part)
    return found


def _unheld(on: Partition, found: Attached, table: dict[int, int]) -> int:
    """Physical blocks that the volumes may still take; all others UBI keeps for itself.

    A volume that grows at its first attach takes what is there: what UBI keeps is not known yet.
    """
    if not table:
        raise UsageError("no UBI volume table: the image is damaged, or cut off")
    block = next(iter(table.values()))
    data = on.data(block)[found.data_offset :]
    reserved = 0
    for at in range(0, min(RECORDS, len(data) // RECORD) * RECORD, RECORD):
        (told,) = struct.unpack_from(">I", data, at + RECORD - 4)
        if crc(data[at : at + RECORD - 4]) != told:
            damaged("a volume's record has a wrong checksum", block, found.data_offset + at)
        if data[at + FLAGS_AT] & AUTORESIZE:
            return on.blocks
        reserved += struct.unpack_from(">I", data, at)[0]
    return reserved - sum(map(len, found.volumes.values()))


def _counter(data: bytes, block: int) -> tuple[int, int]:
    """Where a physical block's volume header and data begin."""
    magic, version, _, vid_at, data_at, _, told = EC.unpack_from(data)
    if magic != b"UBI#" or version != 1:
        damaged("no UBI header", block, 0)
    if crc(data[: EC.size - 4]) != told:
        damaged("a UBI header with a wrong checksum", block, 0)
    if not EC.size <= vid_at <= data_at - VID.size or data_at >= len(data):
        damaged("a UBI header with impossible places", block, 0)
    return vid_at, data_at


def _volume(data: bytes, block: int, at: int) -> tuple[int, int, int] | None:
    """Volume, logical block and sequence number; None: the physical block is free."""
    raw = data[at : at + VID.size]
    if not raw.strip(b"\xff"):
        return None
    fields = VID.unpack(raw)
    if fields[0] != b"UBI!" or crc(raw[:-4]) != fields[-1]:
        damaged("a UBI volume header that is damaged", block, at)
    return fields[5], fields[6], fields[11]
