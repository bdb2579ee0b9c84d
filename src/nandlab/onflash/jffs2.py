# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2: nodes found by their headers, then replayed in the order of their versions.

Source: Linux, include/uapi/linux/jffs2.h (nodes), fs/jffs2/summary.h (summaries), and of
fs/jffs2 scan.c, readinode.c, nodelist.c and wbuf.c for what a mount makes of them. Nodes are in
the byte order of the machine that made them: either, and one for all.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.onflash.cells import Partition
from nandlab.onflash.covered import Covered
from nandlab.onflash.layout import (
    HOLE,
    BytesAt,
    Kind,
    Layout,
    Piece,
    Walk,
    damaged,
    every_path,
    paths,
    text,
)

MAGIC, ACCURATE = 0x1985, 0x2000
LITTLE, BIG = "<", ">"
MARKS = {struct.pack(order + "H", MAGIC): order for order in (LITTLE, BIG)}
"""First bytes of a node -> the byte order of all nodes."""
DIRENT, INODE, CLEANMARKER, PADDING, SUMMARY, XATTR, XREF = (
    0xE001, 0xE002, 0x2003, 0x2004, 0x2006, 0xE008, 0xE009,
)  # fmt: skip
NAMES = {
    DIRENT: "dirent", INODE: "inode", CLEANMARKER: "cleanmarker", PADDING: "padding",
    SUMMARY: "summary", XATTR: "xattr", XREF: "xref",
}  # fmt: skip
HEAD = struct.Struct("<HHII")
DIRENT_NODE = struct.Struct("<HHIIIIIIBBHII")
INODE_NODE = struct.Struct("<HHIIIIIHHIIIIIIIBBHII")
XATTR_NODE = struct.Struct("<HHIIIIBBHII")
XREF_NODE = struct.Struct("<HHIIIIII")
SUMMARY_NODE = struct.Struct("<HHIIIIIII")
SEALED = struct.Struct("<HHI")
"""What a header's checksum is of."""
ENDING = struct.Struct("<II")
"""The end of a summary: where it began, and its mark."""
KIND_OF = struct.Struct("<H")
BIG_ENDIAN = {
    form: struct.Struct(BIG + form.format[1:])
    for form in (
        *(HEAD, DIRENT_NODE, INODE_NODE, XATTR_NODE, XREF_NODE, SUMMARY_NODE),
        *(SEALED, ENDING, KIND_OF),
    )
}
assert (HEAD.size, DIRENT_NODE.size, INODE_NODE.size) == (12, 40, 68)
assert (XATTR_NODE.size, XREF_NODE.size, SUMMARY_NODE.size) == (32, 28, 32)
LEAST = {DIRENT: 40, INODE: 68, CLEANMARKER: 12, PADDING: 12, SUMMARY: 40, XATTR: 32, XREF: 28}
SUMMED = {INODE: 18, DIRENT: 24, XATTR: 18, XREF: 6}
"""Bytes of an entry of a summary; a name's entry has the name after it."""
SUMMARY_MARK = 0x02851885
EVEN_MANY = 8
"""Padding nodes that tell that pages are larger, if all of them end at even ones."""
NO_COMPRESSION, ZEROES = 0, 1
PACKINGS = {
    NO_COMPRESSION: "", ZEROES: HOLE, 2: "rtime", 3: "rubinmips", 5: "dynrubin", 6: "zlib",
    7: "lzo",
}  # fmt: skip
ANY = 1 << 40
"""Bytes of a file, where it may be any of them."""
DIRECTORY, REGULAR = 0o040000, 0o100000
ROOT = 1
NOT_ERASED = re.compile(b"[^\xff]")


class Shaped(NamedTuple):
    """The geometry of what nodes were found in, in bytes."""

    bytes: int
    erasesize: int
    writesize: int
    bytes_at: BytesAt | None = None
    """None: they are not there, but a text that tells of them."""

    @classmethod
    def of(cls, partition: Partition) -> Shaped:
        shape = partition.bytes, partition.erasesize, partition.writesize
        return cls(*shape, partition.bytes_at)


class Dirent(NamedTuple):
    at: int
    parent: int
    version: int
    number: int
    name: bytes


class Data(NamedTuple):
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


class Attribute(NamedTuple):
    at: int
    number: int
    version: int
    bytes: int


class Dropped(NamedTuple):
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


class Reference(NamedTuple):
    at: int
    inode: int
    attribute: int
    version: int


@dataclass
class Found:
    """All nodes of a partition."""

    dirents: list[Dirent] = field(default_factory=list)
    pieces: dict[int, list[Data]] = field(default_factory=lambda: defaultdict(list))
    attributes: list[Attribute] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES.values(), 0))
    dropped: list[Dropped] = field(default_factory=list)
    order: str = LITTLE
    """The byte order of all nodes."""
    walk: Walk = field(default_factory=Walk)
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
    elsewhere: int = 0
    """Sound summaries that say of themselves that they are at another byte of their block."""

    def pad(self, at: int, to: int) -> None:
        """Notes a padding node."""
        self.padded_to.append(to)
        self.padding_most = max(self.padding_most, to - at)


def crc(data: bytes) -> int:
    """JFFS2's CRC-32: begins with 0 and is not inverted."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def form(little: struct.Struct, order: str) -> struct.Struct:
    """A form of this file in a byte order."""
    return BIG_ENDIAN[little] if order == BIG else little


def decode(partition: Partition) -> Layout:
    """Where everything is; UsageError says what is wrong with the image."""
    return assembled(scanned(partition, strict=True), Shaped.of(partition))


def salvage(partition: Partition) -> tuple[Layout, list[Dropped]]:
    """The same of a chip whose file system is mounted, or was cut off: nodes that cannot be read
    are dropped and told. What they held is not known.

    UsageError where what is left is no file system, or cannot be of a chip of this geometry.
    """
    return salvaged(scanned(partition), Shaped.of(partition))


def salvaged(found: Found, shape: Shaped) -> tuple[Layout, list[Dropped]]:
    """What is made of all that was found; UsageError as for :func:`salvage`."""
    if found.dropped:
        why = _implausible(found)
        if why:
            raise UsageError(
                f"no JFFS2 of a chip with pages of {shape.writesize} bytes in blocks of "
                f"{shape.erasesize}: {why}; give the chip's own geometry, all of its blocks"
            )
    _right_page(found, shape.writesize)
    _right_block(found, shape.erasesize)
    return assembled(found, shape, strict=False), found.dropped


def missing(layout: Layout) -> list[Dropped]:
    """Parts of files that no node holds, as nodes that are not there.

    JFFS2 writes nodes for a hole too, but for one within a page. So a dump that may lack blocks
    does not show that there is a hole where no node is.
    """
    found = []
    for number, size in layout.sizes.items():
        done = 0
        for piece in [*layout.pieces_of.get(number, []), None]:
            begin = size if piece is None else piece.offset
            if begin > done:
                why = f"no node is there of {layout.paths[number]}, bytes {done} to {begin}"
                found.append(Dropped(0, 0, why, "inode", number, done, begin - done))
            done = begin + (piece.bytes if piece else 0)
    return found


def _implausible(found: Found) -> str | None:
    """Why what was found is no damaged JFFS2 but something else; None if it may be one."""
    if not found.sound:
        return "no node can be read"
    if found.crossing:
        return f"{found.crossing} nodes end past their erase block"
    if found.headless > 1 and found.headless * 4 > found.written:
        return f"{found.headless} of {found.written} blocks do not begin with a node"
    lost = sum(d.bytes for d in found.dropped)
    if lost > found.sound // 2:
        return f"{lost} bytes are no node, {found.sound} are"
    return None


def _right_page(found: Found, page: int) -> None:
    """Refuses a page that is larger than the chip's: padding ends where a page does.

    Source: Linux, fs/jffs2/wbuf.c.
    """
    within = sum(end % page != 0 for end in found.padded_to)
    if within * 4 > len(found.padded_to):
        raise UsageError(
            f"{within} of {len(found.padded_to)} padding nodes end within a page of {page} bytes: "
            "the chip's pages are smaller"
        )


def page_seen(found: Found, page: int) -> bool:
    """Whether the chip's pages are known not to be larger than this: padding ends at an odd one.

    UsageError where they are larger: padding fills less than a page, and of padding nodes half end
    at odd pages. Of as many as EVEN_MANY, none does by one chance in 256.
    """
    if found.padding_most >= page:
        raise UsageError(
            f"a padding node has {found.padding_most} bytes, and padding fills a page, here of "
            f"{page}: the chip's pages are larger"
        )
    odd = any(end % (2 * page) for end in found.padded_to)
    if len(found.padded_to) >= EVEN_MANY and not odd:
        raise UsageError(
            f"all {len(found.padded_to)} padding nodes end at multiples of {2 * page}: with a page "
            f"of {page} bytes half of them would not; the chip's pages are larger"
        )
    return odd


def _right_block(found: Found, erasesize: int) -> None:
    """Refuses an erase block that is larger than the chip's: each ends with its own summary.

    Source: Linux, fs/jffs2/summary.c.
    """
    if found.elsewhere:
        raise UsageError(
            f"{found.elsewhere} summaries are not where they say in a block of {erasesize} bytes: "
            "the chip's erase blocks are smaller"
        )


def order_of(partition: Partition) -> str | None:
    """The byte order of the first node that a block begins with; None if no block begins so."""
    for block in range(partition.blocks):
        if block not in partition.bad and not partition.erased(block):
            order = MARKS.get(partition.begin(block, 2))
            if order is not None:
                return order
    return None


def scanned(partition: Partition, *, strict: bool = False) -> Found:
    """All nodes of a partition; strict: UsageError for what cannot be read, else it is dropped."""
    found = Found(order=order_of(partition) or LITTLE)
    for block in range(partition.blocks):
        at = block * partition.erasesize
        if block in partition.bad:
            found.walk.add(at, partition.erasesize, Kind.BAD, "bad blocks")
        elif partition.erased(block):
            found.walk.add(at, partition.erasesize, Kind.FREE, "erased")
        else:
            Scan(partition, block, found, strict=strict).run()
    return found


def assembled(found: Found, shape: Shaped, *, strict: bool = True) -> Layout:
    """Files put together from their nodes; strict: UsageError for a name that leads nowhere."""
    walk = found.walk
    names = [(d.parent, d.number, text(d.name)) for d in _dirents(walk, found)]
    reached = paths(names, ROOT)
    lost = next((n for n in reached if n != ROOT and n not in found.pieces), None)
    if lost is not None and (strict or not found.dropped):
        raise UsageError(f"{reached[lost]}: no node of inode {lost} is there. Nothing is summed")
    for number, pieces in found.pieces.items():
        _inode(walk, number, pieces, number in reached)
    _attributes(walk, found, reached)
    for node in found.dropped:
        size, end = walk.sizes.get(node.number), node.offset + node.plain
        # the file may have been as long; a number that is damaged itself may say anything
        if size is not None and size < end <= size + shape.bytes:
            walk.sizes[node.number] = end
    return Layout(
        "jffs2", shape.bytes, shape.erasesize, shape.writesize,
        walk.done(shape.bytes), reached, walk.sizes, walk.pieces, found.counts,
        walk.nodes, walk.dead, shape.bytes_at, names=every_path(names, reached),
    )  # fmt: skip


class Scan:
    """Finds the nodes of a block."""

    def __init__(self, partition: Partition, block: int, found: Found, *, strict: bool) -> None:
        self.data = partition.data(block)
        self.page = partition.writesize
        self.block, self.base = block, block * partition.erasesize
        self.walk, self.found, self.strict = found.walk, found, strict
        self.last = len(self.data.rstrip(b"\xff"))

    def _take(self, little: struct.Struct, at: int) -> tuple[int, ...]:
        """The numbers of a form, in the byte order of the chip's nodes."""
        return form(little, self.found.order).unpack_from(self.data, at)

    def _head_sum(self, kind: int, size: int) -> int:
        return crc(form(SEALED, self.found.order).pack(MAGIC, kind | ACCURATE, size))

    def run(self) -> None:
        end, at = len(self.data), 0
        if self.last:
            self.found.written += 1
            self.found.headless += not self._is_head(0)
        while at < end:
            if end - at < HEAD.size:
                at = self._trying(at, end - at, lambda at: self._filled(at, end))
            else:
                at = self._trying(at, 4, self._next)

    def _trying(self, at: int, least: int, part: Callable[[int], int]) -> int:
        """A part that cannot be read is an error, or is dropped up to the next node."""
        try:
            return part(at)
        except UsageError as e:
            if self.strict:
                raise
            return self._drop(at, at + least, str(e).partition(";")[0])

    def _drop(self, at: int, to: int, why: str) -> int:
        """Gives what cannot be read up: to its own end if its header tells it, or to a header."""
        end = len(self.data)
        if self._is_head(at):
            size = self._take(HEAD, at)[2]
            to = max(to, min(at + (size + 3 & ~3), end))
        last = min(self.last + 3 & ~3, end)
        while to < last and not self._is_head(to):
            to += 4
        self.walk.add(self.base + at, to - at, Kind.OBSOLETE, "dropped")
        self.found.dropped.append(Dropped(self.base + at, to - at, why, *self._was(at)))
        return to

    def _is_head(self, at: int) -> bool:
        """Whether a node begins here, by its header's checksum."""
        if at + HEAD.size > len(self.data):
            return False
        magic, kind, size, head_crc = self._take(HEAD, at)
        return magic == MAGIC and head_crc == self._head_sum(kind, size)

    def _was(self, at: int) -> tuple[str, int, int, int]:
        """Kind, file, offset and bytes of a node, as far as they are sure.

        They are where the header's checksum is right, or where the node was torn: what comes after
        it in the page of its end was never written, so what comes before is as it was.
        """
        if not self._is_head(at):
            return "", 0, 0, 0
        _, kind, size, _ = self._take(HEAD, at)
        name = NAMES.get(kind | ACCURATE, "")
        if name != "inode" or at + INODE_NODE.size > len(self.data):
            return name, 0, 0, 0
        node = self._take(INODE_NODE, at)
        if crc(self.data[at : at + 60]) == node[20]:
            return name, node[4], node[13], node[15]
        written = self._written_to(at, at + size)
        if written >= at + 56:
            return name, node[4], node[13], node[15]
        return (name, node[4], 0, ANY) if written >= at + 16 else (name, 0, 0, 0)

    def _written_to(self, at: int, end: int) -> int:
        """The begin of the first page after ``at`` that was never written; at if there is none."""
        for page in range(-(-at // self.page) * self.page, min(end, len(self.data)), self.page):
            if not self.data[page : page + self.page].strip(b"\xff"):
                return page
        return at

    def _next(self, at: int) -> int:
        magic, kind, size, head_crc = self._take(HEAD, at)
        if magic == 0xFFFF:
            return self._erased(at)
        if magic == 0:
            return self._zeroes(at)
        if bytes(self.data[at : at + 2]) in MARKS and magic != MAGIC:
            damaged("a JFFS2 of the other byte order", self.block, at)
        if magic != MAGIC:
            damaged("no JFFS2 node where one should be", self.block, at)
        return self._node(at, kind, size, head_crc)

    def _filled(self, at: int, end: int) -> int:
        if self.data[at:end].strip(b"\xff") and self.data[at:end].strip(b"\0"):
            damaged("no JFFS2 node where one should be", self.block, at)
        self.walk.add(self.base + at, end - at, Kind.SLACK, "block ends")
        return end

    def _erased(self, at: int) -> int:
        """To the next node, or the end of the block, which is free from its next page on."""
        following = NOT_ERASED.search(self.data, at)
        if following is None:
            page = -(-at // self.page) * self.page
            self.walk.add(self.base + at, page - at, Kind.SLACK, "padding")
            self.walk.add(self.base + page, len(self.data) - page, Kind.FREE, "erased")
            return len(self.data)
        to = following.start() & ~3
        if to == at:
            damaged("no JFFS2 node where one should be", self.block, at)
        self.walk.add(self.base + at, to - at, Kind.SLACK, "gaps")
        return to

    def _zeroes(self, at: int) -> int:
        """The rest of a page that was too short for a padding node."""
        to = min(-(-(at + 1) // self.page) * self.page, len(self.data))
        if to - at >= HEAD.size or self.data[at:to].strip(b"\0"):
            damaged("no JFFS2 node where one should be", self.block, at)
        self.walk.add(self.base + at, to - at, Kind.SLACK, "padding")
        return to

    def _node(self, at: int, kind: int, size: int, head_crc: int) -> int:
        true_kind = kind | ACCURATE
        if self._head_sum(kind, size) != head_crc:
            damaged("a node's header has a wrong checksum", self.block, at)
        if true_kind not in NAMES:
            damaged(f"a node of unknown kind 0x{kind:04x}", self.block, at)
        self.found.crossing += at + size > len(self.data)
        if size < LEAST[true_kind] or at + size > len(self.data):
            damaged("a node of impossible length", self.block, at)
        to = min(at + (size + 3 & ~3), len(self.data))
        if kind != true_kind and not self.strict:
            damaged("a node is marked obsolete, which JFFS2 does not do on NAND", self.block, at)
        if kind != true_kind:
            self.walk.add(self.base + at, to - at, Kind.OBSOLETE, "marked obsolete")
        elif true_kind == PADDING:
            self.walk.add(self.base + at, to - at, Kind.SLACK, "padding")
            self.found.pad(at, to)
        else:
            if true_kind == CLEANMARKER:
                self.walk.add(self.base + at, size, Kind.METADATA, "clean markers")
            else:
                READ[true_kind](self, at, size)
            self.walk.add(self.base + at + size, to - at - size, Kind.SLACK, "alignment")
        self.found.counts[NAMES[true_kind]] += 1
        self.found.sound += to - at
        return to

    def _sums(self, at: int, covered: int, node_crc: int) -> None:
        if crc(self.data[at : at + covered]) != node_crc:
            damaged("a node has a wrong checksum", self.block, at)

    def _stored(self, start: int, count: int, size: int, at: int, data_crc: int) -> None:
        if start + count != at + size:
            damaged("a node of impossible length", self.block, at)
        if crc(self.data[start : start + count]) != data_crc:
            damaged("a node's data have a wrong checksum", self.block, at)

    def dirent(self, at: int, size: int) -> None:
        node = self._take(DIRENT_NODE, at)
        parent, version, number, _, name_bytes, _, _, node_crc, name_crc = node[4:]
        self._sums(at, 32, node_crc)
        start = at + DIRENT_NODE.size
        self._stored(start, name_bytes, size, at, name_crc)
        name = self.data[start : start + name_bytes]
        self.found.dirents.append(Dirent(self.base + at, parent, version, number, name))

    def inode(self, at: int, size: int) -> None:
        node = self._take(INODE_NODE, at)
        number, version, mode, _, _, isize, _, _, _, offset, stored, plain = node[4:16]
        self._sums(at, 60, node[20])
        self._stored(at + INODE_NODE.size, stored, size, at, node[19])
        compressor = node[16]
        if compressor == NO_COMPRESSION and stored != plain:
            damaged("a node of impossible length", self.block, at)
        self.found.pieces[number].append(
            Data(version, self.base + at, offset, stored, plain, isize, compressor, mode)
        )

    def xattr(self, at: int, size: int) -> None:
        node = self._take(XATTR_NODE, at)
        number, version, _, name_bytes, value_bytes, data_crc, node_crc = node[4:]
        self._sums(at, 28, node_crc)
        held = XATTR_NODE.size + name_bytes + 1 + value_bytes
        if held + 3 & ~3 != size:
            damaged("a node of impossible length", self.block, at)
        self._stored(at + XATTR_NODE.size, held - XATTR_NODE.size, held, at, data_crc)
        self.walk.add(self.base + at + held, size - held, Kind.SLACK, "alignment")
        self.found.attributes.append(Attribute(self.base + at, number, version, held))

    def xref(self, at: int, size: int) -> None:
        inode, attribute, version, node_crc = self._take(XREF_NODE, at)[4:]
        self._sums(at, 24, node_crc)
        if size != XREF_NODE.size:
            damaged("a node of impossible length", self.block, at)
        self.found.references.append(Reference(self.base + at, inode, attribute, version))

    def summary(self, at: int, size: int) -> None:
        entries, _, _, sum_crc, node_crc = self._take(SUMMARY_NODE, at)[4:]
        self._sums(at, 24, node_crc)
        start, end = at + SUMMARY_NODE.size, at + size
        if crc(self.data[start:end]) != sum_crc:
            damaged("a summary has a wrong checksum", self.block, at)
        place, mark = self._take(ENDING, end - 8)
        self.found.elsewhere += mark == SUMMARY_MARK and place != at
        if (place, mark) != (at, SUMMARY_MARK):
            damaged("a summary without its mark", self.block, at)
        for _ in range(entries):
            if start + 24 > end:
                damaged("a summary of more entries than it has room for", self.block, at)
            (kind,) = self._take(KIND_OF, start)
            if kind not in SUMMED:
                damaged("a summary's entry of unknown kind", self.block, start)
            start += SUMMED[kind] + (self.data[start + 22] if kind == DIRENT else 0)
        if start > end - 8:
            damaged("a summary of more entries than it has room for", self.block, at)
        self.walk.add(self.base + at, start - at, Kind.METADATA, "summaries")
        self.walk.add(self.base + start, end - 8 - start, Kind.SLACK, "padding of summaries")
        self.walk.add(self.base + end - 8, 8, Kind.METADATA, "summaries")


READ = {
    DIRENT: Scan.dirent,
    INODE: Scan.inode,
    SUMMARY: Scan.summary,
    XATTR: Scan.xattr,
    XREF: Scan.xref,
}


def _dirents(walk: Walk, found: Found) -> list[Dirent]:
    """Tells names that hold from those that do not; gives those of files that are there."""
    latest: dict[tuple[int, bytes], Dirent] = {}
    for d in found.dirents:
        held = latest.get((d.parent, d.name))
        if held is None or d.version > held.version:
            latest[d.parent, d.name] = d
    holding = [d for d in latest.values() if d.number]
    reached = paths(((d.parent, d.number, "") for d in holding), ROOT)
    for d in found.dirents:
        size = DIRENT_NODE.size + len(d.name)
        if latest[d.parent, d.name] is not d or d.parent not in reached:
            walk.add(d.at, size, Kind.OBSOLETE, "names")
        elif not d.number:
            walk.add(d.at, size, Kind.METADATA, "deletion names")
        else:
            walk.add(d.at, DIRENT_NODE.size, Kind.METADATA, "node headers", d.number)
            walk.add(d.at + DIRENT_NODE.size, len(d.name), Kind.METADATA, "names", d.number)
    return [d for d in holding if d.parent in reached]


def _inode(walk: Walk, number: int, pieces: list[Data], reached: bool) -> None:
    """Accounts for an inode's nodes."""
    by_version: dict[int, Data] = {}
    for piece in pieces:
        held = by_version.setdefault(piece.version, piece)
        if held is not piece or not reached:
            part = "older copies of nodes" if reached else "nodes of deleted files"
            walk.add(piece.at, INODE_NODE.size + piece.stored, Kind.OBSOLETE, part)
            walk.dead[number] += INODE_NODE.size + piece.stored
    if not reached:
        return
    order = sorted(by_version.values(), reverse=True)
    latest = order[0]
    if latest.mode & 0o170000 != REGULAR:
        for piece in order:
            _special(walk, number, piece, piece is latest)
        return
    walk.sizes[number] = latest.isize
    covered = Covered(latest.isize)
    walk.nodes[number] = [
        piece.at for piece in order if _piece(walk, number, piece, covered, piece is latest)
    ]


def _special(walk: Walk, number: int, piece: Data, latest: bool) -> None:
    if not latest:
        walk.add(piece.at, INODE_NODE.size + piece.stored, Kind.OBSOLETE, "covered nodes")
        return
    walk.add(piece.at, INODE_NODE.size, Kind.METADATA, "node headers", number)
    walk.add(piece.at + INODE_NODE.size, piece.stored, Kind.METADATA, "link targets", number)


def _piece(walk: Walk, number: int, piece: Data, covered: Covered, latest: bool) -> bool:
    """One node of a regular file, of which newer nodes cover parts; False if they cover it all."""
    seen = covered.take(piece.offset, piece.offset + piece.plain)
    visible = sum(to - start for start, to in seen)
    walk.dead[number] += _dead(piece, visible, latest=latest)
    start = piece.at + INODE_NODE.size
    if not seen and not latest:
        walk.add(piece.at, INODE_NODE.size + piece.stored, Kind.OBSOLETE, "covered nodes")
        return False
    walk.add(piece.at, INODE_NODE.size, Kind.METADATA, "node headers", number)
    stored = 0 if piece.compressor == ZEROES else piece.stored
    packing = PACKINGS.get(piece.compressor, f"compressor {piece.compressor}")
    walk.pieces += [
        Piece(number, at, to - at, start, stored, at - piece.offset, packing, piece.plain)
        for at, to in seen
    ]
    if piece.compressor == ZEROES:
        walk.add(start, piece.stored, Kind.OBSOLETE, "covered data")
    elif piece.compressor != NO_COMPRESSION:
        kind, part = (Kind.USER, "data") if seen else (Kind.OBSOLETE, "covered data")
        walk.add(start, piece.stored, kind, part, number)
    else:
        _uncompressed(walk, number, piece, seen)
    return True


def _uncompressed(walk: Walk, number: int, piece: Data, seen: list[tuple[int, int]]) -> None:
    """The data of a node byte for byte: what is seen of it, and what newer nodes cover."""
    start = piece.at + INODE_NODE.size
    done = piece.offset
    for at, to in seen:
        walk.add(start + done - piece.offset, at - done, Kind.OBSOLETE, "covered data", number)
        walk.add(start + at - piece.offset, to - at, Kind.USER, "data", number)
        done = to
    rest = piece.offset + piece.plain - done
    walk.add(start + done - piece.offset, rest, Kind.OBSOLETE, "covered data", number)


def _dead(piece: Data, visible: int, *, latest: bool) -> int:
    """Bytes of a node that newer ones cover: a node that is compressed is kept whole."""
    if not visible:
        return piece.stored if latest else INODE_NODE.size + piece.stored
    return piece.plain - visible if piece.compressor == NO_COMPRESSION else 0


def _attributes(walk: Walk, found: Found, reached: dict[int, str]) -> None:
    newest: dict[tuple[int, int], Reference] = {}
    for r in found.references:
        held = newest.get((r.inode, r.attribute))
        if held is None or r.version > held.version:
            newest[r.inode, r.attribute] = r
    live = {r.attribute for r in newest.values() if r.inode in reached and not r.version & 1}
    for r in found.references:
        holds = newest[r.inode, r.attribute] is r and r.inode in reached
        kind = Kind.METADATA if holds else Kind.OBSOLETE
        walk.add(r.at, XREF_NODE.size, kind, "extended attributes", r.inode)
    latest: dict[int, Attribute] = {}
    for a in found.attributes:
        old = latest.get(a.number)
        if old is None or a.version > old.version:
            latest[a.number] = a
    for a in found.attributes:
        holds = latest[a.number] is a and a.number in live
        kind = Kind.METADATA if holds else Kind.OBSOLETE
        walk.add(a.at, a.bytes, kind, "extended attributes")
