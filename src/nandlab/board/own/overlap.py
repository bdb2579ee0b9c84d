# SPDX-License-Identifier: GPL-2.0-or-later
"""Which partitions have blocks in common: they lie over each other, or in each other.

sysfs has a partition below the one that it is part of, and its offset in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nandlab.board.own.tables import Doubt, Mtd

Sysfs = Mapping[int, Mapping[str, str]]
"""What sysfs has of each partition, by its number."""


def find_overlapping_partitions(mtd: Mtd, mtds: list[Mtd], sysfs: Sysfs) -> list[Mtd]:
    """The other partitions that have blocks of this one, or may have; Doubt if sysfs lacks one."""
    for each in mtds:
        if not sysfs.get(each.number, {}).get("path"):
            raise Doubt(f"sysfs does not tell where mtd{each.number} is")
    tells = any(values["offset"].isdigit() for values in sysfs.values())
    mine = _find_extent(mtd, sysfs)
    others = [other for other in mtds if other != mtd]
    return [
        other for other in others if _may_overlap(mine, _find_extent(other, sysfs), tells=tells)
    ]


@dataclass(frozen=True)
class _Extent:
    """Where a partition is."""

    chain: tuple[str, ...]
    """Its path and those of what it is part of; the outermost is first."""
    top_offset: int | None
    """Of the outermost; None: it is a whole chip, or the kernel tells no offsets."""
    inner_offset: int | None
    """From the outermost's begin; None: the kernel does not tell."""
    size: int

    @property
    def folder(self) -> str:
        """Of the controller."""
        return self.chain[0].rpartition("/")[0]


def _find_extent(mtd: Mtd, sysfs: Sysfs) -> _Extent:
    path = sysfs[mtd.number]["path"]
    offsets = {values["path"]: values["offset"] for values in sysfs.values()}
    chain = tuple(sorted(p for p in offsets if p == path or path.startswith(f"{p}/")))
    top, *inner = (int(offsets[p]) if offsets[p].isdigit() else None for p in chain)
    known = [offset for offset in inner if offset is not None]
    return _Extent(chain, top, sum(known) if len(known) == len(inner) else None, mtd.size)


def _may_overlap(a: _Extent, b: _Extent, *, tells: bool) -> bool:
    """Whether two may have blocks in common.

    tells: whether the kernel tells offsets; those before 4.1 do not.
    """
    if a.folder != b.folder:
        return False
    if a.chain[-1] in b.chain or b.chain[-1] in a.chain:
        return True
    is_one = a.chain[0] == b.chain[0]
    if not is_one and (a.top_offset is None or b.top_offset is None):
        return (a.top_offset is None) != (b.top_offset is None) or not tells
    if a.inner_offset is None or b.inner_offset is None:
        return True
    at_a, at_b = ((each.top_offset or 0) + (each.inner_offset or 0) for each in (a, b))
    return at_a < at_b + b.size and at_b < at_a + a.size
