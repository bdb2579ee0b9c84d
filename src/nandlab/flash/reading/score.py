# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads against the model: flash pages call by call, then times."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nandlab.base.errors import UsageError
from nandlab.flash.reading import times
from nandlab.flash.reading.reads import FirstOpen, ReadCall
from nandlab.flash.reading.walk import PRICED_EVENTS, ChipTrace, ScoredCall
from nandlab.traced import cost

PAGES_SHOWN = 12
"""Of a call whose flash pages are told in words, at most."""


@dataclass(frozen=True)
class CallTimes:
    """A traced call's time without the tracers' own, and what was foretold."""

    scored: ScoredCall
    ns: float
    """Measured, less what its events cost to trace."""
    read: times.PageReadTimes
    """A page read of the part."""
    instruction_ns: float
    tracing: Mapping[str, float] = field(repr=False)
    """Instructions that the tracers took, by event."""

    def compute_predicted_ns(self, by: times.Instructions) -> float:
        """The time that the model gives, ns."""
        return times.compute_call_ns(self.scored.call, by, self.read, self.instruction_ns)

    def compute_ns_with_tick(self, by: times.Instructions) -> float:
        """The same of a call that began when it did: with the kernel's tick where that comes, and
        with a process's first wait for the chip."""
        call, timer, each = self.scored.call, self.scored.timer, self.instruction_ns
        found = self.compute_predicted_ns(by)
        if call.flash and self.scored.waits_first:
            found += each * by.first_wait
        if timer is None or not isinstance(call, ReadCall):
            return found
        stretches = [each * n for n in times.split_call_instructions(call, by, self.tracing)]
        reads = [self.read.compute_ns(1, a.registered) for a in call.accesses if not a.hit]
        return found + timer.delay_ns(self.scored.row.start_ns, stretches, reads)

    def compute_paper_ns(self, overhead_ns: float) -> float:
        """The time that the tracing paper's formula gives with this overhead, ns."""
        return times.compute_paper_call_ns(self.scored.call, self.read.page_ns, overhead_ns)

    @property
    def paper_overhead_ns(self) -> float:
        """What the paper's formula calls overhead, ns: all but N whole page reads."""
        return self.ns - len(self.scored.traced_pages) * self.read.page_ns

    @property
    def chip_ns(self) -> float:
        """The chip's time, ns: of the pages that it read."""
        return self.read.compute_ns(len(self.scored.traced_pages), self.scored.registered)

    @property
    def processor(self) -> float:
        """What is left beside the chip's time, in instructions."""
        return (self.ns - self.chip_ns) / self.instruction_ns


def list_call_times(trace: ChipTrace, scored: Sequence[ScoredCall]) -> list[CallTimes]:
    """The times of the calls that are known; UsageError where the board counts no instructions."""
    return list_measured_times(trace, [s for s in scored if s.is_known])


def list_measured_times(trace: ChipTrace, scored: Sequence[ScoredCall]) -> list[CallTimes]:
    """The times of calls, known or not; UsageError where the board counts no instructions.

    The time for a call that failed in its order of pages is that of the pages it did read.
    """
    instruction_ns = cost.find_board_instruction_ns(trace.board)
    if instruction_ns is None:
        raise UsageError(f"{trace.title}: on this board's clock no instruction has a time")
    read, costs = times.compute_chip_page_read_times(trace.chip), cost.read_tracing_costs()
    each = {event: costs.price(trace.kernel, event, None) or 0 for event in PRICED_EVENTS}
    found = []
    for one in scored:
        tracing = {event: one.events[event] * each[event] for event in PRICED_EVENTS}
        ns = one.row.ns - instruction_ns * sum(tracing.values())
        found.append(CallTimes(one, ns, read, instruction_ns, tracing))
    return found


def summarise_call_scores(trace: ChipTrace, scored: Sequence[ScoredCall]) -> dict[str, Any]:
    """What ``nandlab model score --json`` prints; errors are shares of the measured time."""
    pages = [s for s in scored if isinstance(s.call, ReadCall)]
    known = [s for s in pages if s.is_known]
    wrong = [s for s in scored if s.is_known and not s.same]
    found: dict[str, Any] = {
        "calls": len(pages),
        "unknown": len(pages) - len(known),
        "differ": sum(not s.same for s in known),
        "disturbed": sum(s.disturbed for s in known),
        "ticked": sum(s.ticked for s in known),
        "first_that_differ": [
            {
                "path": s.path,
                "page": _find_page(s),
                "traced": s.traced_pages,
                "foretold": s.call.flash,
            }
            for s in wrong
        ][:5],
    }
    by, why = _find_instructions(trace, scored)
    found["opens"] = [
        _compare_first_open(t, by)
        for t in list_call_times(trace, [s for s in scored if not _is_page_read(s)])
    ]
    told = list_call_times(trace, pages)
    if not told:
        return found
    still = [t for t in told if not (t.scored.disturbed or t.scored.ticked)]
    alone = [t for t in told if not t.scored.disturbed]
    overhead = statistics.fmean(t.paper_overhead_ns for t in told)
    paper = [t.compute_paper_ns(overhead) for t in told]
    return found | {
        "n": sum(len(t.scored.traced_pages) for t in told),
        "measured_ns": round(sum(t.ns for t in told)),
        "chip_ns": round(sum(t.chip_ns for t in told)),
        "nandlab": compute_time_errors([t.compute_predicted_ns(by) for t in told], told)
        if by
        else None,
        "in_time": compute_time_errors([t.compute_ns_with_tick(by) for t in told], told)
        if by and by.tick
        else None,
        "alone": compute_time_errors([t.compute_ns_with_tick(by) for t in alone], alone)
        if by and by.tick and alone
        else None,
        "undisturbed": compute_time_errors([t.compute_predicted_ns(by) for t in still], still)
        if by and still
        else None,
        "not_known": why,
        "paper": compute_time_errors(paper, told) | {"overhead_ns": round(overhead)},
    }


def _find_instructions(
    trace: ChipTrace, scored: Sequence[ScoredCall]
) -> tuple[times.Instructions | None, str | None]:
    """What the trace's calls take, or None and why that is not known."""
    try:
        by = times.find_instruction_counts(trace.filesystem, trace.kernel, trace.arch)
        for one in scored:
            times.compute_call_ns(one.call, by, times.PageReadTimes(0), 0)
    except UsageError as e:
        return None, str(e)
    return by, None


def _is_page_read(scored: ScoredCall) -> bool:
    """Whether a call reads a page of a file; else it is a first open."""
    return isinstance(scored.call, ReadCall)


def _find_page(scored: ScoredCall) -> int | None:
    return scored.call.page if isinstance(scored.call, ReadCall) else None


def _compare_first_open(of: CallTimes, by: times.Instructions | None) -> dict[str, Any]:
    """A first open beside the foretold one."""
    return {
        "path": of.scored.path,
        "n": len(of.scored.traced_pages),
        "same": of.scored.same,
        "ordered": isinstance(of.scored.call, FirstOpen) and of.scored.call.ordered,
        "disturbed": of.scored.disturbed,
        "ticked": of.scored.ticked,
        "measured_ns": round(of.ns),
        "error": round(of.compute_predicted_ns(by) / of.ns - 1, 6) if by else None,
    }


def compute_time_errors(told: Sequence[float], traced: Sequence[CallTimes]) -> dict[str, float]:
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


def _format_pages(pages: Sequence[int]) -> str:
    """The flash pages of a call, of many the first."""
    told = ", ".join(map(str, pages[:PAGES_SHOWN]))
    return f"[{told}, ... {len(pages)} in all]" if len(pages) > PAGES_SHOWN else f"[{told}]"


def format_score_summary(found: dict[str, Any]) -> Iterator[str]:
    """The summary in words."""
    known = found["calls"] - found["unknown"]
    yield f"{found['calls']} calls read a page of a file; {found['unknown']} of pages not known"
    yield f"N and the order of flash pages: equal in {known - found['differ']} of {known}"
    for one in found["first_that_differ"]:
        what = "first open" if one["page"] is None else f"page {one['page']}"
        yield (
            f"  {one['path']} {what}: {_format_pages(one['traced'])}, foretold "
            f"{_format_pages(one['foretold'])}"
        )
    ran, ticked = found["disturbed"], found["ticked"]
    yield f"something else ran before the end of {ran}; the timer's tick may have in {ticked}"
    for one in found["opens"]:
        same = "as foretold" if one["same"] else "other flash pages than foretold"
        if one["same"] and not one["ordered"]:
            same = "as foretold, but the flash does not tell the order"
        took, off = one["measured_ns"] / 1e6, one["error"]
        error = "" if off is None else f", {off:+.3%}"
        error += ", something else ran before its end" if one["disturbed"] else ""
        error += ", a tick may have come in it" if one["ticked"] else ""
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
        ("in_time", "ticks by when each call began; nothing fitted here"),
        ("alone", "the same of those calls alone during which no other thread ran"),
        ("undisturbed", "those calls alone during which nothing else ran, no tick either"),
        ("paper", "its overhead fitted here"),
    ):
        if (e := found[name]) is None:
            continue
        yield (
            f"  {name:11} total {e['total']:+.3%}, a call: median {e['median']:.3%}, "
            f"p99 {e['p99']:.2%}, max {e['max']:.2%} ({what})"
        )
