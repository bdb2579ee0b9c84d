# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file's pages lie on flash: fragments, flash pages, and how many of them a read costs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading import rewrite
from nandlab.flash.reading.kernelstate import KernelState, find_filesystem_reader
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, ReadCall


@dataclass(frozen=True)
class PageSet(Container[int]):
    """Pages of a file, as stretches in order that do not touch: a stretch may be of any length."""

    stretches: Sequence[range]

    @classmethod
    def from_stretches(cls, stretches: Iterable[range]) -> PageSet:
        """All pages that lie in any of them."""
        ranges: list[range] = []
        for stretch in sorted(stretches, key=lambda r: r.start):
            if ranges and stretch.start <= ranges[-1].stop:
                ranges[-1] = range(ranges[-1].start, max(ranges[-1].stop, stretch.stop))
            elif stretch:
                ranges.append(stretch)
        return cls(ranges)

    def __contains__(self, page: object) -> bool:
        if not isinstance(page, int):
            return False
        at = bisect_right(self.stretches, page, key=lambda each: each.start) - 1
        return at >= 0 and page in self.stretches[at]

    def __len__(self) -> int:
        return sum(len(each) for each in self.stretches)


class PageRow(NamedTuple):
    """A page of a file."""

    page: int
    nodes: int
    flash: list[int]
    """Flash pages of a read of it alone, in order."""
    n_in_sequence: int | None
    """N where the page before it has just been read; None: it, or the page before, is not known."""
    is_known: bool
    """False where a node that may hold a part of it could not be read."""

    @property
    def n_alone(self) -> int:
        """N with nothing in the buffer, and nothing of the file system in memory."""
        return len(self.flash)


@dataclass(frozen=True)
class FileMap:
    """A file's pages, and what they come to."""

    path: str
    size: int
    rows: list[PageRow]
    """Of its pages; of a file that is mostly holes (:attr:`FilePieces.listed`), those of data."""
    unknown: int
    """Pages that are not known."""
    live_bytes: int
    """Stored bytes of nodes that the file needs, headers included."""
    dead_bytes: int | None
    """Bytes of nodes that newer ones cover, not yet erased; None: the layout does not tell."""
    rewritten: float | None
    """Mean N in sequence if the file's known pages were written anew, in order; None: none is
    stored."""
    estimated: int
    """Pages of which it is not known how they would be packed then."""

    @property
    def mean(self) -> float | None:
        """Mean N in sequence, of the pages that are known and stored; None: none is."""
        return _compute_mean(
            [n for r in self.rows if r.nodes and (n := r.n_in_sequence) is not None]
        )

    def distribution(self) -> dict[int, int]:
        """Pages by N in sequence."""
        return dict(
            sorted(Counter(n for r in self.rows if (n := r.n_in_sequence) is not None).items())
        )


def _compute_mean(found: Sequence[int]) -> float | None:
    return sum(found) / len(found) if found else None


def foretell_read_calls(
    layout: Layout,
    pieces: FilePieces,
    pages: Sequence[int],
    state: KernelState | None = None,
    *,
    carry: bool = True,
) -> Iterator[ReadCall]:
    """Reads pages of a file, in this order; carry: with what the call before left in memory.

    state: what is in memory before the first call; None: nothing.
    """
    state = state or KernelState(layout)
    for page in pages:
        yield state.read(pieces, page)
        if not carry:
            state = KernelState(layout)


def map_file_pages(
    layout: Layout, owner: int, dropped: Sequence[DroppedNode] = (), *, exact: bool = True
) -> FileMap:
    """The map of a regular file; UsageError where its file system's reads are not modelled.

    exact: whether its pages are packed, to tell how it would lie if it were rewritten.
    """
    pieces = FilePieces(layout, owner)
    pages = pieces.listed
    alone = foretell_read_calls(layout, pieces, pages, carry=False)
    in_turn = foretell_read_calls(layout, pieces, pages)
    unknown = find_unknown_pages(pieces, owner, dropped)
    rows, before = [], -1
    for a, b in zip(alone, in_turn, strict=True):
        told = a.page - 1 == before and a.page - 1 not in unknown and a.page not in unknown
        n = len(b.flash) if told else None
        rows.append(PageRow(a.page, len(a.pieces), a.flash, n, a.page not in unknown))
        before = a.page
    stored = {piece.at: piece.stored for piece in layout.pieces_by_owner.get(owner, [])}
    header = find_filesystem_reader(layout.filesystem).header
    return FileMap(
        layout.paths.get(owner, f"inode {owner}"),
        pieces.size,
        rows,
        len(unknown),
        sum(header + count for count in stored.values()),
        None if layout.dead is None else layout.dead.get(owner, 0),
        *_estimate_rewritten(layout, owner, unknown, exact=exact),
    )


def find_unknown_pages(pieces: FilePieces, owner: int, dropped: Sequence[DroppedNode]) -> PageSet:
    """Pages of which a node that could not be read, or is not there, may hold a part."""
    size = max(1, pieces.size)
    mine = [d for d in dropped if d.may_hold(owner, 0, size)]
    if any(not d.number for d in mine):
        return PageSet.from_stretches([range(pieces.pages)])
    ends = (-(-min(size, d.offset + d.plain) // PAGE_BYTES) for d in mine)
    return PageSet.from_stretches(
        range(d.offset // PAGE_BYTES, end) for d, end in zip(mine, ends, strict=True)
    )


def _estimate_rewritten(
    layout: Layout, owner: int, unknown: PageSet, *, exact: bool
) -> tuple[float | None, int]:
    """Mean N in sequence of the file written anew, and of how many pages it is an estimate."""
    pieces = rewrite.lay_file_out_alone(layout, owner, unknown, exact=exact)
    each = foretell_read_calls(pieces.layout, pieces, pieces.listed)
    n = _compute_mean([len(c.flash) for c in each if c.pieces and c.page not in unknown])
    return n, pieces.estimated
