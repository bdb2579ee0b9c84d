# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS, where a page reads right once after the cut and never again: what docs/findings/09 and 10
says of it, on a real board. Two kinds of page alone matter: that of a commit's start in the log,
and the second copy of the master node."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from cutsteps import after, on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, loads, states
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.journal import Operation

pytestmark = pytest.mark.board

LOADS = loads.parse_loads(
    "unstable",
    """
mkdir A
create A/x
write A/x 0 3000
load create
create A/new
sync
""",
)
UNSTABLE = CutPoints(variants=("unstable",), seeds=16)
UP = "ubiattach -m 0 -d 0 >/dev/null && mount -t ubifs ubi0:data /mnt 2>/dev/null"
DOWN = "umount /mnt 2>/dev/null; ubidetach -d 0"
MAGIC, TYPE_AT = b"\x31\x18\x10\x06", 20
MASTER, COMMIT_START = 7, 10
UNMOUNTABLE = "M"


def node(operation: Operation) -> int | None:
    """The type of the UBIFS node that a program's page begins with; None: it begins with none."""
    (page, *more) = operation.after.pages
    return None if more or page.cells[:4] != MAGIC else page.cells[TYPE_AT]


class Cut:
    """The load cut within each operation by each seed, and what was found."""

    def __init__(self, board: QemuBoard) -> None:
        self.board = board
        self.campaign = Campaign(on(board, "ubifs"), LOADS, UNSTABLE)
        recorded = asyncio.run(states.record_load(self.campaign, 0, board))
        assert recorded is not None
        kinds = [None, *map(node, recorded.operations)]
        # the second copy is written right after the first
        self.second = [k for k, pair in enumerate(pairwise(kinds)) if pair == (MASTER, MASTER)]
        self.starts = [k for k, kind in enumerate(kinds[1:]) if kind == COMMIT_START]
        (told,) = asyncio.run(campaign.run_piece(self.campaign, UNSTABLE, board))
        self.outcomes: str = told.outcomes["unstable"]
        self.findings = {finding.name: finding for finding in told.findings}

    def failed(self) -> set[int]:
        """Operations at which some seed's point did not hold."""
        return {k for k, letter in enumerate(self.outcomes) if letter not in ". "}

    def says(self, kind: str, mounts: int) -> list[list[str]]:
        """The words of so many mounts after the first point of a class, with the kernel's."""
        point = self.findings[kind].point
        at = select_single_cut_point(UNSTABLE, 0, point.operation, point.variant, point.seed)
        up = f"dmesg -c >/dev/null; {UP} && ls /mnt && wc -c </mnt/A/x; {DOWN}; dmesg"
        said, _ = after(self.campaign, at, self.board, *([up] * mounts))
        return said


@pytest.fixture(scope="module")
def cut(board: QemuBoard) -> Cut:
    return Cut(board)


def test_only_a_commits_start_and_the_second_master_matter(cut: Cut) -> None:
    # a last mount that fails alone is "not writable"
    assert set(cut.findings) - {"not writable"} == {"unmountable", "never mounts again"}
    once = "Structure needs cleaning, and the next mount succeeds"
    assert cut.findings["unmountable"].what == once
    assert len(cut.second) > 1
    assert cut.starts
    assert cut.failed() <= {*cut.second, *cut.starts}
    unmountable = {k for k, letter in enumerate(cut.outcomes) if letter == UNMOUNTABLE}
    assert unmountable == cut.failed() & {*cut.starts}


def test_an_unstable_commit_start_fails_one_mount(cut: Cut) -> None:
    """The log is full then, and the mount reads it again to write it anew."""
    first, second, third = cut.says("unmountable", 3)
    assert "ubifs_consolidate_log" in " ".join(first)
    assert "LEB 4 scanning failed" in " ".join(first)
    assert "un-mount" not in " ".join(first)
    assert "recovery completed" in " ".join(second)
    assert "3000" in second
    assert "recovery" not in " ".join(third)
    assert "3000" in third


def test_an_unstable_second_master_fails_every_mount_after_the_first(cut: Cut) -> None:
    first, *rest = cut.says("never mounts again", 6)
    assert "3000" in first
    for each in map(" ".join, rest[-2:]):
        assert "failed to recover master node" in each
        assert "un-mount" not in each
