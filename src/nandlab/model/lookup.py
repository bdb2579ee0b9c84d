# SPDX-License-Identifier: GPL-2.0-or-later
"""The first open of a file: JFFS2 reads the header of every node that the file has.

Source: Linux 6.1, fs/jffs2/readinode.c, of a chip with a write buffer. A node is read to the end of
its flash page, so that the next node may be found in the NAND core's buffer. A header that goes on
in the next page may take a second read, of that whole page. At last the newest node's header is
read again.

The kernel goes through the nodes from the one that it met last. That is the one that was written
last, or of a file system that was mounted since, the last on the flash, for the scan goes through
the blocks in order (scan.c). A node that the collector moves keeps its version and is written anew.
One block after the other is filled. So within a block the later node lies behind, and of two blocks
the later has the newer version, unless the collector alone wrote to it.

Until a thread has checked all nodes after a mount, those that newer ones cover are read too; they
are not foretold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nandlab.model.reads import Access, PageBuffer, Read
from nandlab.onflash.jffs2 import DIRENT_NODE, INODE_NODE
from nandlab.onflash.layout import Layout

LEAST = DIRENT_NODE.size
"""JFFS2_MIN_NODE_HEADER: bytes that are read of a node whose kind is not known yet."""


def met(nodes: Sequence[int], erasesize: int, *, mounted: bool) -> list[int]:
    """A file's nodes, given from the newest version on, from the one on that the kernel met last.

    mounted: whether the file system was mounted after they were written.
    """
    if mounted:
        return sorted(nodes, reverse=True)
    newest: dict[int, int] = {}
    for rank, at in enumerate(nodes):
        newest.setdefault(at // erasesize, rank)
    return sorted(nodes, key=lambda at: (newest[at // erasesize], -at))


def reads(nodes: Sequence[int], newest: int, writesize: int) -> Iterator[Read]:
    """The reads of the MTD device for nodes that begin there, in this order; newest: the one of
    the newest version."""
    for at in nodes:
        end = -(-(at + LEAST) // writesize) * writesize
        yield Read(at, end - at)
        if end - at < INODE_NODE.size:
            yield Read(end, writesize)
    yield Read(newest, INODE_NODE.size)


@dataclass(frozen=True)
class FirstOpen:
    """The first open of a file."""

    nodes: int
    """That hold, each of whose headers is read."""
    accesses: Sequence[Access] = field(repr=False)

    @property
    def flash(self) -> list[int]:
        """Pages that the chip reads, in order."""
        return [a.page for a in self.accesses if not a.hit]

    @property
    def hits(self) -> int:
        """Pages that the buffer had."""
        return sum(a.hit for a in self.accesses)


def first_open(
    layout: Layout, owner: int, buffer: PageBuffer, *, mounted: bool = False
) -> FirstOpen:
    """Opens a file that is not in memory; the buffer is left as the open leaves it.

    mounted: whether the file system was mounted after the file was written.
    """
    nodes = layout.nodes.get(owner, [])
    if not nodes:
        return FirstOpen(0, [])
    asked = reads(met(nodes, layout.erasesize, mounted=mounted), nodes[0], layout.writesize)
    return FirstOpen(len(nodes), [access for read in asked for access in buffer.read(read)])
