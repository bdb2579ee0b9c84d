# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI: which physical block holds each logical block of each volume, as the kernel attaches them.

Sources: Linux, drivers/mtd/ubi: ubi-media.h (headers, volume table), attach.c (which of two copies
holds, what is erased at an attach), eba.c (blocks beyond a volume's end).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.cells import Partition, is_erased
from nandlab.flash.layouts.layout import (
    ByteKind,
    LayoutCollector,
    decode_file_name,
    refuse_damaged_image,
)

EC_HEADER = struct.Struct(">4sB3xQIII32xI")
VID_HEADER = struct.Struct(">4sBBBBII4xIIII4xQ12xI")
assert (EC_HEADER.size, VID_HEADER.size) == (64, 64)
INTERNAL_VOLUMES = 0x7FFFEFFF
LAYOUT_VOLUME = INTERNAL_VOLUMES
FASTMAP = {INTERNAL_VOLUMES + 1, INTERNAL_VOLUMES + 2}
COMPATIBLE_DELETE, COMPATIBLE_REJECT = 1, 5
RECORD_BYTES, RECORDS = 172, 128
"""Bytes of a volume's record in the volume table; the most that it has."""
VOLUME_RECORD = struct.Struct(">IIIBBH128sB")
"""Of a record: reserved blocks, alignment, padding, type, mark of an update, length of the name,
name, flags."""
STATIC_VOLUME, AUTORESIZE = 2, 1
TABLE_MARKS = (b"Bbt0", b"1tbB")
"""Of a table of bad blocks and its mirror, which the kernel keeps in a chip's last blocks."""
TABLE_BLOCKS = 4
"""The most blocks that it keeps for them."""
CUT_OFF_SMALL, CUT_OFF_SHARE = 8, 20
"""The kernel refuses a chip of which one good block in so many is damaged; where that is less than
a block, this many (drivers/mtd/ubi/attach.c, late_analysis())."""


class VolumeHeader(NamedTuple):
    """A physical block's volume header."""

    volume: int
    logical: int
    sequence: int
    copied: bool
    """UBI wrote it as a copy of another block, to move it."""
    data_bytes: int
    data_crc: int
    compatible: int


@dataclass
class UbiVolume:
    """A volume of the volume table."""

    number: int
    name: str
    static: bool
    reserved: int
    """Physical blocks that it may take."""
    blocks: dict[int, int] = field(default_factory=dict)
    """Logical block -> physical block."""
    data_bytes: dict[int, int] = field(default_factory=dict)
    """Of a static one: logical block -> bytes of data in it."""


@dataclass
class Attached:
    """An attached UBI device."""

    data_offset: int
    """Bytes of headers at the start of each physical block."""
    leb_bytes: int
    header_offset: int = 0
    """Of the volume header in each block."""
    volumes: dict[int, UbiVolume] = field(default_factory=dict)
    table_blocks: tuple[int, ...] = ()
    """Physical blocks with a copy of the volume table."""

    def find_volume(self, word: str) -> UbiVolume:
        """The volume of a name or number; UsageError lists those that are there."""
        for volume in self.volumes.values():
            if word in (volume.name, str(volume.number)):
                return volume
        raise UsageError(f"no UBI volume {word!r}; there are: {self.format_volume_names()}")

    def format_volume_names(self) -> str:
        """The volumes' names for a message."""
        return ", ".join(v.name for v in self.volumes.values()) or "none"


def compute_ubi_crc(data: bytes) -> int:
    """UBI's and UBIFS's CRC-32: begins with all ones and is not inverted."""
    return zlib.crc32(data) ^ 0xFFFFFFFF


def attach_ubi(partition: Partition, walk: LayoutCollector) -> Attached:
    """Finds all volumes, and accounts for headers, free, old and damaged physical blocks.

    What the volumes' blocks hold past their headers is left to the caller. UsageError if the kernel
    would not attach the partition.
    """
    return _Attachment(partition, walk).run()


def rename_volume(data: bytearray, data_offset: int, number: int, name: str) -> None:
    """Gives a volume another name in a copy of the volume table, in place; data: of its block."""
    offset = data_offset + number * RECORD_BYTES
    *fields, _, _, flags = VOLUME_RECORD.unpack_from(data, offset)
    encoded = name.encode()
    VOLUME_RECORD.pack_into(data, offset, *fields[:5], len(encoded), encoded, flags)
    body = bytes(data[offset : offset + RECORD_BYTES - 4])
    struct.pack_into(">I", data, offset + RECORD_BYTES - 4, compute_ubi_crc(body))


def account_volume_content(
    partition: Partition, attached: Attached, volume: UbiVolume, walk: LayoutCollector
) -> None:
    """Accounts for what a volume's blocks hold, as bytes that nobody looks into."""
    part = f"volume {volume.name}"
    for logical, block in volume.blocks.items():
        offset = block * partition.erasesize + attached.data_offset
        data = partition.data(block)[attached.data_offset :]
        used_bytes = volume.data_bytes[logical] if volume.static else len(data.rstrip(b"\xff"))
        used_bytes = min(used_bytes, len(data))
        written_bytes = min(-(-used_bytes // partition.writesize) * partition.writesize, len(data))
        walk.add(offset, used_bytes, ByteKind.USER, part)
        walk.add(offset + used_bytes, written_bytes - used_bytes, ByteKind.SLACK, "padding")
        walk.add(offset + written_bytes, len(data) - written_bytes, ByteKind.FREE, "unwritten")


class _Attachment:
    def __init__(self, partition: Partition, walk: LayoutCollector) -> None:
        self.partition, self.walk = partition, walk
        self.vid_at = self.data_at = 0
        self.mapping: dict[tuple[int, int], tuple[VolumeHeader, int]] = {}
        self.headed: set[int] = set()
        """Blocks with a counter of erasures."""
        self.free: list[int] = []
        self.erased: list[int] = []
        self.lost: dict[int, str] = {}
        """Physical block -> why UBI erases it, or leaves it alone."""
        self.damaged: list[int] = []

    def run(self) -> Attached:
        self._headers()
        if not self.headed:
            raise UsageError("no UBI header: the image is of another file system, or empty")
        for block in range(self.partition.blocks):
            self._block(block)
        self._refuse_damage()
        return self._account()

    def _headers(self) -> None:
        """Finds the blocks with a counter of erasures, which tell where the other parts begin."""
        places: dict[tuple[int, int], int] = {}
        for block in range(self.partition.blocks):
            if block in self.partition.bad or self.partition.erased(block):
                continue
            place = _find_offsets(
                self.partition.begin(block, EC_HEADER.size), self.partition.erasesize
            )
            if place is None:
                continue
            self.headed.add(block)
            places.setdefault(place, block)
        if len(places) > 1:
            other = max(places.values())
            refuse_damaged_image("UBI headers that do not agree with those before", other, 0)
        for place in places:
            self.vid_at, self.data_at = place

    def _block(self, block: int) -> None:
        partition = self.partition
        if block in partition.bad:
            self.walk.add(
                block * partition.erasesize, partition.erasesize, ByteKind.BAD, "bad blocks"
            )
            return
        if partition.erased(block):
            self.erased.append(block)
            return
        data = partition.data(block)
        if block not in self.headed and self._is_table(block, data):
            self.lost[block] = "bad block table"
            return
        raw = data[self.vid_at : self.vid_at + VID_HEADER.size]
        if not raw.strip(b"\xff"):
            self._unnamed(block, data)
            return
        header = _parse_header(raw)
        if header is None:
            self._cut_off(block, data)
            return
        if header.volume >= INTERNAL_VOLUMES and self._internal(block, header):
            return
        self._take(block, header, data)

    def _is_table(self, block: int, data: bytes) -> bool:
        """Whether the kernel's table of bad blocks is there: its mark is in the spare area, or in
        the data of a chip that has no room for it."""
        if block < self.partition.blocks - TABLE_BLOCKS:
            return False
        spare = self.partition.spare(block)[0].tobytes() if self.partition.oobsize else b""
        return data.startswith(TABLE_MARKS) or any(mark in spare for mark in TABLE_MARKS)

    def _unnamed(self, block: int, data: bytes) -> None:
        """A block without a volume header: free, or cut off before UBI had begun it."""
        if block in self.headed and is_erased(data[self.vid_at :]):
            self.free.append(block)
        elif block in self.headed:
            self.lost[block] = "blocks with data and no volume header"
            self.damaged.append(block)
        elif data.startswith(b"UBI#"):
            self.lost[block] = "blocks cut off by a loss of power"
        else:
            self.lost[block] = "blocks without a UBI header"
            self.damaged.append(block)

    def _cut_off(self, block: int, data: bytes) -> None:
        """A block whose volume header is damaged: cut off as it was written, if no data follow."""
        if is_erased(data[self.data_at :]):
            self.lost[block] = "blocks cut off by a loss of power"
            return
        headed = block in self.headed
        self.lost[block] = "damaged blocks" if headed else "blocks without a UBI header"
        self.damaged.append(block)

    def _internal(self, block: int, header: VolumeHeader) -> bool:
        """Accounts for a volume of UBI's own but the volume table; False if it is that."""
        if header.volume == LAYOUT_VOLUME:
            return False
        if header.volume in FASTMAP:
            self.lost[block] = "fastmap"
        elif header.compatible == COMPATIBLE_REJECT:
            raise UsageError(
                f"an unknown volume of UBI's own, {header.volume:#x}, forbids to attach"
            )
        else:
            deleted = header.compatible == COMPATIBLE_DELETE
            self.lost[block] = "removed volumes" if deleted else "unknown volumes of UBI's own"
        return True

    def _take(self, block: int, header: VolumeHeader, data: bytes) -> None:
        """Of two copies of a logical block the newer one holds, if it is whole."""
        place = header.volume, header.logical
        before = self.mapping.get(place)
        if before is None:
            self.mapping[place] = header, block
            return
        newer, older = (header, block), before
        if before[0].sequence > header.sequence:
            newer, older = older, newer
            data = self.partition.data(newer[1])
        elif before[0].sequence == header.sequence:
            refuse_damaged_image(
                f"the sequence number of block {before[1]} again", block, self.vid_at
            )
        if newer[0].copied and not self._is_whole(newer[0], data):
            self.lost[newer[1]] = "torn copies"
            newer, older = older, newer
        else:
            self.lost[older[1]] = "UBI's older copies"
        self.mapping[place] = newer

    def _is_whole(self, header: VolumeHeader, data: bytes) -> bool:
        content = data[self.data_at : self.data_at + header.data_bytes]
        return len(content) == header.data_bytes and compute_ubi_crc(content) == header.data_crc

    def _refuse_damage(self) -> None:
        """Refuses what the kernel would not attach."""
        good = self.partition.blocks - len(self.partition.bad)
        if len(self.damaged) >= (good // CUT_OFF_SHARE or CUT_OFF_SMALL):
            block = self.damaged[0]
            why = self.lost[block].removeprefix("blocks ")
            refuse_damaged_image(
                f"{len(self.damaged)} blocks are damaged ({why}), the first", block, 0
            )

    def _account(self) -> Attached:
        partition, erasesize = self.partition, self.partition.erasesize
        table = [block for (v, _), (_, block) in self.mapping.items() if v == LAYOUT_VOLUME]
        attached = Attached(self.data_at, erasesize - self.data_at, self.vid_at)
        attached.table_blocks = tuple(table)
        attached.volumes, grows = self._volumes(table)
        for (number, logical), (header, block) in self.mapping.items():
            if number == LAYOUT_VOLUME:
                self.walk.add(block * erasesize, self.data_at, ByteKind.METADATA, "UBI headers")
                offset = block * erasesize + self.data_at
                self.walk.add(offset, attached.leb_bytes, ByteKind.METADATA, "volume table")
                continue
            volume = attached.volumes.get(number)
            if volume is None or (logical >= volume.reserved and not grows):
                self.lost[block] = "removed volumes"
                continue
            self.walk.add(block * erasesize, self.data_at, ByteKind.METADATA, "UBI headers")
            volume.blocks[logical] = block
            volume.data_bytes[logical] = header.data_bytes
        self._lose()
        mapped = sum(len(v.blocks) for v in attached.volumes.values())
        unmapped = sum(v.reserved for v in attached.volumes.values()) - mapped
        self._unused(partition.blocks if grows else unmapped)
        return attached

    def _lose(self) -> None:
        """Accounts for blocks that no volume holds, and that are not free."""
        for block, part in self.lost.items():
            kept = part in ("bad block table", "fastmap", "unknown volumes of UBI's own")
            header = self.data_at if block in self.headed else 0
            offset = block * self.partition.erasesize
            self.walk.add(offset, header, ByteKind.METADATA, "UBI headers")
            kind = ByteKind.METADATA if kept else ByteKind.OBSOLETE
            self.walk.add(offset + header, self.partition.erasesize - header, kind, part)

    def _unused(self, unheld: int) -> None:
        """Accounts for free blocks; unheld: those that volumes may take, UBI keeps the rest."""
        erasesize = self.partition.erasesize
        for n, block in enumerate(sorted([*self.free, *self.erased])):
            header = self.data_at if block in self.headed else 0
            part = "free physical blocks" if n < unheld else "UBI's reserve"
            self.walk.add(block * erasesize, header, ByteKind.METADATA, "UBI headers")
            self.walk.add(block * erasesize + header, erasesize - header, ByteKind.FREE, part)

    def _volumes(self, table: list[int]) -> tuple[dict[int, UbiVolume], bool]:
        """The volumes of the first copy of the volume table that is whole, and whether one grows
        at its first attach: what UBI keeps for itself is not known then."""
        if not table:
            raise UsageError("no UBI volume table: the image is damaged, or cut off")
        for block in table:
            records = list(self._records(block))
            if all(record is not None for record in records):
                break
        else:
            bad = records.index(None)
            offset = self.data_at + bad * RECORD_BYTES
            refuse_damaged_image("a volume's record has a wrong checksum", block, offset)
        volumes, grows = {}, False
        for number, record in enumerate(records):
            if record is None or not record[0]:
                continue
            reserved, _, _, kind, _, length, name, flags = record
            grows = grows or bool(flags & AUTORESIZE)
            volumes[number] = UbiVolume(
                number, decode_file_name(name[:length]), kind == STATIC_VOLUME, reserved
            )
        return volumes, grows

    def _records(
        self, block: int
    ) -> Iterator[tuple[int, int, int, int, int, int, bytes, int] | None]:
        """The records of a copy of the volume table; None: its checksum is wrong."""
        data = self.partition.data(block)[self.data_at :]
        for offset in range(
            0, min(RECORDS, len(data) // RECORD_BYTES) * RECORD_BYTES, RECORD_BYTES
        ):
            (checksum,) = struct.unpack_from(">I", data, offset + RECORD_BYTES - 4)
            whole = compute_ubi_crc(data[offset : offset + RECORD_BYTES - 4]) == checksum
            yield VOLUME_RECORD.unpack_from(data, offset) if whole else None


def _find_offsets(begin: bytes, erasesize: int) -> tuple[int, int] | None:
    """Where a block's volume header and data begin; None: it has no counter of erasures."""
    magic, version, _, vid_at, data_at, _, checksum = EC_HEADER.unpack(begin)
    if magic != b"UBI#" or version != 1 or compute_ubi_crc(begin[:-4]) != checksum:
        return None
    possible = EC_HEADER.size <= vid_at <= data_at - VID_HEADER.size and data_at < erasesize
    return (vid_at, data_at) if possible else None


def _parse_header(raw: bytes) -> VolumeHeader | None:
    """A volume header; None: it is damaged."""
    if (
        raw[:4] != b"UBI!"
        or len(raw) < VID_HEADER.size
        or compute_ubi_crc(raw[:-4]) != VID_HEADER.unpack(raw)[-1]
    ):
        return None
    _, _, _, copied, compatible, volume, logical, size, _, _, checksum, sequence, _ = (
        VID_HEADER.unpack(raw)
    )
    return VolumeHeader(volume, logical, sequence, bool(copied), size, checksum, compatible)
