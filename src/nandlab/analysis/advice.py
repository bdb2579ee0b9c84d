# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file system and options to take, which to avoid, and what the run cannot tell.

A subject is judged in every flash state of its setting, since a product passes through all. It
is *unfit* when a trial of it did not end well or a limit is broken in some state, *unproven* when a
limit is in doubt or could not be judged, a state of the setting was not run or has a single trial,
or a trial carries a doubt, else *fit*. The fit come first, then the unproven; within each by the
median of the workload's headline figure in the state where that is worst. A subject is to be
avoided if it is unfit, or if in some state it is :data:`FAR` times worse than the first by headline
or erases, and the ranges do not touch; by erases only where the wear of both is steady.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from nandlab.analysis import answers, sweep
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.limits import Judgement, Limits, judge
from nandlab.analysis.ranking import joined
from nandlab.base import units
from nandlab.results.record import WARNINGS

Fitness = Literal["fit", "unproven", "unfit"]
ORDER: tuple[Fitness, ...] = ("fit", "unproven", "unfit")
FAR = 3.0
"""A file system that is this many times worse than the first one is to be avoided."""


@dataclass(frozen=True)
class Subject:
    """A file system with its options, judged."""

    name: str
    fitness: Fitness
    worst: float | None
    """Median of the workload's headline figure in the state where it is worst."""
    worst_state: str | None
    not_run: tuple[str, ...]
    """States of the setting in which it has no trial."""
    against: tuple[str, ...]
    """What speaks against it, each with its figures."""
    unknown: tuple[str, ...]
    """Limits that could not be judged."""
    met: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why its figures are not enough to say: single trials, and doubts that trials carry."""
    avoid: tuple[str, ...]
    """Why to avoid it; empty: it need not be."""


@dataclass(frozen=True)
class Advice:
    """The subjects of one setting, the best first; for a sweep over states, only its cliffs."""

    setting: Setting
    subjects: tuple[Subject, ...]
    cliffs: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The advice in words: what to take, what to avoid and why, what is not known."""
        if self.cliffs:
            return list(self.cliffs)
        return [s for s in (_take(self), *_avoid(self), _unknown(self)) if s]


def by_limits(setting: Setting, limits: Limits | None = None) -> Advice:
    """Every subject judged; the best first."""
    limits = limits or Limits()
    found = [_subject(setting, name, limits) for name in setting.subjects]
    found.sort(key=partial(_place, setting.headline.better == "more"))
    if found[0].fitness != "unfit":
        first = found[0].name
        found[1:] = [replace(s, avoid=(*s.avoid, *_far(setting, first, s.name))) for s in found[1:]]
    return Advice(setting, tuple(found))


def by_cliffs(setting: Setting, limits: Limits | None = None) -> Advice:
    """How far each subject may be filled.

    A sweep goes on until nothing fits, so every subject fails in some state: there is no ranking,
    and no limit is judged.
    """
    cliffs = (f"{f.topic}: {f.text}" for f in sweep.findings(setting))
    return Advice(setting, (), tuple(cliffs))


def none(setting: Setting, limits: Limits | None = None) -> None:
    """For settings that are not judged by limits."""


def _place(greatest: bool, subject: Subject) -> tuple[int, int, bool, float]:
    """Sort key; a worst figure over fewer states does not compare with one over all."""
    place = ORDER.index(subject.fitness)
    worst = subject.worst or 0.0
    return place, len(subject.not_run), subject.worst is None, -worst if greatest else worst


def _subject(setting: Setting, name: str, limits: Limits) -> Subject:
    ensembles = [e for e in setting.ensembles if e.subject == name]
    failures = [f for e in ensembles if (f := _failure(e)) is not None]
    judged = [(e.state, j) for e in ensembles if e.ok for j in judge(setting, e, limits)]
    broken = _told(judged, "broken")
    doubtful = _told(judged, "in doubt")
    unknown = _told(judged, "unknown")
    doubts = [d for e in ensembles for d in _doubts(e)]
    here = {e.state for e in ensembles}
    not_run = tuple(s for s in setting.states if s not in here)
    fitness: Fitness = "fit"
    if failures or broken:
        fitness = "unfit"
    elif doubtful or unknown or not_run or doubts:
        fitness = "unproven"
    headline = setting.headline
    seen = [(s.median, e.state) for e in ensembles if (s := e.spread(headline)) is not None]
    last = min if headline.better == "more" else max
    worst, worst_state = last(seen, default=(None, None))
    return Subject(
        name,
        fitness,
        worst,
        worst_state,
        not_run,
        against=(*failures, *broken, *doubtful),
        unknown=tuple(unknown),
        met=tuple(_told(judged, "met")),
        doubts=tuple(doubts),
        avoid=(*failures, *broken),
    )


def _told(judged: Sequence[tuple[str, Judgement]], outcome: str) -> list[str]:
    """Judgements of one outcome; one with the same text in several states is told once."""
    by_text: dict[str, list[str]] = {}
    for state, j in judged:
        if j.outcome == outcome:
            by_text.setdefault(j.text, []).append(state)
    return [f"{joined(states)}: {text}" for text, states in by_text.items()]


def _doubts(ensemble: Ensemble) -> list[str]:
    """Why an ensemble is not enough to say, each with what to do."""
    found = []
    if unmeasured := [t for t in ensemble.trials if t.status == "not_measured"]:
        of = f"{len(unmeasured)} of {len(ensemble.trials)} trials"
        why = sweep.brief(unmeasured[0].error)
        found.append(f"{ensemble.state}: {of} could not be measured, mend the workload: {why}")
    if len(ensemble.ok) == 1:
        found.append(f"{ensemble.state}: a single trial: run more members")
    codes = Counter(code for t in ensemble.ok for code in {w.code for w in t.warnings})
    for code, n in sorted(codes.items()):
        what = WARNINGS.get(code, "see the trial files").rstrip(".")
        found.append(
            f"{ensemble.state}: {n} of {len(ensemble.ok)} trials carry the doubt {code}: {what}"
        )
    return found


def _failure(ensemble: Ensemble) -> str | None:
    bad = [t for t in ensemble.trials if t.status in ("trial_failed", "board_lost")]
    if not bad:
        return None
    of = f"{len(bad)} of {len(ensemble.trials)} trials"
    return f"{ensemble.state}: {of} did not end well: {sweep.brief(bad[0].error)}"


def _far(setting: Setting, first: str, name: str) -> list[str]:
    """For each cost, the state in which it is furthest from the first one's."""
    costs = [(setting.words.headline.noun, setting.headline)]
    costs.append(("block erases", setting.figure("chip.erases")))
    found = []
    for what, figure in costs:
        factors = []
        for e in setting.ensembles:
            best = setting.find(first, e.state)
            own, other = e.spread(figure), best.spread(figure) if best else None
            if e.subject != name or best is None or own is None or other is None:
                continue
            if not answers.reached(figure, [e, best]):
                continue
            factor = _times_worse(figure, own.median, other.median)
            if factor >= FAR and not own.overlaps(other):
                factors.append((factor, e.state, own, other))
        if factors:
            factor, state, own, other = max(factors, key=lambda f: f[0])
            alone = ", single trials" if min(own.n, other.n) == 1 else ""
            ratio = own.median / other.median if figure.better == "less" else 1 / factor
            found.append(
                f"{state}: {units.figures3(ratio)} times the {what} of {first} "
                f"({figure.form(own.median)} against {figure.form(other.median)}{alone})"
            )
    return found


def _times_worse(figure: Figure, own: float, first: float) -> float:
    """By how much a median is worse than the first one's; 0 where there is no factor."""
    worse, better = (first, own) if figure.better == "more" else (own, first)
    return worse / better if better > 0 else 0.0


def _take(advice: Advice) -> str:
    measured = [s for s in advice.subjects if s.worst is not None]
    if not measured and any(s.fitness != "unfit" for s in advice.subjects):
        return f"No {advice.setting.words.headline.noun} was measured: none can be put first."
    able = [s for s in measured if s.fitness == "fit"]
    if not able:
        maybe = [s for s in measured if s.fitness == "unproven"]
        if not maybe:
            return "None that was measured is fit."
        best = maybe[0]
        open_points = [*best.against, *best.unknown, *_gaps(best), *best.doubts]
        return (
            f"Not enough to say which to take. The first to look into is {best.name}: "
            f"{_told_worst(advice, best)}; open: {'; '.join(open_points)}."
        )
    first, rest = able[0], [s for s in able[1:] if not s.avoid]
    told = f"Take {first.name}: {_told_worst(advice, first)}"
    if first.met:
        told += f"; {'; '.join(first.met)}"
    alike = [s.name for s in rest if not _apart(advice.setting, first, s)]
    if alike:
        told += f". The trials do not tell {joined(alike)} from it"
    elif rest:
        told += f". Next: {rest[0].name}, {_told_worst(advice, rest[0])}"
    return told + "."


def _gaps(subject: Subject) -> list[str]:
    return [f"no trial on {joined(subject.not_run)} flash"] if subject.not_run else []


def _told_worst(advice: Advice, subject: Subject) -> str:
    """The headline figure in words, where it is worst."""
    words, headline = advice.setting.words.headline, advice.setting.headline
    value = units.MISSING if subject.worst is None else headline.form(subject.worst)
    told = words.told or f"{words.noun} {{v}}"
    return f"{told.format(v=value)} at worst ({subject.worst_state})"


def _apart(setting: Setting, a: Subject, b: Subject) -> bool:
    """Whether the ranges of their worst headline figures do not touch."""
    spreads = []
    for subject in (a, b):
        e = setting.find(subject.name, subject.worst_state or "")
        spreads.append(e.spread(setting.headline) if e else None)
    one, other = spreads
    return one is not None and other is not None and one.told_apart(other)


def _avoid(advice: Advice) -> list[str]:
    return [f"Avoid {s.name}: {'; '.join(s.avoid)}." for s in advice.subjects if s.avoid]


def _unknown(advice: Advice) -> str:
    """What was asked for and not measured, and which subjects were not run in every state."""
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
        worst = (
            _told_worst(advice, s)
            if s.worst is not None
            else f"no {advice.setting.words.headline.noun}"
        )
        told.append(f"  {i}. {s.name}: {s.fitness}; {worst}")
        told += [f"     against: {text}" for text in s.against]
        told += [f"     not known: {text}" for text in (*s.unknown, *_gaps(s))]
        told += [f"     doubt: {text}" for text in s.doubts]
        told += [f"     met: {text}" for text in s.met]
        told += [f"     avoid: {text}" for text in s.avoid if text not in s.against]
    return [*told, ""]
