# SPDX-License-Identifier: GPL-2.0-or-later
"""A study: a question, and the matrix of trials that answers it.

A study file is data only. Reading it gives every mistake at once, those of form and those of
meaning (an option that a file system lacks, a partition larger than its chip), before anything
runs. :func:`plan` expands it to trials, whose ids depend on what a trial is and on nothing else.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from nandlab.analysis import asked, figures, limits, words
from nandlab.analysis.curves import Curve
from nandlab.base.digest import digest
from nandlab.base.errors import UsageError
from nandlab.base.paths import STUDIES
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import beside, load, names, read_toml, validate
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.noun import Noun, Scalar, Strict
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan import curves
from nandlab.plan.fit import refused, without_room
from nandlab.plan.matrix import (
    Beside,
    ChipChoice,
    FilesystemChoice,
    Matrix,
    Member,
    StateChoice,
    WithChoices,
    WorkloadChoice,
)
from nandlab.plan.medium import Medium
from nandlab.plan.product import Product, within
from nandlab.plan.start import Image, Start, cannot_begin, image_of, options_of

N = TypeVar("N", bound=Noun)
F = TypeVar("F", FilesystemModel, WorkloadModel)


Measure = Literal["memory", "cpu"]
"""memory: the RAM that the file system's modules hold when mounted, at the peak, at the end.
cpu: how long the processor idled in the load."""


class Study(Strict):
    """A study file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    question: str = Field(min_length=1, description="in a sentence: what the study is to answer")
    board: str = Field(description="the board's name in the catalog")
    paper: str = Field(
        default="",
        description="a paper of the catalog; the report compares its claims; empty: none",
    )
    measure: list[Measure] = Field(
        default=[],
        description="what else is measured; it takes board time, so these trials' times do not "
        "compare with those of others",
    )
    limits: dict[str, Any] = Field(
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
    beside: list[Beside] = Field(
        default=[], description="further combinations that are not crossed with the matrix"
    )

    _folder: Path = PrivateAttr(default=Path())
    """The study file's folder: paths of images are relative to it."""

    @model_validator(mode="before")
    @classmethod
    def _follows_from_the_product(cls, told: Any) -> Any:
        return within(told) if isinstance(told, dict) else told

    @model_serializer(mode="wrap")
    def _without_what_is_not_asked(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A study without one of these is written as before it could have it: its runs keep ids."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v or k not in ("limits", "product", "curves")}

    def members(self, first: int | None = None) -> list[Member]:
        """The ensemble's first members, as many as ``first``; None: all."""
        return self.matrix.members()[:first]


class TrialSpec(Medium):
    """All that a trial is. Two trials with equal specs are the same trial."""

    workload: WorkloadModel
    parameters: dict[str, Scalar]
    image: Start | None = None
    state: StateChoice
    phase_offset_ms: float
    measure: list[Measure] = Field(default=[])

    @property
    def member(self) -> Member:
        return self.seed, self.phase_offset_ms

    @property
    def aged(self) -> bool:
        """Whether the flash is to hold data before the workload."""
        return bool(self.state.valid or self.state.invalid)

    def configuration(self) -> str:
        """An id that the members of one ensemble share, and no other trial has."""
        return self.model_copy(update={"seed": 0, "phase_offset_ms": 0.0}).id

    @property
    def id(self) -> str:
        """A stable id: it depends on what the study names, not on wording or built artefacts."""
        key = [
            self.board.name,
            self.workload.name,
            self.parameters,
            self.filesystem.name,
            self.filesystem.identity(self.options),
            self.chip.name,
            self.partition_blocks,
            self.state.model_dump(),
            self.seed,
            self.phase_offset_ms,
            *self.faults.parameters(self.seed).items(),
            *([["latency", self.latency]] if self.latency != "typical" else []),
            *([["image", self.image.sha256]] if self.image else []),
            *([["measure", self.measure]] if self.measure else []),
        ]
        return f"{self.filesystem.name}-{self.state.name}-{digest(key)[:10]}"

    def title(self) -> str:
        """What sets this trial apart from others of its study, in words, for people."""
        options = [f"{k}={v}" for k, v in self.filesystem.changed(self.options).items()]
        words = [self.workload.name, self.filesystem.title, *options]
        words += [f"from {self.image.name}"] if self.image else []
        words += [self.state.name]
        words += ["maximum latencies"] if self.latency == "maximum" else []
        words += [f"seed {self.seed}", f"+{self.phase_offset_ms:g} ms"]
        return " ".join(words)


def find(study: str) -> Path:
    """A study file by path, or a shipped one by name."""
    path = Path(study)
    if path.suffix == ".toml" or path.is_file():
        return path
    shipped = STUDIES / f"{study}.toml"
    if not shipped.exists():
        there = ", ".join(sorted(p.stem for p in STUDIES.glob("*.toml")))
        raise UsageError(f"{study}: no such file, nor a study of nandlab ({there})")
    return shipped


def read(path: Path, board: str | None = None) -> Study:
    """A study file, on another board if one is named; UsageError lists every mistake in it."""
    study = validate(read_toml(path), Study, str(path))
    if board is not None:
        study = study.model_copy(update={"board": board})
    study._folder = path.parent
    plan(study, str(path))
    return study


def again(spec: Any, folder: Path, where: str) -> Study:
    """A study as a run's head keeps it; ``folder``: see Study. UsageError if it is none today."""
    study = validate(spec, Study, where)
    study._folder = folder
    return study


class _Collector:
    """Looks names up, and keeps every mistake instead of stopping at the first."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.wrong: list[str] = []

    def load(self, kind: str, name: str, model: type[N], place: str) -> N | None:
        if name not in names(kind):
            there = f"the catalog's {kind} ({', '.join(names(kind))})"
            self.wrong.append(f"{self.where}: {place}: no {name!r} in {there}")
            return None
        return load(kind, name, model)

    def keep(self, error: UsageError) -> None:
        self.wrong += str(error).splitlines()


def plan(
    study: Study, where: str | None = None, board: BoardModel | None = None
) -> list[TrialSpec]:
    """Every trial of a study, in order; UsageError lists every mistake.

    board: what the trials are to run on; None: the catalog's board that the study names.
    """
    with beside(study._folder):
        return _planned(study, _Collector(where or study.name), board)


def _planned(study: Study, c: _Collector, board: BoardModel | None) -> list[TrialSpec]:
    board = board or c.load("boards", study.board, BoardModel, "board")
    if study.paper and study.paper not in names("papers"):
        there = ", ".join(names("papers"))
        c.wrong.append(f"{c.where}: paper: no {study.paper!r} in the catalog's papers ({there})")
    matrices = {"matrix": study.matrix}
    matrices |= {f"beside.{i}": b.within(study.matrix) for i, b in enumerate(study.beside)}
    if study.product and board and (wrong := study.product.too_large(board)):
        c.wrong.append(f"{c.where}: product: {wrong}")
    trials = []
    for at, matrix in matrices.items():
        trials += _expand(c, study, matrix, board, at)
    _check_limits(c, study, trials)
    if not c.wrong:
        c.wrong += [f"{c.where}: {text}" for text in curves.mistakes(study.curves, trials)]
    if c.wrong:
        raise UsageError("\n".join(dict.fromkeys(c.wrong)))
    ids = [t.id for t in trials]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise UsageError(f"{c.where}: matrix: the same trial more than once: {', '.join(twice)}")
    return trials


def _check_limits(c: _Collector, study: Study, trials: list[TrialSpec]) -> None:
    """The collector keeps the mistakes of the study's limits."""
    try:
        told = limits.of_study(study.model_dump(mode="json"))
    except UsageError as e:
        c.wrong += [f"{c.where}: limits: {line}" for line in str(e).splitlines()]
        return
    workloads = {t.workload.name: words.said(t.workload) for t in trials}
    wrong = asked.mistakes(told.figures, list(workloads.items()))
    c.wrong += [f"{c.where}: limits: {text}" for text in wrong]


def _expand(
    c: _Collector, study: Study, m: Matrix, board: BoardModel | None, at: str
) -> list[TrialSpec]:
    """The trials of one matrix; the collector keeps its mistakes."""
    workloads = [_workload(c, w, f"{at}.workloads.{i}") for i, w in enumerate(m.workloads)]
    systems = [
        _system(c, f, study._folder, f"{at}.filesystems.{i}") for i, f in enumerate(m.filesystems)
    ]
    places = [_chip(c, ch, board, f"{at}.chips.{i}") for i, ch in enumerate(m.chips)]
    pairs = _pairs(c, m, systems, places, board, at)
    for i, loaded in enumerate(filter(None, workloads)):
        where = f"{c.where}: {at}.workloads.{i}"
        for place in filter(None, places):
            wrong = without_room(*loaded, place.chip, place.blocks)
            c.wrong += [f"{where}: {wrong}"] if wrong else []
        for system, place in pairs:
            told = refused(*loaded, system.model, place.chip, place.blocks)
            c.wrong += [f"{where}: {text}" for text in told]
    if c.wrong or board is None:
        return []
    return [
        TrialSpec(
            board=board,
            workload=workload,
            parameters=parameters,
            filesystem=system.model,
            options=system.options,
            image=system.image.start if system.image else None,
            chip=place.chip,
            partition_blocks=place.blocks,
            latency=place.choice.latency,
            faults=place.choice.faults,
            state=state,
            seed=seed,
            phase_offset_ms=offset,
            measure=study.measure,
        )
        for workload, parameters in filter(None, workloads)
        for system, place in pairs
        for state, (seed, offset) in product(m.states, m.members())
    ]


class System(NamedTuple):
    """A file system of the matrix, with a value for each of its options."""

    model: FilesystemModel
    options: dict[str, Any]
    image: Image | None = None
    """What the chip holds before the first mount; None: it is erased."""


class Place(NamedTuple):
    """A chip of the matrix and its partition."""

    chip: ChipModel
    blocks: int
    """Blocks of the partition."""
    choice: ChipChoice


def _pairs(
    c: _Collector,
    m: Matrix,
    systems: list[System | None],
    places: list[Place | None],
    board: BoardModel | None,
    at: str,
) -> list[tuple[System, Place]]:
    """Each file system on each of its chips; the collector keeps the pairs that do not fit."""
    pairs = []
    for i, (choice, system) in enumerate(zip(m.filesystems, systems, strict=True)):
        where = f"{c.where}: {at}.filesystems.{i}"
        here = ", ".join(ch.part for ch in m.chips)
        absent = set(choice.on) - {ch.part for ch in m.chips}
        c.wrong += [
            f"{where}: on: no {p!r} among the matrix's chips ({here})" for p in sorted(absent)
        ]
        for place in places:
            if system is None or place is None or not choice.takes(place.chip):
                continue
            chip, blocks, bad_blocks = place.chip, place.blocks, place.choice.faults.bad_blocks
            unfit = system.model.unfit(system.options, chip.figures(blocks))
            c.wrong += [f"{where}: {choice.name} cannot live on {chip.name}: {u}" for u in unfit]
            if system.image:
                wrong = cannot_begin(system.image.head, chip, blocks, bad_blocks, board)
                c.wrong += [f"{where}: image: {w}" for w in wrong]
            pairs.append((system, place))
    return pairs


def _chosen(
    c: _Collector, kind: str, model: type[F], choice: WithChoices, place: str
) -> tuple[F, dict[str, Any]] | None:
    """A catalog entry and a value for each of its options; None if the collector has mistakes."""
    noun = c.load(kind, choice.name, model, place)
    if noun is None:
        return None
    try:
        return noun, noun.chosen(choice.choices(), f"{c.where}: {place}")
    except UsageError as e:
        c.keep(e)
        return None


def _workload(
    c: _Collector, choice: WorkloadChoice, place: str
) -> tuple[WorkloadModel, dict[str, Any]] | None:
    """A workload and its parameters; None if the collector has mistakes."""
    chosen = _chosen(c, "workloads", WorkloadModel, choice, place)
    wrong = figures.mistakes(chosen[0]) if chosen else []
    c.wrong += [f"{c.where}: {place}: {choice.name}: {text}" for text in wrong]
    return None if wrong else chosen


def _system(c: _Collector, choice: FilesystemChoice, folder: Path, place: str) -> System | None:
    """A file system, its options, and the image that the chip holds, if any; None: mistakes."""
    if choice.image is None:
        system = _chosen(c, "filesystems", FilesystemModel, choice, place)
        return System(*system) if system else None
    noun = c.load("filesystems", choice.name, FilesystemModel, place)
    if noun is None:
        return None
    try:
        image = image_of(choice.image, folder)
        options = options_of(noun, image.head, choice.choices(), f"{c.where}: {place}")
        return System(noun, options, image)
    except UsageError as e:
        c.wrong += [f"{c.where}: {place}: image: {line}" for line in str(e).splitlines()]
        return None


def _chip(c: _Collector, choice: ChipChoice, board: BoardModel | None, place: str) -> Place | None:
    """A chip, the blocks of its partition and its choice; None if the collector has mistakes."""
    chip = c.load("chips", choice.part, ChipModel, place)
    if chip is None:
        return None
    try:
        blocks = chip.partition_blocks(choice.partition_mib)
    except UsageError as e:
        c.wrong.append(f"{c.where}: {place}: {e}")
        return None
    store_mib = chip.cells_bytes(blocks) / MIB
    if board is not None and store_mib > board.chip_store_mib:
        c.wrong.append(
            f"{c.where}: {place}: {chip.name} needs {store_mib:.0f} MiB of chip_store_mib for it; "
            f"board {board.name} has {board.chip_store_mib}"
        )
    try:
        chip.timing.array_ns(choice.latency)
    except UsageError as e:
        c.wrong.append(f"{c.where}: {place}: {chip.name}: {e}")
    return Place(chip, blocks, choice)
