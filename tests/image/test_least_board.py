# SPDX-License-Identifier: GPL-2.0-or-later
"""The smallest partition of each file system mounts on the real kernel; a block less does not."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from support.smalltrial import planned

from nandlab.board.jobs.job import Job
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.image import making, tree
from nandlab.plan.matrix import ChipChoice
from nandlab.plan.medium import Medium
from nandlab.trial import mediumsteps
from nandlab.trial import steps as trial

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(900)]

PLACES = [
    *((fs, part) for fs in ("jffs2", "ubifs", "yaffs2") for part in ("apf27", "nandsim-small")),
    ("nftl-fat32", "nandsim-small"),
]


@pytest.mark.parametrize(("fs", "part"), PLACES)
def test_a_block_less_than_the_least_does_not_mount(board: QemuBoard, fs: str, part: str) -> None:
    system, chip = (
        load_noun("filesystems", fs, FilesystemModel),
        load_noun("chips", part, ChipModel),
    )
    figures = chip.figures(chip.geometry.blocks)
    least = system.count_least_blocks(system.resolve_values({}, fs), figures)
    assert least is not None
    made = planned(board, fs, ChipChoice(part=part, partition_mib=16))
    for blocks, mounts in ((least, True), (least - 1, False)):
        spec = made.model_copy(update={"partition_blocks": blocks})
        steps = [*trial.make_steps_until_mounted(spec), mediumsteps.make_unmount_step(spec)]
        failed = asyncio.run(board.run(Job(tuple(steps)))).failed()
        assert (failed is None) == mounts, failed and failed.failure()


@pytest.mark.parametrize("fs", ["jffs2", "ubifs", "squashfs"])
def test_a_folder_has_room_on_the_least_partition_for_it(
    board: QemuBoard, fs: str, tmp_path: Path
) -> None:
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(6 << 20))
    system, chip = (
        load_noun("filesystems", fs, FilesystemModel),
        load_noun("chips", "apf27", ChipModel),
    )
    on = Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=chip.partition_blocks(32),
        filesystem=system,
        options=system.resolve_values({}, fs, from_image=True),
    )
    content, _ = tree.drop_unstorable_content(tree.scan_folder_tree(tmp_path), system)
    image, _ = making.make_filesystem_image(on, tmp_path, content, board)
    least = making.count_least_partition(on, image)
    assert least is not None
    assert least < on.partition_blocks
    smaller = on.model_copy(update={"partition_blocks": least})
    making.make_filesystem_image(smaller, tmp_path, content, board)
