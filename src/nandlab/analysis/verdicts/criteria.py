# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verdict's columns are, and what each file system's trials say to them.

A criterion is a limit that was asked for, or one of the usual: time, tail latency, wear, RAM,
space, mount, until the chip is quiet, power cuts. Its cell is of all flash states and loads: where
a limit is asked for the value of the trial that comes nearest to it, else the worst median. A limit
must hold in every trial, so one trial beyond it breaks it. What is not known is open, never met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from nandlab.analysis.figures import doubts, readyfigures
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.verdicts import answers, forecast, gaps, promises, wearsteadiness
from nandlab.analysis.verdicts.limits import (
    Judgement,
    Limits,
    compute_certain_lifetime_years,
    judge_ensemble_against_limits,
)
from nandlab.analysis.verdicts.limitsyntax import NO_LOSS_LIMIT, Limit
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.results.cutsummaries import tally_power_cuts
from nandlab.results.naming import Naming

CellState = Literal["met", "broken", "open", "not asked"]
LIFETIME_CRITERION = "lifetime"
POWER_CUTS_TITLE = "power cuts"
UNTRIED_TEXT = "not tried"
"""What stands where nobody cut the power."""
WORST_TAIL_CRITERION = "latency.worst.p99"
"""The name of the criterion that is the worst p99 of any kind of operation."""


@dataclass(frozen=True)
class Criterion:
    """A column: what is told, and what is asked of it."""

    name: Line
    """A figure's name, or lifetime."""
    title: FreeText
    limit: FreeText = ""
    """Sign and value; empty: nothing is asked."""
    unit: Line = ""
    """Of the values of its cells."""
    note: FreeText = ""
    """What its values are, where the title does not tell; empty: it does."""


@dataclass(frozen=True)
class VerdictCell:
    """What one file system's trials say to a criterion."""

    text: FreeText
    """A number with its unit, or in a word why there is none."""
    state: CellState = "not asked"
    value: float | None = None
    where: FreeText = ""
    """The flash state, and of several loads the load, that it is of."""
    why: FreeText = ""
    """Where it is broken or open: in full words; of power cuts what was tried, and what held."""
    do: FreeText = ""
    """Where it is open: the one edit or command that closes it."""
    used: float | None = None
    """Of a limit: the value over it, or it over the value of one that is a least; above 1 it is
    broken; null: it has no measure, or the value is not known."""


@dataclass(frozen=True)
class CriterionColumn:
    """A criterion, and how its cells are filled: by a file system's name, with its options."""

    criterion: Criterion
    cell: Callable[[str], VerdictCell]


@dataclass(frozen=True)
class VerdictScope:
    """What is judged together: a setting, or the loads of a product."""

    settings: tuple[Setting, ...]
    limits: Limits
    naming: Naming
    """How commands name the run."""
    shares: tuple[float, ...] = ()
    """Of a day's bytes, for each setting that is a load of a product; empty: each has all."""

    def share(self, setting: Setting) -> float:
        """What a setting has of a day's bytes."""
        every = self.shares or [1.0] * len(self.settings)
        return next(n for s, n in zip(self.settings, every, strict=True) if s is setting)

    def list_ensembles(
        self, name: str, settings: Sequence[Setting] = ()
    ) -> list[tuple[Setting, Ensemble]]:
        """The ensembles of a subject that have a trial which ended well."""
        pairs = ((s, e) for s in settings or self.settings for e in s.ensembles)
        return [(s, e) for s, e in pairs if e.subject == name and e.ok]

    def format_state(self, setting: Setting, ensemble: Ensemble) -> str:
        """A flash state in words; of several loads, with the load."""
        alone = len(self.settings) == 1
        return ensemble.state if alone else f"{setting.workload}, {ensemble.state}"

    def title(self, setting: Setting, title: str) -> str:
        """A criterion's title; of several loads, with the load."""
        return title if len(self.settings) == 1 else f"{setting.workload}: {title}"


def list_criterion_columns(scope: VerdictScope) -> list[CriterionColumn]:
    """The criteria of a verdict, in order; the usual ones only where anything of them is known."""
    limit_columns = [c for limit in scope.limits.figures for c in _list_limit_columns(scope, limit)]
    limit_names = {c.criterion.name for c in limit_columns}
    headlines = [c for s in scope.settings for c in _list_headline_columns(scope, s)]
    columns = [c for c in headlines if c.criterion.name not in limit_names]
    columns += limit_columns
    if not any(name.startswith("latency.") for name in limit_names):
        columns += _list_tail_columns(scope)
    if LOST_FIGURE not in limit_names:
        columns += _list_power_cut_columns(scope)
    columns += _list_wear_columns(scope)
    columns += [c for c in _list_usual_columns(scope) if c.criterion.name not in limit_names]
    return columns


def _list_limit_columns(scope: VerdictScope, limit: Limit) -> Iterator[CriterionColumn]:
    """A limit, for each load that has its figure; RAM, mount and cuts are told once for all."""
    if limit.figure == LOST_FIGURE:
        yield from _list_power_cut_columns(scope, limit)
        return
    for setting in scope.settings:
        figure = limit.find_known_figure(setting.words)
        if figure is not None:
            title = scope.title(setting, limit.title(figure))
            criterion = Criterion(figure.name, title, limit.bound_text, figure.quantity.base)
            yield CriterionColumn(
                criterion, partial(_judge_limit_cell, scope, setting, limit, figure)
            )


def _judge_limit_cell(
    scope: VerdictScope, setting: Setting, limit: Limit, figure: Figure, name: str
) -> VerdictCell:
    """A limit's cell."""
    judgements = []
    for s, e in scope.list_ensembles(name, [setting]):
        (judgement,) = judge_ensemble_against_limits(s, e, Limits((limit,)))
        judgements.append((e, judgement))
    if not judgements:
        return VerdictCell(units.MISSING, "open", why="no trial ended well")
    broken = [(e, j) for e, j in judgements if j.outcome in ("broken", "in doubt")]
    unknown = [(e, j) for e, j in judgements if j.outcome == "unknown"]
    cell = _find_nearest_to_limit(scope, setting, limit, figure, name)
    if broken:
        return replace(cell, state="broken", why=format_judgements(broken))
    if unknown:
        do = (
            gaps.suggest_figure_instrument_edit(figure.name, scope.naming)
            or unknown[0][1].text.partition(": ")[2]
        )
        return replace(cell, state="open", why=format_judgements(unknown), do=do)
    kind = doubts.find_figure_kind(figure)
    lacking = [d for e, _ in judgements for d in gaps.list_verdict_gaps_of_doubts(e, kind)]
    if kind == "times":
        lacking += [d for e, _ in judgements for d in gaps.list_assumed_chip_gaps(e, kind)]
    if lacking:
        return replace(cell, state="open", why=lacking[0].why, do=lacking[0].do)
    return cell


def format_judgements(judgements: Sequence[tuple[Ensemble, Judgement]]) -> str:
    """Judgements in words; one with the same text in several states is told once."""
    by_text: dict[str, list[str]] = {}
    for e, j in judgements:
        by_text.setdefault(j.text, []).append(e.state)
    return "; ".join(f"{format_name_list(states)}: {text}" for text, states in by_text.items())


def _find_nearest_to_limit(
    scope: VerdictScope, setting: Setting, limit: Limit, figure: Figure, name: str
) -> VerdictCell:
    """The value of any trial in any state that comes nearest to the limit, as if it were met."""
    spreads = [(e, s) for _, e in scope.list_ensembles(name, [setting]) if (s := e.spread(figure))]
    if not spreads:
        return VerdictCell(units.MISSING)
    ends = [(s.max if limit.at_most else s.min, scope.format_state(setting, e)) for e, s in spreads]
    value, where = (max if limit.at_most else min)(ends)
    bound = limit.parse_bound(figure)
    over, under = (value, bound) if limit.at_most else (bound, value)
    return VerdictCell(
        figure.form(value), "met", value, where, used=over / under if under else None
    )


def _list_headline_columns(scope: VerdictScope, setting: Setting) -> Iterator[CriterionColumn]:
    """The headline of a load."""
    figure = setting.headline
    title = scope.title(setting, figure.short or figure.title)
    criterion = Criterion(figure.name, title, unit=figure.quantity.base)
    if any(e.spread(figure) for e in setting.ensembles):
        yield CriterionColumn(criterion, partial(_make_headline_cell, scope, setting))


def _make_headline_cell(scope: VerdictScope, setting: Setting, name: str) -> VerdictCell:
    """Where nothing else decides, a doubt of the headline leaves it open."""
    cell = _make_worst_median_cell(scope, [setting], setting.headline.name, name)
    if not scope.limits.is_empty or cell.value is None:
        return cell
    kind = doubts.find_figure_kind(setting.headline)
    doubted = [
        d
        for _, e in scope.list_ensembles(name, [setting])
        for d in gaps.list_verdict_gaps_of_doubts(e, kind)
    ]
    return replace(cell, state="open", why=doubted[0].why, do=doubted[0].do) if doubted else cell


def _list_tail_columns(scope: VerdictScope) -> Iterator[CriterionColumn]:
    """The worst p99 of any kind of operation of each load."""
    for setting in scope.settings:
        known = any(answers.find_worst_tail_latency(setting, e) for e in setting.ensembles)
        if known and not setting.headline.name.startswith("latency."):
            criterion = Criterion(
                WORST_TAIL_CRITERION, scope.title(setting, "worst p99"), unit="ns"
            )
            yield CriterionColumn(criterion, partial(_make_tail_cell, scope, setting))


def _make_tail_cell(scope: VerdictScope, setting: Setting, name: str) -> VerdictCell:
    tails = [
        (tail.p99.median, tail.operation, e)
        for _, e in scope.list_ensembles(name, [setting])
        if (tail := answers.find_worst_tail_latency(setting, e)) is not None
    ]
    if not tails:
        return VerdictCell(units.MISSING)
    value, operation, e = max(tails, key=lambda f: f[0])
    return VerdictCell(
        units.format_time(value),
        value=value,
        where=f"{scope.format_state(setting, e)}, {operation}",
    )


def _list_wear_columns(scope: VerdictScope) -> Iterator[CriterionColumn]:
    """How long the chip lasts, where that is asked; else how many blocks the load erased."""
    limits = scope.limits
    if limits.years is not None and limits.daily is not None:
        asked = f">= {units.format_three_figures(limits.years)}"
        yield CriterionColumn(
            Criterion(LIFETIME_CRITERION, "years", asked, note=_format_lifetime_formula(scope)),
            partial(_make_lifetime_cell, scope),
        )
        return
    for s in scope.settings:
        if any(e.spread(s.figure("chip.erases")) for e in s.ensembles):
            criterion = Criterion("chip.erases", scope.title(s, "block erases"))
            yield CriterionColumn(criterion, partial(_make_erases_cell, scope, s))


def _format_lifetime_formula(scope: VerdictScope) -> str:
    """What years are worked out from."""
    stands = forecast.find_block_endurance(scope.settings[0].trials[0])
    erases = f"{stands.least:,.0f} erases" if stands else "the erases"
    several = "; loads add up" if len(scope.settings) > 1 else ""
    return (
        f"{erases} that a block bears x bytes that the load wrote / (erases of its most erased "
        f"block + {wearsteadiness.ERASES_DUE}) / its bytes a day / 365.25{several}"
    )


def _make_erases_cell(scope: VerdictScope, setting: Setting, name: str) -> VerdictCell:
    """Erases tell of wear only where the load was long enough."""
    ensembles = [e for _, e in scope.list_ensembles(name, [setting])]
    late = [
        e
        for e in ensembles
        if not answers.is_wear_steady_for_figure(setting.figure("chip.erases"), [e])
    ]
    if not late:
        return _make_worst_median_cell(scope, [setting], "chip.erases", name)
    short = [t for e in late for t in e.ok]
    why, do = gaps.suggest_longer_load_edit(short, setting.words, scope.naming)
    return VerdictCell("too short", "open", why=why, do=do)


def _make_lifetime_cell(scope: VerdictScope, name: str) -> VerdictCell:
    """Each load wears the chip by its own bytes of a day, and what they wear adds up."""
    limits = scope.limits
    years, daily = limits.years or 0.0, limits.daily or 0
    judgements = [
        (s, e, j)
        for s, e in scope.list_ensembles(name)
        for j in judge_ensemble_against_limits(
            s, e, Limits(years=years, daily=round(daily * scope.share(s)))
        )
    ]
    if not judgements:
        return VerdictCell(units.MISSING, "open", why="no trial ended well")
    least, most = _combine_lifetimes(scope, name, daily)
    text = units.MISSING if least is None else units.format_three_figures(least)
    why = format_judgements([(e, j) for _, e, j in judgements])
    cell = VerdictCell(text, "open", least, why=why, used=years / least if least else None)
    if most is not None and most < years:
        return replace(cell, state="broken")
    doubts_of_counts = [
        gap for _, e, _ in judgements for gap in gaps.list_verdict_gaps_of_doubts(e, "counts")
    ]
    doubts_of_counts += [
        gap for _, e, _ in judgements for gap in gaps.list_assumed_chip_gaps(e, "counts")
    ]
    if least is not None and least >= years:
        if doubts_of_counts:
            return replace(cell, why=doubts_of_counts[0].why, do=doubts_of_counts[0].do)
        return replace(cell, state="met", why="")
    unknown = [(s, e) for s, e, j in judgements if j.outcome == "unknown"]
    in_doubt = [(s, e) for s, e, j in judgements if j.outcome == "in doubt"]
    open_pairs = unknown or in_doubt or [judgements[0][:2]]
    trials = [t for _, e in open_pairs for t in e.ok]
    return replace(
        cell, do=gaps.suggest_lifetime_edit(trials, open_pairs[0][0].words, scope.naming)
    )


def _combine_lifetimes(
    scope: VerdictScope, name: str, daily: int
) -> tuple[float | None, float | None]:
    """The years that all loads together leave for certain, and those that they leave at most.

    None: for certain where a load does not know, at most where none knows.
    """
    certain, possible = [], []
    for setting in scope.settings:
        daily_bytes = daily * scope.share(setting)
        ensembles = scope.list_ensembles(name, [setting]) if daily_bytes else []
        by_ensemble = [compute_certain_lifetime_years(e, daily_bytes) for _, e in ensembles]
        lifetimes = [lifetime for lifetime in by_ensemble if lifetime is not None]
        is_certain = lifetimes and len(lifetimes) == len(by_ensemble)
        certain.append(min(lifetimes)[0] if is_certain else None)
        possible += [max(most for _, most in lifetimes)] if certain[-1] is not None else []
    certain_years = [c for c in certain if c is not None]
    least = _add_wear_of_loads(certain_years) if len(certain_years) == len(certain) else None
    return least, _add_wear_of_loads(possible)


def _add_wear_of_loads(years: Sequence[float]) -> float | None:
    """How long a chip lasts under loads of which each alone would leave it so many years."""
    return 1 / sum(1 / load_years for load_years in years) if years and all(years) else None


USUAL_CRITERIA = (
    ("memory.peak", "RAM", ""),
    ("space.free", "free space", ""),
    ("step.mount", "mount", ""),
    ("ready.quiet", "quiet after", "from mount to an idle chip"),
    ("ready.reads", "reads to quiet", "pages but for OOB alone"),
    ("ready.cpu", "CPU to quiet", "at most, until then"),
    ("ready.durable", "first synced", "from a later mount until a record is synced"),
)
"""Figures that any product has, what they are called, and what they are."""


def _list_usual_columns(scope: VerdictScope) -> Iterator[CriterionColumn]:
    """What is known of the usual criteria, over all loads."""
    for figure_name, title, note in USUAL_CRITERIA:
        figure = scope.settings[0].figure(figure_name)
        if any(e.spread(figure) for s in scope.settings for e in s.ensembles):
            criterion = Criterion(figure_name, title, unit=figure.quantity.base, note=note)
            yield CriterionColumn(
                criterion, partial(_make_worst_median_cell, scope, scope.settings, figure_name)
            )


def list_unmeasured_criteria(scope: VerdictScope) -> list[tuple[str, str]]:
    """Usual criteria of which nothing is known, and the study's line that measures them all, and
    what it measures already."""
    shown = {c.criterion.name for c in list_criterion_columns(scope)}
    lacking = {
        title: instrument
        for figure, title, _ in USUAL_CRITERIA
        if (instrument := gaps.find_instrument_of_figure(figure)) and figure not in shown
    }
    present = {m for s in scope.settings for e in s.ensembles for t in e.trials for m in t.measure}
    edit = gaps.suggest_instruments_edit([*present, *lacking.values()], scope.naming)
    return [(title, edit) for title in lacking]


def _make_worst_median_cell(
    scope: VerdictScope, settings: Sequence[Setting], figure_name: str, name: str
) -> VerdictCell:
    """The worst median over states and loads."""
    medians = []
    for s, e in scope.list_ensembles(name, settings):
        spread = e.spread(s.figure(figure_name))
        if spread is not None:
            medians.append((spread.median, scope.format_state(s, e)))
    if not medians:
        return VerdictCell(units.MISSING)
    figure = settings[0].figure(figure_name)
    value, where = (min if figure.better == "more" else max)(medians)
    return VerdictCell(figure.form(value), value=value, where=where)


def _list_power_cut_columns(
    scope: VerdictScope, limit: Limit | None = None
) -> Iterator[CriterionColumn]:
    """Power cuts, unless the loads write nothing; limit: as it was asked for."""
    if all(map(promises.is_read_only_load, scope.settings)):
        return
    criterion = Criterion(LOST_FIGURE, POWER_CUTS_TITLE, limit.bound_text if limit else "")
    yield CriterionColumn(criterion, partial(_make_power_cut_cell, scope, limit))


def _make_power_cut_cell(scope: VerdictScope, limit: Limit | None, name: str) -> VerdictCell:
    """Whether it kept what it promises; the limit of itself wherever something is promised.

    Points with unstable cells are no part of the limit, and stand beside the number.
    """
    trials = [t for s in scope.settings for e in s.ensembles if e.subject == name for t in e.trials]
    if not trials:
        return VerdictCell(units.MISSING)
    trial, promise = trials[0], promises.find_trial_filesystem_promise(trials[0], scope.naming)
    tried = tally_power_cuts(trial.cuts)
    lost = readyfigures.count_lost_cut_points(trial)
    text = tried.text if tried and tried.has_known_failures else UNTRIED_TEXT
    why = promise.outcome_text or UNTRIED_TEXT
    if scope.limits.may_lose:
        return VerdictCell(text, value=lost, why=promise.outcome_text)
    if promise.keeps == "nothing":
        state: CellState = "open" if limit is None else "broken"
        do = f"if loss is acceptable, {gaps.suggest_may_lose_edit(scope.naming)}"
        return VerdictCell("no promise", state, why="nothing is promised", do=do)
    if lost is None:
        return VerdictCell(
            text, "open", why=why, do=gaps.suggest_power_cut_command(trial, scope.naming)
        )
    asked = limit or NO_LOSS_LIMIT
    met = asked.is_met(lost, asked.parse_bound(scope.settings[0].figure(LOST_FIGURE)))
    return VerdictCell(text, "met" if met else "broken", lost, why=why)
