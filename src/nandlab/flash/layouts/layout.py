# SPDX-License-Identifier: GPL-2.0-or-later
"""Where every byte of a partition belongs: what all decoders give, and what others read.

A decoder adds extents in any order. ``LayoutCollector.finish`` sorts them and refuses to make a
layout whose extents overlap or leave a byte out, so that any sum over a layout is the partition to
the byte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, NoReturn

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.index import Index

PATH_MAX = 4096
"""Letters of a path that are kept: folders may lie in each other as deep as a chip has room."""
NO_OWNER = 0
"""Owner of an extent that belongs to no file."""
HOLE = "hole"
"""Packing of a piece that is all zeroes, of which nothing is stored but that."""


class ByteKind(StrEnum):
    """What a byte of the partition is good for."""

    USER = "user"
    """Bytes of files as they are stored, compressed or not."""
    METADATA = "metadata"
    """What the file system needs to find them."""
    SLACK = "slack"
    """Filled up to a page, an alignment or a cluster."""
    OBSOLETE = "obsolete"
    """Written, no longer valid, not yet erased; or freed by the file system, and still kept by the
    layer under it."""
    FREE = "free"
    """Erased; or not written yet, in a unit that is."""
    BAD = "bad"
    """In a block that is marked bad."""


class Extent(NamedTuple):
    """Neighbouring bytes of one kind."""

    at: int
    """First byte, from the start of the partition; spare areas are not counted."""
    bytes: int
    kind: ByteKind
    part: str
    """What it is, in the file system's words."""
    owner: int
    """Its file's number; NO_OWNER: none."""


BytesAt = Callable[[int, int], bytes]
"""So many data bytes from there on, counted from the start of the partition, within a block."""


class FilePiece(NamedTuple):
    """A run of a file's content, and the stored bytes that have it."""

    owner: int
    offset: int
    """Of its first byte in the file."""
    bytes: int
    at: int
    """Of the first stored byte in the partition."""
    stored: int
    skip: int
    """Bytes of the plain form of what is stored that come before its first byte."""
    packing: str
    """The compressor; empty: stored as it is; HOLE."""
    plain: int
    """Bytes of the plain form of all that is stored: newer pieces may hold parts of it."""


class VolumeUse(NamedTuple):
    """A volume of UBI."""

    number: int
    name: str
    static: bool
    reserved: int
    """Physical blocks that it may take."""
    mapped: int
    """Physical blocks that it has."""


@dataclass(frozen=True)
class Layout:
    """A partition, byte for byte."""

    filesystem: str
    partition_bytes: int
    erasesize: int
    writesize: int
    extents: list[Extent] = field(repr=False)
    """In order of ``at``; each begins where the last one ends."""
    paths: dict[int, str] = field(repr=False)
    """Owner -> path of its first name, from the file system's root."""
    sizes: dict[int, int] = field(repr=False)
    """Owner -> bytes of the file, holes included; regular files only."""
    pieces: list[FilePiece] = field(repr=False)
    """All that is stored of files, in no order; what no piece has is a hole."""
    counts: dict[str, int]
    """What the decoder counted: nodes, pages, chains."""
    nodes: dict[int, list[int]] = field(default_factory=dict, repr=False)
    """Owner -> first bytes of its nodes that hold, the newest first; of JFFS2's regular files."""
    dead: dict[int, int] | None = field(default=None, repr=False)
    """Owner -> written bytes of it that newer ones cover, not yet erased; None: whose bytes are
    covered is not known."""
    read_data: BytesAt | None = field(default=None, repr=False, compare=False)
    """The data bytes themselves; None: not kept."""
    index: Index | None = field(default=None, repr=False)
    """The index by which files are found; None: it is in memory alone."""
    chunk_bytes: int = 0
    """Bytes of a file that a page of the flash has, where files are kept in such chunks."""
    unpack_room: int = 0
    """Bytes that a decompressor is given room for; 0: as many as a node makes."""
    names: dict[str, int] = field(default_factory=dict, repr=False)
    """Each path -> the owner that it leads to: a file has one for each of its hard links; NO_OWNER:
    an empty file of which nothing is stored."""
    moved_owners: frozenset[int] = frozenset()
    """Owners of files whose nodes JFFS2's collector may have moved: some lie twice, or some that
    are not needed any more were erased."""
    last_copy: dict[int, int] = field(default_factory=dict, repr=False)
    """First byte of a node of JFFS2 that lies more than once -> that of the copy that lies last."""
    volumes: tuple[VolumeUse, ...] = ()
    """Those of UBI, if it is there."""
    notes: tuple[str, ...] = ()
    """What a dump was taken for otherwise than its file is."""
    page_seen: bool = True
    """False where the chip's pages may be larger than was told: how many are read is not known."""

    @cached_property
    def pieces_by_owner(self) -> dict[int, list[FilePiece]]:
        """Owner -> its pieces in order of the file."""
        found: dict[int, list[FilePiece]] = defaultdict(list)
        for piece in sorted(self.pieces):
            found[piece.owner].append(piece)
        return found

    @cached_property
    def packings(self) -> tuple[str, ...]:
        """The compressors of what is stored, that of most pieces first."""
        found = Counter(p.packing for p in self.pieces if p.packing not in {"", HOLE})
        return tuple(packing for packing, _ in found.most_common())

    @cached_property
    def _begins(self) -> list[int]:
        return [extent.at for extent in self.extents]

    def free(self, page: int) -> bool:
        """Whether nothing is written in a page of the flash."""
        at, end = page * self.writesize, (page + 1) * self.writesize
        within = bisect_right(self._begins, at) - 1
        found = self.extents[within] if within >= 0 else None
        return found is not None and found.kind == ByteKind.FREE and end <= found.at + found.bytes

    @property
    def logical_bytes(self) -> int:
        """Bytes of files that the stored ``user`` bytes stand for; holes are not counted."""
        return sum(piece.bytes for piece in self.pieces if piece.packing != HOLE)

    def sums(self) -> dict[ByteKind, int]:
        """Bytes of each kind."""
        total = dict.fromkeys(ByteKind, 0)
        for extent in self.extents:
            total[extent.kind] += extent.bytes
        return total

    def parts(self) -> dict[ByteKind, dict[str, int]]:
        """Bytes of each kind by part."""
        total: dict[ByteKind, dict[str, int]] = {kind: defaultdict(int) for kind in ByteKind}
        for extent in self.extents:
            total[extent.kind][extent.part] += extent.bytes
        return {kind: dict(sorted(parts.items())) for kind, parts in total.items()}


class LayoutCollector:
    """Collects the extents of a partition, and what its files have in them."""

    def __init__(self) -> None:
        self.extents: list[Extent] = []
        self.sizes: dict[int, int] = {}
        self.pieces: list[FilePiece] = []
        self.dead: dict[int, int] = defaultdict(int)
        self.nodes: dict[int, list[int]] = {}

    def add(self, at: int, count: int, kind: ByteKind, part: str, owner: int = NO_OWNER) -> None:
        """Notes ``count`` bytes from ``at``; 0 bytes are no extent."""
        if count:
            self.extents.append(Extent(at, count, kind, part, owner))

    def plain(self, at: int, count: int, owner: int, offset: int) -> None:
        """Notes ``count`` bytes of a file from ``offset``, stored as they are."""
        if count:
            self.extents.append(Extent(at, count, ByteKind.USER, "data", owner))
            self.pieces.append(FilePiece(owner, offset, count, at, count, 0, "", count))

    def finish(self, partition_bytes: int) -> list[Extent]:
        """All extents in order; UsageError if a byte is missing or counted twice."""
        self.extents.sort()
        joined: list[Extent] = []
        end = 0
        for extent in self.extents:
            if extent.at != end or extent.bytes <= 0:
                what = "counted twice" if extent.at < end else "not accounted for"
                raise UsageError(f"byte {min(end, extent.at)} of the partition is {what}")
            end += extent.bytes
            last = joined[-1] if joined else None
            if last and last[2:] == extent[2:]:
                joined[-1] = last._replace(bytes=last.bytes + extent.bytes)
            else:
                joined.append(extent)
        if end != partition_bytes:
            raise UsageError(f"{end} bytes are accounted for, the partition has {partition_bytes}")
        return joined


def refuse_damaged_image(what: str, block: int, offset: int) -> NoReturn:
    """Refuses an image; offset: in bytes of data from the start of the block."""
    raise UsageError(
        f"block {block}, byte {offset}: {what}; the image is damaged, was cut off by a loss of "
        "power, or is of another file system or chip. Nothing is summed"
    )


def refuse_unheld_block(logical: int) -> NoReturn:
    """Refuses an image of which a logical block that the file system needs is in no block."""
    raise UsageError(
        f"no block holds the volume's logical block {logical}, which is needed: the image was cut "
        "off, or blocks were left out of it. Nothing is summed"
    )


def map_numbers_to_paths(names: Iterable[tuple[int, int, str]], root: int) -> dict[int, str]:
    """Number -> path of all that is reached from the root; names: (parent, number, name)."""
    within: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for parent, number, name in names:
        within[parent].append((number, name))
    paths = {root: "/"}
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        for number, name in sorted(within.get(folder, [])):
            if number not in paths:
                paths[number] = join_bounded_path(paths[folder], name)
                waiting.append(number)
    return paths


def map_paths_to_numbers(
    names: Iterable[tuple[int, int, str]], reached: dict[int, str]
) -> dict[str, int]:
    """Each path -> number, of names (parent, number, name) whose folder has a path."""
    return {
        join_bounded_path(reached[parent], name): n
        for parent, n, name in names
        if parent in reached
    }


def join_bounded_path(folder: str, name: str) -> str:
    """The path of a name in a folder; of one that is longer than PATH_MAX only its end."""
    path = f"{folder.rstrip('/')}/{name}"
    return path if len(path) <= PATH_MAX else f"...{path[len(path) - PATH_MAX :]}"


def decode_file_name(name: bytes) -> str:
    """A name for people; bytes that are not UTF-8 are shown as escapes."""
    return name.decode("utf-8", "backslashreplace")
