# SPDX-License-Identifier: GPL-2.0-or-later
"""The load ``collect``: a collector moves what no call touches, and erases, within the part that is
cut."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import loads, states
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints
from nandlab.powercut.oracle import make_call_bytes


@pytest.mark.board
@pytest.mark.parametrize(("name", "blocks"), [("jffs2", 24), ("ubifs", 64), ("yaffs2", 24)])
def test_a_collector_moves_files_that_stay_and_erases(
    board: QemuBoard, name: str, blocks: int
) -> None:
    medium = on(board, name).model_copy(update={"partition_blocks": blocks})
    collect = loads.make_collector_loads()
    once = asyncio.run(states.record_load(Campaign(medium, collect, CutPoints()), 0, board))
    assert once is not None
    programs = [o.after.pages[0].cells for o in once.operations if not o.erases and o.after.pages]
    erases = sum(o.erases for o in once.operations)
    written = {
        number: make_call_bytes(number, 0, 64)
        for number, call in enumerate(collect.base)
        if call.startswith("write s")
    }
    moved = [n for n, content in written.items() if any(content in cells for cells in programs)]
    assert erases >= 8
    assert len(moved) >= 5
