# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file system and options to take, which to avoid, and what the run cannot tell.

A subject is judged in every flash state of its setting, for a product passes through them all. It
is *unfit* when a trial of it did not end well or a limit is broken in some state, *unproven* when a
limit is in doubt or could not be judged or a state of the setting was not run, else *fit*. The fit
come first, then the unproven; within each by the median transaction time in the state where that is
longest. To be avoided is what is unfit, and what takes in some state at least :data:`FAR` times the
time or the erases of the first, where the ranges do not touch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from nandlab.analysis import figures, sweep
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.limits import Judgement, Limits, judge
from nandlab.analysis.ranking import joined
from nandlab.base import units
from nandlab.results.record import Trial

Fitness = Literal["fit", "unproven", "unfit"]
ORDER: tuple[Fitness, ...] = ("fit", "unproven", "unfit")
FAR = 3.0
"""Times the first one's time or erases from which on a file system is to be avoided."""

COSTS: tuple[tuple[str, Callable[[Trial], float | None], units.Form], ...] = (
    ("transaction time", partial(figures.total_ns, phase="transactions"), units.time),
    ("block erases", partial(figures.chip_total, operation="erases"), units.count),
)


@dataclass(frozen=True)
class Subject:
    """A file system with its options, judged."""

    name: str
    fitness: Fitness
    worst_ns: float | None
    """Median transaction time in the state where it is longest."""
    worst_state: str | None
    not_run: tuple[str, ...]
    """States of the setting in which it has no trial."""
    against: tuple[str, ...]
    """What speaks against it, each with its figures."""
    unknown: tuple[str, ...]
    """Limits that could not be judged."""
    met: tuple[str, ...]
    avoid: tuple[str, ...]
    """Why to avoid it; empty: it need not be."""


@dataclass(frozen=True)
class Advice:
    """The subjects of one setting, the best first; of a sweep over states, its cliffs alone."""

    setting: Setting
    subjects: tuple[Subject, ...]
    cliffs: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The advice in words: what to take, what to avoid and why, what is not known."""
        if self.cliffs:
            return list(self.cliffs)
        return [s for s in (_take(self), *_avoid(self), _unknown(self)) if s]


def advise(setting: Setting, limits: Limits | None = None) -> Advice | None:
    """None for chips that were worn out: their lives are told elsewhere.

    A sweep goes on until nothing fits, so that every subject fails in some state of it: it tells
    how far each may be filled, and has no ranking.
    """
    if setting.lifetime:
        return None
    if sweep.is_sweep(setting):
        cliffs = (f"{f.topic}: {f.text}" for f in sweep.findings(setting))
        return Advice(setting, (), tuple(cliffs))
    limits = limits or Limits()
    found = [_subject(setting, name, limits) for name in setting.subjects]
    found.sort(key=_place)
    if found[0].fitness != "unfit":
        first = found[0].name
        found[1:] = [replace(s, avoid=(*s.avoid, *_far(setting, first, s.name))) for s in found[1:]]
    return Advice(setting, tuple(found))


def _place(subject: Subject) -> tuple[int, int, bool, float]:
    """A time of fewer states is no match for one of all."""
    place = ORDER.index(subject.fitness)
    return place, len(subject.not_run), subject.worst_ns is None, subject.worst_ns or 0.0


def _subject(setting: Setting, name: str, limits: Limits) -> Subject:
    ensembles = [e for e in setting.ensembles if e.subject == name]
    failures = [f for e in ensembles if (f := _failure(e)) is not None]
    judged = [(e.state, j) for e in ensembles if e.ok for j in judge(e, limits)]
    broken = _told(judged, "broken")
    doubtful = _told(judged, "in doubt")
    unknown = _told(judged, "unknown")
    here = {e.state for e in ensembles}
    not_run = tuple(s for s in setting.states if s not in here)
    fitness: Fitness = "fit"
    if failures or broken:
        fitness = "unfit"
    elif doubtful or unknown or not_run:
        fitness = "unproven"
    times = [(s.median, e.state) for e in ensembles if (s := e.spread(COSTS[0][1])) is not None]
    worst_ns, worst_state = max(times, default=(None, None))
    return Subject(
        name,
        fitness,
        worst_ns,
        worst_state,
        not_run,
        against=(*failures, *broken, *doubtful),
        unknown=tuple(unknown),
        met=tuple(_told(judged, "met")),
        avoid=(*failures, *broken),
    )


def _told(judged: Sequence[tuple[str, Judgement]], outcome: str) -> list[str]:
    """Judgements of one outcome; one that is the same in every state is told once."""
    by_text: dict[str, list[str]] = {}
    for state, j in judged:
        if j.outcome == outcome:
            by_text.setdefault(j.text, []).append(state)
    return [f"{joined(states)}: {text}" for text, states in by_text.items()]


def _failure(ensemble: Ensemble) -> str | None:
    bad = [t for t in ensemble.trials if not t.ok]
    if not bad:
        return None
    of = f"{len(bad)} of {len(ensemble.trials)} trials"
    return f"{ensemble.state}: {of} did not end well: {sweep.brief(bad[0].error)}"


def _far(setting: Setting, first: str, name: str) -> list[str]:
    """Of each cost, the state in which it is furthest from the first one's."""
    found = []
    for what, figure, form in COSTS:
        factors = []
        for e in setting.ensembles:
            best = setting.find(first, e.state)
            own, other = e.spread(figure), best.spread(figure) if best else None
            if e.subject != name or own is None or other is None or other.median <= 0:
                continue
            if own.median >= FAR * other.median and not own.overlaps(other):
                factors.append((own.median / other.median, e.state, own, other))
        if factors:
            factor, state, own, other = max(factors, key=lambda f: f[0])
            alone = ", single trials" if min(own.n, other.n) == 1 else ""
            found.append(
                f"{state}: {units.figures3(factor)} times the {what} of {first} "
                f"({form(own.median)} against {form(other.median)}{alone})"
            )
    return found


def _take(advice: Advice) -> str:
    measured = [s for s in advice.subjects if s.worst_ns is not None]
    able = [s for s in measured if s.fitness == "fit"]
    if not able:
        maybe = [s for s in measured if s.fitness == "unproven"]
        if not maybe:
            return "None that was measured is fit."
        open_points = [*maybe[0].against, *maybe[0].unknown, *_gaps(maybe[0])]
        return (
            f"None is proven fit. The first to look into is {maybe[0].name}: {_time(maybe[0])}; "
            f"open: {'; '.join(open_points)}."
        )
    first, rest = able[0], [s for s in able[1:] if not s.avoid]
    told = f"Take {first.name}: {_time(first)}"
    if first.met:
        told += f"; {'; '.join(first.met)}"
    alike = [s.name for s in rest if not _apart(advice.setting, first, s)]
    if alike:
        told += f". The trials do not tell {joined(alike)} from it"
    elif rest:
        told += f". Next: {rest[0].name}, {_time(rest[0])}"
    return told + "."


def _gaps(subject: Subject) -> list[str]:
    return [f"no trial on {joined(subject.not_run)} flash"] if subject.not_run else []


def _time(subject: Subject) -> str:
    return f"transactions take {units.time(subject.worst_ns)} at worst ({subject.worst_state})"


def _apart(setting: Setting, a: Subject, b: Subject) -> bool:
    """Whether the ranges of their longest transaction times do not touch."""
    spreads = []
    for subject in (a, b):
        e = setting.find(subject.name, subject.worst_state or "")
        spreads.append(e.spread(COSTS[0][1]) if e else None)
    one, other = spreads
    return one is not None and other is not None and one.told_apart(other)


def _avoid(advice: Advice) -> list[str]:
    return [f"Avoid {s.name}: {'; '.join(s.avoid)}." for s in advice.subjects if s.avoid]


def _unknown(advice: Advice) -> str:
    """What was asked for and not measured, and who was not run in every state."""
    parts = []
    names = [s.name for s in advice.subjects if s.unknown]
    if names:
        limits = dict.fromkeys(u.partition(": ")[2] for s in advice.subjects for u in s.unknown)
        parts.append(f"{'; '.join(limits)} (of {joined(names)})")
    gaps: dict[str, list[str]] = {}
    for s in advice.subjects:
        for gap in _gaps(s):
            gaps.setdefault(gap, []).append(s.name)
    parts += [f"{joined(names)}, {gap}" for gap, names in gaps.items()]
    return f"Cannot be judged: {'; '.join(parts)}." if parts else ""


def lines(advice: Advice) -> list[str]:
    """For a terminal: the advice in words, then each subject with all that is known of it."""
    told = [f"{advice.setting.title}:", *(f"  {s}" for s in advice.sentences), ""]
    for i, s in enumerate(advice.subjects, 1):
        time = _time(s) if s.worst_ns is not None else "no transaction time"
        told.append(f"  {i}. {s.name}: {s.fitness}; {time}")
        told += [f"     against: {text}" for text in s.against]
        told += [f"     not known: {text}" for text in (*s.unknown, *_gaps(s))]
        told += [f"     met: {text}" for text in s.met]
        told += [f"     avoid: {text}" for text in s.avoid if text not in s.against]
    return [*told, ""]
