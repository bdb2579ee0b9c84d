# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file's pages lie on flash: fragments, flash pages, and how many of them a read costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.model import reads
from nandlab.model.reads import PAGE, Call, PageBuffer, Pieces
from nandlab.onflash.jffs2 import INODE_NODE, Dropped
from nandlab.onflash.layout import Kind, Layout, Piece


class PageRow(NamedTuple):
    """A page of a file."""

    page: int
    nodes: int
    flash: list[int]
    """Flash pages of a read of it alone, in order."""
    in_sequence: int
    """N where the pages before it have just been read."""
    known: bool
    """False where a node that may hold a part of it could not be read."""

    @property
    def alone(self) -> int:
        """N with nothing in the buffer."""
        return len(self.flash)


@dataclass(frozen=True)
class FileMap:
    """A file's pages, and what they come to."""

    path: str
    size: int
    rows: list[PageRow]
    live_bytes: int
    """Stored bytes of nodes that the file needs, headers included."""
    dead_bytes: int
    """Of these, data that newer nodes cover."""
    rewritten: float
    """Mean N in sequence if the file were written anew, in order and compressed as it is."""

    @property
    def mean(self) -> float:
        """Mean N in sequence, of the pages that are known and stored."""
        found = [r.in_sequence for r in self.rows if r.known and r.nodes]
        return sum(found) / len(found) if found else 0.0

    def distribution(self) -> dict[int, int]:
        """Pages by N in sequence."""
        return dict(sorted(Counter(r.in_sequence for r in self.rows if r.known).items()))


def calls(
    layout: Layout, pieces: Pieces, pages: Sequence[int], *, carry: bool = True
) -> Iterator[Call]:
    """Reads pages of a file, in this order; carry: with what the call before left in the buffer."""
    buffer = PageBuffer(layout.writesize)
    for page in pages:
        yield reads.call(layout.filesystem, pieces, page, buffer)
        if not carry:
            buffer = PageBuffer(layout.writesize)


def file_map(layout: Layout, owner: int, dropped: Sequence[Dropped] = ()) -> FileMap:
    """The map of a regular file; UsageError where its file system's reads are not modelled."""
    pieces = Pieces(layout, owner)
    pages = range(pieces.pages)
    alone = calls(layout, pieces, pages, carry=False)
    in_turn = calls(layout, pieces, pages)
    unknown = {p for p in pages for d in dropped if d.may_hold(owner, p * PAGE, (p + 1) * PAGE)}
    rows = [
        PageRow(a.page, len(a.pieces), a.flash, len(b.flash), a.page not in unknown)
        for a, b in zip(alone, in_turn, strict=True)
    ]
    nodes = {piece.at: piece for page in pages for piece in pieces.of(page)}
    live = sum(INODE_NODE.size + piece.stored for piece in nodes.values())
    of_file = (e for e in layout.extents if e.owner == owner and e.kind is Kind.OBSOLETE)
    return FileMap(
        layout.paths.get(owner, f"inode {owner}"),
        pieces.size,
        rows,
        live,
        sum(e.bytes for e in of_file),
        _rewritten(layout, pieces),
    )


def _rewritten(layout: Layout, pieces: Pieces) -> float:
    """Mean N of nodes of a page each, one after the other: as far as a block's end."""
    at, found, buffer = 0, [], PageBuffer(layout.writesize)
    for page in range(pieces.pages):
        of = pieces.of(page)
        if not of:
            continue
        plain = sum(p.bytes for p in of)
        stored = round(sum(p.bytes * p.stored / p.plain for p in of))
        start = at + INODE_NODE.size
        node = Piece(0, page * PAGE, plain, start, stored, 0, of[0].packing, plain)
        accesses = [
            a for read in reads.model_of(layout.filesystem)([node]) for a in buffer.read(read)
        ]
        found.append(sum(not a.hit for a in accesses))
        at = start + (stored + 3 & ~3)
    return sum(found) / len(found) if found else 0.0
