# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves on disk, and nothing about how it came there.

A run is a folder: ``run.json`` (:class:`Run`: the study as it was read and the ids of all its
trials) and ``trials/<id>.json`` (:class:`Trial`), one file per trial, written once, whole, and
never again. A trial is done when its file exists and validates. Times are in ns of the board's
clock unless the key says otherwise; missing is null, never 0.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nandlab.errors import UsageError

T = TypeVar("T", bound=BaseModel)
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


class RunFolder:
    """A run on disk. Every write is whole: temporary file, fsync, rename."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, run: Run) -> RunFolder:
        """Makes the folder, or opens the one that is there if it is of the same run."""
        folder = cls(path)
        if (path / "run.json").exists():
            if folder.head().id != run.id:
                raise UsageError(
                    f"{path} holds another run ({folder.head().id}); "
                    "give another --out, or remove that folder"
                )
            return folder
        (path / "trials").mkdir(parents=True, exist_ok=True)
        _write_whole(path / "run.json", run.model_dump_json(indent=1))
        return folder

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only one process at a time runs trials into a folder; UsageError while another does."""
        with (self.path / "run.json").open("rb") as head:
            try:
                fcntl.flock(head, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.path}: another nandlab is running this run") from None
            yield

    def head(self) -> Run:
        """The run's head; UsageError if this is no run folder."""
        return _read(self.path / "run.json", Run)

    def trial_path(self, trial_id: str) -> Path:
        return self.path / "trials" / f"{trial_id}.json"

    def save(self, trial: Trial) -> None:
        path = self.trial_path(trial.id)
        if path.exists():
            raise FileExistsError(f"{path}: a finished trial is never rewritten")
        _write_whole(path, trial.model_dump_json())

    def load(self, trial_id: str) -> Trial | None:
        """A finished trial, or None when it has not been run."""
        path = self.trial_path(trial_id)
        return _read(path, Trial) if path.exists() else None

    def trials(self) -> Iterator[Trial]:
        """The finished trials in the order of the plan."""
        for trial_id in self.head().trials:
            trial = self.load(trial_id)
            if trial is not None:
                yield trial

    def missing(self) -> list[str]:
        return [t for t in self.head().trials if not self.trial_path(t).exists()]


def _write_whole(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".part-", delete=False) as out:
        out.write(text + "\n")
        out.flush()
        os.fsync(out.fileno())
    part = Path(out.name)
    part.chmod(0o644)
    part.rename(path)


def _read(path: Path, model: type[T]) -> T:
    try:
        return model.model_validate_json(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"{path.parent}: not a run of nandlab (no {path.name} in it)") from None
    except ValidationError as e:
        raise UsageError(f"{path}: not a result this nandlab reads: {e}") from None
