# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: fragments by two reads each, and a first open that reads the header of every node.

Source: Linux 6.1, fs/jffs2/read.c and readinode.c, of a chip with a write buffer. At the first open
a node is read to the end of its flash page, so that the next node may be found in the NAND core's
buffer. A header that goes on in the next page may take a second read, of that whole page. At last
the newest node's header is read again.

The kernel goes through the nodes from the one that it met last. That is the one that was written
last, or of a file system that was mounted since, the last on the flash, for the scan goes through
the blocks in order (scan.c). A node that the collector moves keeps its version and is written anew.
One block after the other is filled. So within a block the later node lies behind, and of two blocks
the later has the newer version, unless the collector alone wrote to it. A node does not tell that
it was moved, and the list by which the kernel goes (jffs2_link_node_ref()) is in memory alone. So
the order of blocks is not told of a file whose nodes the collector may have moved. N is: a node
lies in one block, so the first read and the last alone may find another page in the buffer.

Until a thread has checked all nodes after a mount, those that newer ones cover are read too; they
are not foretold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from nandlab.flash.layouts.jffs2nodes import (
    DIRENT_NODE,
    INODE,
    INODE_NODE,
    SUMMARY_END,
    SUMMARY_ENTRY_BYTES,
    SUMMARY_NODE,
)
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading import packers
from nandlab.flash.reading.packers import PackedData
from nandlab.flash.reading.reader import FilesystemReader
from nandlab.flash.reading.reads import FilePieces, MtdRead

FIRST_READ_BYTES = DIRENT_NODE.size
"""JFFS2_MIN_NODE_HEADER: bytes that are read of a node whose kind is not known yet."""


SUMMARY = SUMMARY_NODE.size + SUMMARY_END.size
"""Bytes of a summary with no entry."""


class Jffs2Reader(FilesystemReader):
    """Keeps nothing that a read of a page would need: all is read each time."""

    layout_name = "jffs2"
    header = INODE_NODE.size
    align = 4
    least_data = 128
    entry = SUMMARY_ENTRY_BYTES[INODE]
    packers = frozenset(packers.JFFS2_PACKERS)

    @classmethod
    def compute_node_room(cls, layout: Layout, at: int, summed: int) -> int:
        """Without what a summary of the block will take, if the kernel writes such: an entry for
        each node (``jffs2_do_reserve_space()``)."""
        summary = SUMMARY + summed + cls.entry if layout.counts.get("summary") else 0
        return super().compute_node_room(layout, at, summed) - -(-summary // cls.align) * cls.align

    @classmethod
    def packed(cls, layout: Layout, data: bytes, room: int) -> PackedData | None:
        """By the compressors that its nodes have. As much as there is room for, but not less than
        JFFS2_MIN_DATA_LEN (``jffs2_write_inode_range()``)."""
        return (
            packers.pack_for_jffs2(data, room, layout.packings) if room >= cls.least_data else None
        )

    def page(self, file: FilePieces, page: int) -> Iterator[MtdRead]:
        """For each fragment its node's header, then all of the node's data, however little is live.

        A node that stands for zeroes has a header alone.
        """
        for piece in file.list_pieces(page):
            at = self._read_of(piece.at - INODE_NODE.size)
            yield MtdRead(at, INODE_NODE.size)
            if piece.stored:
                yield MtdRead(at + INODE_NODE.size, piece.stored)

    def open(self, owner: int, folder: int | None = None) -> list[MtdRead]:
        """The header of each node; a name is in memory already."""
        nodes = self._nodes(owner)
        order = order_nodes_like_kernel(nodes, self.layout.erasesize, mounted=self.mounted)
        return self._opening(order, nodes)

    def open_otherwise(self, owner: int) -> list[list[MtdRead]]:
        """With each block first, and with each last; none after a mount, nor where nothing was
        moved."""
        nodes, size = self._nodes(owner), self.layout.erasesize
        blocks = {offset // size for offset in nodes}
        if self.mounted or owner not in self.layout.moved_owners or len(blocks) < 2:
            return []
        order, openings = order_nodes_like_kernel(nodes, size, mounted=False), []
        for block in blocks:
            block_nodes = [offset for offset in order if offset // size == block]
            other_nodes = [offset for offset in order if offset // size != block]
            openings += [
                self._opening(sequence, nodes)
                for sequence in (block_nodes + other_nodes, other_nodes + block_nodes)
            ]
        return openings

    def _opening(self, order: Sequence[int], nodes: Sequence[int]) -> list[MtdRead]:
        return list(list_first_open_reads(order, nodes[0], self.layout.writesize)) if nodes else []

    def _nodes(self, owner: int) -> list[int]:
        """First bytes of a file's nodes, from the newest version on."""
        return [self._read_of(at) for at in self.layout.nodes.get(owner, [])]

    def _read_of(self, at: int) -> int:
        """Where a node is read: a mount keeps the last of its copies."""
        return self.layout.last_copy.get(at, at) if self.mounted else at

    def nodes(self, owner: int, asked: Sequence[MtdRead]) -> int:
        return len(self.layout.nodes.get(owner, []))

    def opened(self, asked: Sequence[MtdRead]) -> int | None:
        return next((o for read in asked if (o := self._owners.get(read.at))), None)

    @cached_property
    def _owners(self) -> dict[int, int]:
        return {at: owner for owner in self.layout.nodes for at in self._nodes(owner)}


def order_nodes_like_kernel(nodes: Sequence[int], erasesize: int, *, mounted: bool) -> list[int]:
    """A file's nodes, given from the newest version on, from the one on that the kernel met last.

    mounted: whether the file system was mounted after they were written.
    """
    if mounted:
        return sorted(nodes, reverse=True)
    newest: dict[int, int] = {}
    for rank, at in enumerate(nodes):
        newest.setdefault(at // erasesize, rank)
    return sorted(nodes, key=lambda at: (newest[at // erasesize], -at))


def list_first_open_reads(nodes: Sequence[int], newest: int, writesize: int) -> Iterator[MtdRead]:
    """The reads of the first open of a file whose nodes begin there, in this order; newest: the one
    of the newest version."""
    for at in nodes:
        end = -(-(at + FIRST_READ_BYTES) // writesize) * writesize
        yield MtdRead(at, end - at)
        if end - at < INODE_NODE.size:
            yield MtdRead(end, writesize)
    yield MtdRead(newest, INODE_NODE.size)


READER = Jffs2Reader
