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

from nandlab.analysis import answers, doubts, gaps, power, ready
from nandlab.analysis.asked import POWER, Limit
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.limits import Judgement, Limits, judge, lasts_years
from nandlab.analysis.ranking import joined
from nandlab.analysis.ready import LOST
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.results.cuts import tally
from nandlab.results.naming import Naming

State = Literal["met", "broken", "open", "not asked"]
LIFETIME = "lifetime"
UNTRIED = "not tried"
"""What stands where nobody cut the power."""
TAIL = "latency.worst.p99"
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


@dataclass(frozen=True)
class Cell:
    """What one file system's trials say to a criterion."""

    text: FreeText
    """A number with its unit, or in a word why there is none."""
    state: State = "not asked"
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
class Column:
    """A criterion, and how its cells are filled: by a file system's name, with its options."""

    criterion: Criterion
    cell: Callable[[str], Cell]


@dataclass(frozen=True)
class Scope:
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

    def of(self, name: str, settings: Sequence[Setting] = ()) -> list[tuple[Setting, Ensemble]]:
        """The ensembles of a subject that have a trial which ended well."""
        pairs = ((s, e) for s in settings or self.settings for e in s.ensembles)
        return [(s, e) for s, e in pairs if e.subject == name and e.ok]

    def where(self, setting: Setting, ensemble: Ensemble) -> str:
        """A flash state in words; of several loads, with the load."""
        alone = len(self.settings) == 1
        return ensemble.state if alone else f"{setting.workload}, {ensemble.state}"

    def title(self, setting: Setting, title: str) -> str:
        """A criterion's title; of several loads, with the load."""
        return title if len(self.settings) == 1 else f"{setting.workload}: {title}"


def columns(scope: Scope) -> list[Column]:
    """The criteria of a verdict, in order; the usual ones only where anything of them is known."""
    limited = [c for limit in scope.limits.figures for c in _limited(scope, limit)]
    named = {c.criterion.name for c in limited}
    found = [c for s in scope.settings for c in _times(scope, s) if c.criterion.name not in named]
    tails = [] if any(n.startswith("latency.") for n in named) else [*_tails(scope)]
    usual = [c for c in _usual(scope) if c.criterion.name not in named]
    cuts = [] if LOST in named else [*_power(scope)]
    return [*found, *limited, *tails, *cuts, *_wear(scope), *usual]


def _limited(scope: Scope, limit: Limit) -> Iterator[Column]:
    """A limit, for each load that has its figure; RAM, mount and cuts are told once for all."""
    if limit.figure == LOST:
        yield from _power(scope, limit)
        return
    for setting in scope.settings:
        figure = limit.here(setting.words)
        if figure is not None:
            title = scope.title(setting, limit.title(figure))
            criterion = Criterion(figure.name, title, limit.bound_text, figure.quantity.base)
            yield Column(criterion, partial(_judged, scope, setting, limit, figure))


def _judged(scope: Scope, setting: Setting, limit: Limit, figure: Figure, name: str) -> Cell:
    """A limit's cell."""
    found = []
    for s, e in scope.of(name, [setting]):
        (judgement,) = judge(s, e, Limits((limit,)))
        found.append((e, judgement))
    if not found:
        return Cell(units.MISSING, "open", why="no trial ended well")
    bad = [(e, j) for e, j in found if j.outcome in ("broken", "in doubt")]
    unknown = [(e, j) for e, j in found if j.outcome == "unknown"]
    cell = _extreme(scope, setting, limit, figure, name)
    if bad:
        return replace(cell, state="broken", why=in_words(bad))
    if unknown:
        do = gaps.measured(figure.name) or unknown[0][1].text.partition(": ")[2]
        return replace(cell, state="open", why=in_words(unknown), do=do)
    if doubted := [d for e, _ in found for d in gaps.doubted(e, doubts.kind(figure))]:
        return replace(cell, state="open", why=doubted[0].why, do=doubted[0].do)
    return cell


def in_words(judgements: Sequence[tuple[Ensemble, Judgement]]) -> str:
    """Judgements in words; one with the same text in several states is told once."""
    by_text: dict[str, list[str]] = {}
    for e, j in judgements:
        by_text.setdefault(j.text, []).append(e.state)
    return "; ".join(f"{joined(states)}: {text}" for text, states in by_text.items())


def _extreme(scope: Scope, setting: Setting, limit: Limit, figure: Figure, name: str) -> Cell:
    """The value of any trial in any state that comes nearest to the limit, as if it were met."""
    spreads = [(e, s) for _, e in scope.of(name, [setting]) if (s := e.spread(figure))]
    if not spreads:
        return Cell(units.MISSING)
    ends = [(s.max if limit.at_most else s.min, scope.where(setting, e)) for e, s in spreads]
    value, where = (max if limit.at_most else min)(ends)
    bound = limit.bound(figure)
    over, under = (value, bound) if limit.at_most else (bound, value)
    return Cell(figure.form(value), "met", value, where, used=over / under if under else None)


def _times(scope: Scope, setting: Setting) -> Iterator[Column]:
    """The headline of a load."""
    figure = setting.headline
    title = scope.title(setting, figure.short or figure.title)
    criterion = Criterion(figure.name, title, unit=figure.quantity.base)
    if any(e.spread(figure) for e in setting.ensembles):
        yield Column(criterion, partial(_headline, scope, setting))


def _headline(scope: Scope, setting: Setting, name: str) -> Cell:
    """Where nothing else decides, a doubt of the headline leaves it open."""
    cell = _worst(scope, [setting], setting.headline.name, name)
    if not scope.limits.none or cell.value is None:
        return cell
    kind = doubts.kind(setting.headline)
    doubted = [d for _, e in scope.of(name, [setting]) for d in gaps.doubted(e, kind)]
    return replace(cell, state="open", why=doubted[0].why, do=doubted[0].do) if doubted else cell


def _tails(scope: Scope) -> Iterator[Column]:
    """The worst p99 of any kind of operation of each load."""
    for setting in scope.settings:
        known = any(answers.worst_tail(setting, e) for e in setting.ensembles)
        if known and not setting.headline.name.startswith("latency."):
            criterion = Criterion(TAIL, scope.title(setting, "worst p99"), unit="ns")
            yield Column(criterion, partial(_tail, scope, setting))


def _tail(scope: Scope, setting: Setting, name: str) -> Cell:
    found = [
        (tail.p99.median, tail.operation, e)
        for _, e in scope.of(name, [setting])
        if (tail := answers.worst_tail(setting, e)) is not None
    ]
    if not found:
        return Cell(units.MISSING)
    value, operation, e = max(found, key=lambda f: f[0])
    return Cell(units.time(value), value=value, where=f"{scope.where(setting, e)}, {operation}")


def _wear(scope: Scope) -> Iterator[Column]:
    """How long the chip lasts, where that is asked; else how many blocks the load erased."""
    limits = scope.limits
    if limits.years is not None and limits.daily is not None:
        asked = f">= {units.figures3(limits.years)}"
        yield Column(Criterion(LIFETIME, "years", asked), partial(_years, scope))
        return
    for s in scope.settings:
        if any(e.spread(s.figure("chip.erases")) for e in s.ensembles):
            criterion = Criterion("chip.erases", scope.title(s, "block erases"))
            yield Column(criterion, partial(_erases, scope, s))


def _erases(scope: Scope, setting: Setting, name: str) -> Cell:
    """Erases tell of wear only where the load was long enough."""
    ensembles = [e for _, e in scope.of(name, [setting])]
    late = [e for e in ensembles if not answers.reached(setting.figure("chip.erases"), [e])]
    if not late:
        return _worst(scope, [setting], "chip.erases", name)
    why, do = gaps.longer([t for e in late for t in e.ok], setting.words)
    return Cell("too short", "open", why=why, do=do)


def _years(scope: Scope, name: str) -> Cell:
    """Each load wears the chip by its own bytes of a day, and what they wear adds up."""
    limits = scope.limits
    years, daily = limits.years or 0.0, limits.daily or 0
    found = [
        (s, e, j)
        for s, e in scope.of(name)
        for j in judge(s, e, Limits(years=years, daily=round(daily * scope.share(s))))
    ]
    if not found:
        return Cell(units.MISSING, "open", why="no trial ended well")
    least, most = _together(scope, name, daily)
    text = units.MISSING if least is None else units.figures3(least)
    why = in_words([(e, j) for _, e, j in found])
    used = years / least if least else None
    if most is not None and most < years:
        return Cell(text, "broken", least, why=why, used=used)
    doubted = [d for _, e, _ in found for d in gaps.doubted(e, "counts")]
    if least is not None and least >= years:
        if doubted:
            return Cell(text, "open", least, why=doubted[0].why, do=doubted[0].do, used=used)
        return Cell(text, "met", least, used=used)
    unknown = [(s, e) for s, e, j in found if j.outcome == "unknown"]
    open_ = unknown or [(s, e) for s, e, j in found if j.outcome == "in doubt"] or [found[0][:2]]
    do = gaps.lasting([t for _, e in open_ for t in e.ok], open_[0][0].words)
    return Cell(text, "open", least, why=why, do=do, used=used)


def _together(scope: Scope, name: str, daily: int) -> tuple[float | None, float | None]:
    """The years that all loads together leave for certain, and those that they leave at most.

    None: for certain where a load does not know, at most where none knows.
    """
    certain, possible = [], []
    for setting in scope.settings:
        at = daily * scope.share(setting)
        lasts = [lasts_years(e, at) for _, e in scope.of(name, [setting])] if at else []
        known = [both for both in lasts if both is not None]
        certain.append(min(known)[0] if known and len(known) == len(lasts) else None)
        possible += [max(most for _, most in known)] if certain[-1] is not None else []
    every = [c for c in certain if c is not None]
    least = _side_by_side(every) if len(every) == len(certain) else None
    return least, _side_by_side(possible)


def _side_by_side(years: Sequence[float]) -> float | None:
    """How long a chip lasts under loads of which each alone would leave it so many years."""
    return 1 / sum(1 / each for each in years) if years and all(years) else None


USUAL = (
    ("memory.peak", "RAM"),
    ("space.free", "free space"),
    ("step.mount", "mount"),
    ("ready.quiet", "quiet after"),
    ("ready.reads", "reads to quiet"),
    ("ready.cpu", "CPU to quiet"),
    ("ready.durable", "first synced"),
)
"""Figures that any product has, and what they are called."""


def _usual(scope: Scope) -> Iterator[Column]:
    """What is known of the usual criteria, over all loads."""
    for figure_name, title in USUAL:
        figure = scope.settings[0].figure(figure_name)
        if any(e.spread(figure) for s in scope.settings for e in s.ensembles):
            criterion = Criterion(figure_name, title, unit=figure.quantity.base)
            yield Column(criterion, partial(_worst, scope, scope.settings, figure_name))


def unmeasured(scope: Scope) -> list[tuple[str, str]]:
    """Usual criteria of which nothing is known, and what measures them."""
    shown = {c.criterion.name for c in columns(scope)}
    wanted = [(n, title) for n, title in USUAL if gaps.measured(n) and n not in shown]
    return [(title, gaps.measured(n)) for n, title in wanted]


def _worst(scope: Scope, settings: Sequence[Setting], figure: str, name: str) -> Cell:
    """The worst median over states and loads."""
    found = []
    for s, e in scope.of(name, settings):
        spread = e.spread(s.figure(figure))
        if spread is not None:
            found.append((spread.median, scope.where(s, e)))
    if not found:
        return Cell(units.MISSING)
    of = settings[0].figure(figure)
    value, where = (min if of.better == "more" else max)(found)
    return Cell(of.form(value), value=value, where=where)


def _power(scope: Scope, limit: Limit | None = None) -> Iterator[Column]:
    """Power cuts, unless the loads write nothing; limit: as it was asked for."""
    if all(map(power.reads_only, scope.settings)):
        return
    criterion = Criterion(LOST, "power cuts", limit.bound_text if limit else "")
    yield Column(criterion, partial(_cut, scope, limit))


def _cut(scope: Scope, limit: Limit | None, name: str) -> Cell:
    """Whether it kept what it promises; the limit of itself wherever something is promised.

    Points with unstable cells are no part of the limit, and stand beside the number.
    """
    trials = [t for s in scope.settings for e in s.ensembles if e.subject == name for t in e.trials]
    if not trials:
        return Cell(units.MISSING)
    trial, promise = trials[0], power.of_trial(trials[0], scope.naming)
    tried = tally(trial.cuts)
    lost = ready.lost(trial)
    text = tried.text if tried and tried.known else UNTRIED
    why = promise.kept or "not tried"
    if scope.limits.may_lose:
        return Cell(text, value=lost, why=promise.kept)
    if promise.keeps == "nothing":
        state: State = "open" if limit is None else "broken"
        return Cell("no promise", state, why="nothing is promised", do=gaps.MAY_LOSE)
    if lost is None:
        return Cell(text, "open", why=why, do=gaps.cut(trial, scope.naming))
    asked = limit or POWER
    met = asked.met(lost, asked.bound(scope.settings[0].figure(LOST)))
    return Cell(text, "met" if met else "broken", lost, why=why)
