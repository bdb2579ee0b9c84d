# SPDX-License-Identifier: GPL-2.0-or-later
"""A board without QEMU, with the same contract: it runs a job's steps in a host shell.

Its clock is made up: a step takes :data:`STEP_NS` whatever it does, so a job gives the same record
each time. A step that the host cannot do (load a module, mount a flash file system) is not run; its
output comes from ``answers``, by step name.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs import programs
from nandlab.board.jobs.job import OUTPUT_MAX, BoardLost, Job, JobRecord, Step, StepRecord
from nandlab.board.kit.needs import FILE, FetchedPackages

BOOTED_NS = 9_000_000_000
STEP_NS = 1_000_000
AVAILABLE = 48 << 20
"""Bytes of RAM that it says are available as a job begins."""


@dataclass(frozen=True)
class FakeResult:
    """The result of a step that is not run."""

    stdout: str = ""
    stderr: str = ""
    rc: int = 0
    stdout_bytes: int | None = None
    stderr_bytes: int | None = None
    counts: str = ""


@dataclass
class FakeBoard:
    """A fake board. ``loss_step`` names a step at which the board is lost."""

    answers: dict[str, FakeResult | Callable[[Job], FakeResult]] = field(default_factory=dict)
    loss_step: str | None = None
    deterministic: bool = True
    lock_differences: tuple[str, ...] = ()
    key: str = "fake"
    kernel: str = "none"
    kernel_config: dict[str, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    brings: Callable[[Job], bytes | None] = lambda job: None
    """What a job with cargo brings back."""

    @property
    def identity(self) -> dict[str, Any]:
        """What runs the jobs: see Board.identity."""
        return {"board": "fake", "accel": "none", "kernel": self.kernel}

    def programs(self, job: Job) -> dict[str, Path]:
        """The sources of a job's programs stand for them: see Board.programs."""
        return programs.build_job_programs(
            job, lambda folder: min([*folder.glob("*.c"), *folder.glob(FILE)])
        )

    def packages(self, job: Job) -> FetchedPackages:
        """It builds nothing."""
        return FetchedPackages({})

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """Runs a job to its end: see Board.run."""
        self.jobs.append(job)
        records: list[StepRecord] = []
        failed = False
        with hold_scratch_folder() as folder:
            for name, content in job.files.items():
                (folder / name).write_bytes(content)
            now = BOOTED_NS + job.start_offset_ns
            for i, step in enumerate(job.steps):
                if job.setup and i == job.setup.steps:
                    now += job.setup.offset_ns
                if failed and not step.always:
                    continue
                if on_step:
                    on_step(step.name)
                if step.name == self.loss_step:
                    raise BoardLost("the fake board was told to go", ["fake console"])
                record = await self._step(job, step, str(folder), now)
                records.append(record)
                failed = failed or not record.ok
                now = record.end_ns
        brought = self.brings(job) if job.cargo else None
        return JobRecord(tuple(records), cargo=brought, available=AVAILABLE)

    async def _step(self, job: Job, step: Step, folder: str, now: int) -> StepRecord:
        answer = self.answers.get(step.name)
        if callable(answer):
            answer = answer(job)
        rc, sig, timed_out = 0, 0, False
        if answer is None:
            rc, sig, timed_out, answer = await _run_shell(step, folder)
        else:
            rc = answer.rc
        end = now + STEP_NS
        said = (answer.stdout, answer.stderr, answer.stdout_bytes, answer.stderr_bytes)
        return StepRecord(step.name, rc, sig, timed_out, now, end, *said, counts=answer.counts)


async def _run_shell(step: Step, folder: str) -> tuple[int, int, bool, FakeResult]:
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", step.shell()),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    timed_out = False
    talk = asyncio.ensure_future(process.communicate())
    done, _ = await asyncio.wait({talk}, timeout=step.deadline_s)
    if not done:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
    out, err = await talk
    status = process.returncode or 0
    (stdout, stdout_bytes), (stderr, stderr_bytes) = (_cut_output(said) for said in (out, err))
    answer = FakeResult(stdout, stderr, 0, stdout_bytes, stderr_bytes)
    return (status, 0, timed_out, answer) if status >= 0 else (-1, -status, timed_out, answer)


def _cut_output(said: bytes) -> tuple[str, int | None]:
    """The part of a stream that a record keeps, and the stream's size if that is not all."""
    kept = said[:OUTPUT_MAX].decode(errors="surrogateescape")
    return kept, len(said) if len(said) > OUTPUT_MAX else None
