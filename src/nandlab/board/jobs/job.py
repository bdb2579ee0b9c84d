# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract between host and board: a job goes in, a record of each step comes out.

``device/init`` is the other side of it. Nothing here knows how a board is made; the
virtual board and the fake one both keep this contract.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.cargo import Cargo
from nandlab.board.jobs.cpio import Archive
from nandlab.board.kit.needs import FetchedPackages

CONSOLE_TAIL_LINES = 80
RECORD_FORMAT = 3
OUTPUT_MAX = 8 << 20
"""The most bytes of a step's output stream that a record holds; init's channel.c has it too."""
FOLDER = "job"
"""A job's folder under the board's root; init has it too."""
PROGRAMS = "usr/bin"
"""Where the board has its programs."""
QUOTED_LINES_MAX = 6
"""The most lines of a failed step's output that an error quotes."""
ALWAYS_PREFIX = "always-"
"""Prefix by which init knows the steps that run after a failure too; see Step.always."""
BEGIN_MEMBER = "begin-member"
"""The program that stops the board when a job's setup is over; see Setup."""


@dataclass(frozen=True)
class Step:
    """A shell command that the board runs in the job's folder."""

    name: str
    command: str
    deadline_s: int = 600
    """Limit of the board's own time, in seconds; a step past it is killed."""
    always: bool = False
    """Whether it runs even after another step has failed."""
    may_fail: bool = False
    """Whether the job goes on if it fails; its exit status is then in its stderr."""
    programs: tuple[str, ...] | None = None
    """Programs that it runs; None: those that its command names."""
    beside: bool = False
    """Whether it only inspects or measures, and is no part of the work that is measured."""

    def shell(self) -> str:
        """The command as the board's shell gets it."""
        ended = 'echo "it may fail, and exited with $?" >&2'
        return f"( {self.command} ) || {ended}" if self.may_fail else self.command

    def line(self) -> str:
        """The step as a line for init."""
        name = ALWAYS_PREFIX + self.name if self.always else self.name
        return f"{name}\t{self.deadline_s}\t{self.shell()}\n"


@dataclass(frozen=True)
class Setup:
    """The first part of a job: it ends in a state of the board that other jobs can begin from.

    What follows begins ``offset_ns`` after a multiple of ``period_ms`` of the board's clock, one to
    two periods after the state.
    """

    steps: int
    """How many of the job's steps it has."""
    files: frozenset[str]
    """Those of the job's files that these steps use; the others come when they are over."""
    period_ms: int
    offset_ns: int = 0


@dataclass(frozen=True)
class Job:
    """What a board is given: files, steps, and when to start.

    The first step runs ``start_offset_ns`` after a whole second of the board's clock. A job
    without steps is an interactive shell.
    """

    steps: tuple[Step, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    start_offset_ns: int = 0
    cargo: Cargo | None = None
    """What is too large for the archive, and room for what the job brings back."""
    home: Path | None = None
    """Folder of the project whose programs it may name besides ours; None: only ours."""
    setup: Setup | None = None
    """Its part that jobs may share, alike to the byte; None: it has none."""

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"steps of one name: {', '.join(twice)}")

    def archive(self, programs: Mapping[str, Path], modules: Mapping[str, Path]) -> bytes:
        """The cpio archive that init unpacks at the root: the job's folder and what it needs.

        programs: those built, by name. modules: of the kernel, by their path on the board.
        """
        cpio = Archive()
        for where, path in modules.items():
            cpio.file(where, path.read_bytes())
        for name, path in programs.items():
            cpio.file(f"{PROGRAMS}/{name}", path.read_bytes(), 0o755)
        for name, content in self.files.items():
            cpio.file(f"{FOLDER}/{name}", content, 0o755)
        for name, content in self.texts().items():
            cpio.file(f"{FOLDER}/{name}", content)
        return cpio.bytes()

    def texts(self) -> dict[str, bytes]:
        """What is in the job's folder beside its files: when it starts, and its steps."""
        texts = {"start": b"%d\n" % self.start_offset_ns}
        if self.steps:
            lines = [step.line() for step in self.steps]
            if any(line.count("\n") != 1 for line in lines):
                raise ValueError("a step's command must be one line")
            texts["steps"] = "".join(lines).encode()
        return texts


def escape_output(text: str) -> str:
    """A step's output as text that any file takes: bytes that are not UTF-8 become \\xNN."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class StepRecord:
    """The record of a step that has run. Times are ns of the board's clock since its boot.

    Its output is decoded as UTF-8 with surrogateescape, so that the exact bytes can be restored.
    """

    step: str
    rc: int
    signal: int
    timed_out: bool
    start_ns: int
    end_ns: int
    stdout: str
    stderr: str
    stdout_bytes: int | None = None
    """Bytes that it printed if the record has only the first OUTPUT_MAX; None: it has all."""
    stderr_bytes: int | None = None
    counts: str = ""
    """The chip's counters when the step had ended, as simnand prints them; empty: no chip."""
    disk_full: bool = False
    """Whether it failed with no room left on the RAM disk, which takes what steps print."""
    out_of_memory: bool = False
    """Whether it failed after the kernel had killed a process for lack of memory."""

    @property
    def ok(self) -> bool:
        return self.rc == 0 and not self.timed_out

    @property
    def ns(self) -> int:
        return self.end_ns - self.start_ns

    def cut(self) -> list[str]:
        """A sentence for each output stream that the record has only in part."""
        sizes = {"stdout": self.stdout_bytes, "stderr": self.stderr_bytes}
        return [
            f"step {self.step} printed {size} bytes on {name}; the first {OUTPUT_MAX} are kept"
            for name, size in sizes.items()
            if size is not None
        ]

    def failure(self) -> str:
        """How the step failed, and what it printed, in one line."""
        if self.timed_out:
            how = "passed its deadline"
        elif self.signal:
            how = f"was ended by signal {self.signal}"
        else:
            how = f"exited with {self.rc}"
        said = self.stderr.split("\n") if self.stderr.strip() else self.stdout.split("\n")[-2:]
        full = ["the board's RAM disk, which takes what steps print, is full"] * self.disk_full
        short = ["the board ran out of memory"] * self.out_of_memory
        told = [*full, *short, *(escape_output(line).strip() for line in said[:QUOTED_LINES_MAX])]
        text = "; ".join(line for line in told if line)
        return f"step {self.step} {how}" + (f": {text}" if text else "")


@dataclass(frozen=True)
class JobRecord:
    """The steps that ran, in order. After a failed step come only those that always run.

    Its repr is without the bytes that came back: asyncio.run() of Python 3.11 takes that of what it
    returns, twice, and throws it away.
    """

    steps: tuple[StepRecord, ...]
    host_memory: tuple[int, ...] = field(default=(), compare=False)
    """Bytes of the host's memory that the board held, at equal intervals of host time."""
    cargo: bytes | None = field(default=None, repr=False)
    """What the job brought back; None: nothing."""
    available: int | None = None
    """Bytes of RAM that were available (MemAvailable) as the job began; None: not known."""
    returned_memory: bytes | None = field(default=None, repr=False)
    """The memory that its cargo's ``left`` names; None: it names none."""

    def __getitem__(self, name: str) -> StepRecord:
        return next(s for s in self.steps if s.step == name)

    def get(self, name: str) -> StepRecord | None:
        return next((s for s in self.steps if s.step == name), None)

    def failed(self) -> StepRecord | None:
        return next((s for s in self.steps if not s.ok), None)

    def cut(self) -> list[str]:
        """The sentences of StepRecord.cut, for all steps."""
        return [told for step in self.steps for told in step.cut()]


class BoardLost(NandlabError):
    """The board is gone: it panicked, hung, ran out of memory or was killed."""

    def __init__(self, reason: str, console: list[str]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.console = console
        """All lines of its console."""

    @property
    def console_tail(self) -> list[str]:
        """Its last lines: what a record keeps."""
        return self.console[-CONSOLE_TAIL_LINES:]


class ChannelReader:
    """Decodes the status channel line by line; keeps an incomplete last line for later."""

    def __init__(self, on_step: Callable[[str], None] | None = None) -> None:
        self.kernel: str | None = None
        self.ready_with: int | None = None
        """Bytes of RAM that were available when the board was ready."""
        self.available: int | None = None
        """Bytes of RAM that were available as the job began."""
        self.steps: list[StepRecord] = []
        self.running: str | None = None
        """The step that has begun and not ended; None: none."""
        self.is_done = False
        self.trouble: str | None = None
        """Why the job cannot be completed; records after that do not count. None: no trouble."""
        self._on_step = on_step or (lambda step: None)
        self._incomplete_line = b""

    def feed(self, data: bytes) -> None:
        *lines, self._incomplete_line = (self._incomplete_line + data).split(b"\n")
        for line in lines:
            if line.strip():
                self._take(*_decode_line(line))

    def _take(self, event: str, value: Any) -> None:
        if event == "failed":  # init says why the record before is incomplete
            self.trouble = value
        elif self.trouble:
            return
        elif event == "ready":
            self.kernel, self.ready_with = value
        elif event == "job":
            self.available = value
        elif event == "begin":
            self.running = value
            self._on_step(value)
        elif event == "end":
            self.running = None
            self.steps.append(value)
        elif event == "done":
            self.is_done = True
        else:
            self.trouble = value


def _decode_line(line: bytes) -> tuple[str, Any]:
    """A record's event and its value; for an unknown record "trouble" and why."""
    try:
        record = json.loads(line)
        event = record.pop("event")
        if event == "ready" and record["format"] != RECORD_FORMAT:
            other = f"the board speaks record format {record['format']}, this nandlab"
            return "trouble", f"{other} {RECORD_FORMAT}"
        if event == "failed":
            what = escape_output(_decode_text(record["what"]))
            return "failed", f"init on the board: {what}: {record['why']}"
        tells: dict[str, Callable[[], Any]] = {
            "ready": lambda: (record["kernel"], int(record["available"])),
            "job": lambda: int(record["available"]),
            "begin": lambda: record["step"].removeprefix(ALWAYS_PREFIX),
            "end": lambda: _parse_step_record(record),
            "done": lambda: None,
        }
        return event, tells[event]()
    except (ValueError, TypeError, KeyError, AttributeError):
        return "trouble", f"the status channel holds a line that is no record: {line[:80]!r}"


def _parse_step_record(record: dict[str, Any]) -> StepRecord:
    streams = {name: _decode_text(record[name]) for name in ("stdout", "stderr")}
    return StepRecord(**record | streams | {"step": record["step"].removeprefix(ALWAYS_PREFIX)})


def _decode_text(text: str) -> str:
    """Decodes a text of the channel, in which each character stands for a byte."""
    return text.encode("latin-1").decode(errors="surrogateescape")


class Board(Protocol):
    """Runs jobs, each from exactly the same state."""

    @property
    def identity(self) -> dict[str, Any]:
        """What runs the jobs: kernel, emulator, hashes. Boards of equal identity measure alike."""

    @property
    def lock_differences(self) -> tuple[str, ...]:
        """How it differs from the board that is locked, a line a package; empty: it does not."""

    @property
    def deterministic(self) -> bool:
        """Whether the same job gives the same record to the nanosecond."""

    @property
    def kernel_config(self) -> Mapping[str, str]:
        """The kernel's configuration: values by symbol."""

    @property
    def key(self) -> str:
        """A short name of the state that all jobs start from."""

    def programs(self, job: Job) -> Mapping[str, Path]:
        """The programs that a job brings along, built, by name; UsageError as programs.of has."""

    def packages(self, job: Job) -> FetchedPackages:
        """What a job's programs are built from that is no part of the board's identity."""

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """Runs a job to its end and leaves nothing running; BoardLost if the board is lost."""
