# SPDX-License-Identifier: GPL-2.0-or-later
"""The smallest partition of each file system on each chip, and what is refused below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.leastpartition import LeastPartition, format_block_mib
from nandlab.cli.chip import chip_app
from nandlab.flash.chip.simnand import make_chip_module_parameters
from nandlab.plan import study


def chip(name: str) -> ChipModel:
    return load_noun("chips", name, ChipModel)


def least(
    fs: str, part: str, *, held: int = 0, without_reserve: bool = False, **options: str
) -> int:
    system = load_noun("filesystems", fs, FilesystemModel)
    chosen = system.resolve_values(options, "here")
    figures = chip(part).figures(chip(part).geometry.blocks)
    found = system.count_least_blocks(
        chosen, figures, content_blocks=held, without_reserve=without_reserve
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("fs", "part", "blocks"),
    [
        ("ubifs", "apf27", 17 + 2 + 1 + 1 + 40),
        ("ubifs", "S34ML01G1", 17 + 2 + 1 + 1 + 20),
        ("ubifs", "nandsim-small", 17 + 2 + 1 + 1 + 160),
        ("squashfs", "apf27", 5 + 40),
        ("erofs", "nandsim-small", 5 + 160),
        ("jffs2", "apf27", 5),
        ("jffs2", "K9GAG08U0M", 5),
        ("yaffs2", "apf27", 9),
        ("nftl-fat32", "nandsim-small", 5 + 4),
    ],
)
def test_the_least_blocks_follow_the_kernels_rules(fs: str, part: str, blocks: int) -> None:
    assert least(fs, part) == blocks


def test_ubis_reserve_goes_by_its_option_and_the_whole_chip() -> None:
    assert least("ubifs", "apf27", reserve="5") == 21 + 10
    assert least("ubifs", "apf27", reserve="80") == 21 + 160
    assert least("ubifs", "apf27", without_reserve=True) == 21


def test_what_an_image_holds_takes_the_place_of_the_least() -> None:
    assert least("ubifs", "apf27", held=16) == least("ubifs", "apf27")
    assert least("ubifs", "apf27", held=100) == 100 + 4 + 40
    assert least("squashfs", "apf27", held=100) == 100 + 4 + 40
    assert least("squashfs", "apf27", held=100, without_reserve=True) == 104
    assert least("jffs2", "apf27", held=100) == 100


def test_bytes_are_whole_blocks() -> None:
    own = LeastPartition(bytes=50176, below=5, why="x", source="x")
    assert [own.count_blocks(size, 0) for size in (4096, 8192, 16384, 32768)] == [18, 12, 9, 7]


@pytest.mark.parametrize("part", list_noun_names("chips"))
def test_mib_are_whole_blocks_of_the_chip(part: str) -> None:
    erasesize = chip(part).geometry.erasesize
    for blocks in (5, 9, 181):
        assert chip(part).partition_blocks(float(format_block_mib(blocks, erasesize))) == blocks


STUDY = """
name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark" }]
filesystems = [{ name = "FS" }]
chips = [{ part = "PART", partition_mib = MIB }]
states = [{ name = "fresh" }]
seeds = [1]
"""


def plan(folder: Path, fs: str, part: str, blocks: int) -> int:
    mib = format_block_mib(blocks, chip(part).geometry.erasesize)
    path = folder / "small.toml"
    path.write_text(STUDY.replace("FS", fs).replace("PART", part).replace("MIB", mib))
    return len(study.plan_trials(study.read_study_file(path)))


@pytest.mark.parametrize(
    ("fs", "part", "blocks", "mib"),
    [
        ("ubifs", "apf27", 61, "7.625"),
        ("ubifs", "nandsim-small", 181, "2.828125"),
        ("yaffs2", "apf27", 9, "1.125"),
    ],
)
def test_a_study_below_the_least_is_refused_with_it(
    fs: str, part: str, blocks: int, mib: str, tmp_path: Path
) -> None:
    assert plan(tmp_path, fs, part, blocks) == 1
    with pytest.raises(UsageError) as refused:
        plan(tmp_path, fs, part, blocks - 1)
    assert f"is {blocks - 1}, must be at least {blocks}" in str(refused.value)
    assert f" {mib} MiB" in str(refused.value)


def test_a_chip_tells_the_least_partition_of_each_file_system() -> None:
    shown = CliRunner().invoke(chip_app, ["show", "nandsim-small"]).stdout
    assert "UBIFS: 2.828125 MiB, 181 blocks" in shown
    assert "NFTL+FAT32: 0.140625 MiB, 9 blocks" in shown
    mlc = CliRunner().invoke(chip_app, ["show", "K9GAG08U0M"]).stdout
    assert "JFFS2: 2.5 MiB, 5 blocks" in mlc
    assert all(f"{name}: cannot be: " in mlc for name in ("UBIFS", "squashfs", "EROFS"))


def with_ecc(**ecc: int) -> ChipModel:
    told: dict[str, Any] = chip("nandsim-small").model_dump()
    return ChipModel.model_validate(told | {"ecc": ecc})


def test_a_bit_in_512_bytes_of_a_small_page_is_what_the_kernel_does() -> None:
    own = with_ecc(strength=1, step=512)
    assert (own.ecc.step, own.kernel_ecc.step) == (512, 256)
    assert make_chip_module_parameters(own, 64, 0)["ecc_step"] == 256
    assert "256" in own.ecc_note
    assert chip("nandsim-small").ecc_note == ""
    assert chip("S34ML01G1").kernel_ecc == chip("S34ML01G1").ecc
    with pytest.raises(ValueError, match="has room for 5 to 6"):
        with_ecc(strength=4, step=512)
