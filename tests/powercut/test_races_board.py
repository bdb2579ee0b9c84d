# SPDX-License-Identifier: GPL-2.0-or-later
"""A sync beside a load, on a real board: a schedule is the same each time, UBIFS of the board's
kernel refuses an unlink there, and both checkers agree on what a cut leaves."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, hostcheck, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.loads import BASE, Load, LoadSet

pytestmark = pytest.mark.board

RACES = {load.title: load for load in wideloads.make_race_loads().loads}
EARLY, TORN = "link and unlink after 0 us", "link and unlink after 2600 us"
LINK = "link after 1500 us"
BESIDE = Load(
    "a file is written beside a sync",
    ("write A/foo 0 6000", "beginsync 900", "create B/n", "write B/n 0 500", "endsync", "sync"),
)
BEFORE = CutPoints(variants=("before",))
LAST = 78
"""The operations of that load before the end of the sync beside it."""


def test_an_unlink_beside_a_commit_fails_on_ubifs_and_in_no_other_schedule(
    board: QemuBoard,
) -> None:
    loads = LoadSet("races", BASE, (RACES[EARLY], RACES[TORN]))
    one = Campaign(on(board, "ubifs"), loads, BEFORE)
    early, torn = asyncio.run(campaign.run_piece(one, BEFORE, board))
    assert (early.refused, early.findings) == (None, [])
    (finding,) = torn.findings
    assert (finding.name, torn.refused, torn.operations) == ("call fails", None, None)
    assert finding.what.endswith(": Invalid argument")


def test_a_file_linked_beside_a_commit_is_kept_without_a_name_by_ubifs(board: QemuBoard) -> None:
    points = CutPoints(variants=("before",), first=LAST)
    one = Campaign(on(board, "ubifs"), LoadSet("races", BASE, (RACES[LINK],)), points)
    (report,) = asyncio.run(campaign.run_piece(one, points, board))
    (finding,) = report.findings
    assert (finding.name, report.refused) == ("metadata", None)
    assert finding.what.startswith("statfs: ")


@pytest.mark.parametrize("name", ["jffs2", "ubifs", "yaffs2"])
def test_both_checkers_agree_on_what_a_cut_leaves_beside_a_sync(
    board: QemuBoard, name: str
) -> None:
    one = Campaign(on(board, name), LoadSet("beside", BASE, (BESIDE,)), BEFORE)
    (report,) = asyncio.run(campaign.run_piece(one, BEFORE, board))
    assert (report.refused, report.findings) == (None, [])
    assert report.operations is not None
    point = select_single_cut_point(BEFORE, 0, report.operations // 2, "before", 1)
    assert asyncio.run(hostcheck.try_point(one, point, board)).verdicts_agree is True
