# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2's nodes: their form on flash, and what is kept of them once they are found.

Source: Linux, include/uapi/linux/jffs2.h (nodes) and fs/jffs2/summary.h (summaries). Nodes are
in the byte order of the machine that made them: either, and one for all.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.layout import HOLE, BytesAt, LayoutCollector

MAGIC, ACCURATE = 0x1985, 0x2000
LITTLE, BIG = "<", ">"
MAGIC_MARKS = {struct.pack(order + "H", MAGIC): order for order in (LITTLE, BIG)}
"""First bytes of a node -> the byte order of all nodes."""
DIRENT, INODE, CLEANMARKER, PADDING, SUMMARY, XATTR, XREF = (
    0xE001, 0xE002, 0x2003, 0x2004, 0x2006, 0xE008, 0xE009,
)  # fmt: skip
KIND_NAMES = {
    DIRENT: "dirent", INODE: "inode", CLEANMARKER: "cleanmarker", PADDING: "padding",
    SUMMARY: "summary", XATTR: "xattr", XREF: "xref",
}  # fmt: skip
HEADER_STRUCT = struct.Struct("<HHII")
DIRENT_NODE = struct.Struct("<HHIIIIIIBBHII")
INODE_NODE = struct.Struct("<HHIIIIIHHIIIIIIIBBHII")
XATTR_NODE = struct.Struct("<HHIIIIBBHII")
XREF_NODE = struct.Struct("<HHIIIIII")
SUMMARY_NODE = struct.Struct("<HHIIIIIII")
HEADER_CRC_STRUCT = struct.Struct("<HHI")
"""What a header's checksum is of."""
SUMMARY_END = struct.Struct("<II")
"""The end of a summary: where it began, and its mark."""
KIND_OF = struct.Struct("<H")
BIG_ENDIAN = {
    form: struct.Struct(BIG + form.format[1:])
    for form in (
        *(HEADER_STRUCT, DIRENT_NODE, INODE_NODE, XATTR_NODE, XREF_NODE, SUMMARY_NODE),
        *(HEADER_CRC_STRUCT, SUMMARY_END, KIND_OF),
    )
}
assert (HEADER_STRUCT.size, DIRENT_NODE.size, INODE_NODE.size) == (12, 40, 68)
assert (XATTR_NODE.size, XREF_NODE.size, SUMMARY_NODE.size) == (32, 28, 32)
NODE_BYTES_MIN = {
    DIRENT: 40,
    INODE: 68,
    CLEANMARKER: 12,
    PADDING: 12,
    SUMMARY: 40,
    XATTR: 32,
    XREF: 28,
}
SUMMARY_ENTRY_BYTES = {INODE: 18, DIRENT: 24, XATTR: 18, XREF: 6}
"""Bytes of an entry of a summary; a name's entry has the name after it."""
SUMMARY_MARK = 0x02851885
EVEN_PADDINGS_MIN = 8
"""Padding nodes that tell that pages are larger, if all of them end at even ones."""
NO_COMPRESSION, ZEROES = 0, 1
PACKINGS = {
    NO_COMPRESSION: "", ZEROES: HOLE, 2: "rtime", 3: "rubinmips", 5: "dynrubin", 6: "zlib",
    7: "lzo",
}  # fmt: skip
ANY_BYTES = 1 << 40
"""Bytes of a file, where it may be any of them."""
DIRECTORY, REGULAR = 0o040000, 0o100000
ROOT = 1
NOT_ERASED = re.compile(b"[^\xff]")


class NodeGeometry(NamedTuple):
    """The geometry of what nodes were found in, in bytes."""

    bytes: int
    erasesize: int
    writesize: int
    read_data: BytesAt | None = None
    """None: they are not there, but a text that tells of them."""

    @classmethod
    def from_partition(cls, partition: Partition) -> NodeGeometry:
        shape = partition.bytes, partition.erasesize, partition.writesize
        return cls(*shape, partition.read_data)


class DirentNode(NamedTuple):
    at: int
    parent: int
    version: int
    number: int
    name: bytes


class DataNode(NamedTuple):
    """An inode's node."""

    version: int
    at: int
    offset: int
    stored: int
    plain: int
    """Bytes of the file."""
    isize: int
    compressor: int
    mode: int


class AttributeNode(NamedTuple):
    at: int
    number: int
    version: int
    bytes: int


class DroppedNode(NamedTuple):
    """What cannot be read of a block, as the kernel would drop it too."""

    at: int
    bytes: int
    why: str
    kind: str
    """Of node, by its header; empty: the header cannot be read either."""
    number: int = 0
    """Of its file; 0: not known."""
    offset: int = 0
    """Of its first byte in the file."""
    plain: int = 0
    """Bytes of the file that it held."""

    def may_hold(self, number: int, begin: int, end: int) -> bool:
        """Whether it may have held a part of a file's bytes from begin to end."""
        if self.kind not in {"", "inode"}:
            return False
        within = self.offset < end and begin < self.offset + self.plain
        return not self.number or (self.number == number and within)


class ReferenceNode(NamedTuple):
    at: int
    inode: int
    attribute: int
    version: int


@dataclass
class PartitionNodes:
    """All nodes of a partition."""

    dirents: list[DirentNode] = field(default_factory=list)
    pieces: dict[int, list[DataNode]] = field(default_factory=lambda: defaultdict(list))
    attributes: list[AttributeNode] = field(default_factory=list)
    references: list[ReferenceNode] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KIND_NAMES.values(), 0))
    dropped: list[DroppedNode] = field(default_factory=list)
    order: str = LITTLE
    """The byte order of all nodes."""
    walk: LayoutCollector = field(default_factory=LayoutCollector)
    sound: int = 0
    """Bytes of nodes that could be read."""
    written: int = 0
    """Blocks that are not erased."""
    headless: int = 0
    """Of these, blocks that do not begin with a node."""
    crossing: int = 0
    """Nodes that do not end in the block that they begin in."""
    padded_to: list[int] = field(default_factory=list)
    """Ends of padding nodes."""
    padding_most: int = 0
    """Bytes of the largest padding node."""
    markers_within: list[int] = field(default_factory=list)
    """Bytes from their block's begin of the clean markers that are not at it."""
    elsewhere: int = 0
    """Sound summaries that say of themselves that they are at another byte of their block."""

    def summed(self, begin: int, end: int) -> int:
        """Bytes that a summary has for the inodes' nodes and the names from begin to end."""
        nodes = sum(begin <= p.at < end for pieces in self.pieces.values() for p in pieces)
        names = [len(d.name) for d in self.dirents if begin <= d.at < end]
        return SUMMARY_ENTRY_BYTES[INODE] * nodes + sum(
            SUMMARY_ENTRY_BYTES[DIRENT] + count for count in names
        )

    def pad(self, at: int, to: int) -> None:
        """Notes a padding node."""
        self.padded_to.append(to)
        self.padding_most = max(self.padding_most, to - at)


def compute_jffs2_crc(data: bytes) -> int:
    """JFFS2's CRC-32: begins with 0 and is not inverted."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def select_struct_byte_order(little: struct.Struct, order: str) -> struct.Struct:
    """A form of this file in a byte order."""
    return BIG_ENDIAN[little] if order == BIG else little
