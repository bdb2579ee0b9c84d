# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards with as little RAM available as small products have: all four file systems work there."""

from __future__ import annotations

import asyncio
import os

import pytest
from support import smalltrial

from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.trial import execution

pytestmark = [pytest.mark.board, pytest.mark.timeout(900)]

MIB = 1 << 20


def with_available(mib: int) -> QemuBoard:
    """The tests' board with so many MiB available, its kernel's tests of ciphers left out: they
    need more than a board of 16 MiB has."""
    model = load_noun("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    asked = {"ram_mib": None, "available_mib": mib, "cmdline": "cryptomgr.notests"}
    return open_board(BoardModel.model_validate(model.model_dump() | asked))


@pytest.mark.parametrize(
    "mib", [16, pytest.param(32, marks=pytest.mark.long), pytest.param(64, marks=pytest.mark.long)]
)
def test_every_file_system_works_in_little_ram(mib: int) -> None:
    """A load of 500 transactions ends well, and each result tells what was available.

    UBIFS of 6.1 does not come to life in 16 MiB: that is told, with the step.
    """
    board = with_available(mib)
    for name in ("jffs2", "ubifs", "yaffs2", "nftl-fat32"):
        spec = smalltrial.planned(board, name).model_copy(update={"board": board.machine.model})
        trial = asyncio.run(execution.run_trial(spec, board, "test"))
        if (name, mib) == ("ubifs", 16):
            assert trial.status == "board_lost"
            assert trial.error is not None
            assert trial.error.endswith(" out of memory in step format")
            continue
        assert trial.ok, f"{name} in {mib} MiB: {trial.error}"
        assert trial.available is not None
        # the job's modules and programs are in RAM by then; a board is found within 1 % or 256 KiB
        assert mib * MIB - 6 * MIB < trial.available < mib * MIB * 1.01 + MIB // 4
