# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's time in parts that add up to the elapsed time: application, file system, collector,
other threads, MTD, chip, idle; and the chip's operations by the collector and by the rest.

Each stretch of the trace (``holder``) counts once: for whoever holds the processor, and there for
the layer that it is in. All figures are sums of whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import NandlabError
from nandlab.traced import processor, tables
from nandlab.traced.processor import (
    IDLE,
    NONE,
    UNKNOWN,
    Intervals,
    Stretches,
    climb_parents_while_wrong,
)
from nandlab.traced.records import EventFlag, EventType

FORMAT = 1
WHOLE_TRACE = "whole trace"
BEFORE_MARKS = "before the first mark"
"""The phase before the first mark; each later one has the name of the mark that begins it."""
SWITCHES = ("schedule",)
"""Kernel functions in which a task gives the processor away and gets it back."""
YIELD_NS = 10_000
"""A call of the scheduler shorter than this is a task's own time: it offered the processor and kept
it. A sleep takes longer, for the timer's interrupt and the way back alone are 14 us and more on the
virtual board (device/modules/simnand/wait.c). dd from /dev/urandom makes such a call every 7 us."""

APPLICATION, FILE_SYSTEM, IN_CALLS, IN_THREADS, OTHER_THREADS, NOBODY, NOT_TOLD = range(7)
ROWS = (
    "application",
    "file_system_in_calls",
    "collector_in_calls",
    "collector_in_threads",
    "other_threads",
    "idle",
    "application_or_idle",
)
"""For whom the time was, by the constants above."""
OWN_LAYER, MTD, CHIP = range(3)
COLUMNS = ("processor", "mtd", "chip")
"""Where it was: in its own code, in MTD's, or in an operation of the chip."""

OPERATIONS = {
    EventType.FLASH_READ: "reads",
    EventType.FLASH_PROGRAM: "programs",
    EventType.FLASH_ERASE: "erases",
}
REQUESTERS = ("collector_in_calls", "collector_in_threads", "wear_leveling", "erase", "rest")
"""Who asked the chip for an operation."""

TYPE_NUMBERS = {t.name: t.value for t in EventType}
_LAYER_OF = np.full(256, OWN_LAYER)
_LAYER_OF[EventType.FLASH_READ : EventType.MTD_READ] = CHIP
_LAYER_OF[EventType.MTD_READ : EventType.FUNC] = MTD
INHERITED = 3


@dataclass(frozen=True)
class PartEvents:
    """What the parts are made of: the intervals of a trace, and what each is."""

    intervals: Intervals
    type: NDArray[np.int64]
    layer: NDArray[np.int64]
    """OWN, MTD or CHIP; a function that the catalog does not know has what it lies in."""
    collects: NDArray[np.bool_]
    """Whether it is the collector, or lies in it at any depth."""
    cause: NDArray[np.int64]
    """Of an operation outside the collector: index into BY."""
    within: NDArray[np.int64]
    """The event itself, or what a call of the scheduler lies in; -1: in nothing."""
    spare: NDArray[np.bool_]
    """Of an operation of the chip: whether it is of spare bytes alone."""
    marks: list[tuple[int, str]]
    """Times and texts, in order."""
    lost: bool
    """Whether records were overwritten, those that ended first: time before the first end that was
    kept cannot be split."""

    @property
    def start_ns(self) -> int:
        """Where the time that can be split begins."""
        of = self.intervals
        return int(of.end_ns.min() if self.lost else of.start_ns.min())


class NoPartsPossible(NandlabError):
    """The events are none that parts can be made of; the message says why."""


def read_part_events(
    table: Path,
    symbols: Mapping[str, Sequence[str]],
    kernel_threads: Sequence[int],
    lost: bool = False,
) -> PartEvents:
    """The events of a trace's table, as ``tables`` writes it. NotOne if they make no parts."""
    columns = tables.query_parquet_arrays(table, _make_query(symbols))
    if len(columns["seq"]) == 0:
        raise NoPartsPossible("the trace has no events, so no time to split")
    if columns["cpu"].min() != columns["cpu"].max():
        raise NoPartsPossible("of several processors; time in parts is that of a single one")
    marks = tables.query_parquet_rows(
        table, "SELECT start_ns, text FROM events WHERE event = 'MARK' ORDER BY seq"
    )
    texts = [(int(t), str(n)) for t, n in marks]
    return make_part_events_from_columns(columns, kernel_threads, texts, lost)


def _make_query(symbols: Mapping[str, Sequence[str]]) -> str:
    """Words become numbers in the database: a million texts would be a million objects."""
    symbol_names = sorted({name for listed in symbols.values() for name in listed})
    types = " ".join(f"WHEN '{name}' THEN {n}" for name, n in TYPE_NUMBERS.items())
    functions = (
        f"CASE WHEN event <> 'FUNC' THEN 0 WHEN text IN ({_quote_names(SWITCHES)}) THEN {_SWITCH} "
        f"WHEN text IN ({_quote_names(symbols.get('garbage_collection', ()))}) THEN {_COLLECTOR} "
        f"WHEN text IN ({_quote_names(symbol_names)}) THEN {_KNOWN_FUNCTION} ELSE {_UNKNOWN} END"
    )
    causes = " ".join(f"WHEN '{name}' THEN {REQUESTERS.index(name)}" for name in REQUESTERS[2:4])
    return (
        "SELECT seq, parent, start_ns, latency_ns, pid, cpu, flags, "
        f"(CASE event {types} END)::UTINYINT AS type, ({functions})::UTINYINT AS function, "
        f"(CASE cause {causes} ELSE {REQUESTERS.index('rest')} END)::UTINYINT AS cause FROM events"
    )


_SWITCH, _COLLECTOR, _KNOWN_FUNCTION, _UNKNOWN = range(1, 5)
"""What a function is; 0: the event is none."""


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join("'" + name.replace("'", "''") + "'" for name in names) or "NULL"


def make_part_events_from_columns(
    columns: Mapping[str, NDArray[Any]],
    kernel_threads: Sequence[int],
    marks: Sequence[tuple[int, str]],
    lost: bool = False,
    yield_ns: int = YIELD_NS,
) -> PartEvents:
    """Events from the columns that ``_sql`` names, in any order."""
    order = np.argsort(columns["seq"], kind="stable")
    column = {k: np.asarray(v)[order].astype(np.int64) for k, v in columns.items()}
    seq, kind, function = column["seq"], column["type"], column["function"]
    place = np.minimum(np.searchsorted(seq, column["parent"]), len(seq) - 1)
    parent = np.where((column["parent"] != 0) & (seq[place] == column["parent"]), place, NONE)
    all_events = np.arange(len(seq))
    collector = function == _COLLECTOR
    intervals = Intervals(
        column["start_ns"],
        column["latency_ns"],
        column["pid"],
        parent,
        np.isin(column["pid"], np.asarray(kernel_threads, np.int64)),
        (function == _SWITCH) & (column["latency_ns"] >= yield_ns),
        bool((function == _SWITCH).any()),
        np.isin(kind, [t.value for t in OPERATIONS]) & (column["latency_ns"] > 0),
    )
    inherits = (function == _UNKNOWN) | (function == _SWITCH)
    own_layer = np.where(inherits, INHERITED, _LAYER_OF[kind])
    giver = climb_parents_while_wrong(all_events, parent, lambda e, _: own_layer[e] == INHERITED)
    return PartEvents(
        intervals,
        kind,
        np.where(giver == NONE, OWN_LAYER, own_layer[giver]),
        climb_parents_while_wrong(all_events, parent, lambda e, _: ~collector[e]) != NONE,
        column["cause"],
        climb_parents_while_wrong(all_events, parent, lambda e, _: function[e] == _SWITCH),
        (column["flags"] & EventFlag.OOB) != 0,
        sorted(marks),
        lost,
    )


def compute_time_parts(events: PartEvents) -> dict[str, Any]:
    """The parts, whole and by phase."""
    stretches = processor.find_processor_stretches(events.intervals)
    cells = _find_cells(events, stretches)
    began = events.start_ns
    ended = int(events.intervals.end_ns.max())
    phases = [_make_phase(WHOLE_TRACE, began, ended, events, stretches, cells)]
    phases += [
        _make_phase(*phase, events, stretches, cells)
        for phase in _list_phases(events, began, ended)
    ]
    return {
        "format": FORMAT,
        "switches": events.intervals.switches,
        "lost": events.lost,
        "phases": phases,
    }


def compute_time_parts_of_windows(
    events: PartEvents, windows: Sequence[tuple[str, int, int]]
) -> list[dict[str, Any]]:
    """The parts of stretches of the trace: name, beginning and end of each, in ns.

    Parts of a window that reaches beyond the trace sum to less than its elapsed time.
    """
    bounds = [at for _, began, ended in windows for at in (began, ended)]
    found = _cut_stretches(
        processor.find_processor_stretches(events.intervals), np.asarray(bounds, np.int64)
    )
    cells = _find_cells(events, found)
    return [_make_phase(*window, events, found, cells) for window in windows]


def _cut_stretches(stretches: Stretches, at_ns: NDArray[np.int64]) -> Stretches:
    """The stretches, which follow each other without a gap, cut in two at these times."""
    if not len(stretches.ns):
        return stretches
    end = stretches.start_ns[-1] + stretches.ns[-1]
    inside = at_ns[(at_ns > stretches.start_ns[0]) & (at_ns < end)]
    start = np.union1d(stretches.start_ns, inside)
    index = np.searchsorted(stretches.start_ns, start, "right") - 1
    ns = np.diff(np.append(start, end))
    return Stretches(
        start, ns, stretches.state[index], stretches.event[index], stretches.kernel[index]
    )


def _list_phases(events: PartEvents, began: int, ended: int) -> list[tuple[str, int, int]]:
    """Name, beginning and end of each phase that has a length; none if there are no marks."""
    if not events.marks:
        return []
    bounds = [(began, BEFORE_MARKS), *(m for m in events.marks if m[0] >= began), (ended, "")]
    return [(name, start, end) for (start, name), (end, _) in pairwise(bounds) if end > start]


def _find_cells(events: PartEvents, found: Stretches) -> NDArray[np.int64]:
    """For whom each stretch was and where, as one number."""
    row = _find_rows(events, found)
    column = np.where(row == NOBODY, OWN_LAYER, _find_columns(events, found))
    return row * len(COLUMNS) + column


def _find_rows(events: PartEvents, stretches: Stretches) -> NDArray[np.int64]:
    """For whom each stretch was."""
    nested = (stretches.event != NONE) & (events.within[stretches.event] != NONE)
    collects = nested & events.collects[stretches.event]
    row = np.select(
        [collects & stretches.kernel, collects, stretches.kernel, nested],
        [IN_THREADS, IN_CALLS, OTHER_THREADS, FILE_SYSTEM],
        APPLICATION,
    )
    row[stretches.state == IDLE] = NOBODY
    row[stretches.state == UNKNOWN] = NOT_TOLD
    return row


def _find_columns(events: PartEvents, found: Stretches) -> NDArray[np.int64]:
    return np.where(found.event == NONE, OWN_LAYER, events.layer[found.event])


def _make_phase(
    name: str,
    began: int,
    ended: int,
    events: PartEvents,
    stretches: Stretches,
    cells: NDArray[np.int64],
) -> dict[str, Any]:
    """One phase: its time for whom and where, its parts, its operations."""
    first, last = np.searchsorted(stretches.start_ns, [began, ended])
    ns = _sum_by_key(cells[first:last], stretches.ns[first:last], len(ROWS) * len(COLUMNS))
    table = ns.reshape(len(ROWS), len(COLUMNS))
    switches = events.intervals.switches
    rows = [r for r in range(len(ROWS)) if (r != NOT_TOLD if switches else r != NOBODY)]
    if not switches:
        rows.remove(APPLICATION)
    return {
        "name": name,
        "start_ns": began,
        "elapsed_ns": ended - began,
        "parts_ns": {
            **{ROWS[r]: int(table[r, OWN_LAYER]) for r in rows},
            "mtd": int(table[:, MTD].sum()),
            "chip": int(table[:, CHIP].sum()),
        },
        "for_ns": {ROWS[r]: dict(zip(COLUMNS, map(int, table[r]), strict=True)) for r in rows},
        "operations": _count_operations(events, began, ended, name == WHOLE_TRACE),
    }


def _sum_by_key(key: NDArray[np.int64], ns: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The sum for each key, in whole numbers: floats would round beyond 2^53 ns."""
    found = np.zeros(length, np.int64)
    np.add.at(found, key, ns)
    return found


def _count_operations(
    events: PartEvents, began: int, ended: int, is_whole_trace: bool
) -> dict[str, dict[str, int]]:
    """Pages read and programmed, blocks erased, by who asked; those that began in a phase.

    ``spare_reads`` and ``spare_programs`` are those among them of spare bytes alone.
    """
    intervals = events.intervals
    within = is_whole_trace | ((intervals.start_ns >= began) & (intervals.start_ns < ended))
    operations = np.flatnonzero(within & np.isin(events.type, [t.value for t in OPERATIONS]))
    by = np.where(
        events.collects[operations],
        np.where(intervals.kernel[operations], 1, 0),
        events.cause[operations],
    )

    def counts(n: int) -> dict[str, int]:
        of_kind = {
            name: (by == n) & (events.type[operations] == k) for k, name in OPERATIONS.items()
        }
        spare = {
            f"spare_{name}": of_kind[name] & events.spare[operations]
            for name in ("reads", "programs")
        }
        return {name: int(np.count_nonzero(true)) for name, true in (of_kind | spare).items()}

    return {who: counts(n) for n, who in enumerate(REQUESTERS)}
