# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads against the model: flash pages call by call, then times.

The model is given the chip as it was when the trace began. From the trace it takes which page of
the file each call reads, and what else passed the NAND core's buffer between calls. All within a
call is foretold.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.analysis.reprice import Part
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load
from nandlab.model import reads, times
from nandlab.model.reads import PAGE, Call, PageBuffer, Pieces, Read
from nandlab.onflash import jffs2
from nandlab.onflash.jffs2 import Dropped
from nandlab.onflash.layout import Layout
from nandlab.onflash.opened import opened
from nandlab.trace.folder import TraceFolder
from nandlab.traced import cost, tables

READ_PAGE = "FS_READ_PAGE"
EVENTS = (
    'SELECT seq, event, start_ns, latency_ns, pid, object, "offset", size FROM events WHERE '
    f"event IN ('{READ_PAGE}', 'MTD_READ', 'FLASH_READ', 'FLASH_PROGRAM', 'FLASH_ERASE') "
    "ORDER BY start_ns, seq"
)


class Row(NamedTuple):
    """An event of the trace."""

    seq: int
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
    call: Call = field(repr=False)
    known: bool
    """False where a node that may hold a part of the page could not be read."""
    disturbed: bool
    """Whether another thread used the flash before the call ended."""

    @property
    def same(self) -> bool:
        """Whether N and the order of pages are as foretold."""
        return self.told == self.call.flash


def begun_with(trace: TraceFolder) -> tuple[Layout, list[Dropped]]:
    """What lay on the chip when the trace began, and the nodes that were not whole there.

    A mounted file system keeps its last nodes in memory: they are known to be missing, and what
    they hold is not. UsageError where no image is kept, or it cannot be read.
    """
    try:
        return jffs2.salvage(opened(trace.image)[0])
    except UsageError as e:
        raise UsageError(f"{trace.path}: {e}") from None


def calls(trace: TraceFolder) -> list[Scored]:
    """Every traced call that read a page of a file that was there when the trace began."""
    reads.refuse_untimed(trace.meta["filesystem"])
    if trace.summary["lost"]:
        raise UsageError(f"{trace.path}: the trace has lost records: trace again with more")
    layout, dropped = begun_with(trace)
    rows = [Row(*row) for row in tables.query(trace.events, EVENTS)]
    if not any(row.event == READ_PAGE for row in rows):
        raise UsageError(f"{trace.path}: nothing in it reads a page of a file")
    named = f"SELECT DISTINCT object, path FROM events WHERE event = '{READ_PAGE}'"
    paths = {int(inode): str(path) for inode, path in tables.query(trace.events, named)}
    return list(_scored(rows, layout, dropped, paths, trace))


@dataclass(frozen=True)
class Times:
    """A traced call's time without the tracers' own, and what was foretold."""

    scored: Scored
    ns: float
    """Measured, less what its events cost to trace."""
    page_ns: float
    """A page read of the part."""
    instruction_ns: float

    @property
    def processor(self) -> float:
        """What is left beside the chip's time, in instructions."""
        return (self.ns - len(self.scored.told) * self.page_ns) / self.instruction_ns


def times_of(trace: TraceFolder, scored: Sequence[Scored]) -> list[Times]:
    """The times of the calls that are known; UsageError where the board counts no instructions.

    The time for a call that failed in its order of pages is that of the pages it did read.
    """
    board = trace.meta["board"]
    instruction_ns = cost.instruction_ns(board)
    if instruction_ns is None:
        raise UsageError(f"{trace.path}: on this board's clock no instruction has a time")
    chip = load("chips", trace.meta["chip"], ChipModel)
    part = Part.of(chip.name, chip.geometry, chip.timing, "typical")
    page_ns = times.page_ns(part, chip.geometry)
    costs, kernel = cost.read(), cost.series(str(board["kernel"]))
    each = {e: costs.price(kernel, e, None) or 0 for e in ("MTD_READ", "FLASH_READ", "FLASH_HIT")}
    found = []
    for one in (s for s in scored if s.known):
        events = {
            "MTD_READ": 2 * len(one.call.pieces),
            "FLASH_READ": len(one.told),
            "FLASH_HIT": one.call.hits,
        }
        tracing = instruction_ns * sum(n * each[event] for event, n in events.items())
        found.append(Times(one, one.row.ns - tracing, page_ns, instruction_ns))
    return found


def _scored(
    rows: Sequence[Row],
    layout: Layout,
    dropped: Sequence[Dropped],
    paths: dict[int, str],
    trace: TraceFolder,
) -> Iterator[Scored]:
    shape, filesystem = trace.meta["geometry"], trace.meta["filesystem"]
    per_block = shape["erasesize"] // shape["writesize"]
    buffer, pieces = PageBuffer(shape["writesize"]), dict[int, Pieces]()
    within = _within(trace.events, rows)
    flash: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.event == "FLASH_READ" and row.seq in within:
            flash[within[row.seq]].append(row.object)
    for i, row in enumerate(rows):
        if row.event == READ_PAGE and row.object in layout.sizes:
            of = pieces.setdefault(row.object, Pieces(layout, row.object))
            call = reads.call(filesystem, of, row.offset // PAGE, buffer)
            path = paths.get(row.object, "?")
            known = not any(d.may_hold(row.object, row.offset, row.offset + PAGE) for d in dropped)
            yield Scored(row, path, flash[row.seq], call, known, _disturbed(rows, i))
        elif row.event == "MTD_READ" and row.seq not in within:
            list(buffer.read(Read(row.offset, row.size)))
        elif row.event == "FLASH_PROGRAM":
            buffer.forget(row.object, row.object)
        elif row.event == "FLASH_ERASE":
            buffer.forget(row.object * per_block, (row.object + 1) * per_block - 1)


def _disturbed(rows: Sequence[Row], i: int) -> bool:
    """Whether another thread used MTD or the chip before the call ended."""
    end = rows[i].start_ns + rows[i].ns
    for row in rows[i + 1 :]:
        if row.start_ns >= end:
            return False
        if row.pid != rows[i].pid:
            return True
    return False


def _within(events: Path, rows: Sequence[Row]) -> dict[int, int]:
    """Event -> the call that reads a page of a file and made it, for those that have one."""
    told = tables.query(events, "SELECT seq, parent FROM events WHERE parent <> 0")
    parent = {int(seq): int(above) for seq, above in told}
    reading = {row.seq for row in rows if row.event == READ_PAGE}
    found: dict[int, int] = {}
    for row in rows:
        at = row.seq
        while at := parent.get(at, 0):
            if at in reading:
                found[row.seq] = at
                break
    return found


def pages_read(trace: TraceFolder, inode: int) -> list[int]:
    """The pages of a file that a trace's calls read, in order."""
    rows = (Row(*row) for row in tables.query(trace.events, EVENTS))
    return [r.offset // PAGE for r in rows if r.event == READ_PAGE and r.object == inode]


def summary(trace: TraceFolder, scored: Sequence[Scored]) -> dict[str, Any]:
    """What ``nandlab model score --json`` prints; errors are shares of the measured time."""
    known = [s for s in scored if s.known]
    found: dict[str, Any] = {
        "calls": len(scored),
        "unknown": len(scored) - len(known),
        "differ": sum(not s.same for s in known),
        "disturbed": sum(s.disturbed for s in known),
        "first_that_differ": [
            {"path": s.path, "page": s.call.page, "traced": s.told, "foretold": s.call.flash}
            for s in known
            if not s.same
        ][:5],
    }
    told, kernel = times_of(trace, scored), cost.series(str(trace.meta["board"]["kernel"]))
    if not told:
        return found
    by = times.instructions(kernel)
    measured = [t.ns for t in told]
    ours = [times.ns(t.scored.call, by, t.page_ns, t.instruction_ns) for t in told]
    overheads = [t.ns - len(t.scored.told) * t.page_ns for t in told]
    overhead = statistics.fmean(overheads)
    paper = [times.paper_ns(t.scored.call, t.page_ns, overhead) for t in told]
    return found | {
        "n": sum(len(t.scored.told) for t in told),
        "measured_ns": round(sum(measured)),
        "nandlab": _errors(ours, measured),
        "paper": _errors(paper, measured) | {"overhead_ns": round(overhead)},
    }


def _errors(told: Sequence[float], measured: Sequence[float]) -> dict[str, float]:
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
        yield f"  {one['path']} page {one['page']}: {one['traced']}, foretold {one['foretold']}"
    yield f"another thread used the flash during {found['disturbed']}"
    if "nandlab" not in found:
        return
    yield f"time: {found['measured_ns'] / 1e6:.3f} ms without the tracers' own, N {found['n']}"
    for name, fitted in (("nandlab", "nothing fitted here"), ("paper", "its overhead fitted here")):
        e = found[name]
        yield (
            f"  {name:8} total {e['total']:+.3%}, a call: median {e['median']:.3%}, "
            f"p99 {e['p99']:.2%}, max {e['max']:.2%} ({fitted})"
        )
