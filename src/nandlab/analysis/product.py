# SPDX-License-Identifier: GPL-2.0-or-later
"""Which file system a product should ship with: the answer of a study that has a [product].

Each load of the product is a setting of the run. A candidate, a file system with its options, is
judged under the product's limits on every load in every flash state, by the rules of
:mod:`nandlab.analysis.advice`. The fit come first, then the unproven; within each by how much worse
than the best their headline figures are, as a geometric mean over the loads weighted with their
shares of the day's bytes. None is shipped unless it is fit.

How long the chip lasts is judged with the whole day's bytes on each load. The truth lies between
them: it is met if it is met on all loads, broken if it is broken on all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nandlab.analysis import advice
from nandlab.analysis.advice import ORDER, Fitness, Subject
from nandlab.analysis.groups import Setting
from nandlab.analysis.limits import Judgement, Limits
from nandlab.analysis.power import Promise
from nandlab.analysis.ranking import joined
from nandlab.base import amounts, units

LIFETIME = "lifetime"


@dataclass(frozen=True)
class Load:
    """One load of the product, as it was run."""

    setting: Setting
    share: float
    """Of the bytes of a day."""


@dataclass(frozen=True)
class Candidate:
    """A file system with its options, over all loads."""

    name: str
    fitness: Fitness
    factor: float
    """How many times worse than the best by headline; infinite where it was not measured."""
    subjects: tuple[Subject, ...]
    """One for each load."""
    against: tuple[str, ...]
    """Limits that are broken or in doubt, and trials that failed."""
    open: tuple[str, ...]
    """What is not known or doubted."""
    met: tuple[str, ...]

    @property
    def sure(self) -> bool:
        """Whether it may be told to ship."""
        return self.fitness == "fit" and not any(s.unplaced for s in self.subjects)

    @property
    def named(self) -> str:
        """Its name where it may be shipped, with what must not be left unsaid."""
        return f"{self.name}{self.power.aside}"

    @property
    def power(self) -> Promise:
        """What it promises after a power cut."""
        return self.subjects[0].power


@dataclass(frozen=True)
class Product:
    """What the answer is under."""

    title: str
    loads: tuple[Load, ...]
    """Those of which there are trials."""
    lacks: int
    """How many loads there are no trials of."""
    limits: Limits


def of(spec: Mapping[str, Any], settings: Sequence[Setting], limits: Limits) -> Product | None:
    """The product of a run; None if its study has none, or no load of it was measured."""
    told = spec.get("product")
    loads = tuple(_loads(told, settings)) if told else ()
    if not told or not loads:
        return None
    return Product(_title(told, loads, limits), loads, len(told["loads"]) - len(loads), limits)


def _loads(told: Mapping[str, Any], settings: Sequence[Setting]) -> Iterable[Load]:
    """The loads of which there are trials, each with its setting."""
    daily = [amounts.size(load["daily_write"], "") for load in told["loads"]]
    for asked, written in zip(told["loads"], daily, strict=True):
        chosen = {k: v for k, v in asked.items() if k not in ("name", "daily_write")}
        for s in settings:
            here = s.workload == asked["name"] and _is_so(chosen, s)
            if here and _is_chip(told["chip"], s):
                yield Load(s, written / sum(daily))


def _is_so(chosen: Mapping[str, Any], setting: Setting) -> bool:
    """Whether a workload ran with the parameters that were chosen, and the defaults of others."""
    first = setting.trials[0]
    declared = first.about("workload").get("parameters", {})
    wanted = {**{k: p.get("default") for k, p in declared.items()}, **chosen}
    return all(first.parameters.get(k) == v for k, v in wanted.items())


def _is_chip(told: Mapping[str, Any], setting: Setting) -> bool:
    chip = setting.chip
    return (
        told["part"] == chip.part
        and told.get("partition_mib") in (None, chip.partition_mib)
        and told.get("latency", chip.latency) == chip.latency
    )


def _title(told: Mapping[str, Any], loads: Sequence[Load], limits: Limits) -> str:
    chip = loads[0].setting.chip
    ram = f", {told['ram_mib']} MiB of RAM" if told.get("ram_mib") else ""
    asked = "".join(f", {limit.text}" for limit in limits.figures)
    return (
        f"{chip.part}, {chip.partition_mib:g} MiB{ram}, {units.size(limits.daily)} a day for "
        f"{units.figures3(limits.years or 0)} years{asked}"
    )


def candidates(product: Product) -> list[Candidate]:
    """Every candidate judged, the best first."""
    under = Limits(product.limits.figures)
    judged = [_judged(load, under) for load in product.loads]
    every = dict.fromkeys(name for of in judged for name in of)
    best = [_best(load.setting, j.values()) for load, j in zip(product.loads, judged, strict=True)]
    found = [_candidate(product, name, judged, best) for name in every]
    return sorted(found, key=lambda c: (ORDER.index(c.fitness), not c.sure, c.factor))


def _judged(load: Load, limits: Limits) -> dict[str, Subject]:
    """The subjects of a load, by name."""
    return {s.name: s for s in advice.by_limits(load.setting, limits).subjects}


def _best(setting: Setting, subjects: Iterable[Subject]) -> float | None:
    """The best of the worst headline figures."""
    known = [s.worst for s in subjects if s.worst is not None]
    return (max if setting.headline.better == "more" else min)(known, default=None)


def _candidate(
    product: Product,
    name: str,
    judged: Sequence[Mapping[str, Subject]],
    best: Sequence[float | None],
) -> Candidate:
    here = [(load, j[name]) for load, j in zip(product.loads, judged, strict=True) if name in j]
    lives = _lifetimes(product, name)
    absent = [
        load.setting.workload
        for load, j in zip(product.loads, judged, strict=True)
        if name not in j
    ]
    marks: list[Fitness] = [s.fitness for _, s in here]
    marks += ["unproven"] if absent or any(_uncounted(load, s) for load, s in here) else []
    marks += [_mark(j) for _, j in lives]
    say = partial(on_load, product)
    life = {o: [f"{state}: {j.text}" for state, j in lives if j.outcome == o] for o in OUTCOMES}
    open_ = [say(load, t) for load, s in here for t in _open(load, s)]
    open_ += [*life["unknown"], *(f"no trial with {workload}" for workload in absent)]
    return Candidate(
        name,
        max(marks, key=ORDER.index),
        _factor(product, [s for _, s in here], best) if not absent else math.inf,
        tuple(s for _, s in here),
        (
            *(say(load, t) for load, s in here for t in s.against),
            *life["broken"],
            *life["in doubt"],
        ),
        tuple(dict.fromkeys(open_)),
        (*(say(load, t) for load, s in here for t in s.met), *life["met"]),
    )


OUTCOMES = ("met", "broken", "in doubt", "unknown")


def _mark(judgement: Judgement) -> Fitness:
    marks: dict[str, Fitness] = {"met": "fit", "broken": "unfit"}
    return marks.get(judgement.outcome, "unproven")


def on_load(product: Product, load: Load, text: str) -> str:
    """A clause about one load; of several, it is named."""
    return text if len(product.loads) == 1 else f"{load.setting.workload}: {text}"


def _open(load: Load, subject: Subject) -> list[str]:
    """What is not known of a candidate on a load, or doubted."""
    gaps = [f"no trial on {joined(subject.not_run)} flash"] if subject.not_run else []
    return [*subject.unknown, *gaps, *subject.doubts, *subject.unplaced, *_uncounted(load, subject)]


def _uncounted(load: Load, subject: Subject) -> list[str]:
    """Doubts about what was counted, by which the lifetime is judged."""
    own = [e for e in load.setting.ensembles if e.subject == subject.name]
    return [text for e in own for text in advice.carried(e, "counts")]


def _lifetimes(product: Product, name: str) -> list[tuple[str, Judgement]]:
    """How long the chip lasts, for each flash state, over all loads."""
    under = Limits(years=product.limits.years, daily=product.limits.daily)
    by_state: dict[str, list[Judgement]] = {}
    for load in product.loads:
        for e in load.setting.ensembles:
            if e.subject == name and e.ok:
                by_state.setdefault(e.state, []).extend(advice.judged(load.setting, e, under))
    return [(state, _together(found)) for state, found in by_state.items() if found]


def _together(found: Sequence[Judgement]) -> Judgement:
    """One judgement of those on several loads: the truth lies between them."""
    outcomes = {j.outcome for j in found}
    text = "; or, by another load, ".join(dict.fromkeys(j.text for j in found))
    if len(outcomes) == 1:
        return Judgement(LIFETIME, found[0].outcome, text)
    return Judgement(LIFETIME, "unknown" if "unknown" in outcomes else "in doubt", text)


def _factor(product: Product, subjects: Sequence[Subject], best: Sequence[float | None]) -> float:
    """The weighted geometric mean of own worst / best; the inverse where more is better."""
    logs = 0.0
    for load, subject, first in zip(product.loads, subjects, best, strict=True):
        if not subject.worst or not first:
            return math.inf
        more = load.setting.headline.better == "more"
        logs += load.share * math.log(first / subject.worst if more else subject.worst / first)
    return math.exp(logs)
