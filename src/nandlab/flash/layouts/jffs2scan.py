# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: the nodes of each block, found by their headers as a mount finds them.

Source: Linux, fs/jffs2/scan.c, nodelist.c and wbuf.c.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.cells import Partition, is_erased
from nandlab.flash.layouts.jffs2nodes import (
    ACCURATE,
    ANY_BYTES,
    CLEANMARKER,
    DIRENT,
    DIRENT_NODE,
    HEADER_CRC_STRUCT,
    HEADER_STRUCT,
    INODE,
    INODE_NODE,
    KIND_NAMES,
    KIND_OF,
    LITTLE,
    MAGIC,
    MAGIC_MARKS,
    NO_COMPRESSION,
    NODE_BYTES_MIN,
    NOT_ERASED,
    PADDING,
    SUMMARY,
    SUMMARY_END,
    SUMMARY_ENTRY_BYTES,
    SUMMARY_MARK,
    SUMMARY_NODE,
    XATTR,
    XATTR_NODE,
    XREF,
    XREF_NODE,
    AttributeNode,
    DataNode,
    DirentNode,
    DroppedNode,
    PartitionNodes,
    ReferenceNode,
    compute_jffs2_crc,
    select_struct_byte_order,
)
from nandlab.flash.layouts.layout import ByteKind, refuse_damaged_image

END_MARK = b"\xde\xad\xc0\xde"
"""Where firmware of OpenWrt ends: the first boot erases the block that begins with it, and all
behind it."""


def find_byte_order(partition: Partition) -> str | None:
    """The byte order of the first node that a block begins with; None if no block begins so."""
    for block in range(partition.blocks):
        if block not in partition.bad and not partition.erased(block):
            order = MAGIC_MARKS.get(partition.begin(block, 2))
            if order is not None:
                return order
    return None


def scan_partition_nodes(partition: Partition, *, strict: bool = False) -> PartitionNodes:
    """All nodes of a partition; strict: UsageError for what cannot be read, else it is dropped."""
    nodes = PartitionNodes(order=find_byte_order(partition) or LITTLE)
    ended = False
    for block in range(partition.blocks):
        offset = block * partition.erasesize
        written = block not in partition.bad and not partition.erased(block)
        ended = ended or (written and partition.begin(block, len(END_MARK)) == END_MARK)
        if ended and written:
            nodes.walk.add(offset, partition.erasesize, ByteKind.OBSOLETE, "behind the end mark")
        elif block in partition.bad:
            nodes.walk.add(offset, partition.erasesize, ByteKind.BAD, "bad blocks")
        elif partition.erased(block):
            nodes.walk.add(offset, partition.erasesize, ByteKind.FREE, "erased")
        else:
            BlockScan(partition, block, nodes, strict=strict).run()
    return nodes


class BlockScan:
    """Finds the nodes of a block."""

    def __init__(
        self, partition: Partition, block: int, nodes: PartitionNodes, *, strict: bool
    ) -> None:
        self.data = partition.data(block)
        self.page = partition.writesize
        self.block, self.base = block, block * partition.erasesize
        self.walk, self.nodes, self.strict = nodes.walk, nodes, strict
        self.last = len(self.data.rstrip(b"\xff"))

    def _take(self, little: struct.Struct, offset: int) -> tuple[int, ...]:
        """The numbers of a form, in the byte order of the chip's nodes."""
        return select_struct_byte_order(little, self.nodes.order).unpack_from(self.data, offset)

    def _head_sum(self, kind: int, size: int) -> int:
        return compute_jffs2_crc(
            select_struct_byte_order(HEADER_CRC_STRUCT, self.nodes.order).pack(
                MAGIC, kind | ACCURATE, size
            )
        )

    def run(self) -> None:
        end, offset = len(self.data), 0
        if self.last:
            self.nodes.written += 1
            self.nodes.headless += not self._is_head(0)
        while offset < end:
            if end - offset < HEADER_STRUCT.size:
                offset = self._trying(
                    offset, end - offset, lambda offset: self._filled(offset, end)
                )
            else:
                offset = self._trying(offset, 4, self._next)

    def _trying(self, offset: int, least: int, part: Callable[[int], int]) -> int:
        """A part that cannot be read is an error, or is dropped up to the next node."""
        try:
            return part(offset)
        except UsageError as e:
            if self.strict:
                raise
            return self._drop(offset, offset + least, str(e).partition(";")[0])

    def _drop(self, offset: int, to: int, why: str) -> int:
        """Gives what cannot be read up: to its own end if its header tells it, or to a header."""
        end = len(self.data)
        if self._is_head(offset):
            size = self._take(HEADER_STRUCT, offset)[2]
            to = max(to, min(offset + (size + 3 & ~3), end))
        last = min(self.last + 3 & ~3, end)
        while to < last and not self._is_head(to):
            to += 4
        self.walk.add(self.base + offset, to - offset, ByteKind.OBSOLETE, "dropped")
        self.nodes.dropped.append(
            DroppedNode(self.base + offset, to - offset, why, *self._was(offset))
        )
        return to

    def _is_head(self, offset: int) -> bool:
        """Whether a node begins here, by its header's checksum."""
        if offset + HEADER_STRUCT.size > len(self.data):
            return False
        magic, kind, size, head_crc = self._take(HEADER_STRUCT, offset)
        return magic == MAGIC and head_crc == self._head_sum(kind, size)

    def _was(self, offset: int) -> tuple[str, int, int, int]:
        """Kind, file, offset and bytes of a node, as far as they are sure.

        They are where the header's checksum is right, or where it was never written, since the node
        was torn before it: then what comes before is as it was.
        """
        if not self._is_head(offset):
            return "", 0, 0, 0
        _, kind, size, _ = self._take(HEADER_STRUCT, offset)
        name = KIND_NAMES.get(kind | ACCURATE, "")
        if name != "inode" or offset + INODE_NODE.size > len(self.data):
            return name, 0, 0, 0
        node = self._take(INODE_NODE, offset)
        if compute_jffs2_crc(self.data[offset : offset + 60]) == node[20]:
            return name, node[4], node[13], node[15]
        written = self._written_to(offset, offset + size)
        if written >= offset + INODE_NODE.size:
            return name, 0, 0, 0  # the checksum was written: what it is of is wrong, or itself
        if written >= offset + 56:
            return name, node[4], node[13], node[15]
        return (name, node[4], 0, ANY_BYTES) if written >= offset + 16 else (name, 0, 0, 0)

    def _written_to(self, offset: int, end: int) -> int:
        """The begin of the first page after ``offset`` that was never written, or ``offset``."""
        for page in range(-(-offset // self.page) * self.page, min(end, len(self.data)), self.page):
            if is_erased(self.data[page : page + self.page]):
                return page
        return offset

    def _next(self, offset: int) -> int:
        magic, kind, size, head_crc = self._take(HEADER_STRUCT, offset)
        if magic == 0xFFFF:
            return self._erased(offset)
        if magic == 0:
            return self._zeroes(offset)
        if bytes(self.data[offset : offset + 2]) in MAGIC_MARKS and magic != MAGIC:
            refuse_damaged_image("a JFFS2 of the other byte order", self.block, offset)
        if magic != MAGIC:
            refuse_damaged_image("no JFFS2 node where one should be", self.block, offset)
        return self._node(offset, kind, size, head_crc)

    def _filled(self, offset: int, end: int) -> int:
        if self.data[offset:end].strip(b"\xff") and self.data[offset:end].strip(b"\0"):
            refuse_damaged_image("no JFFS2 node where one should be", self.block, offset)
        self.walk.add(self.base + offset, end - offset, ByteKind.SLACK, "block ends")
        return end

    def _erased(self, offset: int) -> int:
        """To the next node, or the end of the block, which is free from its next page on."""
        following = NOT_ERASED.search(self.data, offset)
        if following is None:
            page = -(-offset // self.page) * self.page
            self.walk.add(self.base + offset, page - offset, ByteKind.SLACK, "padding")
            self.walk.add(self.base + page, len(self.data) - page, ByteKind.FREE, "erased")
            return len(self.data)
        to = following.start() & ~3
        if to == offset:
            refuse_damaged_image("no JFFS2 node where one should be", self.block, offset)
        self.walk.add(self.base + offset, to - offset, ByteKind.SLACK, "gaps")
        return to

    def _zeroes(self, offset: int) -> int:
        """The rest of a page that has room for a padding node's header at most, and nothing after
        it: the kernel then leaves zeroes."""
        to = min(-(-(offset + 1) // self.page) * self.page, len(self.data))
        if to - offset > HEADER_STRUCT.size or self.data[offset:to].strip(b"\0"):
            refuse_damaged_image("no JFFS2 node where one should be", self.block, offset)
        self.walk.add(self.base + offset, to - offset, ByteKind.SLACK, "padding")
        return to

    def _node(self, offset: int, kind: int, size: int, head_crc: int) -> int:
        true_kind = kind | ACCURATE
        if self._head_sum(kind, size) != head_crc:
            refuse_damaged_image("a node's header has a wrong checksum", self.block, offset)
        if true_kind not in KIND_NAMES:
            refuse_damaged_image(f"a node of unknown kind 0x{kind:04x}", self.block, offset)
        self.nodes.crossing += offset + size > len(self.data)
        if size < NODE_BYTES_MIN[true_kind]:
            refuse_damaged_image("a node of impossible length", self.block, offset)
        if offset + size > len(self.data):
            raise UsageError(
                f"block {self.block}, byte {offset}: a node of {size} bytes ends past its erase "
                f"block of {len(self.data)} bytes, and its header is sound: give --erase-block and "
                "--oob as the chip has them; if they are right, the image is damaged"
            )
        to = min(offset + (size + 3 & ~3), len(self.data))
        if kind != true_kind and not self.strict:
            refuse_damaged_image(
                "a node is marked obsolete, which JFFS2 does not do on NAND", self.block, offset
            )
        if kind != true_kind:
            self.walk.add(self.base + offset, to - offset, ByteKind.OBSOLETE, "marked obsolete")
        elif true_kind == PADDING:
            self.walk.add(self.base + offset, to - offset, ByteKind.SLACK, "padding")
            self.nodes.pad(offset, to)
        else:
            if true_kind == CLEANMARKER:
                self.walk.add(self.base + offset, size, ByteKind.METADATA, "clean markers")
                self.nodes.markers_within += [offset] if offset else []
            else:
                NODE_READERS[true_kind](self, offset, size)
            self.walk.add(
                self.base + offset + size, to - offset - size, ByteKind.SLACK, "alignment"
            )
        self.nodes.counts[KIND_NAMES[true_kind]] += 1
        self.nodes.sound += to - offset
        return to

    def _sums(self, offset: int, covered: int, node_crc: int) -> None:
        if compute_jffs2_crc(self.data[offset : offset + covered]) != node_crc:
            refuse_damaged_image("a node has a wrong checksum", self.block, offset)

    def _stored(self, start: int, count: int, size: int, offset: int, data_crc: int) -> None:
        if start + count != offset + size:
            refuse_damaged_image("a node of impossible length", self.block, offset)
        if compute_jffs2_crc(self.data[start : start + count]) != data_crc:
            refuse_damaged_image("a node's data have a wrong checksum", self.block, offset)

    def dirent(self, offset: int, size: int) -> None:
        node = self._take(DIRENT_NODE, offset)
        parent, version, number, _, name_bytes, _, _, node_crc, name_crc = node[4:]
        self._sums(offset, 32, node_crc)
        start = offset + DIRENT_NODE.size
        self._stored(start, name_bytes, size, offset, name_crc)
        name = self.data[start : start + name_bytes]
        self.nodes.dirents.append(DirentNode(self.base + offset, parent, version, number, name))

    def inode(self, offset: int, size: int) -> None:
        node = self._take(INODE_NODE, offset)
        number, version, mode, _, _, isize, _, _, _, file_offset, stored, plain = node[4:16]
        self._sums(offset, 60, node[20])
        self._stored(offset + INODE_NODE.size, stored, size, offset, node[19])
        compressor = node[16]
        if compressor == NO_COMPRESSION and stored != plain:
            refuse_damaged_image("a node of impossible length", self.block, offset)
        self.nodes.pieces[number].append(
            DataNode(
                version, self.base + offset, file_offset, stored, plain, isize, compressor, mode
            )
        )

    def xattr(self, offset: int, size: int) -> None:
        node = self._take(XATTR_NODE, offset)
        number, version, _, name_bytes, value_bytes, data_crc, node_crc = node[4:]
        self._sums(offset, 28, node_crc)
        node_bytes = XATTR_NODE.size + name_bytes + 1 + value_bytes
        if node_bytes + 3 & ~3 != size:
            refuse_damaged_image("a node of impossible length", self.block, offset)
        self._stored(
            offset + XATTR_NODE.size, node_bytes - XATTR_NODE.size, node_bytes, offset, data_crc
        )
        self.walk.add(
            self.base + offset + node_bytes, size - node_bytes, ByteKind.SLACK, "alignment"
        )
        self.nodes.attributes.append(AttributeNode(self.base + offset, number, version, node_bytes))

    def xref(self, offset: int, size: int) -> None:
        inode, attribute, version, node_crc = self._take(XREF_NODE, offset)[4:]
        self._sums(offset, 24, node_crc)
        if size != XREF_NODE.size:
            refuse_damaged_image("a node of impossible length", self.block, offset)
        self.nodes.references.append(ReferenceNode(self.base + offset, inode, attribute, version))

    def summary(self, offset: int, size: int) -> None:
        entries, _, _, sum_crc, node_crc = self._take(SUMMARY_NODE, offset)[4:]
        self._sums(offset, 24, node_crc)
        start, end = offset + SUMMARY_NODE.size, offset + size
        if compute_jffs2_crc(self.data[start:end]) != sum_crc:
            refuse_damaged_image("a summary has a wrong checksum", self.block, offset)
        place, mark = self._take(SUMMARY_END, end - 8)
        self.nodes.elsewhere += mark == SUMMARY_MARK and place != offset
        if (place, mark) != (offset, SUMMARY_MARK):
            refuse_damaged_image("a summary without its mark", self.block, offset)
        for _ in range(entries):
            if start + 24 > end:
                refuse_damaged_image(
                    "a summary of more entries than it has room for", self.block, offset
                )
            (kind,) = self._take(KIND_OF, start)
            if kind not in SUMMARY_ENTRY_BYTES:
                refuse_damaged_image("a summary's entry of unknown kind", self.block, start)
            start += SUMMARY_ENTRY_BYTES[kind] + (self.data[start + 22] if kind == DIRENT else 0)
        if start > end - 8:
            refuse_damaged_image(
                "a summary of more entries than it has room for", self.block, offset
            )
        self.walk.add(self.base + offset, start - offset, ByteKind.METADATA, "summaries")
        self.walk.add(self.base + start, end - 8 - start, ByteKind.SLACK, "padding of summaries")
        self.walk.add(self.base + end - 8, 8, ByteKind.METADATA, "summaries")


NODE_READERS = {
    DIRENT: BlockScan.dirent,
    INODE: BlockScan.inode,
    SUMMARY: BlockScan.summary,
    XATTR: BlockScan.xattr,
    XREF: BlockScan.xref,
}
