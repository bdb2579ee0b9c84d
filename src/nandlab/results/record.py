# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial and a run are on disk, and nothing about how they got there.

Nothing here knows any workload: phases, kinds of operation and figures have the names that the
workload gives them, and its catalog file has their titles. Times are in ns of the board's clock
unless the key says otherwise; missing is null or absent, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
)

from nandlab.base.digest import digest_json_value
from nandlab.base.strings import (
    Digest,
    Empty,
    FileName,
    FreeText,
    FreeValue,
    Line,
    Lines,
    PackageSets,
    StudyName,
    Word,
)
from nandlab.results.cutsummaries import CutSummary
from nandlab.results.recordparts import (
    Artefact,
    Count,
    Doubt,
    EraseSpread,
    FlashState,
    Latency,
    PerBlock,
    Phase,
    RecordPart,
    Series,
    StartImage,
    StepResult,
    TrialChip,
    Wear,
)

FORMAT: Literal[2] = 2

MEMBERS_MIN = 5
"""Trials of a configuration, below which its spread is in doubt where times do not repeat."""

HASH_LETTERS = 20
"""How many letters of a hash serve as a name."""

Content = bytes
"""Of an artefact; within a trial the word bytes is a field's."""

Status = Literal["ok", "trial_failed", "not_measured", "board_lost"]
"""How a trial ended: not_measured is by the workload's own fault, and says nothing of others."""

WARNINGS: dict[str, str] = {
    "not_deterministic": "Its times do not repeat: compare spreads, of five members or more.",
    "not_locked": "Its figures are of another board than the one that boards.lock names.",
    "state_missed": "See state.obtained; try mix = 1, ask for less, or give the chip more room.",
    "kernel_log": "Read kernel_log in the trial file: the kernel complained during this trial.",
    "kernel_finding": "The kernel found a fault in itself or in a module: read kernel_log.",
    "debug_kernel": "Debug kernel: its times are comparable with no other's; counts may be.",
    "counts_missed": "The chip did more than is counted: the kernel's probes missed some of it.",
    "not_settled": "Background work outlasted settle; the early phases share the chip with it.",
    "output_cut": "Figures read from that output may be incomplete; let the step print less.",
    "memory_measured": "Its times include measuring memory; take those of trials without it.",
    "memory_lost": "RAM is told too low: fsram's table was full; raise memory_series.slots_log2.",
    "memory_series_lost": "The series lacks its begin: raise memory_series.samples or interval_ms.",
    "restart_failed": "When the first record is safe after a start is not known: see the text.",
    "space_unread": "Space is not told; look at the chip that the trial kept with nandlab space.",
    "parts_measured": "Its times include the tracers' own; take times from another study.",
    "reads_measured": "The tracers ran beside it; take times of its phases from another study.",
    "reads_lost": "Reads are not scored; its text says why.",
    "parts_lost": "Time in parts is not told; its text says how much of the trace is lost.",
    "workload": "The workload program itself warns; its text says what to do.",
}
"""The closed list of doubts a trial can carry, each with what to do about it."""


class Host(RecordPart):
    """What depends on the host and is never compared."""

    seconds: float = Field(ge=0, description="host time of the trial, restore included")
    board: Line = Field(description="snapshot key of the board that ran it")
    memory: list[int] = Field(
        default=[],
        description="bytes of the host's memory that the board held, at equal intervals of host "
        "time, 64 at the most; empty: not known",
    )


class Origin(RecordPart):
    """The run that a trial was run in, if it is another than the one that holds it."""

    study: StudyName
    run: Word


class Trial(RecordPart):
    """One workload on one configuration with one seed."""

    format: Literal[2] = FORMAT
    id: FileName
    study: StudyName
    run: Word | Empty = Field(
        default="", description="the run's id; empty: the result is older than this field"
    )
    key: Digest | Empty = Field(
        default="", description="the hash of all that the trial is; empty: older than this field"
    )
    origin: Origin | None = Field(
        default=None, description="where it was taken from; null: this run ran it"
    )
    status: Status
    error: FreeText | None = None
    console_tail: list[FreeText] | None = None

    filesystem: Word
    options: dict[Word, Line]
    chip: TrialChip
    state: FlashState
    image: StartImage | None = Field(
        default=None, description="what the chip held before the first mount; null: nothing"
    )
    workload: Word
    parameters: dict[Line, FreeValue]
    seed: int
    phase_offset_ms: float
    setup_seed: int | None = Field(
        default=None,
        description="seed of faults and ageing, after which seed and offset begin; absent: they "
        "are the trial's from its begin",
    )

    available: int | None = Field(
        default=None,
        description="bytes of RAM that were available (MemAvailable) as the job began; null: not "
        "known",
    )
    steps: list[StepResult] = Field(default=[], description="those of the job that ran, in order")
    files: dict[Line, FreeText] = Field(default={}, description="that the job was given, by name")
    phases: list[Phase] = Field(default=[], description="of the workload, in order")
    operations: dict[Line, Count] = Field(default={}, description="in all, by kind")
    bytes: dict[Line, Count] = Field(default={}, description="read, written in all")
    latency_ns: dict[Line, Latency | None] = Field(
        default={}, description="by kind of operation; null: none was made"
    )
    figures: dict[Line, int | float] = Field(
        default={}, description="the workload's own, as its catalog file names them"
    )
    texts: dict[Line, FreeText] = Field(default={}, description="what the workload says in words")
    series: list[Series] = Field(default=[])
    open_ended: bool = Field(
        default=False, description="the load was stopped before it ended by itself"
    )
    measure: list[Word] = Field(
        default=[],
        description="what was to be measured beside the load, by the names that a study has; empty "
        "where nothing was, and in a result older than this field",
    )
    measured: dict[Line, dict[Line, int | float]] = Field(
        default={}, description="by instrument, what it measured beside the load"
    )
    erases_per_block: EraseSpread | None = None
    per_block: PerBlock | None = None
    wear: Wear | None = Field(
        default=None, description="erases per block over the trial; null: not measured"
    )
    artefacts: list[Artefact] = Field(default=[])

    kernel_log: list[FreeText] = Field(
        default_factory=list, description="the kernel's lines of level warning and worse"
    )
    warnings: list[Doubt] = Field(default_factory=list)
    provenance: dict[Word, Digest] = Field(
        default={},
        description="for board, chip, filesystem and workload the hash of its content, which the "
        "run's folder keeps once",
    )
    host: Host | None = None

    _sources: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)
    _contents: dict[str, Content] = PrivateAttr(default_factory=dict)
    _cuts: tuple[CutSummary, ...] = PrivateAttr(default=())

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def filesystem_title(self) -> str:
        """The file system's title from the catalog, as the run keeps it."""
        title: str = self.find_source("filesystem").get("title", self.filesystem)
        return title

    @property
    def own_board(self) -> bool:
        """Whether its board was the user's own, whose clock and chip are real."""
        return self.find_source("board").get("kind") == "remote"

    def find_source(self, what: str) -> dict[str, Any]:
        """The content of what the trial ran with: its board, chip, filesystem or workload."""
        return self._sources.get(what, {})

    @property
    def member(self) -> tuple[int, float]:
        """Seed and phase offset, ms: what tells it from the ensemble's other trials."""
        return self.seed, self.phase_offset_ms

    def add_sources(
        self, sources: dict[str, dict[str, Any]], hashes: dict[str, str] | None = None
    ) -> Trial:
        """The trial with the contents that its provenance names; trials may share them.

        hashes: of the contents, by name, where they have been checked; None: they are worked out.
        """
        if hashes is None:
            hashes = {
                what: digest_json_value(source)[:HASH_LETTERS] for what, source in sources.items()
            }
        copy = self.model_copy(update={"provenance": hashes})
        copy._sources = sources
        return copy

    def add_power_cuts(self, cuts: Iterable[CutSummary]) -> Trial:
        """The trial with the campaigns of power cuts beside its run that are of its medium."""
        copy = self.model_copy()
        medium = (self.filesystem, self.options, self.chip.part)
        copy._cuts = tuple(c for c in cuts if (c.filesystem, c.options, c.chip) == medium)
        return copy

    @property
    def cuts(self) -> tuple[CutSummary, ...]:
        """Campaigns of power cuts on its file system, options and chip, beside its run."""
        return self._cuts

    def add_contents(self, contents: dict[str, Content]) -> Trial:
        """The trial with the contents of its artefacts, by their hashes, for a folder to keep."""
        copy = self.model_copy()
        copy._contents = contents
        return copy

    @property
    def contents(self) -> dict[str, Content]:
        """What holding() was given; a trial that was read from a folder has none."""
        return self._contents

    @property
    def sources(self) -> dict[str, dict[str, Any]]:
        """Every content that about() gives, by name."""
        return self._sources

    def phase(self, name: str) -> Phase | None:
        for phase in self.phases:  # a generator would take twice as long, and each figure asks
            if phase.name == name:
                return phase
        return None

    def step(self, name: str) -> StepResult | None:
        for step in self.steps:
            if step.name == name:
                return step
        return None

    def line(self, name: str) -> Series | None:
        """The series of this name."""
        return next((s for s in self.series if s.name == name), None)

    def configuration(self) -> tuple[str, ...]:
        """What two members of one ensemble share: all but seed and phase offset."""
        return (
            self.workload,
            json.dumps(self.parameters, sort_keys=True),
            self.filesystem,
            json.dumps(self.options, sort_keys=True),
            self.chip.part,
            f"{self.chip.partition_mib:g} MiB",
            self.chip.latency,
            json.dumps(self.chip.faults, sort_keys=True),
            self.chip.spinand.text if self.chip.spinand else "",
            self.chip.layout,
            self.state.name,
            f"{self.state.valid}/{self.state.invalid}/{self.state.mix} of {self.state.of}",
            self.image.sha256 if self.image else "",
        )


class Run(RecordPart):
    """The head of a run: enough to resume it, and to report it without its study file."""

    format: Literal[2] = FORMAT
    id: Word
    study: StudyName
    question: Lines
    deterministic: bool
    trials: list[FileName] = Field(description="ids of all trials, in the order of the plan")
    spec: dict[Word, FreeValue] = Field(description="the study as read, defaults filled in")
    provenance: dict[Word, FreeValue] = Field(description="the board's identity")
    packages: PackageSets = Field(
        default={},
        description="sets of packages that programs of the run were built from beside the board's, "
        "as provenance.lock has its own; they are no part of the board's identity",
    )
    commit: Word | None = Field(
        default=None,
        description="of the nandlab that began the run; null: not known. No part of the run's id",
    )

    @property
    def own_board(self) -> bool:
        """Whether its board was the user's own, whose clock and chip are real."""
        return self.provenance.get("kind") == "remote"

    @property
    def why_not_repeated(self) -> str:
        """Of a run that is not deterministic: whose time it was on."""
        if self.own_board:
            return "run on a board of the user's own, on its clock"
        return "run on the host's time (--accel kvm)"

    @property
    def board_id(self) -> str:
        """A name for the very board that the run had, down to each package, program and module."""
        return digest_json_value(self.provenance)[:12]

    @property
    def measured_on(self) -> str:
        """The very board, whether it is real, and which nandlab began the run, if that is known."""
        board = f"virtual board {self.board_id}, simulated chip"
        commit = f", commit of nandlab {self.commit}" if self.commit else ""
        return f"{f'board {self.board_id}' if self.own_board else board}{commit}"
