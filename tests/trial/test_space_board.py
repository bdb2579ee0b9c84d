# SPDX-License-Identifier: GPL-2.0-or-later
"""The space instrument on the board: saving costs nothing before the unmount; figures are exact."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support import smalltrial

from nandlab.board.jobs.job import Job, StepRecord
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.trial import execution, steps
from nandlab.trial.steps import SAVE_CHIP_STEP

pytestmark = pytest.mark.board

KINDS = ("user", "metadata", "slack", "obsolete", "free", "bad")


def without_saving(job: Job) -> Job:
    """The job of as many bytes whose step of the instrument does nothing."""
    found = [
        s if s.name != SAVE_CHIP_STEP else replace(s, command=_nothing(s.command))
        for s in job.steps
    ]
    return replace(job, steps=tuple(found))


def _nothing(command: str) -> str:
    return ":".ljust(len(command))


def before(records: tuple[StepRecord, ...]) -> list[StepRecord]:
    """The steps up to the unmount, with their times and what the chip had counted."""
    names = [s.step for s in records]
    return list(records[: names.index("unmount") + 1])


@pytest.mark.parametrize("fs", smalltrial.WRITABLE)
def test_saving_takes_no_nanosecond_before_the_unmount(board: QemuBoard, fs: str) -> None:
    spec = smalltrial.spec(board, fs).model_copy(update={"measure": ["space"]})
    job = steps.make_trial_job(spec)
    nothing = asyncio.run(board.run(without_saving(job)))
    record = asyncio.run(board.run(job))
    assert before(record.steps) == before(nothing.steps)
    assert nothing.cargo is None and record.cargo is not None


@pytest.mark.parametrize("fs", smalltrial.WRITABLE)
def test_its_figures_sum_to_the_partition(board: QemuBoard, fs: str) -> None:
    spec = smalltrial.spec(board, fs).model_copy(update={"measure": ["space"]})
    found = asyncio.run(execution.run_trial(spec, board, "t"))
    assert found.error is None
    told = found.measured["space"]
    assert sum(told[kind] for kind in KINDS) == told["partition"] == 8 << 20
    for kind in KINDS:
        parts = [v for k, v in told.items() if k.startswith(f"{kind}_") and k != "user_logical"]
        assert sum(parts) == told[kind]
    (chip,) = found.artefacts
    assert (chip.name, chip.kind) == ("space", "chip image")
