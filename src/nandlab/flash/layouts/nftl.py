# SPDX-License-Identifier: GPL-2.0-or-later
"""NFTL: chains of units that stand for one virtual unit, and the sector of each that holds.

Source: Linux, include/uapi/mtd/nftl-user.h (marks), drivers/mtd/nftlmount.c (header, chains),
nftlcore.c, NFTL_readblock() (which unit of a chain has a sector).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from nandlab.base.errors import UsageError
from nandlab.flash.layouts import fat32
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import Decoder
from nandlab.flash.layouts.layout import ByteKind, Layout, LayoutCollector, refuse_damaged_image

SECTOR = 512
HEADER = struct.Struct("<6sHHIB")
MEDIA_MARK = b"ANAND\0"
USED, FREE, IGNORED, DELETED = 0x55, 0xFF, 0x11, 0x00
STATES = {USED, FREE, IGNORED, DELETED}
STATUS_AT, UNIT_AT = 6, 8
NIL, FREE_UNIT, NOT_FIRST = 0xFFFF, 0xFFFF, 0x8000


@dataclass
class UnitChains:
    """The virtual units of a partition."""

    formatted_sectors: int
    chains: dict[int, list[int]] = field(default_factory=dict)
    """Virtual unit -> its units, oldest first."""
    states: dict[int, list[int]] = field(default_factory=dict)
    """Unit -> state of each sector."""


def decode_nftl(partition: Partition) -> Layout:
    """Where everything is; UsageError says what is wrong with the image."""
    if partition.writesize != SECTOR or partition.oobsize < 16:
        refuse_damaged_image("NFTL needs pages of 512 bytes with 16 of OOB", 0, 0)
    walk = LayoutCollector()
    units = _read_units(partition, walk)
    live = _find_live_sectors(partition, units, walk)
    volume = fat32.FatVolume(_SectorReader(partition, live), units.formatted_sectors)
    _account_live_sectors(volume, live, walk)
    counts = {
        "chains": len(units.chains),
        "units": sum(map(len, units.chains.values())),
        "live_sectors": len(live),
        "used_clusters": volume.used_clusters,
    }
    return Layout(
        "nftl-fat32", partition.bytes, partition.erasesize, partition.writesize,
        walk.finish(partition.bytes), volume.paths, volume.sizes, walk.pieces, counts,
        names=volume.names,
    )  # fmt: skip


def read_virtual_device(partition: Partition) -> bytes:
    """The virtual device, sector after sector; UsageError says what is wrong with its chains."""
    walk = LayoutCollector()
    units = _read_units(partition, walk)
    read = _SectorReader(partition, _find_live_sectors(partition, units, walk))
    return b"".join(map(read, range(units.formatted_sectors)))


class _SectorReader:
    """Reads sectors of the virtual device; one that was never written is all zeros."""

    def __init__(self, partition: Partition, live: dict[int, int]) -> None:
        self.partition, self.live = partition, live
        self.block, self.data = -1, b""

    def __call__(self, sector: int) -> bytes:
        address = self.live.get(sector)
        if address is None:
            return bytes(SECTOR)
        block, offset = divmod(address, self.partition.erasesize)
        if block != self.block:
            self.block, self.data = block, self.partition.data(block)
        return self.data[offset : offset + SECTOR]


def _read_units(partition: Partition, walk: LayoutCollector) -> UnitChains:
    """Tells headers, bad, free units and chains apart."""
    headers: list[int] = []
    first_of: dict[int, int] = {}
    follows: dict[int, tuple[int, int]] = {}
    states: dict[int, list[int]] = {}
    for block in range(partition.blocks):
        base = block * partition.erasesize
        if block in partition.bad:
            walk.add(base, partition.erasesize, ByteKind.BAD, "bad blocks")
        elif partition.erased(block):
            walk.add(base, partition.erasesize, ByteKind.FREE, "erased")
        elif partition.data(block)[:6] == MEDIA_MARK:
            headers.append(block)
            walk.add(base, partition.erasesize, ByteKind.METADATA, "media headers")
        else:
            states[block], unit, link = _read_unit(partition, block)
            if unit == FREE_UNIT:
                walk.add(base, partition.erasesize, ByteKind.FREE, "free units")
                continue
            follows[block] = (unit, link)
            if not unit & NOT_FIRST and first_of.setdefault(unit, block) != block:
                refuse_damaged_image(f"virtual unit {unit} begins twice", block, 0)
    if not headers:
        raise UsageError("no NFTL media header: the image is of another file system, or damaged")
    chains = UnitChains(_count_formatted_sectors(partition, headers), states=states)
    _make_chains(chains, first_of, follows)
    return chains


def _read_unit(partition: Partition, block: int) -> tuple[list[int], int, int]:
    """A unit's sectors' states, its number, and the unit that follows it in its chain."""
    spare = partition.spare(block)
    pairs = spare[:, STATUS_AT:UNIT_AT].tolist()
    states = [_parse_state(block, sector, pair) for sector, pair in enumerate(pairs)]
    words = struct.unpack("<4H", spare[0, UNIT_AT : UNIT_AT + 8].tobytes())
    unit, link = words[0] | words[2], words[1] | words[3]
    if unit == FREE_UNIT and any(s != FREE for s in states):
        refuse_damaged_image("a unit without a number has data", block, 0)
    return states, unit, link


def _parse_state(block: int, sector: int, pair: list[int]) -> int:
    if pair[0] != pair[1] or pair[0] not in STATES:
        refuse_damaged_image(
            f"a sector's state is {pair[0]:02x} {pair[1]:02x}", block, sector * SECTOR
        )
    return int(pair[0])


def _count_formatted_sectors(partition: Partition, headers: list[int]) -> int:
    """Sectors of the virtual device."""
    media_headers = {HEADER.unpack_from(partition.data(block)) for block in headers}
    if len(media_headers) != 1:
        refuse_damaged_image("the media headers differ", headers[-1], 0)
    _, units, _, size, factor = media_headers.pop()
    if (
        not size
        or size % SECTOR
        or size > partition.bytes
        or units > partition.blocks
        or factor != 0xFF
    ):
        refuse_damaged_image("a media header that does not fit the partition", headers[0], 0)
    return int(size) // SECTOR


def _make_chains(
    units: UnitChains, first_of: dict[int, int], follows: dict[int, tuple[int, int]]
) -> None:
    unchained = set(follows)
    for unit, first in first_of.items():
        chain, block = [], first
        while block != NIL:
            if block not in unchained or follows[block][0] & ~NOT_FIRST != unit:
                refuse_damaged_image(
                    f"the chain of virtual unit {unit} is broken", min(block, first), 0
                )
            unchained.remove(block)
            chain.append(block)
            block = follows[block][1]
        units.chains[unit] = chain
    if unchained:
        refuse_damaged_image("a unit belongs to no chain", min(unchained), 0)


def _find_live_sectors(
    partition: Partition, units: UnitChains, walk: LayoutCollector
) -> dict[int, int]:
    """Virtual sector -> its place; accounts for all sectors that do not hold."""
    live: dict[int, int] = {}
    for unit, chain in units.chains.items():
        for sector in range(partition.pages):
            holder = None
            for block in chain:
                state = units.states[block][sector]
                if state == FREE:
                    break
                holder = block if state == USED else None if state == DELETED else holder
            for block in chain:
                offset = block * partition.erasesize + sector * SECTOR
                if block == holder:
                    live[unit * partition.pages + sector] = offset
                elif units.states[block][sector] == FREE:
                    walk.add(offset, SECTOR, ByteKind.FREE, "unwritten in chains")
                else:
                    walk.add(offset, SECTOR, ByteKind.OBSOLETE, "older sectors")
    return live


def _account_live_sectors(
    volume: fat32.FatVolume, live: dict[int, int], walk: LayoutCollector
) -> None:
    """Accounts for the live sectors by what FAT says of them."""
    for sector, offset in live.items():
        use = volume.use(sector)
        if use.kind is ByteKind.USER:
            walk.plain(offset, use.bytes, use.owner, use.offset)
        else:
            walk.add(offset, use.bytes, use.kind, use.part, use.owner)
        walk.add(
            offset + use.bytes, SECTOR - use.bytes, ByteKind.SLACK, "rest of clusters", use.owner
        )


DECODER = Decoder("nftl-fat32", decode_nftl, begins=(MEDIA_MARK,), needs_spare=True)
