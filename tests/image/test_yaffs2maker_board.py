# SPDX-License-Identifier: GPL-2.0-or-later
"""A YAFFS2 image of our maker on the board: it mounts, has no dead page, and is written to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support import lock

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip import imagefile as chipfile
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import decode_layout
from nandlab.image import making, tree
from nandlab.plan import study
from nandlab.plan.medium import Medium
from nandlab.trial import execution

pytestmark = pytest.mark.board

MIB_GIVEN = 16
SIZES = {"empty": 0, "byte": 1, "page": 2048, "more": 2049, "deep/er/large": 300_000}
PAGES = 0 + 1 + 1 + 2 + 147
"""Of the files' data."""
OBJECTS = len(SIZES) + 2 + 2
"""With two folders, a link and a second name."""


def make_folder(folder: Path) -> Path:
    for number, (name, size) in enumerate(SIZES.items()):
        at = folder / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(bytes((i * 7 + number) % 251 for i in range(size)))
    (folder / "link").symlink_to("deep/er/large")
    (folder / "second").hardlink_to(folder / "more")
    return folder


def make_medium(board: QemuBoard) -> Medium:
    system = load_noun("filesystems", "yaffs2", FilesystemModel)
    chip = load_noun("chips", "apf27", ChipModel)
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=chip.partition_blocks(MIB_GIVEN),
        filesystem=system,
        options=system.resolve_values({}, "test", from_image=True),
    )


STUDY = """
name = "flashed"
question = "?"
board = "{board}"
[matrix]
workloads = [{{ name = "ffsmark", files = 40, transactions = 40 }}]
filesystems = [{{ name = "yaffs2", image = "image.nand" }}]
chips = [{{ part = "apf27", partition_mib = {mib} }}]
states = [{{ name = "flashed" }}]
seeds = [1]
"""


def test_an_image_has_no_dead_page_and_serves_a_load(board: QemuBoard, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tree")
    on = make_medium(board)
    content, _ = tree.drop_unstorable_content(tree.scan_folder_tree(folder), on.filesystem)
    # it compares each file's checksum, size, owner, mode, times and links with the mounted image
    image, made = making.make_filesystem_image(on, folder, content, board)
    layout = decode_layout(Partition(image, on.partition_blocks), "yaffs2", None)
    assert layout.counts == {
        "headers": OBJECTS,
        "data_chunks": PAGES,
        "obsolete_chunks": 0,
        "summary_chunks": 0,
        "checkpoint_chunks": 0,
    }
    assert chipfile.measure_used_space(image).pages == OBJECTS + PAGES
    chipfile.write_image_files(tmp_path / "image.nand", image, made)
    at = tmp_path / "s.toml"
    at.write_text(STUDY.format(board=board.machine.model.name, mib=MIB_GIVEN))
    (spec,) = study.plan_trials(study.read_study_file(at))
    result = asyncio.run(execution.run_trial(spec, board, "test"))
    assert (result.status, result.error, result.kernel_log) == ("ok", None, [])
    assert lock.doubts(result.warnings) == []
    assert result.state.obtained is not None
    assert result.state.obtained.before is not None
