# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads of the MTD device, and the flash pages that they take through the NAND core's buffer.

Which reads a page of a file takes is each file system's own: ``every`` has them. Source: Linux 6.1,
drivers/mtd/nand/raw/nand_base.c; docs/model.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from nandlab.base.errors import UsageError
from nandlab.flash.layouts.layout import HOLE, FilePiece, Layout
from nandlab.flash.reading import tokencount
from nandlab.flash.reading.tokencount import TokenCounts

PAGE_BYTES = 4096
"""Bytes of a page of the page cache."""
LISTED_PAGES, LISTED_PER_PIECE = 4096, 8
"""Pages of a file of which all are told of, holes too; for each piece, so many more. A file may be
far larger than its chip, and so may the size in a damaged node be."""


class MtdRead(NamedTuple):
    """A read of the MTD device."""

    at: int
    """From the start of the partition."""
    bytes: int
    spare: bool = False
    """Whether bytes of the spare area are read with it."""
    branches: int = 0
    """Of the node of the index that is read; 0: it is none."""


class PageAccess(NamedTuple):
    """A flash page that a read asked for."""

    page: int
    """From the start of the partition."""
    hit: bool
    """Whether the NAND core had it in its buffer, so that the chip read nothing."""
    bypasses_buffer: bool
    """Whether it was read past the buffer, straight to its reader."""
    bytes: int
    """Of the page that were asked for."""
    registered: bool = False
    """Whether the chip still had the page in its register: it then needs the bus alone."""


class PageBuffer:
    """The NAND core's buffer of one page, and the chip's register below it.

    A read of a part of a page goes through it and leaves the page there. A read of a whole page
    goes past it and leaves it as it was, unless it is that very page, which is then copied. A read
    with the spare area always goes to the chip, and leaves nothing there.

    The chip's register has the page that the chip read last, until it programs or erases.
    """

    def __init__(self, writesize: int, page: int | None = None) -> None:
        self.writesize = writesize
        self.page = page
        self.register: int | None = None

    def read(self, read: MtdRead) -> Iterator[PageAccess]:
        """The pages of a read, in order."""
        position, end = read.at, read.at + read.bytes
        while position < end:
            page, column = divmod(position, self.writesize)
            count = min(end - position, self.writesize - column)
            hit, is_whole_page = page == self.page and not read.spare, count == self.writesize
            if not hit and not is_whole_page:
                self.page = None if read.spare else page
            registered = not hit and page == self.register
            if not hit:
                self.register = page
            yield PageAccess(page, hit, is_whole_page and not hit, count, registered)
            position += count

    def forget(self, first: int, last: int) -> None:
        """After a program of a page, or the erase of its block: first to last, both of them."""
        self.register = None
        if self.page is not None and first <= self.page <= last:
            self.page = None


class FilePieces:
    """A file's content by page of the file."""

    def __init__(self, layout: Layout, owner: int) -> None:
        self.layout, self.owner = layout, owner
        self.size = layout.sizes[owner]
        self._all = layout.pieces_by_owner.get(owner, [])
        self._ends = [p.offset + p.bytes for p in self._all]
        self.counted: dict[int, TokenCounts | None] = {}
        """First byte of a compressed node's data -> its tokens, as far as they were asked for."""
        self.estimated = 0
        """Pages of which how they are packed is not known, but taken to be as another state is."""

    @property
    def piece_count(self) -> int:
        """Pieces of the file, those of holes too."""
        return len(self._all)

    @cached_property
    def chunk_numbers(self) -> list[int]:
        """The numbers of a file's chunks that are stored, from 1, in order; its layout has some."""
        return sorted(piece.offset // self.layout.chunk_bytes + 1 for piece in self._all)

    @property
    def pages(self) -> int:
        """Pages of the file, the last one perhaps not full."""
        return -(-self.size // PAGE_BYTES)

    @property
    def listed(self) -> Sequence[int]:
        """The pages to tell of, in order: all, or of a file that is mostly holes, those of data."""
        if self.pages <= LISTED_PAGES + LISTED_PER_PIECE * len(self._all):
            return range(self.pages)
        held = (p for p in self._all if p.packing != HOLE)
        return sorted(
            {
                page
                for p in held
                for page in range(
                    p.offset // PAGE_BYTES, -(-min(p.offset + p.bytes, self.size) // PAGE_BYTES)
                )
            }
        )

    def tokens(self, piece: FilePiece) -> TokenCounts | None:
        """Those of a compressed node; None: of this compressor they are not known.

        UsageError where the layout has no bytes, but what a text told of them.
        """
        if piece.packing not in tokencount.TOKEN_COUNTERS:
            return None
        if piece.at not in self.counted:
            if self.layout.read_data is None:
                raise UsageError(
                    f"{piece.packing}: how long a node unpacks hangs on its bytes, which a text of "
                    "jffs2dump does not have: give a dump of the chip"
                )
            packed = self.layout.read_data(piece.at, piece.stored)
            room = self.layout.unpack_room
            self.counted[piece.at] = tokencount.count_node_tokens(
                piece.packing, packed, piece.plain, room
            )
        return self.counted[piece.at]

    def list_pieces(self, page: int) -> list[FilePiece]:
        """What is stored of a page of the file, in order; a hole has nothing."""
        first, pieces = bisect_right(self._ends, page * PAGE_BYTES), []
        for piece in self._all[first:]:
            if piece.offset >= (page + 1) * PAGE_BYTES:
                break
            pieces.append(piece)
        return pieces


@dataclass(frozen=True)
class FlashReading:
    """Flash pages that were asked for, one after the other."""

    accesses: Sequence[PageAccess] = field(repr=False)
    index: Sequence[int] | None = field(repr=False)
    """The branches of each node of the index that is read on the way; None: the file system has no
    index on flash."""

    @property
    def flash(self) -> list[int]:
        """Pages that the chip reads, in order; as many are N."""
        return [a.page for a in self.accesses if not a.hit]

    @property
    def hits(self) -> int:
        """Pages that the buffer had."""
        return sum(a.hit for a in self.accesses)

    @property
    def registered(self) -> int:
        """Of the pages that the chip reads, those that its register still has."""
        return sum(a.registered for a in self.accesses)


@dataclass(frozen=True)
class ReadCall(FlashReading):
    """One call that reads a page of a file."""

    file: FilePieces = field(repr=False)
    page: int
    """Of the file."""
    pieces: Sequence[FilePiece] = field(repr=False)


@dataclass(frozen=True)
class FirstOpen(FlashReading):
    """The first open of a file that is not in memory."""

    nodes: int
    """Of the file that are read."""
    ordered: bool = True
    """Whether the layout tells in which order; else this is one that is as good as others."""
    counted: bool = True
    """Whether the same flash pages are read in all of these orders."""


def find_inode_number(layout: Layout, path: str) -> int:
    """The number of a regular file; UsageError if there is none of this path."""
    full_path = "/" + path.strip("/")
    for owner in layout.sizes:
        if layout.paths.get(owner) == full_path:
            return owner
    paths = sorted(layout.paths[o] for o in layout.sizes if o in layout.paths)
    near = ", ".join(paths[:5]) + (", ..." if len(paths) > 5 else "")
    raise UsageError(f"{full_path}: no such file in the image; there are {near or 'none'}")
