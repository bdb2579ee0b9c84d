# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for what a workload measures, from its catalog file as the run keeps it.

What a trial has but its workload did not declare is included under its own name, so that no figure
is hidden for lack of a title.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError

from nandlab.base.digest import digest_json_value
from nandlab.catalog.words import (
    AttributeWords,
    Headline,
    OperationWords,
    OwnFigure,
    PhaseWords,
    WorkloadWords,
)
from nandlab.results.record import Trial

PERCENTILES = ("median", "p95", "p99", "p99_9", "max")


@dataclass(frozen=True)
class Words:
    """The words of one workload."""

    phases: tuple[PhaseWords, ...]
    operations: tuple[OperationWords, ...]
    figures: dict[str, OwnFigure]
    headline: Headline
    view: str
    attributes: dict[str, AttributeWords] = field(default_factory=dict)
    """Attributes that phases may have."""

    @cached_property
    def timed(self) -> tuple[PhaseWords, ...]:
        """The phases that count; the others only prepare."""
        return tuple(p for p in self.phases if p.timed)

    @cached_property
    def counting(self) -> tuple[OperationWords, ...]:
        """The operations but for those of phases that prepare: they bear the phase's name."""
        prepare = tuple(f"{p.name}_" for p in self.phases if not p.timed)
        return tuple(o for o in self.operations if not o.name.startswith(prepare))

    @cached_property
    def _by_phase(self) -> dict[str, PhaseWords]:
        return {p.name: p for p in reversed(self.phases)}

    @cached_property
    def _by_operation(self) -> dict[str, OperationWords]:
        return {o.name: o for o in reversed(self.operations)}

    def phase(self, name: str) -> PhaseWords:
        """The words of a phase; one without is called by its name."""
        return self._by_phase.get(name) or _make_phase_words(name)

    def operation(self, name: str) -> OperationWords:
        return self._by_operation.get(name) or _make_operation_words(name)


def make_words_from_declaration(told: WorkloadWords) -> Words:
    """The words of a workload's file, before any trial."""
    headline = told.headline or _make_default_headline(told.phases, told.view)
    phases, operations = tuple(told.phases), tuple(told.operations)
    return Words(phases, operations, dict(told.figures), headline, told.view, dict(told.at))


def make_workload_words_for_trials(trials: Iterable[Trial]) -> Words:
    """The words for trials of one workload: what is declared, and what only trials have.

    Phases are in the order in which they came.
    """
    trial_list = list(trials)
    declared_words = find_declared_workload_words(trial_list[0]) if trial_list else WorkloadWords()
    phases, operations = list(declared_words.phases), list(declared_words.operations)
    for trial in trial_list:
        phase_names = {p.name for p in phases}
        phases += [_make_phase_words(p.name) for p in trial.phases if p.name not in phase_names]
        kinds = {o.name for o in operations}
        trial_kinds = dict.fromkeys([*trial.operations, *trial.latency_ns])
        operations += [_make_operation_words(kind) for kind in trial_kinds if kind not in kinds]
    longest = max((t.phases for t in trial_list), key=len, default=[])
    place = {p.name: i for i, p in enumerate(longest)}
    phases.sort(key=lambda p: place.get(p.name, len(place)))
    return Words(
        tuple(phases),
        tuple(operations),
        dict(declared_words.figures),
        declared_words.headline or _make_default_headline(phases, declared_words.view),
        declared_words.view,
        dict(declared_words.at),
    )


_WORDS_BY_HASH: dict[str, WorkloadWords] = {}
"""By hash: many trials share one file."""


def find_declared_workload_words(trial: Trial) -> WorkloadWords:
    """What the workload's catalog file said when the trial ran; nothing where that is not known."""
    workload_source = trial.find_source("workload")
    # a workload that is only supposed has no hash: see trial/publishedrun.py
    key = trial.provenance.get("workload") or digest_json_value(workload_source)
    if key not in _WORDS_BY_HASH:
        try:
            words = {
                name: workload_source[name]
                for name in WorkloadWords.model_fields
                if name in workload_source
            }
            _WORDS_BY_HASH[key] = WorkloadWords.model_validate(words)
        except ValidationError:
            _WORDS_BY_HASH[key] = WorkloadWords()
    return _WORDS_BY_HASH[key]


def _make_phase_words(name: str) -> PhaseWords:
    return PhaseWords.model_construct(name=name, title=name.replace("_", " "))


def _make_operation_words(name: str) -> OperationWords:
    return OperationWords.model_construct(name=name)


def _make_default_headline(phases: Sequence[PhaseWords], view: str) -> Headline:
    """The headline of a workload that names none: its first phase that counts; of points, all."""
    timed = [p for p in phases if p.timed]
    if view == "points":
        best, told = "is fastest over all points", "all points take {v}"
        return Headline(figure="time", noun="time over all points", best=best, told=told)
    if not timed:
        return Headline(figure="time", noun="time", best="is fastest", told="it takes {v}")
    first = timed[0]
    return Headline(
        figure=f"phase.{first.name}",
        noun=f"time of {first.title}",
        best=f"is fastest in {first.title}",
        told=f"{first.title} takes {{v}}",
    )
