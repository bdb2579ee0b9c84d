# SPDX-License-Identifier: GPL-2.0-or-later
"""Several trials in one job of one board, for tests that want no fresh board for each.

A board's start and end cost two seconds of a processor, a small trial's own steps a few tenths.
Each trial loads its chip and modules as it does alone, and its chip is taken out after it. The
moment at which it begins, the page cache, the modules that are loaded already, and the read-ahead
that was set last where it asks for none, are what the trials before it have left. A test whose
subject hangs on these gives its trial a board to itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution, steps
from support import lock
from support.cases import DETACH, FORGET, UNLOAD, run_cases


class RecordedBoard(QemuBoard):
    """A board that has run its job already."""

    record: JobRecord

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """The record that it has."""
        return self.record


class RecordedTrial(NamedTuple):
    """A trial's result, and the record that it was made from."""

    trial: Trial
    record: JobRecord


def check_ended(recorded: RecordedTrial) -> Trial:
    """The trial; AssertionError if it failed, or has a doubt."""
    assert recorded.trial.error is None
    assert lock.doubts(recorded.trial.warnings) == []
    return recorded.trial


def run_trials_at_once(
    board: QemuBoard, specs: Mapping[str, TrialSpec], *more: Step
) -> dict[str, RecordedTrial]:
    """The results of trials by their names; more: steps at the end of each, which it need not have.

    ValueError for a trial that carries an image, or whose setup others share.
    """
    jobs = {name: steps.make_trial_job(spec) for name, spec in specs.items()}
    if any(job.cargo or job.setup for job in jobs.values()):
        raise ValueError("only a plain trial runs beside others")
    files: dict[str, bytes] = {}
    cases: dict[str, Sequence[Step]] = {}
    for number, (name, job) in enumerate(jobs.items()):
        own = {f"{number}-{file}": content for file, content in job.files.items()}
        files |= own
        copy = " && ".join(f"cp {kept} {kept.partition('-')[2]}" for kept in own) or "true"
        brought = Step("files", copy, programs=())
        cases[name] = (FORGET, brought, *job.steps, *more, DETACH, UNLOAD)
    records = run_cases(board, cases, files=files)
    found: dict[str, RecordedTrial] = {}
    for name, spec in specs.items():
        has_run = RecordedBoard(board.machine, board.snapshot)
        has_run.record = records.get_record(name)
        trial = asyncio.run(execution.run_trial(spec, has_run, "t"))
        found[name] = RecordedTrial(trial, has_run.record)
    return found
