# SPDX-License-Identifier: GPL-2.0-or-later
"""All decoders by the file system's name in the catalog, and what is on an image without one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import MappingProxyType

from nandlab.base.errors import UsageError
from nandlab.onflash import jffs2, nftl, ubifs, yaffs2
from nandlab.onflash.cells import Partition
from nandlab.onflash.layout import Layout

DECODERS: MappingProxyType[str, Callable[[Partition], Layout]] = MappingProxyType(
    {
        "jffs2": jffs2.decode,
        "nftl-fat32": nftl.decode,
        "ubifs": ubifs.decode,
        "yaffs2": yaffs2.decode,
    }
)


def decode(partition: Partition, filesystem: str) -> Layout:
    """The layout of a partition; UsageError says what is wrong with it."""
    if filesystem not in DECODERS:
        known = ", ".join(DECODERS)
        raise UsageError(f"{filesystem}: its place on flash is not known; known are {known}")
    try:
        return DECODERS[filesystem](partition)
    except (struct.error, IndexError, KeyError, ValueError) as e:
        raise UsageError(f"damaged, or no {filesystem}: {e!r}. Nothing is summed") from None


def found(partition: Partition) -> str:
    """The file system on a partition, by the first bytes of its first written block."""
    for block in range(partition.blocks):
        if block in partition.bad or partition.erased(block):
            continue
        data = partition.data(block)
        if not data.strip(b"\xff"):
            continue
        if data[:4] == b"UBI#":
            return "ubifs"
        if data[:6] == nftl.MARK:
            return "nftl-fat32"
        return "jffs2" if data[:2] == b"\x85\x19" else "yaffs2"
    raise UsageError("every block is erased: name the file system with --fs")
