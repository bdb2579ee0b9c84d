# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of reads against the model: flash pages call by call, then times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.strings import FreeText
from nandlab.catalog.noun import StrictModel
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
        call, timer, instruction_ns = self.scored.call, self.scored.timer, self.instruction_ns
        total_ns = self.compute_predicted_ns(by)
        if call.flash and self.scored.waits_first:
            total_ns += instruction_ns * by.first_wait
        if timer is None or not isinstance(call, ReadCall):
            return total_ns
        stretches = [
            instruction_ns * n for n in times.split_call_instructions(call, by, self.tracing)
        ]
        reads = [self.read.compute_ns(1, a.registered) for a in call.accesses if not a.hit]
        return total_ns + timer.delay_ns(self.scored.row.start_ns, stretches, reads)

    def compute_paper_ns(self, overhead_ns: float) -> float:
        """The time that the tracing paper's formula gives with this overhead, ns."""
        return times.compute_paper_call_ns(self.scored.call, self.read.page_ns, overhead_ns)

    @property
    def traced_ns(self) -> int:
        """Measured, with what its events cost to trace, ns."""
        return self.scored.row.ns

    @property
    def paper_chip_ns(self) -> float:
        """N whole page reads, ns."""
        return len(self.scored.traced_pages) * self.read.page_ns

    @property
    def paper_overhead_ns(self) -> float:
        """What the paper's formula calls overhead, ns: all but N whole page reads."""
        return self.ns - self.paper_chip_ns

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
    prices = {event: costs.price(trace.kernel, event, None) or 0 for event in PRICED_EVENTS}
    call_times = []
    for scored_call in scored:
        tracing = {event: scored_call.events[event] * prices[event] for event in PRICED_EVENTS}
        ns = scored_call.row.ns - instruction_ns * sum(tracing.values())
        call_times.append(CallTimes(scored_call, ns, read, instruction_ns, tracing))
    return call_times


class DifferingCall(StrictModel):
    """A call whose flash pages are not the foretold ones."""

    path: FreeText
    page: int | None = Field(description="null: a first open")
    traced: list[int]
    foretold: list[int]


class TracedOpen(StrictModel):
    """A first open beside the foretold one."""

    path: FreeText
    n: int
    same: bool
    ordered: bool = Field(description="false: the flash does not tell in which order it reads")
    disturbed: bool = Field(description="true: something else ran before it ended")
    ticked: bool = Field(description="true: the kernel's tick may have come in it")
    measured_ns: int
    error: float | None = Field(description="null: times are not known")


class TimeErrors(StrictModel):
    """How far foretold times are off, as shares of the measured ones."""

    total: float
    median: float
    p99: float
    max: float


class PaperErrors(TimeErrors):
    """Those of the paper's formula."""

    overhead_ns: int


class ModelScore(StrictModel):
    """A trace's reads beside the model's; those from n on are absent where no call was timed."""

    calls: int
    unknown: int
    differ: int
    disturbed: int
    ticked: int = Field(description="calls in which the kernel's tick may have come")
    first_that_differ: list[DifferingCall]
    opens: list[TracedOpen]
    n: int = 0
    measured_ns: int = 0
    chip_ns: int = Field(default=0, description="the chip's part of it, foretold")
    nandlab: TimeErrors | None = None
    in_time: TimeErrors | None = Field(
        default=None, description="given when each call began: with ticks and first waits"
    )
    alone: TimeErrors | None = Field(
        default=None,
        description="in_time, of calls alone during which nothing else ran while the chip worked",
    )
    undisturbed: TimeErrors | None = None
    not_known: FreeText | None = Field(
        default=None, description="why nandlab tells no more of times"
    )
    paper: PaperErrors | None = None

    @property
    def is_timed(self) -> bool:
        """Whether it has times."""
        return self.paper is not None


def summarise_call_scores(trace: ChipTrace, scored: Sequence[ScoredCall]) -> ModelScore:
    """How far the model holds on a trace's calls."""
    pages = [s for s in scored if isinstance(s.call, ReadCall)]
    known_pages = [s for s in pages if s.is_known]
    wrong = [s for s in scored if s.is_known and not s.same]
    by, why = _find_instructions(trace, scored)
    opens = list_call_times(trace, [s for s in scored if not _is_page_read(s)])
    times_of_pages = list_call_times(trace, pages)
    return ModelScore(
        calls=len(pages),
        unknown=len(pages) - len(known_pages),
        differ=sum(not s.same for s in known_pages),
        disturbed=sum(s.disturbed for s in known_pages),
        ticked=sum(s.ticked for s in known_pages),
        first_that_differ=[
            DifferingCall(
                path=s.path,
                page=_find_page(s),
                traced=list(s.traced_pages),
                foretold=list(s.call.flash),
            )
            for s in wrong[:5]
        ],
        opens=[_compare_first_open(t, by) for t in opens],
        **(_summarise_times(times_of_pages, by, why) if times_of_pages else {}),
    )


def _summarise_times(
    calls: Sequence[CallTimes], by: times.Instructions | None, why: str | None
) -> dict[str, Any]:
    """The fields of a score that timed calls give."""
    still = [t for t in calls if not (t.scored.disturbed or t.scored.ticked)]
    alone = [t for t in calls if not t.scored.disturbed]
    overhead = statistics.fmean(t.paper_overhead_ns for t in calls)
    paper = compute_time_errors([t.compute_paper_ns(overhead) for t in calls], calls)
    ticking = by if by and by.tick else None
    return {
        "n": sum(len(t.scored.traced_pages) for t in calls),
        "measured_ns": round(sum(t.ns for t in calls)),
        "chip_ns": round(sum(t.chip_ns for t in calls)),
        "nandlab": _compute_model_errors(calls, by, CallTimes.compute_predicted_ns),
        "in_time": _compute_model_errors(calls, ticking, CallTimes.compute_ns_with_tick),
        "alone": _compute_model_errors(alone, ticking, CallTimes.compute_ns_with_tick),
        "undisturbed": _compute_model_errors(still, by, CallTimes.compute_predicted_ns),
        "not_known": why,
        "paper": PaperErrors(**dict(paper), overhead_ns=round(overhead)),
    }


def _compute_model_errors(
    calls: Sequence[CallTimes],
    by: times.Instructions | None,
    compute_ns: Callable[[CallTimes, times.Instructions], float],
) -> TimeErrors | None:
    """The errors of a way to compute a call's time; None: there is none, or no such call."""
    if by is None or not calls:
        return None
    return compute_time_errors([compute_ns(t, by) for t in calls], calls)


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


def _compare_first_open(call_times: CallTimes, by: times.Instructions | None) -> TracedOpen:
    return TracedOpen(
        path=call_times.scored.path,
        n=len(call_times.scored.traced_pages),
        same=call_times.scored.same,
        ordered=isinstance(call_times.scored.call, FirstOpen) and call_times.scored.call.ordered,
        disturbed=call_times.scored.disturbed,
        ticked=call_times.scored.ticked,
        measured_ns=round(call_times.ns),
        error=round(call_times.compute_predicted_ns(by) / call_times.ns - 1, 6) if by else None,
    )


def compute_time_errors(predicted: Sequence[float], traced: Sequence[CallTimes]) -> TimeErrors:
    """How far foretold times are off, as shares: their sum, and the median, the 99th percentile and
    the most of single calls."""
    measured = [t.ns for t in traced]
    errors = sorted(abs(a / b - 1) for a, b in zip(predicted, measured, strict=True))
    return TimeErrors(
        total=round(sum(predicted) / sum(measured) - 1, 6),
        median=round(statistics.median(errors), 6),
        p99=round(errors[min(len(errors) - 1, int(0.99 * len(errors)))], 6),
        max=round(errors[-1], 6),
    )


def _format_pages(pages: Sequence[int]) -> str:
    """The flash pages of a call, of many the first."""
    told = ", ".join(map(str, pages[:PAGES_SHOWN]))
    return f"[{told}, ... {len(pages)} in all]" if len(pages) > PAGES_SHOWN else f"[{told}]"


def format_score_summary(score: ModelScore) -> Iterator[str]:
    """The summary in words."""
    known = score.calls - score.unknown
    yield f"{score.calls} calls read a page of a file; {score.unknown} of pages not known"
    yield f"N and the order of flash pages: equal in {known - score.differ} of {known}"
    for call in score.first_that_differ:
        what = "first open" if call.page is None else f"page {call.page}"
        yield (
            f"  {call.path} {what}: {_format_pages(call.traced)}, foretold "
            f"{_format_pages(call.foretold)}"
        )
    yield (
        f"something else ran before the end of {score.disturbed}; the timer's tick may have in "
        f"{score.ticked}"
    )
    yield from map(_format_first_open, score.opens)
    if score.is_timed:
        yield from _format_times(score)


def _format_first_open(opening: TracedOpen) -> str:
    same = "as foretold" if opening.same else "other flash pages than foretold"
    if opening.same and not opening.ordered:
        same = "as foretold, but the flash does not tell the order"
    error = "" if opening.error is None else f", {opening.error:+.3%}"
    error += ", something else ran before its end" if opening.disturbed else ""
    error += ", a tick may have come in it" if opening.ticked else ""
    measured = f"N {opening.n}, {same}; {opening.measured_ns / 1e6:.3f} ms"
    return f"first open of {opening.path}: {measured}{error}"


def _format_times(score: ModelScore) -> Iterator[str]:
    yield (
        f"time: {score.measured_ns / 1e6:.3f} ms without the tracers' own, N {score.n}, "
        f"{score.chip_ns / 1e6:.3f} ms of it the chip's"
    )
    if score.not_known:
        yield f"  {score.not_known}"
    for name, errors, description in (
        ("nandlab", score.nandlab, "nothing fitted here"),
        ("in_time", score.in_time, "ticks by when each call began; nothing fitted here"),
        ("alone", score.alone, "the same of those calls alone during which no other thread ran"),
        (
            "undisturbed",
            score.undisturbed,
            "those calls alone during which nothing else ran, no tick either",
        ),
        ("paper", score.paper, "its overhead fitted here"),
    ):
        if errors is not None:
            yield (
                f"  {name:11} total {errors.total:+.3%}, a call: median {errors.median:.3%}, "
                f"p99 {errors.p99:.2%}, max {errors.max:.2%} ({description})"
            )
