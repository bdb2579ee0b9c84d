# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads gone through with the model beside it: each call with what was foretold of it.

The model is given the chip as it was when the trace began, or when it had ended. From the trace it
takes which page of the file each call reads, and what else passed the NAND core's buffer between
calls. All within a call is foretold.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.layouts.layout import Layout
from nandlab.flash.reading import times
from nandlab.flash.reading.kernelstate import KernelState, find_filesystem_reader
from nandlab.flash.reading.reads import PAGE_BYTES, FilePieces, FirstOpen, MtdRead, ReadCall
from nandlab.flash.reading.ticks import TICK_NS, TickTimer
from nandlab.traced import cost, tables

READ_PAGE, LOOK_UP, EVICT = "FS_READ_PAGE", "FS_LOOK_UP", "VFS_EVICT"
PRICED_EVENTS = ("MTD_READ", "FLASH_READ", "FLASH_HIT")
"""What a call does that tracing makes longer."""
CHIP_EVENTS = ("FLASH_READ", "FLASH_PROGRAM", "FLASH_ERASE")
"""During which the chip works."""
EVENTS = (
    'SELECT seq, parent, event, start_ns, latency_ns, pid, object, "offset", size FROM events '
    f"WHERE event IN {(READ_PAGE, LOOK_UP, *PRICED_EVENTS, *CHIP_EVENTS)} "
    f"OR event = '{EVICT}' AND path <> '' "
    "ORDER BY start_ns, seq"
)
SLACK = 100
"""Instructions by which a read of the chip may be longer than the shortest of its kind in the trace
before it counts as one during which something else ran."""
ReadKind = tuple[int, bool]
"""Of a read of the chip: its data bytes, and whether the page was in the chip's register."""
LATE_NS = 100_000
"""By how much the tick may be late; the latest that was seen came 53 us after its time."""


@dataclass(frozen=True)
class ChipTrace:
    """A trace, and the chip that it was made on."""

    title: str
    """What messages call it."""
    filesystem: str
    chip: ChipModel
    board: Mapping[str, Any]
    """Its ``kernel``, and what ``traced.cost`` needs to know."""
    events: Path
    """The table of events, as ``traced.tables`` writes it, with causes and parents."""
    layout: Layout
    """What lay on the chip."""
    dropped: Sequence[DroppedNode] = ()
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
        return cost.parse_kernel_series(str(self.board["kernel"]))

    @property
    def arch(self) -> str:
        """Debian's architecture of the kernel, such as amd64."""
        return cost.parse_kernel_arch(str(self.board["kernel"]))


class EventRow(NamedTuple):
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
class ScoredCall:
    """A traced call beside the foretold one."""

    row: EventRow
    path: str
    traced_pages: list[int]
    """Flash pages that the chip read, in order."""
    call: ReadCall | FirstOpen = field(repr=False)
    is_known: bool
    """False where the image does not tell what the call reads: a node that may hold a part of it
    could not be read, the file system wrote between the call and the image, or may have it in
    memory."""
    disturbed: bool
    """Whether something else ran before the call ended: another thread that used the flash, or
    whatever made a read of the chip longer than reads of its kind are."""
    events: Mapping[str, int] = field(repr=False)
    """How many of PRICED lie in the call."""
    registered: int = 0
    """Of the flash pages that the chip read, those that its register still had."""
    timer: TickTimer | None = field(default=None, repr=False)
    """Of the tick, as it was when the call began; None: the board's clock counts no
    instructions."""
    waits_first: bool = False
    """Whether its process has not waited for the chip before."""

    @property
    def ticked(self) -> bool:
        """Whether the kernel's tick may have come before the call ended; apf27's takes 11 us."""
        begin = self.row.start_ns - LATE_NS
        return begin // TICK_NS < (self.row.start_ns + self.row.ns) // TICK_NS

    @property
    def same(self) -> bool:
        """Whether N and the order of pages are as foretold; where the image does not tell the
        order, N and the pages."""
        if isinstance(self.call, FirstOpen) and not self.call.ordered:
            return sorted(self.traced_pages) == sorted(self.call.flash)
        return self.traced_pages == self.call.flash


def score_traced_calls(trace: ChipTrace) -> list[ScoredCall]:
    """Every traced call that read a page of a file of the layout, or opened one first; UsageError
    if there are none, or the layout is another's."""
    find_filesystem_reader(trace.filesystem, trace.title)
    rows = [EventRow(*row) for row in tables.query_parquet_rows(trace.events, EVENTS)]
    if not any(row.event == READ_PAGE for row in rows):
        raise UsageError(f"{trace.title}: nothing in it reads a page of a file")
    found = list(_TraceWalk(trace, rows).all())
    if not any(one.same for one in found if one.traced_pages):
        raise UsageError(f"{trace.title}: no call reads what the image has: it is of another trace")
    return found


class _TraceWalk:
    """Goes through a trace with the NAND core's buffer in hand."""

    def __init__(self, trace: ChipTrace, rows: Sequence[EventRow]) -> None:
        self.layout, self.dropped, self.rows = trace.layout, trace.dropped, rows
        self.drops = sorted(trace.drops, reverse=True)
        self.state = KernelState(self.layout, trace.options, mounted=trace.mounted)
        asked = (MtdRead(row.offset, row.size) for row in rows if row.event == "MTD_READ")
        try:
            self.state.reader.begun(asked)
        except UsageError as e:
            raise UsageError(f"{trace.title}: {e}") from None
        self.per_block = self.layout.erasesize // self.layout.writesize
        self.inside = _group_inside(rows)
        self.kinds = _sort_chip_reads(rows)
        self.late_ns = _find_late_ns(
            rows, self.kinds, SLACK * (cost.find_board_instruction_ns(trace.board) or 0)
        )
        self.files: dict[int, FilePieces] = {}
        writes = [i for i, row in enumerate(rows) if self._writes(row)]
        whole = range(len(rows))
        before, after = (
            whole[: min(writes, default=len(rows))],
            whole[max(writes, default=-1) + 1 :],
        )
        self.sound = after if trace.at_end else before
        """Indices of the rows at which the chip was as the layout has it."""
        self.read = times.compute_chip_page_read_times(trace.chip)
        self.timer = _make_timer(trace, rows)
        self.waited: set[int] = set()
        """Processes that have waited for the chip."""

    def _writes(self, row: EventRow) -> bool:
        return row.event == "FLASH_PROGRAM" and row.size >= self.layout.writesize

    def all(self) -> Iterator[ScoredCall]:
        state, buffer = self.state, self.state.buffer
        within = {row.seq for rows in self.inside.values() for row in rows}
        for i, row in enumerate(self.rows):
            while self.drops and self.drops[-1] <= row.start_ns:
                self.drops.pop()
                state.reader.drop()
            if self.timer:
                self.timer.ran(row.start_ns)
            if row.event == READ_PAGE and row.object in self.layout.sizes:
                yield self._page(i)
            elif row.event == EVICT and row.object in self.layout.sizes:
                # a file that is still there left memory, as when caches are dropped
                state.reader.drop()
            elif row.event == LOOK_UP:
                yield from self._open(i)
            elif row.event == "MTD_READ" and row.seq not in within:
                state.note_read(MtdRead(row.offset, row.size))
            elif row.event == "FLASH_PROGRAM":
                buffer.forget(row.object, row.object)
            elif row.event == "FLASH_ERASE":
                first = row.object * self.per_block
                buffer.forget(first, first + self.per_block - 1)
            if row.event == "FLASH_READ":
                buffer.register = row.object
            if row.event in CHIP_EVENTS:
                self._wait(row)

    def _wait(self, row: EventRow) -> None:
        self.waited.add(row.pid)
        if self.timer:
            _, registered = self.kinds.get(row.seq, (0, False))
            reading = self.read.compute_ns(1, registered)
            self.timer.waited(row.start_ns, reading if row.event == "FLASH_READ" else row.ns)

    def _page(self, i: int) -> ScoredCall:
        row = self.rows[i]
        if row.object not in self.files:
            self.files[row.object] = FilePieces(self.layout, row.object)
        file = self.files[row.object]
        page = row.offset // PAGE_BYTES
        is_known = self._is_in_image(i, row.object, row.offset, row.offset + PAGE_BYTES)
        is_known = is_known and self.state.reader.sure(file, page)
        if is_known:
            call = self.state.read(file, page)
        else:
            call = self.state.copy().read(file, page)
            for read in self._list_mtd_reads(i):
                self.state.note_read(read)
        return self._scored(i, self.layout.paths[row.object], call, is_known=is_known)

    def _open(self, i: int) -> Iterator[ScoredCall]:
        """A first open, if it is one of a file of the image. The state is left as the kernel's own
        reads leave it, whose order may be another than the foretold one."""
        row = self.rows[i]
        mtd_reads = self._list_mtd_reads(i)
        owner = self.state.reader.opened(mtd_reads)
        before = self.state.copy()
        for read in mtd_reads:
            self.state.note_read(read)
        if owner is not None:
            opened = before.first_open(owner, row.object)
            is_known = self._is_in_image(i, owner, 0, max(1, self.layout.sizes[owner]))
            is_known = is_known and opened.counted
            yield self._scored(i, self.layout.paths[owner], opened, is_known=is_known)

    def _list_mtd_reads(self, i: int) -> list[MtdRead]:
        """The reads of MTD of a call."""
        inside = (r for r in self.inside[self.rows[i].seq] if r.event == "MTD_READ")
        return [MtdRead(r.offset, r.size) for r in inside]

    def _lacking(self, i: int) -> bool:
        """Whether a call read a page of the flash where nothing is written: what it had of it was
        in the file system's write buffer. So the collector leaves the last nodes that it moves."""
        inside = (r for r in self.inside[self.rows[i].seq] if r.event == "FLASH_READ")
        return any(self.layout.free(r.object) for r in inside)

    def _is_in_image(self, i: int, owner: int, begin: int, end: int) -> bool:
        """Whether the image has all of a part of a file, as it was when it was read."""
        if i not in self.sound or self._lacking(i):
            return False
        return not any(d.may_hold(owner, begin, end) for d in self.dropped)

    def _scored(
        self, i: int, path: str, call: ReadCall | FirstOpen, *, is_known: bool
    ) -> ScoredCall:
        inside = self.inside[self.rows[i].seq]
        of_chip = [row for row in inside if row.event == "FLASH_READ"]
        late = any(row.ns > self.late_ns[self.kinds[row.seq]] for row in of_chip)
        registered = sum(self.kinds[row.seq][1] for row in of_chip)
        events = Counter(row.event for row in inside if row.event in PRICED_EVENTS)
        traced_pages = [row.object for row in of_chip]
        disturbed = late or _is_disturbed(self.rows, i)
        first = self.rows[i].pid not in self.waited
        before = copy.copy(self.timer), first
        shape = self.rows[i], path, traced_pages, call, is_known, disturbed, events, registered
        return ScoredCall(*shape, *before)


def _sort_chip_reads(rows: Sequence[EventRow]) -> dict[int, ReadKind]:
    """By number of the event, of which kind each read of the chip is.

    The register has the page that the chip read last, until it programs or erases.
    """
    kinds: dict[int, ReadKind] = {}
    register = None
    for row in rows:
        if row.event == "FLASH_READ":
            kinds[row.seq] = row.size, row.object == register
        if row.event in CHIP_EVENTS:
            register = row.object if row.event == "FLASH_READ" else None
    return kinds


def _find_late_ns(
    rows: Sequence[EventRow], kinds: Mapping[int, ReadKind], slack_ns: float
) -> dict[ReadKind, float]:
    """By kind, the longest that a read of the chip takes where nothing else runs."""
    shortest: dict[ReadKind, int] = {}
    for row in rows:
        if (kind := kinds.get(row.seq)) is not None:
            shortest[kind] = min(row.ns, shortest.get(kind, row.ns))
    return {kind: ns + slack_ns for kind, ns in shortest.items()}


def _make_timer(trace: ChipTrace, rows: Sequence[EventRow]) -> TickTimer | None:
    """Of the tick, as it is when the trace begins."""
    instruction_ns = cost.find_board_instruction_ns(trace.board)
    if instruction_ns is None or not rows:
        return None
    by = (
        times.read_instruction_counts()
        .get(trace.filesystem, {})
        .get(times.make_kernel_key(trace.kernel, trace.arch))
    )
    return TickTimer(rows[0].start_ns, instruction_ns, by.tick if by else 0)


def _is_disturbed(rows: Sequence[EventRow], i: int) -> bool:
    """Whether another thread used MTD or the chip before the call ended."""
    end = rows[i].start_ns + rows[i].ns
    for after in range(i + 1, len(rows)):
        if rows[after].start_ns >= end:
            return False
        if rows[after].pid != rows[i].pid:
            return True
    return False


def _group_inside(rows: Sequence[EventRow]) -> dict[int, list[EventRow]]:
    """Number of a call that reads a page or looks a name up -> what it did, in order."""
    by_seq = {row.seq: row for row in rows}
    rows_by_call: dict[int, list[EventRow]] = defaultdict(list)
    for row in rows:
        above = by_seq.get(row.parent)
        while above is not None and above.event not in {READ_PAGE, LOOK_UP}:
            above = by_seq.get(above.parent)
        if above is not None:
            rows_by_call[above.seq].append(row)
    return rows_by_call


def list_traced_file_pages(events: Path, inode: int) -> list[int]:
    """The pages of a file that the calls of a trace's table read, in order."""
    rows = (EventRow(*row) for row in tables.query_parquet_rows(events, EVENTS))
    return [r.offset // PAGE_BYTES for r in rows if r.event == READ_PAGE and r.object == inode]
