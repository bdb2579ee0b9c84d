# SPDX-License-Identifier: GPL-2.0-or-later
"""FAT32 on a device of 512-byte sectors: what each sector is good for.

Source: Microsoft, FAT32 File System Specification, version 1.03: boot sector, FAT, directory
entries, long names.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.layout import NO_OWNER, ByteKind, decode_file_name, join_bounded_path

SECTOR = 512
ENTRY = 32
CLUSTER_MASK, CHAIN_END, BAD_CLUSTER = 0x0FFFFFFF, 0x0FFFFFF8, 0x0FFFFFF7
LONG_NAME, VOLUME_LABEL, FOLDER = 0x0F, 0x08, 0x10
LAST_ENTRY, ERASED_ENTRY = 0x00, 0xE5
FREED_PART = "freed by FAT, kept by NFTL"


class SectorUse(NamedTuple):
    """What the first ``bytes`` of a sector are; the rest is slack."""

    bytes: int
    kind: ByteKind
    part: str
    owner: int
    offset: int = 0
    """Of a file's bytes: of the first in the file."""


class FolderEntry(NamedTuple):
    """A name in a folder."""

    name: str
    attributes: int
    first: int
    size: int


def make_fat32_damage_error(what: str) -> UsageError:
    return UsageError(f"FAT32: {what}; the image is damaged, or no FAT32. Nothing is summed")


class FatVolume:
    """A FAT32 file system; UsageError says what is wrong with it."""

    def __init__(self, read: Callable[[int], bytes], sectors: int) -> None:
        self._read = read
        self._boot(read(0), sectors)
        self._table()
        self.owners: dict[int, tuple[int, int, int]] = {}
        """Cluster -> owner, its place in the chain, size of the file; -1 for a folder."""
        self.paths: dict[int, str] = {}
        """First cluster -> path."""
        self.names: dict[str, int] = {}
        """Path -> first cluster; NO_OWNER: of an empty file, which has none."""
        self.sizes: dict[int, int] = {}
        """First cluster -> bytes of the file."""
        self._walk()
        self.used_clusters = sum(1 for value in self.table[2:] if value)
        if len(self.owners) != self.used_clusters - self.table.count(BAD_CLUSTER):
            raise make_fat32_damage_error("clusters are allocated that no file has")

    per_cluster: int
    reserved: int
    fats: int

    def _boot(self, boot: bytes, sectors: int) -> None:
        size, self.per_cluster, self.reserved, self.fats, roots, small = struct.unpack_from(
            "<HBHBHH", boot, 11
        )
        (large,) = struct.unpack_from("<I", boot, 32)
        (self.fat_sectors,) = struct.unpack_from("<I", boot, 36)
        (self.root,) = struct.unpack_from("<I", boot, 44)
        if boot[510:512] != b"\x55\xaa" or size != SECTOR or roots or not self.fats:
            raise make_fat32_damage_error("its boot sector is none")
        if not self.per_cluster or self.per_cluster & (self.per_cluster - 1):
            raise make_fat32_damage_error(f"clusters of {self.per_cluster} sectors")
        self.first_data = self.reserved + self.fats * self.fat_sectors
        self.end = small or large
        self.clusters = (self.end - self.first_data) // self.per_cluster
        if (
            self.end > sectors
            or self.clusters <= 0
            or self.clusters + 2 > self.fat_sectors * SECTOR // 4
        ):
            raise make_fat32_damage_error(f"{self.end} sectors on a device of {sectors}")

    def _table(self) -> None:
        copies = [
            b"".join(
                self._read(self.reserved + n * self.fat_sectors + i)
                for i in range(self.fat_sectors)
            )
            for n in range(self.fats)
        ]
        if any(c != copies[0] for c in copies):
            raise make_fat32_damage_error("its FATs differ")
        words = struct.unpack_from(f"<{self.clusters + 2}I", copies[0])
        self.table = [w & CLUSTER_MASK for w in words]

    def _sector(self, cluster: int) -> int:
        return int(self.first_data + (cluster - 2) * self.per_cluster)

    def _chain(self, first: int, owner: int, size: int) -> list[int]:
        """Takes the clusters of a file or folder (size -1)."""
        chain: list[int] = []
        cluster = first
        while cluster < CHAIN_END:
            if not 2 <= cluster < self.clusters + 2:
                raise make_fat32_damage_error(
                    f"a chain leads to cluster {cluster} of {self.clusters}"
                )
            if cluster in self.owners:
                raise make_fat32_damage_error(f"cluster {cluster} belongs to two files")
            self.owners[cluster] = (owner, len(chain), size)
            chain.append(cluster)
            cluster = self.table[cluster]
        if size >= 0 and len(chain) != -(-size // (self.per_cluster * SECTOR)):
            raise make_fat32_damage_error(f"a file of {size} bytes has {len(chain)} clusters")
        return chain

    def _walk(self) -> None:
        waiting = [(self.root, "/")]
        while waiting:
            first, path = waiting.pop()
            self.paths[first] = path
            chain = self._chain(first, first, -1)
            for entry in self._entries(chain):
                name = join_bounded_path(path, entry.name)
                self.names[name] = entry.first
                if entry.attributes & FOLDER:
                    waiting.append((entry.first, name))
                elif entry.first:
                    self.paths[entry.first], self.sizes[entry.first] = name, entry.size
                    self._chain(entry.first, entry.first, entry.size)
                elif entry.size:
                    raise make_fat32_damage_error(f"{name} has {entry.size} bytes and no cluster")

    def _entries(self, chain: list[int]) -> list[FolderEntry]:
        entries: list[FolderEntry] = []
        long: dict[int, bytes] = {}
        for cluster in chain:
            first = self._sector(cluster)
            data = b"".join(self._read(first + i) for i in range(self.per_cluster))
            for offset in range(0, len(data), ENTRY):
                raw = data[offset : offset + ENTRY]
                if raw[0] == LAST_ENTRY:
                    return entries
                if raw[0] == ERASED_ENTRY:
                    long.clear()
                elif raw[11] & 0x3F == LONG_NAME:
                    long[raw[0] & 0x1F] = raw[1:11] + raw[14:26] + raw[28:32]
                else:
                    if raw[0] != ord(".") and not raw[11] & VOLUME_LABEL:
                        entries.append(_parse_entry(raw, long))
                    long.clear()
        return entries

    def use(self, sector: int) -> SectorUse:
        """What FAT has a sector for."""
        if sector < self.reserved:
            return SectorUse(SECTOR, ByteKind.METADATA, "reserved sectors", NO_OWNER)
        if sector < self.first_data:
            return SectorUse(SECTOR, ByteKind.METADATA, "FATs", NO_OWNER)
        cluster, within = divmod(sector - self.first_data, self.per_cluster)
        if sector >= self.end or cluster >= self.clusters:
            return SectorUse(SECTOR, ByteKind.METADATA, "past the volume", NO_OWNER)
        held = self.owners.get(cluster + 2)
        if held is None:
            return SectorUse(SECTOR, ByteKind.OBSOLETE, FREED_PART, NO_OWNER)
        owner, place, size = held
        if size < 0:
            return SectorUse(SECTOR, ByteKind.METADATA, "directories", owner)
        offset = (place * self.per_cluster + within) * SECTOR
        return SectorUse(max(0, min(SECTOR, size - offset)), ByteKind.USER, "data", owner, offset)


def _parse_entry(raw: bytes, long: dict[int, bytes]) -> FolderEntry:
    high, low, size = struct.unpack_from("<H", raw, 20)[0], *struct.unpack_from("<HI", raw, 26)
    name = b"".join(long[i] for i in sorted(long)).decode("utf-16-le", "backslashreplace")
    name = name.split("\0", 1)[0]
    if not name:
        stem, ending = decode_file_name(raw[:8]).rstrip(), decode_file_name(raw[8:11]).rstrip()
        name = f"{stem}.{ending}" if ending else stem
    return FolderEntry(name, raw[11], high << 16 | low, size)
