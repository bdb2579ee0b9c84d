# SPDX-License-Identifier: GPL-2.0-or-later
"""A study: a question, and the matrix of trials that answers it.

A study file is data only. Reading it gives every mistake at once, those of form and those of
meaning (an option that a file system lacks, a partition larger than its chip), before anything
runs. :func:`plan_trials` expands it to trials, whose ids depend on what a trial is and on nothing
else.
"""

from __future__ import annotations

import os
from collections import Counter
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    model_validator,
)

from nandlab.analysis.curves.curves import Curve
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.members import MEMORY_INSTRUMENTS, RAM_MEMBERS_MAX, RAM_PREFIX
from nandlab.analysis.verdicts import limits, limitsyntax
from nandlab.analysis.verdicts.limits import Limits
from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.nearest import suggest_nearest_name
from nandlab.base.paths import STUDIES
from nandlab.base.strings import Empty, FigureName, FreeValue, Lines, StudyName, Word
from nandlab.board.kit.lock import Lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import list_noun_names, use_project_beside_study, validate_data
from nandlab.catalog.instrument import Measure
from nandlab.catalog.noun import StrictModel
from nandlab.catalog.remote import RemoteModel
from nandlab.plan import curves, ownboard, traceable, wholechip
from nandlab.plan.expansion import MeasureSet, expand_matrix
from nandlab.plan.lookup import Lookup
from nandlab.plan.matrix import FurtherMatrix, Matrix, Member, StateChoice
from nandlab.plan.product import Product, fill_matrix_from_product
from nandlab.plan.trialspec import MemorySeries, PartsTrace, ReadsTrace, TrialSpec

TRIALS_MAX = 20_000
"""Trials of a study: at some seconds each, a day or two of a machine."""


class Study(StrictModel):
    """A study file."""

    name: StudyName
    question: Lines = Field(min_length=1, description="in a sentence: what the study is to answer")
    board: Word = Field(description="the board's name in the catalog")
    paper: Word | Empty = Field(
        default="",
        description="a paper of the catalog; the report compares its claims; empty: none",
    )
    measure: list[Measure] = Field(
        default=[],
        description="what else is measured; it takes board time, so these trials' times do not "
        "compare with those of others",
    )
    memory_trials: Literal["apart", "all"] = Field(
        default="apart",
        description="where memory is measured, which takes time: apart: in trials of its own, for "
        "two members of each configuration, so that no time has it; also where a limit is on RAM "
        "and measure does not say so; all: in every trial, whose times are in doubt then",
    )
    memory_series: MemorySeries | None = Field(
        default=None, description='with measure = ["memory-series"]; null: its defaults'
    )
    parts: PartsTrace | None = Field(
        default=None, description='with measure = ["parts"]; null: its defaults'
    )
    reads: ReadsTrace | None = Field(
        default=None, description='with measure = ["reads"]; null: its defaults'
    )
    limits: dict[FigureName, FreeValue] = Field(
        default={},
        description="what advice is under: a figure and its bound in words, as --limit has them; "
        "lifetime_years and daily_write",
    )
    product: Product | None = Field(
        default=None, description="what is to be built; the matrix's chip and loads follow from it"
    )
    curves: list[Curve] = Field(
        default=[], description="charts of a figure over an attribute, which its report has"
    )
    matrix: Matrix
    beside: list[FurtherMatrix] = Field(
        default=[], description="further combinations that are not crossed with the matrix"
    )

    _folder: Path = PrivateAttr(default=Path())
    """The study file's folder: paths of images are relative to it."""

    @model_validator(mode="before")
    @classmethod
    def _follows_from_the_product(cls, told: Any) -> Any:
        return fill_matrix_from_product(told) if isinstance(told, dict) else told

    @model_validator(mode="after")
    def _measures_each_once(self) -> Study:
        for name, count in Counter(self.measure).items():
            if count > 1:
                raise ValueError(f"measure: {name!r} is there {count} times: once suffices")
        return self

    @model_validator(mode="after")
    def _measures_memory_once(self) -> Study:
        if {"memory", "memory-series"} <= set(self.measure):
            raise ValueError("measure: memory-series has all that memory has; name one of them")
        if self.memory_series and "memory-series" not in self.measure:
            raise ValueError('memory_series: it is for measure = ["memory-series"]')
        return self

    @model_validator(mode="after")
    def _brings_one_thing_back(self) -> Study:
        bringing = [name for name in ("parts", "reads", "space") if name in self.measure]
        if len(bringing) > 1:
            both = " and ".join(bringing)
            raise ValueError(f"measure: {both} each bring something back: name one of them")
        for name in ("parts", "reads"):
            if getattr(self, name) and name not in self.measure:
                raise ValueError(f'{name}: it is for measure = ["{name}"]')
        return self

    @model_validator(mode="after")
    def _a_state_has_a_name_of_its_own(self) -> Study:
        known: dict[str, StateChoice] = {}
        states = [*self.matrix.states, *(s for beside in self.beside for s in beside.states or [])]
        for state in states:
            if known.setdefault(state.name, state) != state:
                raise ValueError(f"states: two are called {state.name!r}: rename one")
        return self

    def list_measure_sets(self, limits: Limits, *, own_board: bool = False) -> list[MeasureSet]:
        """What is measured in each trial, defaults filled in; if memory has trials of its own, what
        is measured in these comes last.

        own_board: it is a board of the user's own, which has no instrument of memory.
        """
        memory: list[Measure] = [name for name in self.measure if name in MEMORY_INSTRUMENTS]
        other_instruments = [name for name in self.measure if name not in MEMORY_INSTRUMENTS]
        parts = (self.parts or PartsTrace()) if "parts" in self.measure else None
        series = (self.memory_series or MemorySeries()) if "memory-series" in memory else None
        reads = (self.reads or ReadsTrace()) if "reads" in self.measure else None
        if self.memory_trials == "all":
            return [MeasureSet(self.measure, series, parts, reads)]
        if not (memory or own_board) and any(
            limit.figure.startswith(RAM_PREFIX) for limit in limits.figures
        ):
            memory = ["memory"]
        apart = [MeasureSet(memory, series, None, None, RAM_MEMBERS_MAX)] if memory else []
        return [MeasureSet(other_instruments, None, parts, reads), *apart]

    def members(self, first: int | None = None) -> list[Member]:
        """The ensemble's first members, as many as ``first``; None: all."""
        return self.matrix.members()[:first]


def find_shipped_study_files() -> dict[str, Path]:
    """The study files that nandlab brings, by name."""
    return {p.stem: p for p in sorted(STUDIES.glob("*.toml"), key=lambda p: p.stem)}


def find_study_file(study: str) -> Path:
    """A study file by path, or a shipped one by name."""
    path = Path(study)
    if path.suffix == ".toml" or path.is_file():
        return path
    shipped = find_shipped_study_files()
    if study not in shipped and study and os.path.lexists(path):
        return path  # a folder, a pipe or a link that leads nowhere: reading tells which
    if study not in shipped:
        near = suggest_nearest_name(study, list(shipped))
        raise UsageError(
            f"{study}: no such file, nor a study of nandlab ({', '.join(shipped)}){near}"
        )
    return shipped[study]


def read_study_file(path: Path, board: str | None = None) -> Study:
    """A study file, on another board if one is named; UsageError lists every mistake in it."""
    study = validate_data(read_toml(path), Study, str(path))
    if board is not None:
        study = study.model_copy(update={"board": board})
    study._folder = path.parent
    plan_trials(study, str(path))
    return study


def parse_run_study(spec: Any, folder: Path, where: str) -> Study:
    """A study as a run's head keeps it; ``folder``: see Study. UsageError if it is none today.

    One from before memory had trials of its own measured it in all; a head has all keys of its day.
    """
    if isinstance(spec, dict) and "memory_series" in spec:
        spec = {"memory_trials": "all", **spec}
    study = validate_data(spec, Study, where)
    study._folder = folder
    return study


def plan_trials(
    study: Study,
    where: str | None = None,
    board: BoardModel | RemoteModel | None = None,
    lock: Lock | None = None,
) -> list[TrialSpec]:
    """Every trial of a study, in order; UsageError lists every mistake.

    board: what the trials are to run on; None: the catalog's board that the study names.
    lock: the packages of its trees; None: those that are locked in the catalog.
    """
    with use_project_beside_study(study._folder):
        return _plan_trials(study, Lookup(where or study.name, study._folder, lock), board)


def _plan_trials(
    study: Study, c: Lookup, board: BoardModel | RemoteModel | None
) -> list[TrialSpec]:
    board = board or c.load("boards", study.board, BoardModel, "board")
    if study.paper and study.paper not in list_noun_names("papers"):
        there = ", ".join(list_noun_names("papers"))
        c.refuse("paper", f"no {study.paper!r} in the catalog's papers ({there})")
    matrices = {"matrix": study.matrix}
    matrices |= {f"beside.{i}": b.within(study.matrix) for i, b in enumerate(study.beside)}
    if (
        study.product
        and isinstance(board, BoardModel)
        and (wrong := study.product.too_large(board))
    ):
        c.refuse("product", wrong)
    asked_for = sum(matrix.size() for matrix in matrices.values())
    if asked_for > TRIALS_MAX:
        c.refuse("matrix", f"{asked_for} trials; a study has at most {TRIALS_MAX}: make it several")
        raise UsageError(c.wrong[-1])
    limits = _parse_limits(c, study)
    measure_sets = study.list_measure_sets(limits, own_board=isinstance(board, RemoteModel))
    trials = []
    for field, matrix in matrices.items():
        trials += expand_matrix(c, matrix, board, measure_sets, field)
    c.refuse(
        "measure",
        *dict.fromkeys(text for t in trials for text in traceable.check_trial_traceable(t)),
    )
    checks = (ownboard.check_trial_on_own_board, wholechip.check_trial_beside_partitions)
    c.wrong += [f"{c.where}: {text}" for check in checks for t in trials for text in check(t)]
    _note_limit_mistakes(c, limits, trials)
    if not c.wrong:
        c.wrong += [f"{c.where}: {text}" for text in curves.check_curves(study.curves, trials)]
    if c.wrong:
        raise UsageError(*dict.fromkeys(c.wrong))
    ids = Counter(t.id for t in trials)
    if twice := sorted(i for i, times in ids.items() if times > 1):
        raise UsageError(f"{c.where}: matrix: the same trial more than once: {', '.join(twice)}")
    return trials


def _parse_limits(c: Lookup, study: Study) -> Limits:
    """The study's limits, none if they are no limits; the lookup keeps why."""
    for key, value in study.limits.items():
        if isinstance(value, float) and not isfinite(value):
            c.refuse(f"limits.{key}", "must be a finite number")
            return Limits()
    try:
        return limits.make_limits_from_spec(study.model_dump(mode="json"))
    except UsageError as e:
        c.refuse("limits", *str(e).splitlines())
        return Limits()


def _note_limit_mistakes(c: Lookup, limits: Limits, trials: list[TrialSpec]) -> None:
    """The lookup keeps the mistakes of the study's limits."""
    each = {id(t.workload): t.workload for t in trials}  # one name may stand for several lists
    workloads = [(w.name, workloadwords.make_words_from_declaration(w)) for w in each.values()]
    c.refuse("limits", *limitsyntax.check_limits(limits.figures, workloads))
