# SPDX-License-Identifier: GPL-2.0-or-later
"""A sync beside a load, on a real board: the UBIFS of its kernel refuses an unlink in one schedule
and not in another, and a file that is linked there may stay without a name. And the collector of
JFFS2 beside one."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints
from nandlab.powercut.loads import BASE, Load, LoadSet
from nandlab.powercut.states import NO_POINT

pytestmark = pytest.mark.board

RACES = {load.title: load for load in wideloads.make_race_loads().loads}
EARLY, TORN = "link and unlink after 0 us", "link and unlink after 2600 us"
LINK = "link after 1500 us"
NONE = CutPoints(variants=("before",), first=NO_POINT)
LAST = 78
"""The operations of that load before the end of the sync beside it."""


def test_an_unlink_beside_a_commit_fails_in_one_schedule_of_two(board: QemuBoard) -> None:
    loads = LoadSet("races", BASE, (RACES[EARLY], RACES[TORN]))
    one = Campaign(on(board, "ubifs"), loads, NONE)
    early, torn = asyncio.run(campaign.run_piece(one, NONE, board))
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


PASSES = {load.title: load for load in wideloads.make_gc_pass_loads().loads}
UNLINK = "unlink after 300 us"


def test_a_signal_makes_jffs2s_collector_move_nodes(board: QemuBoard) -> None:
    """Two pages for each pass beside what the call itself writes; all holds."""
    base = wideloads.make_gc_pass_loads().base
    calls = tuple(call for call in PASSES[UNLINK].calls if not call.startswith("wakegc"))
    points = CutPoints(variants=("before",), every=3)
    loads = LoadSet("gc-passes", base, (PASSES[UNLINK], Load("alone", calls)))
    one = Campaign(on(board, "jffs2"), loads, points)
    moved, alone = asyncio.run(campaign.run_piece(one, points, board))
    assert (moved.findings, alone.findings) == ([], [])
    assert (moved.operations or 0) > (alone.operations or 0) + wideloads.COLLECTOR_PASSES


def test_a_file_system_without_such_a_collector_refuses_the_call(board: QemuBoard) -> None:
    loads = LoadSet("gc-passes", BASE, (Load("wakes", ("wakegc 10", "sync")),))
    one = Campaign(on(board, "ubifs"), loads, NONE)
    (report,) = asyncio.run(campaign.run_piece(one, NONE, board))
    assert report.refused == "Operation not supported"
