# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: fragments by two reads each, and a first open that reads the header of every node.

Source: Linux 6.1, fs/jffs2/read.c and readinode.c, of a chip with a write buffer. At the first open
a node is read to the end of its flash page, so that the next node may be found in the NAND core's
buffer. A header that goes on in the next page may take a second read, of that whole page. At last
the newest node's header is read again.

The kernel goes through the nodes from the one that it met last: the newest version, unless the
collector has moved an older one since, or the file system was mounted anew. Then the order of pages
is another. Nodes that newer ones cover are read too after a mount, for only a running file
system knows that they are dead; they are not foretold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from nandlab.model.reader import Reader
from nandlab.model.reads import Pieces, Read
from nandlab.onflash.jffs2 import DIRENT_NODE, INODE_NODE

LEAST = DIRENT_NODE.size
"""JFFS2_MIN_NODE_HEADER: bytes that are read of a node whose kind is not known yet."""


class Jffs2(Reader):
    """Keeps nothing that a read of a page would need: all is read each time."""

    header = INODE_NODE.size
    align = 4
    least_data = 128

    def page(self, file: Pieces, page: int) -> Iterator[Read]:
        """For each fragment its node's header, then all of the node's data, however little is live.

        A node that stands for zeroes has a header alone.
        """
        for piece in file.of(page):
            yield Read(piece.at - INODE_NODE.size, INODE_NODE.size)
            if piece.stored:
                yield Read(piece.at, piece.stored)

    def open(self, owner: int, folder: int | None = None) -> list[Read]:
        """The header of each node; a name is in memory already."""
        return list(headers(self.layout.nodes.get(owner, []), self.layout.writesize))

    def nodes(self, owner: int) -> int:
        return len(self.layout.nodes.get(owner, []))

    def opened(self, asked: Sequence[Read]) -> int | None:
        return next((o for read in asked if (o := self._owners.get(read.at))), None)

    @cached_property
    def _owners(self) -> dict[int, int]:
        return {at: owner for owner, places in self.layout.nodes.items() for at in places}


def headers(nodes: Sequence[int], writesize: int) -> Iterator[Read]:
    """The reads of the first open of a file whose nodes begin there, the newest first."""
    for at in nodes:
        end = -(-(at + LEAST) // writesize) * writesize
        yield Read(at, end - at)
        if end - at < INODE_NODE.size:
            yield Read(end, writesize)
    if nodes:
        yield Read(nodes[0], INODE_NODE.size)
