# SPDX-License-Identifier: GPL-2.0-or-later
"""A board with a kernel of one's own boots, and its trials repeat to the nanosecond."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support import kernelmade, smalltrial

from nandlab.board.kit import kit, newboard
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli.boardmake import boot_new_board
from nandlab.results.record import Trial
from nandlab.trial.execution import run_trial

pytestmark = [pytest.mark.board, pytest.mark.anew, pytest.mark.long, pytest.mark.timeout(3600)]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def add_board(new: newboard.NewBoard) -> QemuBoard:
    """Writes a board into the project, and opens it as a study does."""
    boot_new_board(new)
    newboard.write_new_board(new)
    return open_board(load_noun("boards", new.model.name, BoardModel))


def run_once(board: QemuBoard) -> Trial:
    return asyncio.run(run_trial(smalltrial.planned(board, "jffs2"), board, "own-kernel"))


def list_times(trial: Trial) -> list[tuple[str, int]]:
    assert trial.status == "ok", trial.error
    return [(step.name, step.ns) for step in trial.steps]


def test_packages_of_a_kernel_boot_and_a_trial_repeats(tmp_path: Path) -> None:
    like = load_noun("boards", "apf27", BoardModel)
    parts = kit.fetch_board_kit(like)
    kernelmade.repack_debian_kernel(parts.kernel, tmp_path / "built")
    board = add_board(newboard.make_packages_board("ours", like, tmp_path / "built"))
    first = list_times(run_once(board))
    assert list_times(run_once(board)) == first
    assert board.identity["kernel"] == parts.kernel.release
    debian = open_board(like)
    assert board.identity != debian.identity
