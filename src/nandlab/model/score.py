# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads against the model: flash pages call by call, then times.

The model is given the chip as it was when the trace began, or when it had ended. From the trace it
takes which page of the file each call reads, and what else passed the NAND core's buffer between
calls. All within a call is foretold.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.analysis.reprice import Part
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.model import times
from nandlab.model.every import State, reader_of
from nandlab.model.reads import PAGE, Call, FirstOpen, Pieces, Read
from nandlab.onflash.jffs2 import Dropped
from nandlab.onflash.layout import Layout
from nandlab.traced import cost, tables

READ_PAGE, LOOK_UP = "FS_READ_PAGE", "FS_LOOK_UP"
PRICED = ("MTD_READ", "FLASH_READ", "FLASH_HIT")
"""What a call does that tracing makes longer."""
EVENTS = (
    'SELECT seq, parent, event, start_ns, latency_ns, pid, object, "offset", size FROM events '
    f"WHERE event IN {(READ_PAGE, LOOK_UP, *PRICED, 'FLASH_PROGRAM', 'FLASH_ERASE')} "
    "ORDER BY start_ns, seq"
)
SLACK = 100
"""Instructions by which a read of a flash page may be longer than the shortest of the trace before
it counts as one during which something else ran."""
TICK_NS, LATE_NS = 4_000_000, 100_000
"""The kernel's tick: Debian's have 250 a second, at multiples of this of their clock. The latest
that was seen came 53 us after its time, on apf27."""


@dataclass(frozen=True)
class Traced:
    """A trace, and the chip that it was made on."""

    where: str
    """What messages call it."""
    filesystem: str
    chip: ChipModel
    board: Mapping[str, Any]
    """Its ``kernel``, and what ``traced.cost`` needs to know."""
    events: Path
    """The table of events, as ``traced.tables`` writes it, with causes and parents."""
    layout: Layout
    """What lay on the chip."""
    dropped: Sequence[Dropped] = ()
    """Nodes that were not whole there: a mounted file system keeps its last ones in memory. They
    are known to be missing, and what they hold is not."""
    at_end: bool = False
    """Whether the layout is that of the trace's end; else it is that of its begin."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the file system; those left out are default."""
    drops: Sequence[int] = ()
    """When caches were dropped while it went on, in ns of the board's clock."""
    mounted: bool = False
    """Whether the file system was mounted after its files were written."""

    @property
    def kernel(self) -> str:
        """The kernel's series, such as 6.1."""
        return cost.series(str(self.board["kernel"]))


class Row(NamedTuple):
    """An event of the trace."""

    seq: int
    parent: int
    event: str
    start_ns: int
    ns: int
    pid: int
    object: int
    offset: int
    size: int


@dataclass(frozen=True)
class Scored:
    """A traced call beside the foretold one."""

    row: Row
    path: str
    told: list[int]
    """Flash pages that the chip read, in order."""
    call: Call | FirstOpen = field(repr=False)
    known: bool
    """False where the image does not tell what the call reads: a node that may hold a part of it
    could not be read, the file system wrote between the call and the image, or may have it in
    memory."""
    disturbed: bool
    """Whether something else ran before the call ended: another thread that used the flash, or
    whatever made a read of a flash page longer than such reads are."""
    events: Mapping[str, int] = field(repr=False)
    """How many of PRICED lie in the call."""

    @property
    def ticked(self) -> bool:
        """Whether the kernel's tick may have come before the call ended; apf27's takes 11 us."""
        begin = self.row.start_ns - LATE_NS
        return begin // TICK_NS < (self.row.start_ns + self.row.ns) // TICK_NS

    @property
    def same(self) -> bool:
        """Whether N and the order of pages are as foretold."""
        return self.told == self.call.flash


def calls(trace: Traced) -> list[Scored]:
    """Every traced call that read a page of a file of the layout, or opened one first; UsageError
    if there are none, or the layout is another's."""
    reader_of(trace.filesystem, trace.where)
    rows = [Row(*row) for row in tables.query(trace.events, EVENTS)]
    if not any(row.event == READ_PAGE for row in rows):
        raise UsageError(f"{trace.where}: nothing in it reads a page of a file")
    found = list(_Walk(trace, rows).all())
    if not any(one.same for one in found if one.told):
        raise UsageError(f"{trace.where}: no call reads what the image has: it is of another trace")
    return found


@dataclass(frozen=True)
class Times:
    """A traced call's time without the tracers' own, and what was foretold."""

    scored: Scored
    ns: float
    """Measured, less what its events cost to trace."""
    page_ns: float
    """A page read of the part."""
    instruction_ns: float

    def foretold_ns(self, by: times.Instructions) -> float:
        """The time that the model gives, ns."""
        return times.ns(self.scored.call, by, self.page_ns, self.instruction_ns)

    def paper_ns(self, overhead_ns: float) -> float:
        """The time that the tracing paper's formula gives with this overhead, ns."""
        return times.paper_ns(self.scored.call, self.page_ns, overhead_ns)

    @property
    def processor(self) -> float:
        """What is left beside the chip's time, in instructions."""
        return (self.ns - len(self.scored.told) * self.page_ns) / self.instruction_ns


def times_of(trace: Traced, scored: Sequence[Scored]) -> list[Times]:
    """The times of the calls that are known; UsageError where the board counts no instructions.

    The time for a call that failed in its order of pages is that of the pages it did read.
    """
    instruction_ns = cost.instruction_ns(trace.board)
    if instruction_ns is None:
        raise UsageError(f"{trace.where}: on this board's clock no instruction has a time")
    chip = trace.chip
    part = Part.of(chip.name, chip.geometry, chip.timing, "typical")
    page_ns = times.page_ns(part, chip.geometry)
    costs = cost.read()
    each = {event: costs.price(trace.kernel, event, None) or 0 for event in PRICED}
    found = []
    for one in (s for s in scored if s.known):
        tracing = instruction_ns * sum(n * each[event] for event, n in one.events.items())
        found.append(Times(one, one.row.ns - tracing, page_ns, instruction_ns))
    return found


class _Walk:
    """Goes through a trace with the NAND core's buffer in hand."""

    def __init__(self, trace: Traced, rows: Sequence[Row]) -> None:
        self.layout, self.dropped, self.rows = trace.layout, trace.dropped, rows
        self.drops = sorted(trace.drops, reverse=True)
        self.state = State(self.layout, trace.options, mounted=trace.mounted)
        asked = (Read(row.offset, row.size) for row in rows if row.event == "MTD_READ")
        try:
            self.state.reader.begun(asked)
        except UsageError as e:
            raise UsageError(f"{trace.where}: {e}") from None
        self.per_block = self.layout.erasesize // self.layout.writesize
        self.inside = _inside(rows)
        waits = (row.ns for row in rows if row.event == "FLASH_READ")
        self.late_ns = min(waits, default=0)
        self.late_ns += SLACK * (cost.instruction_ns(trace.board) or 0)
        self.files: dict[int, Pieces] = {}
        writes = [i for i, row in enumerate(rows) if self._writes(row)]
        whole = range(len(rows))
        before, after = (
            whole[: min(writes, default=len(rows))],
            whole[max(writes, default=-1) + 1 :],
        )
        self.sound = after if trace.at_end else before
        """Indices of the rows at which the chip was as the layout has it."""

    def _writes(self, row: Row) -> bool:
        return row.event == "FLASH_PROGRAM" and row.size >= self.layout.writesize

    def all(self) -> Iterator[Scored]:
        state, buffer = self.state, self.state.buffer
        within = {row.seq for rows in self.inside.values() for row in rows}
        for i, row in enumerate(self.rows):
            while self.drops and self.drops[-1] <= row.start_ns:
                self.drops.pop()
                state.reader.drop()
            if row.event == READ_PAGE and row.object in self.layout.sizes:
                yield self._page(i)
            elif row.event == LOOK_UP:
                yield from self._open(i)
            elif row.event == "MTD_READ" and row.seq not in within:
                state.saw(Read(row.offset, row.size))
            elif row.event == "FLASH_PROGRAM":
                buffer.forget(row.object, row.object)
            elif row.event == "FLASH_ERASE":
                first = row.object * self.per_block
                buffer.forget(first, first + self.per_block - 1)

    def _page(self, i: int) -> Scored:
        row = self.rows[i]
        of = self.files.setdefault(row.object, Pieces(self.layout, row.object))
        page = row.offset // PAGE
        call = self.state.read(of, page)
        held = self._held(i, row.object, row.offset, row.offset + PAGE)
        held = held and self.state.reader.sure(of, page)
        return self._scored(i, self.layout.paths[row.object], call, known=held)

    def _open(self, i: int) -> Iterator[Scored]:
        """A first open, if it is one of a file of the image. The state is left as the kernel's own
        reads leave it, whose order may be another than the foretold one."""
        row = self.rows[i]
        inside = (r for r in self.inside[row.seq] if r.event == "MTD_READ")
        asked = [Read(r.offset, r.size) for r in inside]
        owner = self.state.reader.opened(asked)
        before = self.state.copy()
        for read in asked:
            self.state.saw(read)
        if owner is not None:
            opened = before.first_open(owner, row.object)
            held = self._held(i, owner, 0, max(1, self.layout.sizes[owner]))
            yield self._scored(i, self.layout.paths[owner], opened, known=held)

    def _held(self, i: int, owner: int, begin: int, end: int) -> bool:
        """Whether the image has all of a part of a file, as it was when it was read."""
        return i in self.sound and not any(d.may_hold(owner, begin, end) for d in self.dropped)

    def _scored(self, i: int, path: str, call: Call | FirstOpen, *, known: bool) -> Scored:
        inside = self.inside[self.rows[i].seq]
        of_chip = [row for row in inside if row.event == "FLASH_READ"]
        late = any(row.ns > self.late_ns for row in of_chip)
        events = Counter(row.event for row in inside if row.event in PRICED)
        told = [row.object for row in of_chip]
        disturbed = late or _disturbed(self.rows, i)
        return Scored(self.rows[i], path, told, call, known, disturbed, events)


def _disturbed(rows: Sequence[Row], i: int) -> bool:
    """Whether another thread used MTD or the chip before the call ended."""
    end = rows[i].start_ns + rows[i].ns
    for row in rows[i + 1 :]:
        if row.start_ns >= end:
            return False
        if row.pid != rows[i].pid:
            return True
    return False


def _inside(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Number of a call that reads a page or looks a name up -> what it did, in order."""
    by_seq = {row.seq: row for row in rows}
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        above = by_seq.get(row.parent)
        while above is not None and above.event not in {READ_PAGE, LOOK_UP}:
            above = by_seq.get(above.parent)
        if above is not None:
            found[above.seq].append(row)
    return found


def pages_read(events: Path, inode: int) -> list[int]:
    """The pages of a file that the calls of a trace's table read, in order."""
    rows = (Row(*row) for row in tables.query(events, EVENTS))
    return [r.offset // PAGE for r in rows if r.event == READ_PAGE and r.object == inode]


def summary(trace: Traced, scored: Sequence[Scored]) -> dict[str, Any]:
    """What ``nandlab model score --json`` prints; errors are shares of the measured time."""
    pages = [s for s in scored if isinstance(s.call, Call)]
    known = [s for s in pages if s.known]
    wrong = [s for s in scored if s.known and not s.same]
    found: dict[str, Any] = {
        "calls": len(pages),
        "unknown": len(pages) - len(known),
        "differ": sum(not s.same for s in known),
        "disturbed": sum(s.disturbed for s in known),
        "ticked": sum(s.ticked for s in known),
        "first_that_differ": [
            {"path": s.path, "page": _page(s), "traced": s.told, "foretold": s.call.flash}
            for s in wrong
        ][:5],
    }
    by, why = _instructions(trace, scored)
    found["opens"] = [_opened(t, by) for t in times_of(trace, [s for s in scored if not _is(s)])]
    told = times_of(trace, pages)
    if not told:
        return found
    still = [t for t in told if not (t.scored.disturbed or t.scored.ticked)]
    overhead = statistics.fmean(t.ns - len(t.scored.told) * t.page_ns for t in told)
    paper = [t.paper_ns(overhead) for t in told]
    return found | {
        "n": sum(len(t.scored.told) for t in told),
        "measured_ns": round(sum(t.ns for t in told)),
        "chip_ns": round(sum(len(t.scored.told) * t.page_ns for t in told)),
        "nandlab": errors([t.foretold_ns(by) for t in told], told) if by else None,
        "undisturbed": errors([t.foretold_ns(by) for t in still], still) if by and still else None,
        "not_known": why,
        "paper": errors(paper, told) | {"overhead_ns": round(overhead)},
    }


def _instructions(
    trace: Traced, scored: Sequence[Scored]
) -> tuple[times.Instructions | None, str | None]:
    """What the trace's calls take, or None and why that is not known."""
    try:
        by = times.instructions(trace.filesystem, trace.kernel)
        for one in scored:
            times.ns(one.call, by, 0, 0)
    except UsageError as e:
        return None, str(e)
    return by, None


def _is(scored: Scored) -> bool:
    """Whether a call reads a page of a file; else it is a first open."""
    return isinstance(scored.call, Call)


def _page(scored: Scored) -> int | None:
    return scored.call.page if isinstance(scored.call, Call) else None


def _opened(of: Times, by: times.Instructions | None) -> dict[str, Any]:
    """A first open beside the foretold one."""
    return {
        "path": of.scored.path,
        "n": len(of.scored.told),
        "same": of.scored.same,
        "measured_ns": round(of.ns),
        "error": round(of.foretold_ns(by) / of.ns - 1, 6) if by else None,
    }


def errors(told: Sequence[float], traced: Sequence[Times]) -> dict[str, float]:
    """How far foretold times are off, as shares: their sum, and the median, the 99th percentile and
    the most of single calls."""
    measured = [t.ns for t in traced]
    each = sorted(abs(a / b - 1) for a, b in zip(told, measured, strict=True))
    return {
        "total": round(sum(told) / sum(measured) - 1, 6),
        "median": round(statistics.median(each), 6),
        "p99": round(each[min(len(each) - 1, int(0.99 * len(each)))], 6),
        "max": round(each[-1], 6),
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The summary in words."""
    known = found["calls"] - found["unknown"]
    yield f"{found['calls']} calls read a page of a file; {found['unknown']} of pages not known"
    yield f"N and the order of flash pages: equal in {known - found['differ']} of {known}"
    for one in found["first_that_differ"]:
        what = "first open" if one["page"] is None else f"page {one['page']}"
        yield f"  {one['path']} {what}: {one['traced']}, foretold {one['foretold']}"
    ran, ticked = found["disturbed"], found["ticked"]
    yield f"something else ran before the end of {ran}; the timer's tick may have in {ticked}"
    for one in found["opens"]:
        same = "as foretold" if one["same"] else "other flash pages than foretold"
        took, off = one["measured_ns"] / 1e6, one["error"]
        error = "" if off is None else f", {off:+.3%}"
        yield f"first open of {one['path']}: N {one['n']}, {same}; {took:.3f} ms{error}"
    if "nandlab" not in found:
        return
    yield (
        f"time: {found['measured_ns'] / 1e6:.3f} ms without the tracers' own, N {found['n']}, "
        f"{found['chip_ns'] / 1e6:.3f} ms of it the chip's"
    )
    if found["not_known"]:
        yield f"  {found['not_known']}"
    for name, what in (
        ("nandlab", "nothing fitted here"),
        ("undisturbed", "those calls alone during which nothing else ran, no tick either"),
        ("paper", "its overhead fitted here"),
    ):
        if (e := found[name]) is None:
            continue
        yield (
            f"  {name:11} total {e['total']:+.3%}, a call: median {e['median']:.3%}, "
            f"p99 {e['p99']:.2%}, max {e['max']:.2%} ({what})"
        )
