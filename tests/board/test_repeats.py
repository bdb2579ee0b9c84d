# SPDX-License-Identifier: GPL-2.0-or-later
"""One trial, ten times: beside loads of every kind, on states of the board made anew."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from support.busyhost import busy

from nandlab.board.virtual.qemu import QemuBoard, boot_and_save_state
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import execution

pytestmark = [
    pytest.mark.board,
    pytest.mark.anew,
    pytest.mark.long,
    pytest.mark.timeout(1800),
]
REPEATS = 10
ROUNDS = 10
"""Of the study's load, which goes on until its wear is steady."""
BUSY = (0, 1, 3, 6)
"""Processes that compute beside the board, repeat by repeat."""
NEW_EVERY = 2
"""Each second repeat boots a state of its own."""


def specs(filesystem: str) -> list[TrialSpec]:
    """The quickstart's trials of a file system, on a shorter load: fresh and aged, two seeds."""
    name = os.environ.get("NANDLAB_TEST_BOARD", "apf27")
    plan = study.plan_trials(study.read_study_file(study.find_study_file("quickstart"), name))
    of_it = [s for s in plan if s.filesystem.name == filesystem]
    return [s.model_copy(update={"parameters": {**s.parameters, "rounds": ROUNDS}}) for s in of_it]


def figures(spec: TrialSpec, board: QemuBoard) -> dict[str, Any]:
    result = asyncio.run(execution.run_trial(spec, board, "repeats"))
    assert (result.status, result.error) == ("ok", None)
    return result.model_dump(exclude={"host"})


@pytest.mark.parametrize("filesystem", ["jffs2", "ubifs", "yaffs2", "nftl-fat32"])
def test_ten_repeats_are_one(board: QemuBoard, tmp_path: Path, filesystem: str) -> None:
    spec, another = specs(filesystem)[:2]
    assert spec.seed != another.seed
    first = figures(spec, board)
    now = board
    for repeat in range(1, REPEATS):
        with busy(BUSY[repeat % len(BUSY)]):
            if repeat % NEW_EVERY:
                folder = tmp_path / str(repeat)
                folder.mkdir()
                asyncio.run(boot_and_save_state(board.machine, folder))
                now = QemuBoard(board.machine, folder)
            assert figures(spec, now) == first
    later = spec.model_copy(update={"phase_offset_ms": 377.0})
    for other in (another, later):
        assert figures(other, board)["phases"] != first["phases"]
