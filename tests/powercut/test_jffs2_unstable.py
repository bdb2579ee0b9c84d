# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2, where the page of a rename reads right a few times after the cut and wrong from then on:
what docs/findings/08 says of it, on a real board. At the mount the new name makes the old
one obsolete, and is then dropped itself. The next mount finds the old one, but not if the collector
has erased its block by then: the file is lost, though it was synced long before."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import after, end_chip_with_partition, on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import campaign, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point

pytestmark = pytest.mark.board

RENAME = loads.parse_loads(
    "rename",
    """
mkdir A
mkdir B
create A/kept
write A/kept 0 300
sync
load rename
rename A/kept B/new
""",
)
UNSTABLE = CutPoints(variants=("unstable",), seeds=24, mounts=2)
BLOCKS = 32
UP, DOWN = "mount -t jffs2 mtd0 /mnt", "umount /mnt"
NAMES = "(cd /mnt && ls -d A/kept B/new 2>/dev/null)"
WRITES = (
    "for i in $(seq 6); do for j in $(seq 20); do"
    " dd if=/dev/urandom of=/mnt/f$j bs=64k count=1 2>/dev/null || exit 1; done; done; sync"
)
"""Of 4 MiB so much is written that the collector erases what was there before."""


class Cut:
    """The rename cut by each seed, and what was found."""

    def __init__(self, board: QemuBoard) -> None:
        medium = on(board, "jffs2").model_copy(update={"partition_blocks": BLOCKS})
        medium = end_chip_with_partition(medium)
        self.board = board
        self.campaign = Campaign(medium, RENAME, UNSTABLE)
        (told,) = asyncio.run(campaign.run_piece(self.campaign, UNSTABLE, board))
        (at,) = (finding.point for finding in told.findings if finding.name == "lost")
        self.point = select_single_cut_point(UNSTABLE, 0, at.operation, at.variant, at.seed)

    def names(self, between: str) -> list[list[str]]:
        """What three mounts after the cut show of the file, when this is done in the first."""
        look = f"{UP} && {NAMES}; {DOWN}"
        first = f"{UP} && {NAMES}; {between} && {DOWN}"
        said, _ = after(self.campaign, self.point, self.board, first, look, look)
        return said


def test_a_file_whose_rename_goes_bad_later_is_lost_once_its_old_name_is_erased(
    board: QemuBoard,
) -> None:
    cut = Cut(board)
    assert cut.names("true") == [[], ["A/kept"], ["A/kept"]]
    assert cut.names(WRITES) == [[], [], []]
