# SPDX-License-Identifier: GPL-2.0-or-later
"""YAFFS2, where a torn page has sound tags: what docs/findings/11, 14 and 15 say of it, on a board.
The mount takes the page for the newest, so what was synced before cannot be read any more. The
collector then copies the torn page, and from then on wrong bytes come without an error. A torn
header gives a file another name."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from cutsteps import after, end_chip_with_partition, on

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.layouts.cells import find_uncorrectable_pages
from nandlab.flash.layouts.yaffs2 import EXTRA_FLAG, TAGS_AT, TAGS_BYTES
from nandlab.powercut import campaign, hostcheck, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.loads import LoadSet

pytestmark = pytest.mark.board

OVERWRITE = loads.parse_loads(
    "overwrite",
    """
mkdir A
create A/network.setting
write A/network.setting 0 8192
load overwrite
write A/network.setting 1000 5000
fsync A/network.setting
""",
)
REWRITE = loads.parse_loads(
    "rewrite",
    """
mkdir A
create A/network.setting
write A/network.setting 0 300
load rewrite
write A/network.setting 0 300
fsync A/network.setting
""",
)
HEADER = 2
"""The operation of the second load that writes the file's header."""
FILE, PAGE = "/mnt/A/network.setting", 2048
UP, DOWN = "mount -t yaffs2 mtd0 /mnt", "umount /mnt"
COLLECTED = "grep -q 'collection_read_failures: [1-9]' /proc/yaffs"
AWAIT = f"i=0; until {COLLECTED} || test $i = 30; do sleep 1; i=$((i + 1)); done; {COLLECTED}"
"""Waits until the collector has copied a page that it could not read."""


@dataclass(frozen=True)
class Chunk:
    """A page that is written, as the tags have it."""

    object: int
    chunk: int
    """0: a header."""
    page: int
    readable: bool
    cells: bytes
    """Data as they read, wrong bits too."""


class Torn:
    """A load with programs torn by each seed, and what was found."""

    def __init__(self, board: QemuBoard, load: LoadSet, points: CutPoints, background: str) -> None:
        self.board = board
        medium = end_chip_with_partition(on(board, "yaffs2"))
        options = medium.filesystem.resolve_values({"background": background}, "the test")
        medium = medium.model_copy(update={"options": options})
        self.campaign = Campaign(medium, load, points)
        (self.told,) = asyncio.run(campaign.run_piece(self.campaign, points, board))
        self.found = {finding.name: finding for finding in self.told.findings}

    def point(self, kind: str) -> CutPoints:
        """The first one of a class of finding."""
        at = self.found[kind].point
        return select_single_cut_point(self.campaign.points, 0, at.operation, at.variant, at.seed)

    def says(self, at: CutPoints, *commands: str) -> tuple[list[list[str]], list[Chunk]]:
        """What each command prints after the cut, and the pages on the chip before them."""
        told, saved = after(self.campaign, at, self.board, *commands)
        ecc = self.campaign.medium.chip.ecc
        wrong = {
            b.index * saved.geometry.pages_per_block + page
            for b in saved.blocks
            for page in find_uncorrectable_pages(b, PAGE, ecc.strength, ecc.step)
        }
        chunks = list(written(hostcheck.apply_ecc_to_chip(saved, ecc, "all"), wrong))
        return told, chunks


def written(chip: ChipImage, wrong: set[int]) -> Iterator[Chunk]:
    size = chip.geometry.writesize + chip.geometry.oobsize
    for block in chip.blocks:
        first = block.index * chip.geometry.pages_per_block
        for page, _ in enumerate(block.states, first):
            cells = block.cells[(page - first) * size :]
            at = PAGE + TAGS_AT
            sequence, number, chunk, _ = map(int, np.frombuffer(cells[at : at + TAGS_BYTES], "<u4"))
            if sequence == 0xFFFFFFFF:
                continue
            kind = number >> 28 << 28 if chunk & EXTRA_FLAG else 0
            place = 0 if chunk & EXTRA_FLAG else chunk
            yield Chunk(number - kind, place, page, page not in wrong, cells[:PAGE])


def older(chunks: list[Chunk]) -> tuple[Chunk, list[Chunk]]:
    """The page that cannot be read, and the others that say that they are the same part."""
    (bad,) = [each for each in chunks if not each.readable]
    others = [c for c in chunks if (c.object, c.chunk) == (bad.object, bad.chunk) and c is not bad]
    return bad, others


def test_a_torn_page_hides_the_synced_one_and_is_then_collected(board: QemuBoard) -> None:
    """After "prefix" the tags, too, are beyond the ECC, and the older page holds."""
    points = CutPoints(variants=("before", "prefix", "few"), seeds=4)
    torn = Torn(board, OVERWRITE, points, "on")
    assert set(torn.told.outcomes["before"] + torn.told.outcomes["prefix"]) <= {".", " "}
    second_page = f"dd if={FILE} bs={PAGE} skip=1 count=1 2>/dev/null | md5sum"
    (said, later, again), chunks = torn.says(
        torn.point("unreadable"),
        f"{UP} && cat {FILE} 2>&1 | grep -o 'Input/output error'",
        f"{AWAIT} && cat {FILE} > /dev/null && {second_page}",
        f"{DOWN} && {UP} && cat {FILE} > /dev/null && {second_page}",
    )
    bad, (synced,) = older(chunks)
    assert (bad.chunk, synced.page < bad.page) == (2, True)
    assert said == ["Input/output", "error"]
    assert later == again == [hashlib.md5(bad.cells).hexdigest(), "-"]
    assert synced.cells != bad.cells


def test_a_torn_header_gives_a_synced_file_another_name(board: QemuBoard) -> None:
    """No call that lists the folder returns an error, and the next change makes it last."""
    points = CutPoints(first=HEADER, last=HEADER, variants=("few",), seeds=64)
    torn = Torn(board, REWRITE, points, "off")
    up, gone = f"{UP} -o no-background", f"test ! -e {FILE}"
    (before, after, kept), chunks = torn.says(
        torn.point("unknown name"),
        f"{up} && ls /mnt/A | wc -l && {gone} && stat -c %s /mnt/A/*",
        f"chmod 600 /mnt/A/* && {DOWN} && {up} && {gone} && stat -c '%a %s' /mnt/A/*",
        "grep ^ecc_unfixed: /proc/yaffs",
    )
    bad, others = older(chunks)
    assert (bad.chunk, {each.page < bad.page for each in others}) == (0, {True})
    assert b"network.setting" in others[-1].cells
    assert b"network.setting" not in bad.cells
    assert before == ["1", "300"]
    assert after == ["600", "300"]
    assert kept == ["ecc_unfixed:", "0"]
