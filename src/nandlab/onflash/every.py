# SPDX-License-Identifier: GPL-2.0-or-later
"""All decoders by the file system's name in the catalog, and what is on an image without one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from nandlab.base.errors import UsageError
from nandlab.onflash import jffs2, jffs2nodes, nftl, ubifs, yaffs2
from nandlab.onflash.cells import Partition
from nandlab.onflash.jffs2nodes import Dropped
from nandlab.onflash.layout import Layout

T = TypeVar("T")
DECODERS: MappingProxyType[str, Callable[[Partition], Layout]] = MappingProxyType(
    {
        "jffs2": jffs2.decode,
        "nftl-fat32": nftl.decode,
        "ubifs": ubifs.decode,
        "yaffs2": yaffs2.decode,
    }
)

SALVAGERS: MappingProxyType[str, Callable[[Partition], tuple[Layout, list[Dropped]]]] = (
    MappingProxyType(
        {
            "jffs2": jffs2.salvage,
            "ubifs": lambda partition: (ubifs.mounted(partition), []),
            "yaffs2": lambda partition: (yaffs2.decode(partition), []),
        }
    )
)
"""Those of file systems that are read as they are while they are mounted."""


def decode(partition: Partition, filesystem: str, volume: str | None = None) -> Layout:
    """The layout of a partition; UsageError says what is wrong with it.

    volume: name or number of the UBI volume that is read; None: the one that has the file system.
    """
    if filesystem not in DECODERS:
        known = ", ".join(DECODERS)
        raise UsageError(f"{filesystem}: its place on flash is not known; known are {known}")
    if _in_volume(filesystem, volume):
        return _decoded(partial(ubifs.decode, volume=volume), partition, filesystem)
    return _decoded(DECODERS[filesystem], partition, filesystem)


def salvage(
    partition: Partition, filesystem: str, volume: str | None = None
) -> tuple[Layout, list[Dropped]]:
    """The layout of a partition whose file system may be mounted, and what of it is not whole.

    volume: as for decode(). UsageError says what is wrong with it.
    """
    if _in_volume(filesystem, volume):
        return _decoded(partial(ubifs.mounted, volume=volume), partition, filesystem), []
    if filesystem not in SALVAGERS:
        return decode(partition, filesystem), []
    return _decoded(SALVAGERS[filesystem], partition, filesystem)


def _in_volume(filesystem: str, volume: str | None) -> bool:
    """Whether a UBI volume is named; UsageError if the file system is in none."""
    if volume is not None and filesystem != "ubifs":
        raise UsageError(f"--volume {volume}: {filesystem} is in no volume of UBI")
    return volume is not None


def _decoded(how: Callable[[Partition], T], partition: Partition, filesystem: str) -> T:
    try:
        return how(partition)
    except (struct.error, IndexError, KeyError, ValueError) as e:
        raise UsageError(f"damaged, or no {filesystem}: {e!r}. Nothing is summed") from None


def found(partition: Partition) -> str:
    """The file system on a partition, by the first bytes of its written blocks.

    The first of them tells. If it begins as none does, for damage, most of them must agree on
    JFFS2; all else may be YAFFS2, whose blocks begin as its files do. A block that begins blank
    tells nothing: in a dump without ECC, an erased one may have wrong bits.
    """
    written = list(_marks(partition))
    marks = [mark for mark in written if mark] or ["yaffs2"] * len(written)
    if not marks:
        raise UsageError("every block is erased: name the file system with --fs")
    if marks[0] == "yaffs2" and marks.count("jffs2") * 2 > len(marks):
        return "jffs2"
    return marks[0]


def _marks(partition: Partition) -> Iterator[str]:
    """What each written block begins as; empty: as an erased one."""
    for block in range(partition.blocks):
        if block in partition.bad or partition.erased(block):
            continue
        begin = partition.begin(block, len(nftl.MARK))
        if begin.strip(b"\xff") or partition.data(block).strip(b"\xff"):
            yield _mark(begin) if begin.strip(b"\xff") else ""


def _mark(begin: bytes) -> str:
    if begin[:4] == b"UBI#":
        return "ubifs"
    if begin == nftl.MARK:
        return "nftl-fat32"
    return "jffs2" if begin[:2] in jffs2nodes.MARKS else "yaffs2"
