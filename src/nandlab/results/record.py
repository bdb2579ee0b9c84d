# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves on disk, and nothing about how it came there.

A run is a folder: ``run.json`` (:class:`Run`: the study as it was read and the ids of all its
trials) and ``trials/<id>.json`` (:class:`Trial`), one file per trial, written once, whole, and
never again. A trial is done when its file exists and validates. Times are in ns of the board's
clock unless the key says otherwise; missing is null, never 0.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT: Literal[1] = 1

PHASES = ("fill", "creation", "transactions", "deletion")

OPERATIONS = ("create", "read", "append", "delete")

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""What is counted, or timed in ns."""

Status = Literal["ok", "trial_failed", "board_lost"]

WARNINGS: dict[str, str] = {
    "not_deterministic": "Run without --accel kvm if the figures are to be compared.",
    "state_missed": "See state.obtained; try mix = 1, ask for less, or give the chip more room.",
    "kernel_log": "Read kernel_log in the trial file: the kernel complained during this trial.",
    "not_settled": "Background work outlasted settle; the early phases share the chip with it.",
    "output_cut": "What was read from that output may lack its end; let the step print less.",
    "memory_measured": "Its times hold what measuring memory cost; take times from another study.",
    "memory_lost": "Memory is told too low: fsram's table was full; raise its slots_log2.",
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
    """Of one kind of operation: exact nearest-rank percentiles, in ns."""

    count: Count
    min: Count
    median: Count
    p95: Count
    p99: Count
    p99_9: Count
    max: Count


class Shares(_Model):
    """Parts of the partition's pages, 0..1, as the chip counted them programmed."""

    before: float | None = Field(default=None, description="already programmed before the fill")
    valid: float | None = Field(default=None, description="programmed by the data that stays")
    invalid: float | None = Field(
        default=None, description="programmed by the data since removed, and still so"
    )
    programmed: float | None = Field(
        default=None, description="programmed in all as the timed phases begin"
    )


class State(_Model):
    """Flash state before the timed phases: what was asked, and what the chip then held."""

    name: str
    valid: float
    invalid: float
    mix: float
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
    """A chip image that a trial began from: flashed, then mounted, and nothing formatted."""

    name: str = Field(description="as the study names it")
    sha256: str = Field(description="of its cells and its sidecar")


class Round(_Model):
    """A lifetime run's state after one more round of its load; all are totals since it began."""

    t_ns: Count = Field(description="the board's clock")
    bytes_written: Count = Field(description="by the load's own writes")
    programs: Count = Field(description="page programs of the chip")
    erases: Count = Field(description="block erases of the chip")
    dead_blocks: Count = Field(description="blocks that have failed")


class Lifetime(_Model):
    """A chip worn by rounds of one load until its file system gave up or the rounds ended."""

    rounds: list[Round]
    end: Round | None = Field(
        default=None,
        description="after the round that failed too, but for the bytes that it wrote; null: a "
        "result of before this was told",
    )
    gave_up: str | None = Field(description="what the last round failed with; null: it still lives")


class Memory(_Model):
    """Bytes that the file system's modules held, as the allocators round them up."""

    mounted: int = Field(description="once it was mounted and at rest")
    peak: int = Field(description="the most at any time from the mount to the workload's end")
    end: int = Field(description="after the workload, still mounted")
    unmounted: int = Field(description="after the unmount; what its modules keep by themselves")
    slab: int = Field(description="of end: objects of slab caches")
    kmalloc: int = Field(description="of end: by kmalloc()")
    vmalloc: int = Field(description="of end: by vmalloc()")


class Host(_Model):
    """What depends on the host and is never compared."""

    seconds: float = Field(description="host time of the trial, restore included")
    board: str = Field(description="snapshot key of the board that ran it")
    memory: list[int] = Field(
        default=[],
        description="bytes of the host's memory that the board held, at equal distances of host "
        "time, 64 at the most; empty: not known",
    )


class Trial(_Model):
    """One workload on one configuration with one seed."""

    format: Literal[1] = FORMAT
    id: str
    study: str
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

    phase_ns: dict[str, Count | None] | None = Field(
        default=None, description="fill, creation, transactions, deletion; each without its sync"
    )
    sync_ns: dict[str, Count | None] | None = Field(
        default=None, description="the sync that ends each phase"
    )
    step_ns: dict[str, int] = Field(
        default_factory=dict, description="the job's steps: load, format, mount, settle, ..."
    )
    ops: dict[str, dict[str, Count]] | None = Field(
        default=None, description="create, read, append, delete: total and per phase"
    )
    bytes: dict[str, Count] | None = Field(default=None, description="read, written")
    latency_ns: dict[str, Latency | None] | None = None
    flash: dict[str, Counts | None] | None = Field(
        default=None, description="chip operations per phase, its sync included"
    )
    flash_sync: dict[str, Counts | None] | None = Field(
        default=None, description="the part of flash that belongs to each phase's sync"
    )
    erases_per_block: EraseSpread | None = None
    per_block: PerBlock | None = None
    lifetime: Lifetime | None = None

    memory: Memory | None = Field(default=None, description="null: not asked for, or not known")
    counters: dict[str, int] | None = Field(
        default=None, description="what the file system counts itself; null: it counts nothing"
    )

    kernel_log: list[str] = Field(
        default_factory=list, description="the kernel's lines of level warning and worse"
    )
    warnings: list[Doubt] = Field(default_factory=list)
    provenance: dict[str, Any] = Field(
        description="kernel, QEMU, hashes of modules and programs, catalog entries, job"
    )
    host: Host | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def filesystem_title(self) -> str:
        """The file system as people write it: the catalog's title, which the trial holds."""
        title: str = self.provenance.get("filesystem", {}).get("title", self.filesystem)
        return title

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
            f"{self.state.valid}/{self.state.invalid}/{self.state.mix}",
            self.image.sha256 if self.image else "",
        )


class Run(_Model):
    """The head of a run: enough to resume it, and to report it without its study file."""

    format: Literal[1] = FORMAT
    id: str
    study: str
    question: str
    deterministic: bool
    trials: list[str] = Field(description="ids of all trials, in the order of the plan")
    spec: dict[str, Any] = Field(description="the study as read, defaults filled in")
    provenance: dict[str, Any]
