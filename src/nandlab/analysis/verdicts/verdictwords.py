# SPDX-License-Identifier: GPL-2.0-or-later
"""A verdict in words: a sentence with its reasons, and the answer in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nandlab.analysis.figures import figures
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.figures.spread import Spread
from nandlab.analysis.verdicts.criteria import Criterion, VerdictScope
from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.verdict import (
    CALL_ORDER,
    FIT,
    TIE_FACTOR,
    TIE_TEXT,
    VerdictCall,
    VerdictRow,
    format_promise_aside,
    format_taken,
    format_with_asides,
    is_power_cut_untried,
)
from nandlab.base import units
from nandlab.results.cutsummaries import format_class_counts, tally_power_cuts

COMMONER_PERCENTILES, RARE_PERCENTILE = ("median", "p95", "p99"), "p99_9"
"""Percentiles that tell nothing of the rarest operations, and the one that is told beside them."""


@dataclass(frozen=True)
class Candidate:
    """A row before it is known who comes first."""

    row: VerdictRow
    gaps: tuple[VerdictGap, ...]
    missing: int
    """States and loads of which it has no trial."""
    headline: Spread | None
    """In the state where its median is worst, of the first load."""
    state: str = ""

    @property
    def room(self) -> float | None:
        """What is left of the nearest limit that is met, as a share of it."""
        known = [1 - c.used for c in self.row.cells if c.used is not None and c.state == "met"]
        return min(known, default=None)


def is_verdict_deciding_cell(scope: VerdictScope, criterion: Criterion, row: VerdictRow) -> bool:
    """Whether an open cell leaves the whole open: of what was asked, else of the headline. A power
    cut that nobody tried does not, where none was asked for, but that nothing is promised does."""
    if criterion.name == LOST_FIGURE and not criterion.limit:
        return row.power.keeps == "nothing"
    headlines = [s.headline.name for s in scope.settings]
    return bool(criterion.limit) or (scope.limits.is_empty and criterion.name in headlines)


def format_verdict_sentences(
    scope: VerdictScope, criteria: Sequence[Criterion], candidates: Sequence[Candidate]
) -> list[str]:
    """What to take and why, who else fits, why one that is faster is not taken, what failed with
    unstable cells, what to avoid, and how much of a load power cuts have tried."""
    first = candidates[0]
    avoided = [
        f"Avoid {j.row.name}: {'; '.join(j.row.against)}."
        for j in candidates
        if j.row.call == "avoid"
    ]
    closing_texts = [
        text
        for text in (_format_unstable_cells(candidates), *avoided, _format_sample(candidates))
        if text
    ]
    if first.row.call == "avoid":
        return ["None that was measured is fit.", *closing_texts]
    if first.row.call == "open":
        what = ", ".join(
            dict.fromkeys(gap.what for gap in _list_blocking_gaps(scope, criteria, first))
        )
        lead = f"Not enough to say yet: {first.row.name} is the first to look into; open: {what}."
        return [lead, *closing_texts]
    lead = (
        f"Take {format_with_asides(first.row.name, _format_power_aside(first.row))}: "
        f"{_explain_first_choice(scope, criteria, first)}."
    )
    fit = [j for j in candidates[1:] if j.row.call in FIT]
    other_fits_text = " ".join(
        filter(
            None, [_format_other_fits(scope, first, fit), _format_other_states(scope, first, fit)]
        )
    )
    better_texts = [
        _explain_not_taken(scope, criteria, first, j) for j in candidates if j.row.call == "open"
    ]
    return [text for text in (lead, other_fits_text, *better_texts, *closing_texts) if text]


def _explain_not_taken(
    scope: VerdictScope, criteria: Sequence[Criterion], first: Candidate, candidate: Candidate
) -> str:
    """Why an open row is not taken that is better by the headline; empty: it is not better."""
    better = scope.settings[0].headline.better
    if not (
        first.headline and candidate.headline and _leads(candidate.headline, first.headline, better)
    ):
        return ""
    if candidate.row.power.keeps == "nothing" and not scope.limits.may_lose:
        why = "promises nothing after a power cut"
    else:
        what = dict.fromkeys(gap.what for gap in _list_blocking_gaps(scope, criteria, candidate))
        why = f"is open: {', '.join(what)}"
    return f"{candidate.row.name} {_format_factor(scope, first, candidate)}, but {why}."


def _format_factor(scope: VerdictScope, first: Candidate, candidate: Candidate) -> str:
    """By what factor a row's headline is another than that of the first."""
    if not (candidate.headline and first.headline and first.headline.median):
        return ""
    ratio = units.format_ratio(candidate.headline.median / first.headline.median)
    return scope.settings[0].words.headline.more.format(r=ratio, v="")


def _format_unstable_cells(candidates: Sequence[Candidate]) -> str:
    """What failed only with unstable cells, which no limit counts, of those that are not avoided;
    empty: nothing."""
    counts = [
        f"{j.row.name} {sum(tally.unstable.values()):,} of {point_count:,} ({classes})"
        for j in candidates
        if j.row.call != "avoid"
        and (tally := tally_power_cuts(j.row.power.cuts))
        and tally.unstable
        for classes in [format_class_counts(tally.unstable)]
        for point_count in [tally.unstable_points or tally.points]
    ]
    return f"Power cuts that fail with unstable cells: {'; '.join(counts)}." if counts else ""


def _format_sample(candidates: Sequence[Candidate]) -> str:
    """That campaigns cut less than a trial's own load makes; empty: none does."""
    samples = [
        (tally, promise.whole)
        for promise in (j.row.power for j in candidates)
        if (tally := tally_power_cuts(promise.cuts))
        and promise.whole
        and promise.whole > tally.operations
    ]
    if not samples:
        return ""
    points, cut, recorded = (
        _format_range([getattr(tally, name) for tally, _ in samples])
        for name in ("points", "cut", "operations")
    )
    every_one = all(tally.cut == tally.operations for tally, _ in samples)
    at = f"each of the {recorded}" if every_one else f"{cut} of the {recorded}"
    return (
        f"Power cuts are a sample: {points} points in all, at {at} flash operations of short "
        f"loads; a trial's load makes {_format_range([whole for _, whole in samples])}."
    )


def _format_range(values: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{n:,}" for n in (min(values), max(values))))


def _list_blocking_gaps(
    scope: VerdictScope, criteria: Sequence[Criterion], candidate: Candidate
) -> list[VerdictGap]:
    """The gaps that leave a row open."""
    passing = {
        c.title
        for c, cell in zip(criteria, candidate.row.cells, strict=True)
        if cell.state == "open" and not is_verdict_deciding_cell(scope, c, candidate.row)
    }
    return [gap for gap in candidate.gaps if gap.what not in passing]


def _explain_first_choice(
    scope: VerdictScope, criteria: Sequence[Criterion], first: Candidate
) -> str:
    """Why the first is the first."""
    met_limits = [
        (1 - cell.used, c, cell)
        for c, cell in zip(criteria, first.row.cells, strict=True)
        if cell.used is not None and cell.state == "met"
    ]
    met = [
        c
        for c, cell in zip(criteria, first.row.cells, strict=True)
        if c.limit and cell.state == "met"
    ]
    if met_limits:
        room, criterion, cell = min(met_limits, key=lambda n: n[0])
        room_text = f"{units.format_percent(room)} of it is left"
        if criterion.limit.startswith(">"):
            room_text = f"{units.format_ratio(1 / (1 - room))} times as much as asked"
        return (
            f"it meets {'every limit' if len(met) > 1 else 'the limit'}; the nearest is "
            f"{criterion.title} {criterion.limit}: {cell.text}, {room_text}"
            + "".join(f"; {text}" for text in _list_rarer_latencies(scope, criteria, first))
        )
    lead = "it meets every limit; " if met else ""
    return f"{lead}{_format_headline(scope.settings[0], first)}"


def _list_rarer_latencies(
    scope: VerdictScope, criteria: Sequence[Criterion], first: Candidate
) -> Iterator[str]:
    """How long an operation takes beyond the percentile that a limit is on: of the trials the
    worst."""
    limited = {c.name: c.title for c in criteria if c.limit}
    for name, title in limited.items():
        operation, _, percentile = name.rpartition(".")
        rare = f"{operation}.{RARE_PERCENTILE}"
        if percentile not in COMMONER_PERCENTILES or rare in limited:
            continue
        latencies = [
            (spread.max, s.figure(rare).form(spread.max), e)
            for s, e in scope.list_ensembles(first.row.name)
            if not figures.explain_unavailable_figure(rare, s.words)
            and (spread := e.spread(s.figure(rare)))
        ]
        if latencies:
            _, longest, ensemble = max(latencies, key=lambda f: f[0])
            counts = _list_operation_counts(ensemble, operation.removeprefix("latency."))
            n = f" (n = {_format_range(counts)} a run)" if counts else ""
            yield f"{title.removesuffix(percentile)}p99.9, on which no limit is: {longest}{n}"


def _format_headline(setting: Setting, candidate: Candidate) -> str:
    """The headline in words, where it is worst."""
    words, headline = setting.words.headline, candidate.headline
    if headline is None:
        return f"no {words.noun} was measured"
    form = words.told or f"{words.noun} {{v}}"
    worst = {1: "", 2: ", the worse state"}.get(len(setting.states), ", the worst state")
    state = f"{candidate.state}{worst}"
    n = _format_sample_size(setting, candidate)
    return f"{form.format(v=setting.headline.form(headline.median))} ({state}; {n})"


def _format_sample_size(setting: Setting, candidate: Candidate) -> str:
    """Of how many runs the headline is, and of how many operations in each, if it is of some."""
    sample = _format_runs(setting, candidate.headline) if candidate.headline else "no run"
    family, _, name = setting.headline.name.partition(".")
    ensemble = setting.find(candidate.row.name, candidate.state)
    counts = (
        _list_operation_counts(ensemble, name.partition(".")[0])
        if ensemble and family == "latency"
        else []
    )
    return f"{sample}, n = {_format_range(counts)} a run" if counts else sample


def _format_runs(setting: Setting, spread: Spread) -> str:
    """Of how many runs a headline is, and from what to what they lie."""
    form = setting.headline.form
    ends = list(dict.fromkeys([form(spread.min), form(spread.max)]))
    if spread.n == 1:
        return "1 run"
    return f"{spread.n} runs: {'each ' * (len(ends) == 1)}{' to '.join(ends)}"


def _list_operation_counts(ensemble: Ensemble, kind: str) -> list[int]:
    """Of a kind, in each trial that timed some."""
    return [found.count for t in ensemble.ok if (found := t.latency_ns.get(kind))]


def _format_other_fits(
    scope: VerdictScope, first: Candidate, other_candidates: Sequence[Candidate]
) -> str:
    """Who else fits: under limits by name alone, else by how much worse each is."""
    if not other_candidates:
        return ""
    if first.room is not None:
        quantifier = "both" if len(other_candidates) == 1 else "all"
        verb = "meets" if len(other_candidates) == 1 else "meet"
        return f"{_format_names(other_candidates)} {verb} them {quantifier}."
    ties = list_ties(scope, first, other_candidates)
    equals = [j for j in ties if not _are_distinct(first, j)]
    near = _list_factors(scope, first, [j for j in ties if j not in equals])
    behind = _list_factors(scope, first, [j for j in other_candidates if j not in ties])
    texts = [
        f"As good (not told apart): {_format_names(equals)}." if equals else "",
        f"As good (within {TIE_TEXT}): {', '.join(near)}." if near else "",
        f"{', '.join(behind)}." if behind else "",
    ]
    return " ".join(filter(None, texts))


def _list_factors(
    scope: VerdictScope, first: Candidate, other_candidates: Sequence[Candidate]
) -> list[str]:
    """By how much each is worse than the first, of those of which that is known."""
    return [
        f"{format_with_asides(j.row.name, format_promise_aside(j.row))} {factor}"
        for j in other_candidates
        if (factor := _format_factor(scope, first, j))
    ]


def list_ties(
    scope: VerdictScope, first: Candidate, other_candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Those than which the first is no better by the headline; none where limits decide."""
    if first.room is not None or first.headline is None:
        return []
    better = scope.settings[0].headline.better
    return [
        j for j in other_candidates if j.headline and not _leads(first.headline, j.headline, better)
    ]


def _leads(spread: Spread, other_spread: Spread, better: str) -> bool:
    """Whether a headline is better than another by so much that it is a reason to choose: their
    ranges do not touch, and the factor between their medians is no tie's."""
    less, more = sorted((spread.median, other_spread.median))
    ahead = spread.median == (more if better == "more" else less)
    return ahead and spread.is_distinct_from(other_spread) and more >= less * TIE_FACTOR


@dataclass(frozen=True)
class StateLeader:
    """A state of the first load in which another is better than the one to take."""

    state: str
    headline: float
    """The headline of the one to take."""
    better: tuple[tuple[float, str], ...]
    """Headlines and names of those that are better, the best first."""


def list_state_leaders(
    scope: VerdictScope, first: Candidate, other_candidates: Sequence[Candidate]
) -> list[StateLeader]:
    """States in which a fit one is better by the headline than the first, which its worst state
    decides; none where limits decide."""
    if first.room is not None:
        return []
    setting = scope.settings[0]
    sign = 1 if setting.headline.better == "more" else -1
    leaders = []
    for ensemble in setting.ensembles:
        first_spread = ensemble.spread(setting.headline)
        if ensemble.subject != first.row.name or first_spread is None:
            continue
        better = [
            (spread.median, j.row.name)
            for j in other_candidates
            if (other_ensemble := setting.find(j.row.name, ensemble.state))
            and (spread := other_ensemble.spread(setting.headline))
            and _leads(spread, first_spread, setting.headline.better)
        ]
        if better:
            better.sort(key=lambda b: -b[0] * sign)
            leaders.append(StateLeader(ensemble.state, first_spread.median, tuple(better)))
    return leaders


def _format_other_states(
    scope: VerdictScope, first: Candidate, other_candidates: Sequence[Candidate]
) -> str:
    """Who is better than the first where one state alone counts; empty: nobody."""
    form = scope.settings[0].headline.form
    return " ".join(
        f"If {leader.state} alone counts: "
        f"{', '.join(f'{name} {form(median)}' for median, name in leader.better)} "
        f"against {form(leader.headline)}."
        for leader in list_state_leaders(scope, first, other_candidates)
    )


def _format_names(candidates: Sequence[Candidate]) -> str:
    names = [format_with_asides(j.row.name, format_promise_aside(j.row)) for j in candidates]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _are_distinct(a: Candidate, b: Candidate) -> bool:
    return (
        a.headline is not None
        and b.headline is not None
        and a.headline.is_distinct_from(b.headline)
    )


def _format_power_aside(row: VerdictRow) -> str:
    """What of power cuts must stand beside a name that is to be taken; empty: nothing."""
    untried = "power cuts not tried" if is_power_cut_untried(row) else ""
    return format_promise_aside(row) or untried


def format_verdict_answer(rows: Sequence[VerdictRow]) -> str:
    """The verdict in a line."""
    choices = [r for r in rows if r.call == "take"]
    tied = [name for r in choices for name in r.as_good]
    by_call = {
        call: [r.name for r in rows if r.call == call and r.name not in tied] for call in CALL_ORDER
    }
    lead = [format_taken(r, _format_power_aside(r)) for r in choices] or [
        "nothing to take yet" if by_call["open"] else "none is fit"
    ]
    titles: tuple[tuple[VerdictCall, str], ...]
    titles = (
        *(("fits", "fits too: "), ("next", "next: ")),
        *(("open", "open: "), ("avoid", "avoid ")),
    )
    rest = [f"{title}{', '.join(by_call[call])}" for call, title in titles if by_call[call]]
    text = "; ".join([*lead, *rest])
    return f"{text[:1].upper()}{text[1:]}."
