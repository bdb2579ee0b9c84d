# SPDX-License-Identifier: GPL-2.0-or-later
"""UBI's wear levelling beside a load, on real boards: in one schedule it finds a block in use, and
on Linux 5.10 it scrubs that block then, of which no bit is wrong. In another it finds none so, and
a kernel with the fix scrubs none."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import on
from support import lock

from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.virtual.qemu import open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.powercut import campaign, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import CutPoints

pytestmark = pytest.mark.board

EVERY, STEP = 80, 10
SAYS = CutPoints(variants=("before",), first=0, last=0, plant=("--check-says", "scrubbed PEB"))


def play_levelling(name: str, first: int = 0) -> list[LoadReport]:
    """One of 80 schedules, from the first on, on a board whose UBI levels early."""
    lock.need_locked(name)
    words = ["ubi=package,wl_threshold=2"]
    board = open_board(
        load_noun("boards", name, BoardModel), sources=parse_source_words(words, "the test")
    )
    assert board.kernel_config["CONFIG_MTD_UBI_WL_THRESHOLD"] == "2"
    whole = wideloads.make_levelling_loads()
    loads = replace(whole, loads=whole.loads[first::EVERY])
    reports = asyncio.run(
        campaign.run_piece(Campaign(on(board, "ubifs"), loads, SAYS), SAYS, board)
    )
    assert [each.load for each in reports] == [each.title for each in loads.loads]
    assert all(each.refused is None and each.points == 1 for each in reports)
    return reports


def test_a_block_that_was_in_use_is_scrubbed_without_a_wrong_bit_on_linux_5_10() -> None:
    """A tenth of the schedules do so. Where none of one in 80 does, others are played."""
    pieces = (play_levelling("apf27-5.10", first) for first in range(0, EVERY, STEP))
    reports = next((each for each in pieces if any(report.findings for report in each)), [])
    found = [finding for each in reports for finding in each.findings]
    assert 0 < len(found) < len(reports)
    assert {finding.name for finding in found} == {"check fails"}
    assert all(finding.what.startswith("ubi0: scrubbed PEB ") for finding in found)


def test_a_block_that_was_in_use_stays_where_it_is_on_linux_6_1() -> None:
    assert not any(each.findings for each in play_levelling("apf27"))
