# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial and a run are on disk, and nothing about how they got there.

Nothing here knows any workload: phases, kinds of operation and figures have the names that the
workload gives them, and its catalog file has their titles. Times are in ns of the board's clock
unless the key says otherwise; missing is null or absent, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from nandlab.base.digest import digest
from nandlab.results.cuts import Cuts

FORMAT: Literal[2] = 2

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A count, or a time in ns."""

MEMBERS_MIN = 5
"""Trials of a configuration, below which its spread is in doubt where times do not repeat."""

HASH_LETTERS = 20
"""How many letters of a hash serve as a name."""

FileName = Annotated[str, Field(pattern=r"^[^/\x00]+$", max_length=240)]
"""An id that a file is named after."""

Content = bytes
"""Of an artefact; within a trial the word bytes is a field's."""

Status = Literal["ok", "trial_failed", "not_measured", "board_lost"]
"""How a trial ended: not_measured is by the workload's own fault, and says nothing of others."""

WARNINGS: dict[str, str] = {
    "not_deterministic": "Its times do not repeat: compare spreads, of five members or more.",
    "not_locked": "Its figures are of another board than the one that boards.lock names.",
    "state_missed": "See state.obtained; try mix = 1, ask for less, or give the chip more room.",
    "kernel_log": "Read kernel_log in the trial file: the kernel complained during this trial.",
    "counts_missed": "The chip did more than is counted: the kernel's probes missed some of it.",
    "not_settled": "Background work outlasted settle; the early phases share the chip with it.",
    "output_cut": "Figures read from that output may be incomplete; let the step print less.",
    "memory_measured": "Its times include measuring memory; take times from another study.",
    "memory_lost": "RAM is told too low: fsram's table was full; raise memory_series.slots_log2.",
    "memory_series_lost": "The series lacks its begin: raise memory_series.samples or interval_ms.",
    "space_unread": "Space is not told; look at the chip that the trial kept with nandlab space.",
    "parts_measured": "Its times include the tracers' own; take times from another study.",
    "reads_measured": "The tracers ran beside it; take times of its phases from another study.",
    "reads_lost": "Reads are not scored; its text says why.",
    "parts_lost": "Time in parts is not told; its text says how much of the trace is lost.",
    "workload": "The workload program itself warns; its text says what to do.",
}
"""The closed list of doubts a trial can carry, each with what to do about it."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Doubt(_Model):
    """A doubt about a trial: a code of :data:`WARNINGS` and what was seen."""

    code: str
    text: str


class Counts(_Model):
    """Operations of the chip: page reads, page programs, block erases."""

    reads: Count
    programs: Count
    erases: Count


class EraseSpread(_Model):
    """Erases per block of the partition over the timed phases."""

    mean: float
    stddev: float
    min: Count
    max: Count


class PerBlock(_Model):
    """Operations per block of the partition over the timed phases; index is the block."""

    reads: list[Count]
    programs: list[Count]
    erases: list[Count]


class Latency(_Model):
    """Latency of one kind of operation: exact nearest-rank percentiles, in ns."""

    count: Count
    min: Count
    median: Count
    p95: Count
    p99: Count
    p99_9: Count
    max: Count


class Shares(_Model):
    """Shares of the partition's pages, 0..1, that the chip counted as programmed."""

    before: float | None = Field(default=None, description="already programmed before the fill")
    valid: float | None = Field(default=None, description="programmed by the data that stays")
    invalid: float | None = Field(
        default=None, description="programmed by data since removed, and not erased yet"
    )
    programmed: float | None = Field(
        default=None, description="all that are programmed when the timed phases begin"
    )


class State(_Model):
    """Flash state before the timed phases: what was asked, and what the chip then held."""

    name: str
    valid: float
    invalid: float
    mix: float
    of: Literal["chip", "free"] = Field(
        default="chip", description="what the shares asked for are of"
    )
    obtained: Shares | None = None


class Chip(_Model):
    """The chip of a trial: catalog part, and the partition the file system gets."""

    part: str
    partition_mib: float
    pages_per_block: int
    blocks: int = Field(description="blocks of the partition")
    writesize: int
    latency: Literal["typical", "maximum"] = Field(
        default="typical", description="which of the data sheet's array times"
    )
    faults: dict[str, int] = Field(
        default_factory=dict, description="simnand's fault parameters, as a study's chips name them"
    )


class Image(_Model):
    """A chip image that a trial began from: it was flashed and mounted, never formatted."""

    name: str = Field(description="as the study names it")
    sha256: str = Field(description="of its cells and its sidecar")
    tree: str | None = Field(
        default=None,
        description="digest of the root file system that it was made of for the run; null: it was "
        "given",
    )
    pages: Count | None = Field(
        default=None,
        description="that hold data, UBI's headers among them; null, as the two below: the result "
        "is older than this field",
    )
    own_header_pages: Count | None = Field(
        default=None, description="pages with UBI's headers and nothing else"
    )
    bytes: Count | None = Field(
        default=None, description="of the pages without UBI's headers, no spare areas"
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An older result is written as it was."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v is not None}


class Usage(_Model):
    """Where the time of a phase or a step went, and what passed the chip's bus; null: not known."""

    idle_ns: Count | None = Field(default=None, description="the processor idled, by cpuidle")
    busy_ns: Count | None = Field(default=None, description="the chip worked")
    warped_ns: Count | None = Field(
        default=None,
        description="of busy_ns, what was added to the clock: the processor neither ran nor idled",
    )
    bytes_read: Count | None = Field(
        default=None, description="over the chip's bus, spare bytes included"
    )
    bytes_written: Count | None = Field(default=None, description="the same, to the chip")
    register_hits: Count | None = Field(
        default=None, description="reads that the chip's page register answered, without tR"
    )


class Phase(_Model):
    """A part of a workload, by the workload's own name."""

    name: str
    ns: Count | None = Field(default=None, description="without its sync; null: it was not run")
    sync_ns: Count | None = Field(default=None, description="the sync that ends it; null: none")
    operations: dict[str, Count] = Field(default={}, description="made in it, by kind")
    bytes: dict[str, Count] = Field(
        default={}, description="read, written in it; empty: the workload reports totals only"
    )
    chip: Counts | None = Field(default=None, description="its sync included; null: not counted")
    chip_sync: Counts | None = Field(default=None, description="the sync's part of them")
    usage: Usage | None = Field(default=None, description="null: the workload does not tell it")
    at: dict[str, int | float | str] = Field(
        default={}, description="what sets it apart from like phases, such as count, size, pattern"
    )


class StepTaken(_Model):
    """A step of the trial's job."""

    name: str
    ns: Count = Field(description="of the board's clock")
    chip: Counts | None = Field(default=None, description="null: not counted")
    blocks_erased: Count | None = Field(
        default=None,
        description="blocks of the partition that are good and erased at its end; null: there is "
        "no chip, or the result is older than this field",
    )
    register_hits: Count | None = Field(
        default=None,
        description="reads that the chip's page register answered, without tR; no part of chip's "
        "reads; null: not counted, or the result is older than this field",
    )
    usage: Usage | None = Field(
        default=None,
        description="what the chip counted of the step, idle_ns not known; null: not counted, or "
        "the result is older than this field",
    )
    command: str | None = Field(
        default=None,
        description="what the board was given; null: the result is older than this field",
    )


class Series(_Model):
    """A figure over the time of the trial."""

    name: str
    unit: str = Field(description="as nandlab.base.units has quantities: bytes, count, ...")
    t_ns: list[Count] = Field(description="the board's clock, ascending")
    values: list[int | float] = Field(description="one for each time")

    @model_validator(mode="after")
    def _is_whole(self) -> Series:
        if len(self.t_ns) != len(self.values):
            raise ValueError(f"{len(self.t_ns)} times and {len(self.values)} values")
        return self


class Artefact(_Model):
    """A file that the trial left: kept once per content in the run's folder ``artefacts``."""

    name: str = Field(description="in the trial")
    kind: str = Field(description="chip image, trace, dump, ...")
    sha256: str
    bytes: Count


class WearReading(_Model):
    """Erases of each good block of the partition since the reading before."""

    after: str = Field(description="the step, or the moment of the trial, that had just ended")
    t_ns: Count = Field(description="the board's clock")
    runs: list[Count] = Field(
        description="runs of blocks that are alike: how many blocks, erases of each, how many, ..."
    )


class Wear(_Model):
    """Erases per block over a trial, by the instrument of that name."""

    blocks: Count = Field(description="good blocks of the partition")
    bad: list[Count] = Field(description="factory-bad blocks, by number; no reading has them")
    before: Count = Field(
        description="how many readings lie before the load's first step: the chip's loading, "
        "formatting, first mount and coming to rest; for a state also its fill"
    )
    readings: list[WearReading] = Field(description="in the order of the trial")

    @model_validator(mode="after")
    def _is_whole(self) -> Wear:
        if not 0 < self.before <= len(self.readings):
            raise ValueError(f"{len(self.readings)} readings, {self.before} before the load")
        for r in self.readings:
            if len(r.runs) % 2 or sum(r.runs[::2]) != self.blocks:
                raise ValueError(f"reading after {r.after}: not of {self.blocks} blocks")
        return self


class Host(_Model):
    """What depends on the host and is never compared."""

    seconds: float = Field(ge=0, description="host time of the trial, restore included")
    board: str = Field(description="snapshot key of the board that ran it")
    memory: list[int] = Field(
        default=[],
        description="bytes of the host's memory that the board held, at equal intervals of host "
        "time, 64 at the most; empty: not known",
    )


class Origin(_Model):
    """The run that a trial was run in, if it is another than the one that holds it."""

    study: str
    run: str


class Trial(_Model):
    """One workload on one configuration with one seed."""

    format: Literal[2] = FORMAT
    id: str
    study: str
    run: str = Field(
        default="", description="the run's id; empty: the result is older than this field"
    )
    key: str = Field(
        default="", description="the hash of all that the trial is; empty: older than this field"
    )
    origin: Origin | None = Field(
        default=None, description="where it was taken from; null: this run ran it"
    )
    status: Status
    error: str | None = None
    console_tail: list[str] | None = None

    filesystem: str
    options: dict[str, str]
    chip: Chip
    state: State
    image: Image | None = Field(
        default=None, description="what the chip held before the first mount; null: nothing"
    )
    workload: str
    parameters: dict[str, Any]
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
    steps: list[StepTaken] = Field(default=[], description="those of the job that ran, in order")
    files: dict[str, str] = Field(default={}, description="that the job was given, by name")
    phases: list[Phase] = Field(default=[], description="of the workload, in order")
    operations: dict[str, Count] = Field(default={}, description="in all, by kind")
    bytes: dict[str, Count] = Field(default={}, description="read, written in all")
    latency_ns: dict[str, Latency | None] = Field(
        default={}, description="by kind of operation; null: none was made"
    )
    figures: dict[str, int | float] = Field(
        default={}, description="the workload's own, as its catalog file names them"
    )
    texts: dict[str, str] = Field(default={}, description="what the workload says in words")
    series: list[Series] = []
    open_ended: bool = Field(
        default=False, description="the load was stopped before it ended by itself"
    )
    measured: dict[str, dict[str, int | float]] = Field(
        default={}, description="by instrument, what it measured beside the load"
    )
    erases_per_block: EraseSpread | None = None
    per_block: PerBlock | None = None
    wear: Wear | None = Field(
        default=None, description="erases per block over the trial; null: not measured"
    )
    artefacts: list[Artefact] = []

    kernel_log: list[str] = Field(
        default_factory=list, description="the kernel's lines of level warning and worse"
    )
    warnings: list[Doubt] = Field(default_factory=list)
    provenance: dict[str, str] = Field(
        default={},
        description="for board, chip, filesystem and workload the hash of its content, which the "
        "run's folder keeps once",
    )
    host: Host | None = None

    _sources: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)
    _contents: dict[str, Content] = PrivateAttr(default_factory=dict)
    _cuts: tuple[Cuts, ...] = PrivateAttr(default=())

    @model_serializer(mode="wrap")
    def _without_what_was_not_measured(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without these it is written as before there were any: hashes of published trials stay."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v is not None or k not in ("wear", "setup_seed")}

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def filesystem_title(self) -> str:
        """The file system's title from the catalog, as the run keeps it."""
        title: str = self.about("filesystem").get("title", self.filesystem)
        return title

    @property
    def own_board(self) -> bool:
        """Whether its board was the user's own, whose clock and chip are real."""
        return self.about("board").get("kind") == "remote"

    def about(self, what: str) -> dict[str, Any]:
        """The content of what the trial ran with: its board, chip, filesystem or workload."""
        return self._sources.get(what, {})

    def knowing(self, sources: dict[str, dict[str, Any]]) -> Trial:
        """The trial with the contents that its provenance names; trials may share them."""
        hashes = {what: digest(source)[:HASH_LETTERS] for what, source in sources.items()}
        copy = self.model_copy(update={"provenance": hashes})
        copy._sources = sources
        return copy

    def beside(self, cuts: Iterable[Cuts]) -> Trial:
        """The trial with the campaigns of power cuts beside its run that are of its medium."""
        copy = self.model_copy()
        medium = (self.filesystem, self.options, self.chip.part)
        copy._cuts = tuple(c for c in cuts if (c.filesystem, c.options, c.chip) == medium)
        return copy

    @property
    def cuts(self) -> tuple[Cuts, ...]:
        """Campaigns of power cuts on its file system, options and chip, beside its run."""
        return self._cuts

    def holding(self, contents: dict[str, Content]) -> Trial:
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
        return next((p for p in self.phases if p.name == name), None)

    def step(self, name: str) -> StepTaken | None:
        return next((s for s in self.steps if s.name == name), None)

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
            self.state.name,
            f"{self.state.valid}/{self.state.invalid}/{self.state.mix} of {self.state.of}",
            self.image.sha256 if self.image else "",
        )


class Run(_Model):
    """The head of a run: enough to resume it, and to report it without its study file."""

    format: Literal[2] = FORMAT
    id: str
    study: str
    question: str
    deterministic: bool
    trials: list[FileName] = Field(description="ids of all trials, in the order of the plan")
    spec: dict[str, Any] = Field(description="the study as read, defaults filled in")
    provenance: dict[str, Any] = Field(description="the board's identity")
    packages: dict[str, dict[str, str]] = Field(
        default={},
        description="sets of packages that programs of the run were built from beside the board's, "
        "as provenance.lock has its own; they are no part of the board's identity",
    )
    commit: str | None = Field(
        default=None,
        description="of the nandlab that began the run; null: not known. No part of the run's id",
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without packages of its own a run is written as before there were any."""
        told: dict[str, Any] = dump(self)
        return {k: v for k, v in told.items() if v or k != "packages"}

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
        return digest(self.provenance)[:12]
