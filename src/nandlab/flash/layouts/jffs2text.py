# SPDX-License-Identifier: GPL-2.0-or-later
"""The text that mtd-utils' ``jffs2dump -c`` (with or without ``-v``) prints of a JFFS2.

It tells each node's place, file, version and range, and which checksums are wrong. It does not tell
how a node is compressed, nor whether an inode is a file or a link. What it leaves out between two
nodes (clean markers, padding) is called "not told". Source: mtd-utils, jffsX-utils/jffs2dump.c.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import TEXT_BYTES_MAX, read_bytes
from nandlab.flash.layouts.dump import DUMP_ADVICE
from nandlab.flash.layouts.jffs2nodes import (
    DIRECTORY,
    DIRENT_NODE,
    HEADER_STRUCT,
    INODE_NODE,
    NO_COMPRESSION,
    REGULAR,
    ZEROES,
    DataNode,
    DirentNode,
    DroppedNode,
    NodeGeometry,
    PartitionNodes,
)  # fmt: skip
from nandlab.flash.layouts.layout import ByteKind
from nandlab.flash.layouts.shape import Shape

UNKNOWN_COMPRESSION = 255
MARKER_MAX = 64
"""Bytes of a clean marker, which may come before a block's first node and is not told."""
ZEROES_MAX = HEADER_STRUCT.size
"""A page's rest of so many bytes or fewer is zeroes, not a padding node."""
NUMBER = rb"\s*(-?\d+)"
NODE = re.compile(
    rb" *(?P<old>Obsolete)? +"
    rb"(?P<kind>Inode|Dirent|Inode Sum|Padding|Xattr|Xref|Unknown|Cleanmarker) +"
    rb"(?:node )?at 0x(?P<at>[0-9a-f]+), totlen 0x(?P<size>[0-9a-f]+)"
)
INODE_REST = re.compile(
    rb", #ino%s, version%s, isize%s, csize%s, dsize%s, offset%s\n" % ((NUMBER,) * 6)
)
DIRENT_REST = re.compile(rb", #pino%s, version%s, #ino%s, nsize%s, name " % ((NUMBER,) * 4))
EMPTY = re.compile(rb"Empty space found from 0x(?P<at>[0-9a-f]+) to 0x(?P<to>[0-9a-f]+)\n")
WRONG = re.compile(
    rb"Wrong (?P<what>bitmask|hdr_crc|node_crc|data_crc|name_crc) +at +0x(?P<at>[0-9a-f]+), "
    rb"0x(?P<value>[0-9a-f]+)[^\n]*\n"
)
OTHER_LINE = re.compile(
    rb"( +#ino | +dirent offset | +Sum Node |Unknown summary|Empty space: )[^\n]*\n"
)
LINE_REST = re.compile(rb"[^\n]*\n")
LINE_BEGIN = re.compile(
    rb" *(Obsolete)? +\w+( Sum)? +(node )?at 0x|Empty space found|Wrong \w+ +at +0x"
)
SWAPPED = 0x8519


def is_jffs2dump_text(begin: bytes) -> bool:
    """Whether a file that begins so is a text of jffs2dump."""
    return LINE_BEGIN.match(begin) is not None


@dataclass
class _TextReader:
    """What a text tells, with the geometry that its user told."""

    path: Path
    data: bytes
    erasesize: int
    writesize: int
    nodes: PartitionNodes = field(default_factory=PartitionNodes)
    ranges: deque[tuple[int, int]] = field(default_factory=deque)
    """First byte and end of all that is told, in order."""
    torn: set[int] = field(default_factory=set)
    """Where what is no node begins: it goes on up to what is told next."""
    node: tuple[int, int, bytes, tuple[int, ...]] | None = None
    """The last node: first byte, end, kind, numbers."""
    covered_bytes: int = 0
    """Bytes of the erase blocks that anything is told of."""

    def refuse(self, offset: int, what: str) -> UsageError:
        line = self.data.count(b"\n", 0, offset) + 1
        return UsageError(f"{self.path}, line {line}: {what}")

    def run(self) -> PartitionNodes:
        offset = 0
        while offset < len(self.data):
            offset = self._line(offset)
        self._hold()
        self._gaps()
        folders = {d.parent for d in self.nodes.dirents} | {1}
        for number in folders & self.nodes.pieces.keys():
            self.nodes.pieces[number] = [
                d._replace(mode=DIRECTORY) for d in self.nodes.pieces[number]
            ]
        return self.nodes

    def _line(self, offset: int) -> int:
        match = NODE.match(self.data, offset)
        if match:
            self._hold()
            return self._node(match)
        match = EMPTY.match(self.data, offset)
        if match:
            self._hold()
            return self._empty(match)
        match = WRONG.match(self.data, offset)
        if match:
            self._wrong(match)
            return match.end()
        match = OTHER_LINE.match(self.data, offset)
        if match is None:
            raise self.refuse(offset, "no line of jffs2dump: is the text cut off, or edited?")
        return match.end()

    def _node(self, match: re.Match[bytes]) -> int:
        first, size, kind = int(match["at"], 16), int(match["size"], 16), match["kind"]
        form = {b"Inode": INODE_REST, b"Dirent": DIRENT_REST}.get(kind, LINE_REST)
        numbers_match = form.match(self.data, match.end())
        if numbers_match is None:
            raise self.refuse(
                match.start(), "no line of jffs2dump: is the text cut off, or edited?"
            )
        numbers = tuple(int(n) & 0xFFFFFFFF for n in numbers_match.groups())
        end = first + (size + 3 & ~3)
        if first // self.erasesize != (first + max(size, 1) - 1) // self.erasesize:
            raise self.refuse(
                match.start(),
                f"the node ends past its erase block of {self.erasesize} bytes: --erase-block is "
                "not the chip's, or the dump was made without its spare areas told (-d, -o)",
            )
        if self.ranges and first < self.ranges[-1][1]:
            raise self.refuse(match.start(), "the node begins before the last one ended")
        self.ranges.append((first, end))
        self.node = first, end, (match["old"] or b"") + kind, numbers
        if kind != b"Dirent":
            return numbers_match.end()
        return self._name(numbers_match.end(), numbers[3], match.start())

    def _name(self, offset: int, count: int, begin: int) -> int:
        """Takes the name, in which there may be an end of line."""
        if self.data[offset + count : offset + count + 1] != b"\n" or self.node is None:
            raise self.refuse(begin, "the name has another length than is told: cut off?")
        first, _, kind, numbers = self.node
        name = self.data[offset : offset + count]
        if not kind.startswith(b"Obsolete"):
            self.nodes.dirents.append(DirentNode(first, numbers[0], numbers[1], numbers[2], name))
        return offset + count + 1

    def _hold(self) -> None:
        """The last node is sound, for no line said otherwise."""
        if self.node is None:
            return
        first, end, kind, numbers = self.node
        self.node = None
        self.nodes.sound += end - first
        walk, count = self.nodes.walk, self.nodes.counts
        if kind == b"Inode":
            number, version, isize, stored, plain, offset = numbers
            packed = UNKNOWN_COMPRESSION if stored != plain else NO_COMPRESSION
            packed = ZEROES if plain and not stored else packed
            self.nodes.pieces[number].append(
                DataNode(version, first, offset, stored, plain, isize, packed, REGULAR)
            )
            count["inode"] += 1
            self._after(first + INODE_NODE.size + stored, end)
        elif kind == b"Dirent":
            count["dirent"] += 1
            self._after(first + DIRENT_NODE.size + numbers[3], end)
        elif kind.startswith(b"Obsolete"):
            walk.add(first, end - first, ByteKind.OBSOLETE, "marked obsolete")
        elif kind == b"Padding":
            self.nodes.pad(first, end)
            walk.add(first, end - first, ByteKind.SLACK, "padding")
        else:
            part = {b"Inode Sum": "summaries", b"Cleanmarker": "clean markers"}
            walk.add(first, end - first, ByteKind.METADATA, part.get(kind, "extended attributes"))

    def _after(self, offset: int, end: int) -> None:
        if offset > end:
            raise UsageError(f"{self.path}: the node that ends at 0x{end:08x} is of no such length")
        self.nodes.walk.add(offset, end - offset, ByteKind.SLACK, "alignment")

    def _empty(self, match: re.Match[bytes]) -> int:
        first, end = int(match["at"], 16), int(match["to"], 16)
        if not (self.ranges[-1][1] if self.ranges else 0) <= first < end:
            raise self.refuse(match.start(), "a range that cannot be")
        self.ranges.append((first, end))
        part = "erased" if end - first >= self.writesize else "gaps"
        kind = ByteKind.FREE if part == "erased" else ByteKind.SLACK
        self.nodes.walk.add(first, end - first, kind, part)
        return match.end()

    def _wrong(self, match: re.Match[bytes]) -> None:
        address, fault = int(match["at"], 16), match["what"].decode()
        node, self.node = self.node, None
        if fault in {"bitmask", "hdr_crc"}:
            self.node = node
            self._hold()
            self._no_node(match, address, fault)
            return
        if node is None or node[0] != address:
            raise self.refuse(match.start(), "a checksum of a node that is not told before it")
        first, end, kind, numbers = node
        if kind == b"Dirent":
            self.nodes.dirents.pop()
            self._drop(first, end, fault, "dirent")
        elif kind == b"Inode" and fault == "data_crc":
            self._drop(first, end, fault, "inode", numbers[0], numbers[5], numbers[4])
        else:
            self._drop(first, end, fault, "inode" if kind == b"Inode" else "summary")

    def _no_node(self, match: re.Match[bytes], address: int, fault: str) -> None:
        value = int(match["value"], 16)
        if fault == "bitmask" and value == SWAPPED:
            raise self.refuse(match.start(), "a JFFS2 of the other byte order: give jffs2dump -b")
        bytes_to_page_end = -address % self.writesize
        if fault == "bitmask" and value == 0 and bytes_to_page_end <= ZEROES_MAX:
            self.ranges.append((address, address + bytes_to_page_end))
            self.nodes.walk.add(address, bytes_to_page_end, ByteKind.SLACK, "padding")
            return
        self.ranges.append((address, address + 4))
        self._drop(address, address + 4, fault, "")
        self.torn.add(address + 4)

    def _drop(self, first: int, end: int, what: str, *node: str | int) -> None:
        self.nodes.walk.add(first, end - first, ByteKind.OBSOLETE, "dropped")
        why = f"byte 0x{first:08x}: wrong {what}"
        self.nodes.dropped.append(DroppedNode(first, end - first, why, *node))  # type: ignore[arg-type]

    def _gaps(self) -> None:
        """Accounts for what is between; counts the blocks, and those that begin with no node."""
        if not self.nodes.sound:
            raise UsageError(
                f"{self.path}: no node is told: {DUMP_ADVICE}, and give it to nandlab itself"
            )
        end = self.ranges[-1][1]
        self.covered_bytes = -(-end // self.erasesize) * self.erasesize
        accounted_end, begun = 0, set()
        for first, to in self.ranges:
            if accounted_end in self.torn and first > accounted_end:
                self._drop(accounted_end, first, "bitmask", "")
            else:
                self.nodes.walk.add(
                    accounted_end, first - accounted_end, ByteKind.SLACK, "not told"
                )
            block = first // self.erasesize
            if block not in begun:
                begun.add(block)
                self.nodes.headless += first % self.erasesize > MARKER_MAX
            accounted_end = max(accounted_end, to)
        self.nodes.walk.add(
            accounted_end, self.covered_bytes - accounted_end, ByteKind.FREE, "after the last node"
        )
        self.nodes.written = len(begun)


def read_jffs2dump_nodes(path: Path, shape: Shape) -> tuple[PartitionNodes, NodeGeometry]:
    """All nodes that a text tells, and its geometry; UsageError names the line that cannot be."""
    data = read_bytes(path, TEXT_BYTES_MAX)
    if not data.endswith(b"\n"):
        raise UsageError(f"{path}: ends within a line: the text is cut off")
    text = _TextReader(path, data, shape.erase_block, shape.page)
    found = text.run()
    return found, NodeGeometry(text.covered_bytes, shape.erase_block, shape.page)
