# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2, where the power goes between the two writes of an unlink: what docs/findings/21 says. One
name is twice in its folder, and once deleted it comes back at the next mount."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import on

from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.powercut import loads
from nandlab.powercut.job import CutPoints, build_chip_module, make_cut_job
from nandlab.powercut.states import NO_POINT

LINKS = loads.parse_loads(
    "links",
    """
mkdir A
create A/x
write A/x 0 100
load unlink
link A/x A/again
sync
unlink A/x
sync
""",
)
UP, DOWN = "mount -t yaffs2 mtd0 /mnt", "umount /mnt"
LIST = "ls /mnt/A && echo then && rm /mnt/A/again && sync && ls /mnt/A"


@pytest.mark.board
def test_a_name_is_there_twice_and_comes_back_once_deleted(board: QemuBoard) -> None:
    """At each operation: the names, those once one is deleted, and those of the next mount."""
    medium = on(board, "yaffs2")
    nothing = CutPoints(first=NO_POINT, variants=("before",))
    whole = make_cut_job(medium, LINKS, nothing, build_chip_module(board))
    count = 8
    more = [
        Step(
            f"at {k}",
            f"echo goto {k} before 1 > {DEBUG_FOLDER}/journal && {UP} && {LIST}; {DOWN}; "
            f"echo then; {UP} && ls /mnt/A; {DOWN}",
        )
        for k in range(count + 1)
    ]
    record = asyncio.run(board.run(replace(whole, steps=(*whole.steps, *more))))
    broke = record.failed()
    assert broke is None, broke.failure()
    names = [record[f"at {k}"].stdout.split() for k in range(count + 1)]
    torn = ["again", "again", "then", "then", "again"]
    assert [k for k in range(count + 1) if names[k][:2] == ["again", "again"]] == [count - 1]
    assert names[count - 1] == torn
    assert names[count - 2] == ["again", "x", "then", "x", "then", "x"]
    assert names[count] == ["again", "then", "then"]
