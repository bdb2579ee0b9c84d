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
from nandlab.onflash.jffs2nodes import DroppedNode
from nandlab.onflash.layout import Layout

T = TypeVar("T")
DECODERS: MappingProxyType[str, Callable[[Partition], Layout]] = MappingProxyType(
    {
        "jffs2": jffs2.decode_jffs2,
        "nftl-fat32": nftl.decode_nftl,
        "ubifs": ubifs.decode_ubifs,
        "yaffs2": yaffs2.decode_yaffs2,
    }
)

SALVAGERS: MappingProxyType[str, Callable[[Partition], tuple[Layout, list[DroppedNode]]]] = (
    MappingProxyType(
        {
            "jffs2": jffs2.salvage_jffs2,
            "ubifs": lambda partition: (ubifs.decode_mounted_ubifs(partition), []),
            "yaffs2": lambda partition: (yaffs2.decode_yaffs2(partition), []),
        }
    )
)
"""Those of file systems that are read as they are while they are mounted."""


def decode_layout(partition: Partition, filesystem: str, volume: str | None = None) -> Layout:
    """The layout of a partition; UsageError says what is wrong with it.

    volume: name or number of the UBI volume that is read; None: the one that has the file system.
    """
    if filesystem not in DECODERS:
        known = ", ".join(DECODERS)
        raise UsageError(f"{filesystem}: its place on flash is not known; known are {known}")
    if _names_volume(filesystem, volume):
        return _call_decoder(partial(ubifs.decode_ubifs, volume=volume), partition, filesystem)
    return _call_decoder(DECODERS[filesystem], partition, filesystem)


def salvage_layout(
    partition: Partition, filesystem: str, volume: str | None = None
) -> tuple[Layout, list[DroppedNode]]:
    """The layout of a partition whose file system may be mounted, and what of it is not whole.

    volume: as for decode(). UsageError says what is wrong with it.
    """
    if _names_volume(filesystem, volume):
        return _call_decoder(
            partial(ubifs.decode_mounted_ubifs, volume=volume), partition, filesystem
        ), []
    if filesystem not in SALVAGERS:
        return decode_layout(partition, filesystem), []
    return _call_decoder(SALVAGERS[filesystem], partition, filesystem)


def _names_volume(filesystem: str, volume: str | None) -> bool:
    """Whether a UBI volume is named; UsageError if the file system is in none."""
    if volume is not None and filesystem != "ubifs":
        raise UsageError(f"--volume {volume}: {filesystem} is in no volume of UBI")
    return volume is not None


def _call_decoder(how: Callable[[Partition], T], partition: Partition, filesystem: str) -> T:
    try:
        return how(partition)
    except (struct.error, IndexError, KeyError, ValueError) as e:
        raise UsageError(f"damaged, or no {filesystem}: {e!r}. Nothing is summed") from None


def detect_filesystem(partition: Partition) -> str:
    """The file system on a partition, by the first bytes of its written blocks.

    The first of them tells. If it begins as none does, for damage, most of them must agree on
    JFFS2; all else may be YAFFS2, whose blocks begin as its files do. A block that begins blank
    tells nothing: in a dump without ECC, an erased one may have wrong bits.
    """
    written = list(_read_block_marks(partition))
    marks = [mark for mark in written if mark] or ["yaffs2"] * len(written)
    if not marks:
        raise UsageError("every block is erased: name the file system with --fs")
    if marks[0] == "yaffs2" and marks.count("jffs2") * 2 > len(marks):
        return "jffs2"
    return marks[0]


def _read_block_marks(partition: Partition) -> Iterator[str]:
    """What each written block begins as; empty: as an erased one."""
    for block in range(partition.blocks):
        if block in partition.bad or partition.erased(block):
            continue
        begin = partition.begin(block, len(nftl.MEDIA_MARK))
        if begin.strip(b"\xff") or partition.data(block).strip(b"\xff"):
            yield _recognise_mark(begin) if begin.strip(b"\xff") else ""


def _recognise_mark(begin: bytes) -> str:
    if begin[:4] == b"UBI#":
        return "ubifs"
    if begin == nftl.MEDIA_MARK:
        return "nftl-fat32"
    return "jffs2" if begin[:2] in jffs2nodes.MAGIC_MARKS else "yaffs2"
