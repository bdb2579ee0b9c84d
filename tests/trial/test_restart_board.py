# SPDX-License-Identifier: GPL-2.0-or-later
"""The first record that is synced after a start, on the board: each file system has one."""

from __future__ import annotations

import asyncio

import pytest
from support import smalltrial

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.trial import execution

pytestmark = pytest.mark.board
LONG_NS = 5_000_000_000


@pytest.mark.parametrize("fs", smalltrial.WRITABLE)
def test_a_record_is_on_flash_when_the_step_ends(board: QemuBoard, fs: str) -> None:
    spec = smalltrial.spec(board, fs).model_copy(update={"measure": ["restart"]})
    found = asyncio.run(execution.run_trial(spec, board, "t"))
    told = found.measured["restart"]
    assert (found.error, found.warnings) == (None, [])
    assert told["programs"] >= 1
    assert 0 < told["durable_ns"] < LONG_NS
