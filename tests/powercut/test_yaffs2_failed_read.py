# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2, where one read of a page fails and the next would not: what docs/findings/23 says of it,
on a board. A header is taken from bytes that were not read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nandlab.base.paths import ROOT
from nandlab.board.kit.partsource import add_patches
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut import campaign
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.faults import end_fault_loads
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.requests import find_load_set_named

pytestmark = pytest.mark.board

PATCH = ROOT / "docs/findings/23-yaffs2-failed-read.diff"
BLOCKS = {"apf27": 64, "nandsim-small": 256}
LIMIT_S = 600


def make_point(board: QemuBoard, chip: str, title: str, operation: int) -> Campaign:
    """The next read of the page that an operation wrote fails, and no other."""
    system = load_noun("filesystems", "yaffs2", FilesystemModel)
    medium = Medium(
        board=board.machine.model,
        chip=load_noun("chips", chip, ChipModel),
        partition_blocks=BLOCKS[chip],
        filesystem=system,
        options=system.resolve_values({}, "the test"),
    )
    loads = end_fault_loads(find_load_set_named("rewrite"))
    number = [load.title for load in loads.loads].index(title)
    point = select_single_cut_point(CutPoints(), number, operation, "readonce", 1)
    return Campaign(medium, loads, point)


def fail_one_read(board: QemuBoard, chip: str, title: str, operation: int) -> list[str]:
    """The classes of what does not hold then."""
    one = make_point(board, chip, title, operation)
    (report,) = asyncio.run(campaign.run_piece(one, one.points, board))
    assert report.points == 1
    return [finding.name for finding in report.findings]


def open_patched(*patches: Path) -> QemuBoard:
    """The board with YAFFS2's core built with patches."""
    sources = add_patches({}, patches, "the test")
    return open_board(load_noun("boards", "apf27", BoardModel), sources=sources)


@pytest.mark.parametrize(
    ("chip", "title"), [("apf27", "rename A/foo B/bar"), ("nandsim-small", "create A/new")]
)
def test_a_read_that_fails_once_hides_what_was_synced(
    board: QemuBoard, chip: str, title: str
) -> None:
    """In a look-up, and in the scan of a mount of small pages."""
    operation = {"apf27": 16, "nandsim-small": 48}[chip]
    assert fail_one_read(board, chip, title, operation) == ["lost"]


@pytest.mark.long
@pytest.mark.timeout(LIMIT_S)
def test_a_read_that_fails_once_kills_the_kernel_until_it_is_tried_again(board: QemuBoard) -> None:
    crash = ("nandsim-small", "rename A/foo A/new", 48)
    assert fail_one_read(board, *crash) == ["kernel crash"]
    mended = open_patched(PATCH)
    heads = [campaign.make_campaign_head(make_point(b, *crash), b) for b in (board, mended)]
    assert [head.patched for head in heads] == [False, True]
    assert heads[0].identity != heads[1].identity
    for point in (
        crash,
        ("nandsim-small", "create A/new", 48),
        ("apf27", "rename A/foo B/bar", 16),
    ):
        assert fail_one_read(mended, *point) == []
