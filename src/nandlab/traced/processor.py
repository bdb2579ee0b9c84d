# SPDX-License-Identifier: GPL-2.0-or-later
"""Who holds the one processor at each instant of a trace.

A task that begins or ends a traced interval runs at that instant. Between two such instants the
processor is with the task of the first, or with that of the second, or with none; each stretch goes
to exactly one of these, so that no time is counted twice and none is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
NONE = -1


@dataclass(frozen=True)
class Intervals:
    """The events of a trace in the order of their beginnings, an array for each figure."""

    start_ns: Ints
    latency_ns: Ints
    pid: Ints
    parent: Ints
    """Place of the innermost interval of its task around it; -1: none."""
    kernel: Bools
    """Whether its task is a thread of the kernel."""
    asleep: Bools
    """Whether it is a call of the scheduler in which the task does not hold the processor."""
    switches: bool
    """Whether the trace tells when a task gives the processor away."""
    chip: Bools
    """Whether it is an operation of the chip that takes time."""

    @property
    def end_ns(self) -> Ints:
        return self.start_ns + self.latency_ns


RUNS, WAITS_FOR_CHIP, IDLE, UNKNOWN = range(4)


@dataclass(frozen=True)
class Stretches:
    """The trace from its first to its last instant, in stretches in which nothing changes."""

    start_ns: Ints
    ns: Ints
    state: Ints
    """RUNS: a task has the processor. WAITS_FOR_CHIP: none has, and a task waits for the chip.
    IDLE: none has. UNKNOWN: a program in no traced call, or none; only without switches."""
    event: Ints
    """What the task is in, or the operation of the chip; -1: in nothing."""
    kernel: Bools
    """Whether that task is a thread of the kernel."""


@dataclass(frozen=True)
class _Edges:
    """The beginnings and ends of events by time; of an instant, which takes no time, one."""

    at_ns: Ints
    event: Ints
    is_end: Bools


def find_processor_stretches(intervals: Intervals) -> Stretches:
    """Gives each stretch between two instants of a trace to who holds the processor."""
    edges = _list_edges(intervals)
    new = np.flatnonzero(np.diff(edges.at_ns)) + 1
    # of several edges at one instant the last tells what goes on, the first what went before
    before, after = new - 1, new
    start, ends = edges.at_ns[before], edges.at_ns[after]
    event_before, event_after = edges.event[before], edges.event[after]
    goes_on = _find_open_after(intervals, event_before, edges.is_end[before], start)
    went_on = _find_open_before(intervals, event_after, edges.is_end[after], ends)
    first, last = _find_edge_span(intervals, edges)
    if intervals.switches:
        earlier, later = first[event_after] < after, last[event_before] > before
        runs = _is_awake(intervals, event_before, goes_on, later)
        woken = edges.is_end[after] & intervals.asleep[event_after]
        takes_over = ~runs & ~woken & _is_awake(intervals, event_after, went_on, earlier)
    else:
        runs = goes_on != NONE
        takes_over = ~runs & (went_on != NONE)
    state = np.where(runs | takes_over, RUNS, IDLE if intervals.switches else UNKNOWN)
    event = np.where(runs, goes_on, np.where(takes_over, went_on, NONE))
    kernel = np.where(
        runs, intervals.kernel[event_before], takes_over & intervals.kernel[event_after]
    )
    if intervals.switches:
        operation = _find_operation(intervals, edges, before, start)
        waits = (state == IDLE) & (operation != NONE)
        state[waits], event[waits] = WAITS_FOR_CHIP, operation[waits]
        kernel[waits] = intervals.kernel[operation[waits]]
    return Stretches(start, ends - start, state, event, kernel.astype(bool))


def _list_edges(intervals: Intervals) -> _Edges:
    """At one instant ends come first, the innermost first, then beginnings, the outermost first."""
    lasting = np.flatnonzero(intervals.latency_ns)[::-1]
    at = np.concatenate([intervals.end_ns[lasting], intervals.start_ns])
    event = np.concatenate([lasting, np.arange(len(intervals.pid))])
    order = np.argsort(at, kind="stable")
    return _Edges(at[order], event[order], order < len(lasting))


def climb_parents_while_wrong(
    events: Ints, parent: Ints, wrong: Callable[[Ints, Ints], Bools]
) -> Ints:
    """For each event the innermost that is not wrong, among itself and those around it; or -1.

    ``wrong`` gets events, and the places in ``events`` that they are for.
    """
    innermost = events.copy()
    todo = np.flatnonzero(innermost != NONE)
    while len(todo):
        todo = todo[wrong(innermost[todo], todo)]
        innermost[todo] = parent[innermost[todo]]
        todo = todo[innermost[todo] != NONE]
    return innermost


def _find_open_after(intervals: Intervals, event: Ints, is_end: Bools, now: Ints) -> Ints:
    """The innermost interval of its task that is open just after an edge."""
    end = intervals.end_ns
    return climb_parents_while_wrong(
        np.where(is_end, intervals.parent[event], event),
        intervals.parent,
        lambda e, i: end[e] <= now[i],
    )


def _find_open_before(intervals: Intervals, event: Ints, is_end: Bools, now: Ints) -> Ints:
    """The innermost interval of its task that is open just before an edge."""
    inner = np.where(is_end, event, intervals.parent[event])
    return climb_parents_while_wrong(
        inner, intervals.parent, lambda e, i: intervals.start_ns[e] >= now[i]
    )


def _find_edge_span(intervals: Intervals, edges: _Edges) -> tuple[Ints, Ints]:
    """For each event the places of its task's first and last edge."""
    _, task = np.unique(intervals.pid, return_inverse=True)
    of_edge = task[edges.event]
    place = np.arange(len(of_edge))
    last = np.zeros(int(task.max(initial=0)) + 1, np.int64)
    first = last.copy()
    last[of_edge] = place
    first[of_edge[::-1]] = place[::-1]
    return first[task], last[task]


def _is_awake(intervals: Intervals, event: Ints, inner: Ints, has_further_edges: Bools) -> Bools:
    """Whether a task has the processor beside an edge of its.

    It has not in a call of the scheduler. In no interval, before its first or after its last edge,
    a program has it, for it is born or dies; a thread of the kernel has not, for it sleeps in a
    call that has no record.
    """
    asleep = (inner != NONE) & intervals.asleep[inner]
    awake: Bools = ~asleep & ((inner != NONE) | ~intervals.kernel[event] | has_further_edges)
    return awake


def _find_operation(intervals: Intervals, edges: _Edges, before: Ints, now: Ints) -> Ints:
    """The operation that the chip is at after an edge: the last that began, if it goes on."""
    begins = intervals.chip[edges.event] & ~edges.is_end
    latest = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), NONE))[before]
    event = np.where(latest == NONE, NONE, edges.event[latest])
    return np.where((event != NONE) & (intervals.end_ns[event] > now), event, NONE)
