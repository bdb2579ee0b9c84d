# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file system and options to take, which to avoid, and what the run cannot tell.

A subject is judged in every flash state of its setting, since a product passes through all. It
is *unfit* when a trial of it did not end well or a limit is broken in some state, *unproven* when a
limit is in doubt or could not be judged, a state of the setting was not run or has a single trial,
or a trial carries a doubt, else *fit*. The fit come first, then the unproven; within each by the
median of the workload's headline figure in the state where that is worst. A doubt is held against
what it touches: a limit's figure, or the headline where no limit is asked for. A subject is to be
avoided if it is unfit, or if in some state it is :data:`FAR` times worse than the first by headline
or erases, and the ranges do not touch; by erases only where the wear of both is steady.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from nandlab.analysis import answers, doubts, leans, power, sweep
from nandlab.analysis.doubts import Kind
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.limits import Judgement, Limits, judge
from nandlab.analysis.power import Promise
from nandlab.analysis.ranking import joined
from nandlab.base import units

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
    unplaced: tuple[str, ...]
    """Doubts that leave its judgement alone and concern only the figure of the order."""
    avoid: tuple[str, ...]
    """Why to avoid it; empty: it need not be."""
    power: Promise = power.NOT_TOLD
    """What it promises after a power cut."""

    @property
    def sure(self) -> bool:
        """Whether it may be told to take."""
        return self.fitness == "fit" and not self.unplaced

    @property
    def named(self) -> str:
        """Its name where it may be taken for advice, with what must not be left unsaid."""
        return f"{self.name}{self.power.aside}"


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
        cuts = power.sentence([(s.name, s.power) for s in _named(self)])
        leaning = leans.line(self.setting, self.subjects[0].worst_state or "")
        return [s for s in (_take(self), cuts, leaning, *_avoid(self), _unknown(self)) if s]


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
    found = sweep.findings(setting)
    cliffs = (f"{f.topic}: {f.text}{f' In doubt: {f.doubts}.' * bool(f.doubts)}" for f in found)
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
    found = [(e.state, j) for e in ensembles if e.ok for j in judged(setting, e, limits)]
    broken = _told(found, "broken")
    doubtful = _told(found, "in doubt")
    unknown = _told(found, "unknown")
    headline = setting.headline
    order = doubts.kind(headline)
    kinds = [doubts.kind(setting.figure(j.figure)) for _, j in found] or [order]
    held = [d for e in ensembles for d in (*_lacks(e), *carried(e, *kinds))]
    unplaced = [d for e in ensembles for d in carried(e, order) if d not in held]
    here = {e.state for e in ensembles}
    not_run = tuple(s for s in setting.states if s not in here)
    fitness: Fitness = "fit"
    if failures or broken:
        fitness = "unfit"
    elif doubtful or unknown or not_run or held:
        fitness = "unproven"
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
        met=tuple(_told(found, "met")),
        doubts=tuple(held),
        unplaced=tuple(unplaced),
        avoid=(*failures, *broken),
        power=power.of_subject(setting, name),
    )


def _told(judged: Sequence[tuple[str, Judgement]], outcome: str) -> list[str]:
    """Judgements of one outcome; one with the same text in several states is told once."""
    by_text: dict[str, list[str]] = {}
    for state, j in judged:
        if j.outcome == outcome:
            by_text.setdefault(j.text, []).append(state)
    return [f"{joined(states)}: {text}" for text, states in by_text.items()]


def judged(setting: Setting, ensemble: Ensemble, limits: Limits) -> list[Judgement]:
    """Every limit, with the doubts of the trials that it is judged by."""
    return [
        replace(j, text=j.text + doubts.aside([(ensemble, setting.figure(j.figure))]))
        for j in judge(setting, ensemble, limits)
    ]


def _lacks(ensemble: Ensemble) -> list[str]:
    """What an ensemble lacks to be enough to say, each with what to do."""
    found = []
    if unmeasured := [t for t in ensemble.trials if t.status == "not_measured"]:
        of = f"{len(unmeasured)} of {len(ensemble.trials)} trials"
        why = sweep.brief(unmeasured[0].error)
        found.append(f"{ensemble.state}: {of} could not be measured, mend the workload: {why}")
    if len(ensemble.ok) == 1:
        one = "its members are one trial, give each a phase offset" if ensemble.alike else ""
        found.append(f"{ensemble.state}: {one or 'a single trial: run more members'}")
    return found


def carried(ensemble: Ensemble, *kinds: Kind) -> list[str]:
    """The doubts that concern figures of these kinds, each with what to do."""
    found = []
    codes = Counter(code for of in doubts.of_ensemble(ensemble, *kinds) for code in of)
    for code, n in sorted(codes.items()):
        what = doubts.advice(code, ensemble.ok).rstrip(".")
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
            used = (setting.find(name, state), setting.find(first, state))
            ratio = own.median / other.median if figure.better == "less" else 1 / factor
            found.append(
                f"{state}: {units.figures3(ratio)} times the {what} of {first} "
                f"({figure.form(own.median)} against {figure.form(other.median)}{alone})"
                f"{doubts.aside((e, figure) for e in used if e)}"
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
    named = _named(advice)
    if not named:
        return "None that was measured is fit."
    first, rest = named[0], named[1:]
    if first.unplaced and _only(advice):
        return (
            f"Take {first.named}, the only one that is within the limits: {'; '.join(first.met)}. "
            f"Its {advice.setting.words.headline.noun} is in doubt: {'; '.join(first.unplaced)}."
        )
    if not first.sure:
        open_points = [*first.against, *first.unknown, *_gaps(first)]
        open_points += [*first.doubts, *first.unplaced]
        return (
            f"Not enough to say which to take. {_within(advice)}The first to look into is "
            f"{first.named}: {_told_worst(advice, first)}; open: {'; '.join(open_points)}."
        )
    told = f"Take {first.named}: {_told_worst(advice, first)}"
    if first.met:
        told += f"; {'; '.join(first.met)}"
    if rest and not _apart(advice.setting, first, rest[0]):
        told += f". The trials do not tell {_listed(rest)} from it"
    elif rest:
        told += f". Next: {rest[0].named}, {_told_worst(advice, rest[0])}"
    return told + "."


def _named(advice: Advice) -> list[Subject]:
    """Those that the advice names: the first, and all that are not told apart from it or the next.

    The first is the first to look into where none is fit; empty: all that were measured are unfit.
    """
    measured = [s for s in advice.subjects if s.worst is not None]
    able = [s for s in measured if s.sure]
    if not able:
        maybe = [s for s in measured if s.fitness != "unfit"]
        return [*maybe[:1], *[s for s in maybe[1:] if not s.avoid][:1]]
    first, rest = able[0], [s for s in able[1:] if not s.avoid]
    alike = [s for s in rest if not _apart(advice.setting, first, s)]
    return [first, *(alike or rest[:1])]


def _listed(subjects: Sequence[Subject]) -> str:
    """As many names as :func:`joined` would list, each with what must not be left unsaid."""
    if joined([s.name for s in subjects]).endswith(" others"):
        return f"{subjects[0].named} and {len(subjects) - 1} others"
    *most, last = [s.named for s in subjects]
    return f"{', '.join(most)} and {last}" if most else last


def _only(advice: Advice) -> bool:
    """Whether the first alone is within limits that were asked for, so that no order is needed."""
    first, *rest = advice.subjects
    return first.fitness == "fit" and bool(first.met) and all(s.fitness == "unfit" for s in rest)


def _within(advice: Advice) -> str:
    """Which are within the limits, where only their order is in doubt."""
    fit = [s for s in advice.subjects if s.fitness == "fit"]
    if not fit or not all(s.met for s in fit):
        return ""
    each = [f"{s.named}, {'; '.join(s.met)}" for s in fit]
    return f"Within the limits: {'. '.join(each)}. "


def _gaps(subject: Subject) -> list[str]:
    return [f"no trial on {joined(subject.not_run)} flash"] if subject.not_run else []


def _told_worst(advice: Advice, subject: Subject) -> str:
    return told_worst(advice.setting, subject)


def told_worst(setting: Setting, subject: Subject) -> str:
    """The headline figure in words, where it is worst."""
    words, headline = setting.words.headline, setting.headline
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
        told += [f"     doubt: {text}" for text in (*s.doubts, *s.unplaced)]
        told += [f"     met: {text}" for text in s.met]
        told += [f"     avoid: {text}" for text in s.avoid if text not in s.against]
    return [*told, ""]
