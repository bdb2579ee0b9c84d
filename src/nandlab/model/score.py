# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads against the model: flash pages call by call, then times.

The model is given the chip as it was when the trace began. From the trace it takes which page of
the file each call reads, and what else passed the NAND core's buffer between calls. All within a
call is foretold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.base.errors import NandlabError, UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load
from nandlab.chip import image as chipimage
from nandlab.model import cost, lookup, reads
from nandlab.model.cost import Rates
from nandlab.model.reads import PAGE, Access, PageBuffer, Pieces, Read
from nandlab.onflash import jffs2
from nandlab.onflash.cells import Partition
from nandlab.onflash.jffs2 import Dropped
from nandlab.onflash.layout import Layout
from nandlab.trace.folder import TraceFolder
from nandlab.traced import cost as tracing
from nandlab.traced import tables

READ_PAGE, LOOK_UP = "FS_READ_PAGE", "FS_LOOK_UP"
CALLS = (READ_PAGE, LOOK_UP)
SEEN = (*CALLS, "MTD_READ", "FLASH_READ", "FLASH_HIT", "FLASH_PROGRAM", "FLASH_ERASE", "FUNC")
EVENTS = (
    'SELECT seq, parent, event, start_ns, latency_ns, pid, object, "offset", size FROM events '
    f"WHERE event IN {SEEN} ORDER BY start_ns, seq"
)
SLACK = 100
"""Instructions by which a read of a flash page may be longer than the shortest one of the trace,
before it counts as one during which something else ran."""


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

    event: str
    path: str
    page: int | None
    """Of the file; None: a first open."""
    told: list[int]
    """Flash pages that the chip read, in order."""
    foretold: list[Access] = field(repr=False)
    work: Mapping[str, float] = field(repr=False)
    """Foretold work by kind."""
    known: bool
    """False where the image does not tell what the call reads: a node was not whole there, or the
    file system has written since."""
    disturbed: bool
    """Whether something else ran before the call ended: an interrupt or another thread, while the
    chip worked or with a use of the flash of its own."""
    ns: float
    """Of the board, less what tracing cost within the call."""

    @property
    def flash(self) -> list[int]:
        """The foretold flash pages; as many are N."""
        return [a.page for a in self.foretold if not a.hit]

    @property
    def same(self) -> bool:
        """Whether N and the order of pages are as foretold."""
        return self.told == self.flash

    def foretold_ns(self, rates: Rates) -> float:
        return rates.ns(self.work, len(self.flash))


class Errors(NamedTuple):
    """Of foretold times, as shares of the measured ones; all but total without their sign."""

    calls: int
    total: float
    median: float
    p99: float
    most: float


def errors(told: Sequence[float], foretold: Sequence[float]) -> Errors:
    """Percentiles are nearest ranks; there is at least one call, and none of no time."""
    each = sorted(abs(f / t - 1) for t, f in zip(told, foretold, strict=True))
    count = len(each)
    median, p99 = (each[max(0, -(-count * share // 100) - 1)] for share in (50, 99))
    return Errors(count, sum(foretold) / sum(told) - 1, median, p99, each[-1])


def summary(calls: Sequence[Scored], rates: Rates) -> dict[str, Any]:
    """What a comparison comes to; errors are of calls that the image tells, and null for none."""
    pages = [call for call in calls if call.page is not None]
    known = [call for call in pages if call.known]
    still = [call for call in known if not call.disturbed]
    return {
        "calls": len(pages),
        "unknown": len(pages) - len(known),
        "mismatches": sum(not call.same for call in calls if call.known),
        "disturbed": len(known) - len(still),
        "n": sum(len(call.told) for call in known),
        "n_foretold": sum(len(call.flash) for call in known),
        "errors": _errors(known, [call.foretold_ns(rates) for call in known]),
        "errors_undisturbed": _errors(still, [call.foretold_ns(rates) for call in still]),
        "errors_paper": _errors(known, [rates.paper_ns(len(call.flash)) for call in known]),
        "opens": [_opened(call, rates) for call in calls if call.page is None and call.known],
    }


def _errors(calls: Sequence[Scored], foretold: Sequence[float]) -> dict[str, Any] | None:
    return errors([call.ns for call in calls], foretold)._asdict() if calls else None


def _opened(call: Scored, rates: Rates) -> dict[str, Any]:
    n, foretold = len(call.told), len(call.flash)
    error = call.foretold_ns(rates) / call.ns - 1
    return {"file": call.path, "n": n, "n_foretold": foretold, "same": call.same, "error": error}


def rates_of(trace: TraceFolder) -> Rates:
    """What the trace's chip and board take; UsageError if its kernel was not measured."""
    board = trace.meta["board"]
    instruction = tracing.instruction_ns(board)
    if instruction is None:
        raise UsageError(f"{trace.path}: its board ran by the host's clock: trace without --accel")
    kernel = tracing.series(str(board["kernel"]))
    page = cost.page_ns(load("chips", trace.meta["chip"], ChipModel))
    return Rates(page, instruction, cost.read().of(kernel))


def opened(trace: TraceFolder, image: Path | None = None) -> tuple[Layout, list[Dropped]]:
    """What lay on the chip when the trace began, and the nodes that were not whole there.

    A mounted file system keeps its last nodes in memory: they are known to be missing, and what
    they hold is not. UsageError where no image is kept, or it cannot be read.
    """
    path = image or trace.image
    try:
        chip = chipimage.decode(path.read_bytes())
        shape = trace.meta["geometry"]
        if any(getattr(chip.geometry, k) != shape[k] for k in ("writesize", "erasesize")):
            raise UsageError("the image is of another geometry than the trace's chip")
        return jffs2.salvage(Partition(chip, trace.meta["partition_blocks"]))
    except OSError as e:
        raise UsageError(f"{path}: cannot be read: {e.strerror}") from None
    except NandlabError as e:
        raise UsageError(f"{path}: {e}") from None


def calls(trace: TraceFolder, image: Path | None = None) -> list[Scored]:
    """Every traced call that read a page of a file, or opened one first, of those that were there
    when the trace began; UsageError if there are none, or the image is another's."""
    reads.model_of(trace.meta["filesystem"])
    if trace.summary["lost"]:
        raise UsageError(f"{trace.path}: the trace has lost records: trace again with more")
    layout, dropped = opened(trace, image)
    rows = [Row(*row) for row in tables.query(trace.events, EVENTS)]
    if not any(row.event == READ_PAGE for row in rows):
        raise UsageError(
            f"{trace.path}: nothing in it reads a page of a file: drop the caches before the trace"
        )
    found = list(_Walk(trace, layout, dropped, rows).all())
    if not any(scored.same for scored in found if scored.told):
        raise UsageError(f"{trace.path}: the image is not of this trace: no call reads what it has")
    return found


class _Walk:
    """Goes through a trace with the NAND core's buffer in hand."""

    def __init__(
        self, trace: TraceFolder, layout: Layout, dropped: Sequence[Dropped], rows: Sequence[Row]
    ) -> None:
        self.layout, self.dropped, self.rows = layout, dropped, rows
        self.filesystem = trace.meta["filesystem"]
        self.per_block = layout.erasesize // layout.writesize
        self.instruction = tracing.instruction_ns(trace.meta["board"]) or 1
        named = f"SELECT DISTINCT object, path FROM events WHERE event = '{READ_PAGE}'"
        self.paths = {int(i): str(path) for i, path in tables.query(trace.events, named)}
        self.inside = _inside(rows)
        waits = (row.ns for row in rows if row.event == "FLASH_READ")
        self.late_ns = min(waits, default=0) + SLACK * self.instruction
        kernel, prices = tracing.series(str(trace.meta["board"]["kernel"])), tracing.read()
        self.prices = {event: prices.price(kernel, event, None) or 0 for event in SEEN}
        self.nodes = {at: owner for owner, places in layout.nodes.items() for at in places}
        self.files: dict[int, Pieces] = {}

    def all(self) -> Iterator[Scored]:
        buffer, written = PageBuffer(self.layout.writesize), False
        within = {row.seq for inside in self.inside.values() for row in inside}
        for i, row in enumerate(self.rows):
            if row.event == READ_PAGE and row.object in self.layout.sizes:
                yield self._page(i, buffer, written=written)
            elif row.event == LOOK_UP and (opened := self._open(i, buffer, written=written)):
                yield opened
            elif row.event == "MTD_READ" and row.seq not in within:
                list(buffer.read(Read(row.offset, row.size)))
            elif row.event == "FLASH_PROGRAM":
                written = written or row.size >= self.layout.writesize
                buffer.forget(row.object, row.object)
            elif row.event == "FLASH_ERASE":
                first = row.object * self.per_block
                buffer.forget(first, first + self.per_block - 1)

    def _page(self, i: int, buffer: PageBuffer, *, written: bool) -> Scored:
        row = self.rows[i]
        of = self.files.setdefault(row.object, Pieces(self.layout, row.object))
        call = reads.call(self.filesystem, of, row.offset // PAGE, buffer)
        known = not written and not any(_touches(node, row) for node in self.dropped)
        path = self.paths.get(row.object, "?")
        return self._scored(i, path, call.page, call.accesses, cost.work(call), known=known)

    def _open(self, i: int, buffer: PageBuffer, *, written: bool) -> Scored | None:
        """A first open; None if no file of the image was opened. The buffer is left as the kernel's
        own reads leave it, whose order may be another than the foretold one."""
        inside = [row for row in self.inside[self.rows[i].seq] if row.event == "MTD_READ"]
        owner = next((o for row in inside if (o := self.nodes.get(row.offset))), None)
        before = PageBuffer(self.layout.writesize, buffer.page)
        for row in inside:
            list(buffer.read(Read(row.offset, row.size)))
        if owner is None:
            return None
        foretold = lookup.first_open(self.layout, owner, before)
        work = lookup.work(len(self.layout.nodes[owner]), foretold)
        known = not written and not any(node.number in (0, owner) for node in self.dropped)
        return self._scored(i, self.layout.paths[owner], None, foretold, work, known=known)

    def _scored(
        self,
        i: int,
        path: str,
        page: int | None,
        foretold: Sequence[Access],
        work: Mapping[str, float],
        *,
        known: bool,
    ) -> Scored:
        row, inside = self.rows[i], self.inside[self.rows[i].seq]
        told = [r.object for r in inside if r.event == "FLASH_READ"]
        late = any(r.event == "FLASH_READ" and r.ns > self.late_ns for r in inside)
        price = sum(self.prices[r.event] for r in inside) * self.instruction
        return Scored(
            row.event, path, page, told, list(foretold), work, known,
            late or _others(self.rows, i), row.ns - price,
        )  # fmt: skip


def _touches(node: Dropped, row: Row) -> bool:
    """Whether a node may hold a part of the page that a call reads."""
    if node.number != row.object:
        return False
    return node.offset < row.offset + PAGE and row.offset < node.offset + node.plain


def _others(rows: Sequence[Row], i: int) -> bool:
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
        while above is not None and above.event not in CALLS:
            above = by_seq.get(above.parent)
        if above is not None:
            found[above.seq].append(row)
    return found
