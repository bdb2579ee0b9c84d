# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of the user's own on a mounted file system of the board, as a job and what it gave.

Nothing is traced and nothing is measured: what counts is what the program says, how it ends, and
what the kernel says of it. Its files pass through the store, as those of a trace do.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Job, JobRecord, Step, StepRecord
from nandlab.board.jobs.programs import find_programs_in_script
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.trace.copies import (
    SCRIPT,
    STEP,
    Copy,
    make_copy_files_script,
    make_copy_files_step,
    read_files_to_copy,
)
from nandlab.trial.mediumsteps import make_unmount_step
from nandlab.trial.outcome import filter_kernel_log
from nandlab.trial.steps import make_steps_until_mounted

OPTION = "--put"
PROGRAM_FOLDER, DATA_FOLDER = "/usr/bin", "/root"
"""Where a file goes whose word names no path: if it may be executed, and if not."""
LIMIT_S_MAX = 24 * 3600
TIMED_OUT = 124
"""The exit status of a program that passed its limit, as timeout(1) has it."""
COMMAND_STEP, LOG_STEP = "command", "kernel-log"
LIBRARY_MISSING = "error while loading shared libraries"
"""What a program's loader says where the board lacks a library."""


@dataclass(frozen=True)
class Execution:
    """What is to be run, and where."""

    spec: TrialSpec
    """Board, chip and file system; its workload and flash state are not used."""
    command: str
    """A line for the board's shell, run in the folder where the file system is mounted."""
    copies: tuple[Copy, ...] = ()
    limit_s: int = 600
    """Seconds of the board's time after which the program is killed."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit_s <= LIMIT_S_MAX:
            raise UsageError(f"--limit {self.limit_s}: must be 1 to {LIMIT_S_MAX} s")


@dataclass(frozen=True)
class ExecutionOutcome:
    """How a program ended."""

    status: int
    """Its exit status; 128 and the signal's number if one killed it; TIMED_OUT."""
    stdout: bytes
    stderr: bytes
    notes: tuple[str, ...]
    """What it cannot say itself: why it was ended, what the kernel warned of."""


def read_files_to_put(words: Sequence[str], spec: TrialSpec) -> tuple[Copy, ...]:
    """The files of ``FILE``, ``FILE:PATH``, ``FOLDER`` and ``FOLDER:PATH``; UsageError if one
    cannot be."""
    board = spec.virtual
    given = [word for each in words for word in _split_put_word(each)]
    return read_files_to_copy(given, board, 0, OPTION)


def _split_put_word(word: str) -> Iterator[str]:
    """A ``FILE:PATH`` for each file that a word names."""
    name, colon, path = word.rpartition(":")
    if not colon or Path(word).exists():
        name, path = word, ""
    source = Path(name)
    if not source.is_dir():
        yield f"{name}:{path or _choose_path(source)}"
        return
    top = path.rstrip("/") or f"{DATA_FOLDER}/{source.resolve().name}"
    files = sorted(p for p in source.rglob("*") if not p.is_dir())
    if not files:
        raise UsageError(f"{OPTION} {name}: the folder has no file")
    for file in files:
        there = f"{top}/{file.relative_to(source).as_posix()}"
        if ":" in there:
            raise UsageError(f"{OPTION} {file}: a path on the board has no colon: rename it")
        yield f"{file}:{there}"


def _choose_path(source: Path) -> str:
    """Where a file goes whose word names no path, which cannot have a colon."""
    runs = source.exists() and source.stat().st_mode & 0o111
    return f"{PROGRAM_FOLDER if runs else DATA_FOLDER}/{source.name.replace(':', '_')}"


def make_execution_job(execution: Execution) -> Job:
    """From a board without a chip to the unmounted file system, the program in between."""
    spec, copies = execution.spec, execution.copies
    hold = make_cargo(spec.virtual, spec.cells_bytes, *(copy.content for copy in copies))
    files = {"command.sh": execution.command.encode()}
    put = {Path(copy.path).name for copy in copies if copy.path.startswith(f"{PROGRAM_FOLDER}/")}
    ours = find_programs_in_script(execution.command, spec.workload.home)
    steps = make_steps_until_mounted(spec)
    if copies:
        files[SCRIPT] = make_copy_files_script(copies, hold.get, OPTION)
        steps.append(make_copy_files_step())
    steps += [
        Step(
            COMMAND_STEP,
            f"cd {MOUNTPOINT} && exec sh /job/command.sh",
            execution.limit_s,
            programs=tuple(name for name in ours if name not in put),
        ),
        replace(make_unmount_step(spec), always=True),
        Step(LOG_STEP, "dmesg -r", always=True),
    ]
    return Job(tuple(steps), files, cargo=hold, home=spec.workload.home)


def decode_execution_outcome(execution: Execution, record: JobRecord) -> ExecutionOutcome:
    """What the program said and how it ended; NandlabError if it did not begin."""
    step = record.get(COMMAND_STEP)
    if step is None:
        failed = record.failed()
        assert failed is not None
        asked = failed.step == STEP and failed.rc == UsageError.exit_code
        raise (UsageError if asked else NandlabError)(f"nothing was run: {failed.failure()}")
    return ExecutionOutcome(
        _compute_status(step),
        step.stdout.encode(errors="surrogateescape"),
        step.stderr.encode(errors="surrogateescape"),
        tuple(_list_notes(execution, record, step)),
    )


def _compute_status(step: StepRecord) -> int:
    if step.timed_out:
        return TIMED_OUT
    return 128 + step.signal if step.signal else step.rc


def _list_notes(execution: Execution, record: JobRecord, step: StepRecord) -> Iterator[str]:
    yield from step.cut()
    if step.timed_out:
        yield (
            f"the program was killed after {execution.limit_s} s of the board's time: give it more "
            f"with --limit; the exit status is {TIMED_OUT}"
        )
    elif step.signal or step.rc > 128:
        number = step.signal or step.rc - 128
        yield f"the program was ended by signal {number}{_name_signal(number)}"
    if step.disk_full:
        yield "the board's RAM disk, which takes what the program prints, is full"
    if step.out_of_memory:
        yield f"the board ran out of memory: board {execution.spec.virtual.name} has little RAM"
    if step.rc == 127 and LIBRARY_MISSING in step.stderr:
        yield (
            f"the board lacks a shared library: build the program static, or bring the library "
            f"with {OPTION} LIBRARY:/usr/lib/NAME"
        )
    unmount = record.get("unmount")
    if unmount is not None and not unmount.ok:
        yield f"after the program: {unmount.failure()}"
    yield from (f"the kernel warned: {line}" for line in filter_kernel_log(execution.spec, record))


def _name_signal(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
