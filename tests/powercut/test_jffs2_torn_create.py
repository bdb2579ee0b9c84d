# SPDX-License-Identifier: GPL-2.0-or-later
"""JFFS2, where the page that makes a file or a folder is torn, so that its name is right and its
first inode node is wrong: what docs/findings/04 and 05 say of it, on a real board. The name has no
file then. The first file made after the cut gets the same number, and at the next mount the name is
its second one. If a later node of the lost file looks sound, its name is there and cannot be
used."""

from __future__ import annotations

import asyncio

import pytest
from cutsteps import after, end_chip_with_partition, on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.layouts import jffs2scan
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.jffs2nodes import DirentNode, PartitionNodes
from nandlab.powercut import campaign, hostcheck, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point

pytestmark = pytest.mark.board

LOADS = loads.parse_loads(
    "torn",
    """
mkdir A
create A/x
write A/x 0 300
load create
create A/a
sync
load create and write
create A/a
write A/a 0 400
sync
load mkdir
mkdir B
sync
""",
)
SEEDS = 12
UP, DOWN = "mount -t jffs2 mtd0 /mnt", "umount /mnt"
AGAIN = f"{DOWN} && {UP}"
MINE = f"{UP} && echo mine > /mnt/mine && sync && {AGAIN}"
"""A file that is made after the cut, and synced; and what the next mount shows."""


def failed(command: str) -> str:
    """A command that prints nothing, and is right if the other fails with an I/O error."""
    return f"{{ {command} 2>&1 | grep -q 'Input/output error'; }}"


class Torn:
    """The loads with the first write torn by each seed, and what was found."""

    def __init__(self, board: QemuBoard) -> None:
        self.board = board
        points = CutPoints(last=0, variants=("few",), seeds=SEEDS)
        medium = end_chip_with_partition(on(board, "jffs2"))
        self.campaign = Campaign(medium, LOADS, points)
        told = asyncio.run(campaign.run_piece(self.campaign, points, board))
        self.found = {
            (load.load, finding.name): finding for load in told for finding in load.findings
        }

    def point(self, load: str, kind: str) -> CutPoints:
        """The first one of a class of finding."""
        at = self.found[load, kind].point
        index = [each.title for each in LOADS.loads].index(load)
        return select_single_cut_point(
            self.campaign.points, index, at.operation, at.variant, at.seed
        )

    def says(self, at: CutPoints, *commands: str) -> tuple[list[list[str]], PartitionNodes]:
        """What each command prints after the cut, and the nodes on the chip before them."""
        told, saved = after(self.campaign, at, self.board, *commands)
        medium = self.campaign.medium
        ecc = medium.chip.ecc
        chip = hostcheck.apply_ecc_to_chip(saved, ecc, "all")
        nodes = jffs2scan.scan_partition_nodes(
            Partition(chip, medium.partition_blocks, ecc.strength, ecc.step)
        )
        return told, nodes


@pytest.fixture(scope="module")
def torn(board: QemuBoard) -> Torn:
    return Torn(board)


def nameless(found: PartitionNodes) -> list[DirentNode]:
    """Names of numbers that no sound inode node has."""
    return [each for each in found.dirents if each.number and each.number not in found.pieces]


def test_a_name_without_its_file_becomes_that_of_the_next(torn: Torn) -> None:
    at = torn.point("create", "wrong content")
    verdicts = asyncio.run(hostcheck.try_point(torn.campaign, at, torn.board))
    assert verdicts.verdict == "wrong content"
    assert verdicts.verdicts_agree
    inode = "stat -c '%i %h' /mnt/A/a /mnt/mine"
    (gone, same, written, left), nodes = torn.says(
        at,
        f"{UP} && test ! -e /mnt/A/a && {DOWN}",
        f"{MINE} && {inode} && cat /mnt/A/a",
        f"echo other > /mnt/A/a && sync && {AGAIN} && cat /mnt/mine",
        f"rm /mnt/A/a && {AGAIN} && cat /mnt/mine",
    )
    (name,) = nameless(nodes)
    assert (name.name, {each.kind for each in nodes.dropped}) == (b"a", {"inode"})
    assert gone == []
    assert same == [str(name.number), "2", str(name.number), "2", "mine"]
    assert written == left == ["other"]


def test_a_file_under_the_old_name_is_lost_where_the_next_block_comes_first(torn: Torn) -> None:
    """Both names have the same version, for the mount did not count the first; so the one in the
    later block holds."""
    at = torn.point("create", "wrong content")
    log = "dd if=/dev/urandom of=/mnt/log bs=1k count=200 2>/dev/null"
    (before, after), nodes = torn.says(
        at,
        f"{UP} && {log} && sync && echo second > /mnt/A/a && sync && cat /mnt/A/a && "
        f"stat -c %i /mnt/log /mnt/A/a",
        f"{AGAIN} && cmp /mnt/A/a /mnt/log && stat -c %i /mnt/log /mnt/A/a",
    )
    (name,) = nameless(nodes)
    assert before == ["second", str(name.number), str(name.number + 1)]
    assert after == [str(name.number)] * 2


def test_deleting_the_name_of_a_torn_folder_deletes_the_next_file(torn: Torn) -> None:
    """A folder's name sets the count of links to the number of its parent, which is 1 here."""
    at = torn.point("mkdir", "unreadable")
    (links, gone), nodes = torn.says(
        at,
        f"{MINE} && stat -c '%n %h' /mnt/B /mnt/mine",
        f"{AGAIN} && rm /mnt/B && {failed('cat /mnt/mine')}",
    )
    assert [each.name for each in nameless(nodes)] == [b"B"]
    assert links == ["/mnt/B", "1", "/mnt/mine", "1"]
    assert gone == []


def test_a_name_that_cannot_be_read_cannot_be_deleted_either(torn: Torn) -> None:
    at = torn.point("create and write", "unreadable")
    uses = ("cat /mnt/A/a", "rm -f /mnt/A/a", "touch /mnt/A/a", "mv /mnt/A/a /mnt/A/b")
    fails = " && ".join(failed(each) for each in uses)
    (said,), nodes = torn.says(
        at, f"{UP} && {fails} && {AGAIN} && {fails} && ls /mnt/A 2>/dev/null; echo $?"
    )
    (name,) = [each for each in nodes.dirents if each.name == b"a"]
    assert name.number not in nodes.pieces
    assert said[-1] != "0"
