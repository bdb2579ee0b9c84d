# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of the wide sets on a real board, with JFFS2: a folder that two names are left of, an
attribute that fsync does not keep, and a load that is refused in its midst."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, hostcheck, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.loads import Load, LoadSet

pytestmark = pytest.mark.board

FOLDER = next(
    load
    for load in wideloads.make_rename_loads().loads
    if load.title == "rename D E behind 1920 bytes"
)
LOADS = LoadSet(
    "calls",
    wideloads.BASE,
    (
        FOLDER,
        Load("attribute", ("setxattr A/foo 1 100", "fsync A/foo")),
        Load("attribute and sync", ("setxattr A/foo 1 100", "sync")),
        Load("refused", ("create A/new", "exchange A/foo B/bar", "sync")),
        Load("after it", ("create A/new", "sync")),
        Load(
            "metadata", ("chmod A/foo 600", "chown A/foo 7 8", "utimens A/foo 1000000000", "sync")
        ),
    ),
)
POINTS = CutPoints(variants=("before",))


def _classes(report: LoadReport) -> list[str]:
    return [finding.name for finding in report.findings]


def test_what_jffs2_keeps_of_each_call(board: QemuBoard) -> None:
    one = Campaign(on(board, "jffs2"), LOADS, POINTS)
    reports = {r.load: r for r in asyncio.run(campaign.run_piece(one, POINTS, board))}
    (twice,) = reports[FOLDER.title].findings
    assert (twice.name, twice.count) == ("two names of a folder", 1)
    assert "after rm -r D, E/file: " in twice.what
    assert _classes(reports["attribute"]) == ["metadata"]
    assert _classes(reports["attribute and sync"]) == []
    assert reports["refused"].refused == "Invalid argument"
    assert (reports["after it"].refused, _classes(reports["after it"])) == (None, [])
    assert _classes(reports["metadata"]) == []


def test_the_host_sees_what_went_with_the_name_that_was_removed(board: QemuBoard) -> None:
    one = Campaign(on(board, "jffs2"), LOADS, POINTS)
    point = select_single_cut_point(POINTS, 0, 1, "before", 1)
    verdicts = asyncio.run(hostcheck.try_point(one, point, board))
    assert verdicts.verdict == "two names of a folder"
    assert verdicts.verdicts_agree is True
