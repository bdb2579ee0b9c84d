# SPDX-License-Identifier: GPL-2.0-or-later
"""The first open of a file: JFFS2 reads the header of every node that the file has.

Source: Linux 6.1, fs/jffs2/readinode.c, of a chip with a write buffer. A node is read to the end of
its flash page, so that the next node may be found in the NAND core's buffer. A header that goes on
in the next page may take a second read, of that whole page. At last the newest node's header is
read again.

The kernel goes through the nodes from the one that it met last: the newest version, unless the
collector has moved an older one since, or the file system was mounted anew. Then the order of pages
is another. Nodes that newer ones cover are read too after a mount, for only a running file
system knows that they are dead; they are not foretold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nandlab.model.reads import Access, PageBuffer, Read
from nandlab.onflash.jffs2 import DIRENT_NODE, INODE_NODE
from nandlab.onflash.layout import Layout

LEAST = DIRENT_NODE.size
"""JFFS2_MIN_NODE_HEADER: bytes that are read of a node whose kind is not known yet."""


def reads(nodes: Sequence[int], writesize: int) -> Iterator[Read]:
    """The reads of the MTD device for a file whose nodes begin there, the newest first."""
    for at in nodes:
        end = -(-(at + LEAST) // writesize) * writesize
        yield Read(at, end - at)
        if end - at < INODE_NODE.size:
            yield Read(end, writesize)
    if nodes:
        yield Read(nodes[0], INODE_NODE.size)


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


def first_open(layout: Layout, owner: int, buffer: PageBuffer) -> FirstOpen:
    """Opens a file that is not in memory; the buffer is left as the open leaves it."""
    nodes = layout.nodes.get(owner, [])
    asked = reads(nodes, layout.writesize)
    return FirstOpen(len(nodes), [access for read in asked for access in buffer.read(read)])
