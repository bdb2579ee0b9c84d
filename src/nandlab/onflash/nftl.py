# SPDX-License-Identifier: GPL-2.0-or-later
"""NFTL: chains of units that stand for one virtual unit, and the sector of each that holds.

Source: Linux, include/uapi/mtd/nftl-user.h (marks), drivers/mtd/nftlmount.c (header, chains),
nftlcore.c, NFTL_readblock() (which unit of a chain has a sector).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from nandlab.base.errors import UsageError
from nandlab.onflash import fat32
from nandlab.onflash.cells import Partition
from nandlab.onflash.layout import Kind, Layout, Walk, damaged

SECTOR = 512
HEADER = struct.Struct("<6sHHIB")
MARK = b"ANAND\0"
USED, FREE, IGNORED, DELETED = 0x55, 0xFF, 0x11, 0x00
STATES = {USED, FREE, IGNORED, DELETED}
STATUS_AT, UNIT_AT = 6, 8
NIL, FREE_UNIT, NOT_FIRST = 0xFFFF, 0xFFFF, 0x8000


@dataclass
class Chains:
    """The virtual units of a partition."""

    formatted_sectors: int
    chains: dict[int, list[int]] = field(default_factory=dict)
    """Virtual unit -> its units, oldest first."""
    states: dict[int, list[int]] = field(default_factory=dict)
    """Unit -> state of each sector."""


def decode(partition: Partition) -> Layout:
    """Where everything is; UsageError says what is wrong with the image."""
    if partition.writesize != SECTOR or partition.oobsize < 16:
        damaged("NFTL needs pages of 512 bytes with 16 of OOB", 0, 0)
    walk = Walk()
    units = _units(partition, walk)
    live = _sectors(partition, units, walk)
    volume = fat32.Volume(_Reader(partition, live), units.formatted_sectors)
    _account(volume, live, walk)
    counts = {
        "chains": len(units.chains),
        "units": sum(map(len, units.chains.values())),
        "live_sectors": len(live),
        "used_clusters": volume.used_clusters,
    }
    return Layout(
        "nftl-fat32", partition.bytes, partition.erasesize, partition.writesize,
        walk.done(partition.bytes), volume.paths, volume.sizes, walk.pieces, counts,
        names=volume.names,
    )  # fmt: skip


def volume(partition: Partition) -> bytes:
    """The virtual device, sector after sector; UsageError says what is wrong with its chains."""
    walk = Walk()
    units = _units(partition, walk)
    read = _Reader(partition, _sectors(partition, units, walk))
    return b"".join(map(read, range(units.formatted_sectors)))


class _Reader:
    """Reads sectors of the virtual device; one that was never written is all zeros."""

    def __init__(self, partition: Partition, live: dict[int, int]) -> None:
        self.on, self.live = partition, live
        self.block, self.data = -1, b""

    def __call__(self, sector: int) -> bytes:
        at = self.live.get(sector)
        if at is None:
            return bytes(SECTOR)
        block, offset = divmod(at, self.on.erasesize)
        if block != self.block:
            self.block, self.data = block, self.on.data(block)
        return self.data[offset : offset + SECTOR]


def _units(on: Partition, walk: Walk) -> Chains:
    """Tells headers, bad, free units and chains apart."""
    headers: list[int] = []
    first_of: dict[int, int] = {}
    follows: dict[int, tuple[int, int]] = {}
    states: dict[int, list[int]] = {}
    for block in range(on.blocks):
        base = block * on.erasesize
        if block in on.bad:
            walk.add(base, on.erasesize, Kind.BAD, "bad blocks")
        elif on.erased(block):
            walk.add(base, on.erasesize, Kind.FREE, "erased")
        elif on.data(block)[:6] == MARK:
            headers.append(block)
            walk.add(base, on.erasesize, Kind.METADATA, "media headers")
        else:
            states[block], unit, link = _unit(on, block)
            if unit == FREE_UNIT:
                walk.add(base, on.erasesize, Kind.FREE, "free units")
                continue
            follows[block] = (unit, link)
            if not unit & NOT_FIRST and first_of.setdefault(unit, block) != block:
                damaged(f"virtual unit {unit} begins twice", block, 0)
    if not headers:
        raise UsageError("no NFTL media header: the image is of another file system, or damaged")
    found = Chains(_formatted(on, headers), states=states)
    _chain(found, first_of, follows)
    return found


def _unit(on: Partition, block: int) -> tuple[list[int], int, int]:
    """A unit's sectors' states, its number, and the unit that follows it in its chain."""
    spare = on.spare(block)
    pairs = spare[:, STATUS_AT:UNIT_AT].tolist()
    states = [_state(block, sector, pair) for sector, pair in enumerate(pairs)]
    words = struct.unpack("<4H", spare[0, UNIT_AT : UNIT_AT + 8].tobytes())
    unit, link = words[0] | words[2], words[1] | words[3]
    if unit == FREE_UNIT and any(s != FREE for s in states):
        damaged("a unit without a number has data", block, 0)
    return states, unit, link


def _state(block: int, sector: int, pair: list[int]) -> int:
    if pair[0] != pair[1] or pair[0] not in STATES:
        damaged(f"a sector's state is {pair[0]:02x} {pair[1]:02x}", block, sector * SECTOR)
    return int(pair[0])


def _formatted(on: Partition, headers: list[int]) -> int:
    """Sectors of the virtual device."""
    told = {HEADER.unpack_from(on.data(block)) for block in headers}
    if len(told) != 1:
        damaged("the media headers differ", headers[-1], 0)
    _, units, _, size, factor = told.pop()
    if not size or size % SECTOR or size > on.bytes or units > on.blocks or factor != 0xFF:
        damaged("a media header that does not fit the partition", headers[0], 0)
    return int(size) // SECTOR


def _chain(found: Chains, first_of: dict[int, int], follows: dict[int, tuple[int, int]]) -> None:
    left = set(follows)
    for unit, first in first_of.items():
        chain, block = [], first
        while block != NIL:
            if block not in left or follows[block][0] & ~NOT_FIRST != unit:
                damaged(f"the chain of virtual unit {unit} is broken", min(block, first), 0)
            left.remove(block)
            chain.append(block)
            block = follows[block][1]
        found.chains[unit] = chain
    if left:
        damaged("a unit belongs to no chain", min(left), 0)


def _sectors(on: Partition, units: Chains, walk: Walk) -> dict[int, int]:
    """Virtual sector -> its place; accounts for all sectors that do not hold."""
    live: dict[int, int] = {}
    for unit, chain in units.chains.items():
        for sector in range(on.pages):
            holder = None
            for block in chain:
                state = units.states[block][sector]
                if state == FREE:
                    break
                holder = block if state == USED else None if state == DELETED else holder
            for block in chain:
                at = block * on.erasesize + sector * SECTOR
                if block == holder:
                    live[unit * on.pages + sector] = at
                elif units.states[block][sector] == FREE:
                    walk.add(at, SECTOR, Kind.FREE, "unwritten in chains")
                else:
                    walk.add(at, SECTOR, Kind.OBSOLETE, "older sectors")
    return live


def _account(volume: fat32.Volume, live: dict[int, int], walk: Walk) -> None:
    """Accounts for the live sectors by what FAT says of them."""
    for sector, at in live.items():
        use = volume.use(sector)
        if use.kind is Kind.USER:
            walk.plain(at, use.bytes, use.owner, use.offset)
        else:
            walk.add(at, use.bytes, use.kind, use.part, use.owner)
        walk.add(at + use.bytes, SECTOR - use.bytes, Kind.SLACK, "rest of clusters", use.owner)
