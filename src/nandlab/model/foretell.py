# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading a file will cost: its first open, then a call for each page in an order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nandlab.base.errors import UsageError
from nandlab.model import cost, lookup, reads
from nandlab.model.cost import Rates
from nandlab.model.reads import PAGE, PageBuffer, Pieces
from nandlab.onflash.jffs2 import Dropped
from nandlab.onflash.layout import Layout
from nandlab.trace.folder import TraceFolder
from nandlab.traced import tables

Formula = Literal["nandlab", "paper"]


@dataclass(frozen=True)
class Foretold:
    """One call."""

    page: int | None
    """Of the file; None: the first open."""
    flash: list[int]
    """Flash pages that the chip reads, in order; as many are N."""
    hits: int
    """Pages that the NAND core's buffer had."""
    nodes: int
    ns: float | None
    """Of the board; None: not known, since the image lacks what the call may read, or since the
    formula has no first open."""
    known: bool
    """False where a node that may hold a part of the page could not be read."""


def touched(dropped: Iterable[Dropped], owner: int, page: int) -> bool:
    """Whether a node that could not be read may hold a part of a page of a file.

    A node whose file is not known may be of any page.
    """
    start, end = page * PAGE, (page + 1) * PAGE
    return any(
        not node.number
        or (node.number == owner and node.offset < end and start < node.offset + node.plain)
        for node in dropped
    )


def calls(
    layout: Layout,
    dropped: Sequence[Dropped],
    owner: int,
    order: Iterable[int],
    rates: Rates,
    formula: Formula = "nandlab",
) -> Iterator[Foretold]:
    """The first open of a file, then the call for each page of an order."""
    buffer, pieces = PageBuffer(layout.writesize), Pieces(layout, owner)
    nodes = len(layout.nodes.get(owner, []))
    opened = lookup.first_open(layout, owner, buffer)
    flash = [a.page for a in opened if not a.hit]
    known = not any(node.number in (0, owner) for node in dropped)
    work = lookup.work(nodes, opened)
    ns = rates.ns(work, len(flash)) if known and formula == "nandlab" else None
    yield Foretold(None, flash, len(opened) - len(flash), nodes, ns, known)
    for page in order:
        call = reads.call(layout.filesystem, pieces, page, buffer)
        known, n = not touched(dropped, owner, page), len(call.flash)
        told = rates.paper_ns(n) if formula == "paper" else rates.ns(cost.work(call), n)
        ns = told if known else None
        yield Foretold(page, call.flash, call.hits, len(call.pieces), ns, known)


def order_of(text: str, pages: int, path: str) -> list[int]:
    """Pages of a file in the order that a text names: sequential, random:SEED or a trace's folder.

    At random every page is read once. UsageError says what is wrong with the text.
    """
    if text == "sequential":
        return list(range(pages))
    name, _, seed = text.partition(":")
    if name == "random":
        if not seed.isdecimal():
            raise UsageError(f"--order {text}: give a seed, a number: random:1")
        found = list(range(pages))
        random.Random(int(seed)).shuffle(found)
        return found
    if not Path(text).is_dir():
        raise UsageError(f"--order {text}: must be sequential, random:SEED or a trace's folder")
    return traced_order(TraceFolder(Path(text)), pages, path)


def traced_order(trace: TraceFolder, pages: int, path: str) -> list[int]:
    """Pages of a file in the order in which a trace reads them; UsageError if it has others."""
    rows = tables.query(
        trace.events,
        "SELECT \"offset\", path FROM events WHERE event = 'FS_READ_PAGE' ORDER BY seq",
    )
    found = [int(offset) // PAGE for offset, read in rows if read == path]
    if not found:
        raise UsageError(f"{trace.path}: it reads no page of {path}")
    if max(found) >= pages:
        raise UsageError(
            f"{trace.path}: it reads page {max(found)} of {path}, which has {pages} in the image: "
            "the image is not of this trace"
        )
    return found


def printer(path: str) -> Callable[[Foretold], list[object]]:
    """A line of a table for each call: path, page, N, hits, nodes, ns, flash pages."""

    def line(call: Foretold) -> list[object]:
        page = "open" if call.page is None else call.page
        ns = "" if call.ns is None else round(call.ns)
        flash = " ".join(map(str, call.flash))
        n = len(call.flash) if call.known else ""
        return [path, page, n, call.hits if call.known else "", call.nodes, ns, flash]

    return line
