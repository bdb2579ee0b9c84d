# SPDX-License-Identifier: GPL-2.0-or-later
"""The scores of :mod:`nandlab.flash.reading.boardscore` in words, each with what was fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

KINDS = {"R": "page read", "W": "page write", "E": "block erase"}


def format_load_scores(found: dict[str, Any]) -> Iterator[str]:
    """The scores of one load."""
    runs = ", ".join(f"{count} of {kind}" for kind, count in found["runs"].items())
    yield f"{found['load']}: {runs} runs"
    for title, key, words in (
        ("calls of jffs2_readpage, from the system calls", "read_calls", _format_read_calls),
        ("time of a burst of reads, given its flash pages", "burst_times", _format_burst_times),
        (
            "time of a flash operation, beside the tracing paper's table 1",
            "page_times",
            _format_page_times,
        ),
        ("the collector's reads of erased blocks, 64 an erase", "collector", _format_collector),
    ):
        yield ""
        yield title
        if "not_scored" in found[key]:
            yield f"  not scored: {found[key]['not_scored']}"
            continue
        yield from words(found[key])
        yield from _format_fit(found[key])


def _format_fit(score: dict[str, Any]) -> Iterator[str]:
    where = f", on {score['fitted_on']}" if score["fitted"] else ""
    yield f"  fitted: {score['fitted'] or 'nothing'}{where}"
    if score.get("not_paired"):
        yield f"  not paired with a run of the other tracer: {score['not_paired']} runs"
    for what in score["not_known"]:
        yield f"  not known: {what}"


def _format_read_calls(score: dict[str, Any]) -> Iterator[str]:
    for run in score["runs"]:
        here = " (fitted)" if run is score["runs"][0] else ""
        bursts = "burst by burst" if run["bursts_equal"] else "other bursts"
        yield (
            f"  {run['calls_of']}: foretold {run['foretold']}, traced {run['traced']}, "
            f"{bursts}{here}; jffs2_write_begin {run['writes_foretold']}, traced "
            f"{run['writes_traced']}"
        )
    yield (
        f"  equal in {score['exact']} of the {score['scored_on']} runs that are not fitted; "
        f"burst by burst in {score['bursts_exact']}"
    )
    for choice, count in score["runs"][0]["of_choices"].items():
        yield f"  {choice}: {count}"
    if score["as_good_there"]:
        yield f"  as good where it was fitted: {'; '.join(score['as_good_there'])}"


def _format_burst_times(score: dict[str, Any]) -> Iterator[str]:
    for run in score["runs"]:
        here = " (fitted)" if run["functions_of"] == score["fitted_on"] else ""
        yield (
            f"  {run['functions_of']}: {run['bursts']} bursts, {run['calls']} calls, "
            f"N {run['n']}, {run['measured_us'] / 1e3:.3f} ms{_format_errors(run['errors'])}{here}"
        )
    yield (
        f"  the {score['scored_on']} runs that are not "
        f"fitted{_format_errors(score['fitted_overhead'])}"
    )
    if score["impossible"]:
        yield (
            f"  {score['impossible']} bursts whose pages take longer than their calls: some pages "
            "were read for something else"
        )
    yield f"  all, with the paper's 45.06 us a call{_format_errors(score['paper_overhead'])}"


def _format_errors(errors: dict[str, float] | None) -> str:
    if errors is None:
        return ": no error to tell"
    return (
        f": total {errors['total']:+.2%}, a burst: median {errors['median']:.2%}, "
        f"max {errors['max']:.2%}"
    )


def _format_page_times(score: dict[str, Any]) -> Iterator[str]:
    for kind, one in score["kinds"].items():
        if one["us"] is None:
            yield f"  {KINDS[kind]}: not known, {one['pauses']} pauses to a next start"
            continue
        yield (
            f"  {KINDS[kind]}: {one['us']:.2f} us, the paper's {one['table_us']:.2f} us: "
            f"{one['off']:+.1%} ({one['near_mode']:.0%} of {one['pauses']} pauses to the next "
            f"start, those at the most frequent, {one['mode_us']:.1f} us; {one['too_short']} are "
            "shorter than the paper's by more than a step)"
        )


def _format_collector(score: dict[str, Any]) -> Iterator[str]:
    for run in score["runs"]:
        yield (
            f"  {run['flash_of']}: {run['erases']} erases, {run['foretold']} reads foretold, "
            f"{run['traced']} traced; after {run['in_order']} erases all of the block, in order"
        )
    yield (
        f"  equal in {score['exact']} of {score['scored_on']} runs: "
        f"{score['foretold']} foretold, {score['traced']} traced"
    )
