# SPDX-License-Identifier: GPL-2.0-or-later
"""The scores of :mod:`nandlab.flash.reading.boardscore` in words, each with what was fitted."""

from __future__ import annotations

from collections.abc import Iterator

from nandlab.flash.reading.boardscores import (
    BoardLoad,
    BurstErrors,
    BurstTimes,
    Collector,
    NotScored,
    PageTimes,
    ReadCalls,
)

KINDS = {"R": "page read", "W": "page write", "E": "block erase"}


def format_load_scores(load: BoardLoad) -> Iterator[str]:
    """The scores of one load."""
    runs = ", ".join(f"{count} of {tracer}" for tracer, count in load.runs.items())
    yield f"{load.load}: {runs} runs"
    for title, score in (
        ("calls of jffs2_readpage, from the system calls", load.read_calls),
        ("time of a burst of reads, given its flash pages", load.burst_times),
        ("time of a flash operation, beside the tracing paper's table 1", load.page_times),
        ("the collector's reads of erased blocks, 64 an erase", load.collector),
    ):
        yield ""
        yield title
        yield from _format_score(score)


def _format_score(
    score: ReadCalls | BurstTimes | PageTimes | Collector | NotScored,
) -> Iterator[str]:
    match score:
        case NotScored():
            yield f"  not scored: {score.not_scored}"
        case ReadCalls():
            yield from _format_read_calls(score)
            yield f"  fitted: {score.fitted}, on {score.fitted_on}"
        case BurstTimes():
            yield from _format_burst_times(score)
            yield f"  fitted: {score.fitted}, on {score.fitted_on}"
        case PageTimes():
            yield from _format_page_times(score)
            yield "  fitted: nothing"
        case Collector():
            yield from _format_collector(score)
            yield "  fitted: nothing"
    if isinstance(score, ReadCalls | BurstTimes) and score.not_paired:
        yield f"  not paired with a run of the other tracer: {score.not_paired} runs"
    if not isinstance(score, NotScored):
        for what in score.not_known:
            yield f"  not known: {what}"


def _format_read_calls(score: ReadCalls) -> Iterator[str]:
    for run in score.runs:
        here = " (fitted)" if run is score.runs[0] else ""
        bursts = "burst by burst" if run.bursts_equal else "other bursts"
        yield (
            f"  {run.calls_of}: foretold {run.foretold}, traced {run.traced}, "
            f"{bursts}{here}; jffs2_write_begin {run.writes_foretold}, traced "
            f"{run.writes_traced}"
        )
    yield (
        f"  equal in {score.exact} of the {score.scored_on} runs that are not fitted; "
        f"burst by burst in {score.bursts_exact}"
    )
    for choice, count in score.runs[0].of_choices.items():
        yield f"  {choice}: {count}"
    if score.as_good_there:
        yield f"  as good where it was fitted: {'; '.join(score.as_good_there)}"


def _format_burst_times(score: BurstTimes) -> Iterator[str]:
    for run in score.runs:
        here = " (fitted)" if run.functions_of == score.fitted_on else ""
        yield (
            f"  {run.functions_of}: {run.bursts} bursts, {run.calls} calls, "
            f"N {run.n}, {run.measured_us / 1e3:.3f} ms{_format_errors(run.errors)}{here}"
        )
    yield (
        f"  the {score.scored_on} runs that are not fitted{_format_errors(score.fitted_overhead)}"
    )
    if score.impossible:
        yield (
            f"  {score.impossible} bursts whose pages take longer than their calls: some pages "
            "were read for something else"
        )
    yield f"  all, with the paper's 45.06 us a call{_format_errors(score.paper_overhead)}"


def _format_errors(errors: BurstErrors | None) -> str:
    if errors is None:
        return ": no error to tell"
    return f": total {errors.total:+.2%}, a burst: median {errors.median:.2%}, max {errors.max:.2%}"


def _format_page_times(score: PageTimes) -> Iterator[str]:
    for kind, kind_score in score.kinds.items():
        if kind_score.us is None:
            yield f"  {KINDS[kind]}: not known, {kind_score.pauses} pauses to a next start"
            continue
        yield (
            f"  {KINDS[kind]}: {kind_score.us:.2f} us, the paper's {kind_score.table_us:.2f} us: "
            f"{kind_score.off:+.1%} ({kind_score.near_mode:.0%} of {kind_score.pauses} pauses "
            f"to the next start, those at the most frequent, {kind_score.mode_us:.1f} us; "
            f"{kind_score.too_short} are shorter than the paper's by more than a step)"
        )


def _format_collector(score: Collector) -> Iterator[str]:
    for run in score.runs:
        yield (
            f"  {run.flash_of}: {run.erases} erases, {run.foretold} reads foretold, "
            f"{run.traced} traced; after {run.in_order} erases all of the block, in order"
        )
    yield (
        f"  equal in {score.exact} of {score.scored_on} runs: "
        f"{score.foretold} foretold, {score.traced} traced"
    )
