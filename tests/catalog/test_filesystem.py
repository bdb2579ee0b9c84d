# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems of the catalog: their options, what these need, and what is refused and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG, ROOT
from nandlab.board.jobs.fake import FakeBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.runner import refuse_unsupported_kernel
from nandlab.trial.steps import make_trial_job

SHIPPED = sorted(path.stem for path in (CATALOG / "filesystems").glob("*.toml"))

MINIMAL: dict[str, Any] = {
    "name": "x",
    "summary": "x",
    "title": "X",
    "modules": ["x"],
    "format": ["mkfs.x {size} /dev/mtd{mtd}"],
    "mount": "mount -o {options} mtd{mtd} {mountpoint}",
    "unmount": ["umount {mountpoint}"],
    "settle": {"quiet_ms": 1, "limit_s": 1},
    "options": {
        "size": {
            "help": "Size.",
            "default": "small",
            "values": {
                "small": "",
                "big": {
                    "mount": "big",
                    "words": "-b",
                    "kernel": ["CONFIG_BIG", "!CONFIG_TINY"],
                    "chip_needs": [{"figure": "writesize", "min": 2048, "why": "it is big"}],
                },
                "huge": {"refused": "nobody made it"},
            },
        }
    },
    "chip_needs": [{"figure": "oobsize", "max": 64, "why": "more spills"}],
    "kernel": ["CONFIG_X"],
}
FIGURES = {"writesize": 512, "oobsize": 16}

STUDY = """
name = "small"
question = "Which?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark" }]
filesystems = [FILESYSTEMS]
chips = [{ part = "apf27", partition_mib = 8 }, { part = "nandsim-small", partition_mib = 8 }]
states = [{ name = "fresh" }]
seeds = [1]
"""


def model(**changes: Any) -> FilesystemModel:
    return FilesystemModel.model_validate({**MINIMAL, **changes})


def plan(folder: Path, filesystems: str) -> list[TrialSpec]:
    path = folder / "small.toml"
    path.write_text(STUDY.replace("FILESYSTEMS", filesystems))
    return study.plan_trials(study.read_study_file(path))


def test_a_value_adds_to_the_mount_and_to_the_commands() -> None:
    fs = model()
    big = fs.resolve_values({"size": "big"}, "here")
    words = fs.words(big, mtd="3", mountpoint="/m")
    assert fs.format[0].format(**words) == "mkfs.x -b /dev/mtd3"
    assert fs.mount.format(**words) == "mount -o rw,big mtd3 /m"
    small = fs.words(fs.resolve_values({}, "here"), mtd="3", mountpoint="/m")
    assert fs.mount.format(**small) == "mount -o rw mtd3 /m"


def test_what_a_value_needs_is_asked_only_with_it() -> None:
    fs = model()
    assert fs.list_hindrances({"size": "small"}, FIGURES) == []
    (big,) = fs.list_hindrances({"size": "big"}, FIGURES)
    assert big.split(": ") == [
        "size = 'big'",
        "writesize is 512, must be at least 2048",
        "it is big",
    ]
    (small,) = fs.list_hindrances({"size": "small"}, {**FIGURES, "oobsize": 65})
    assert small.split(": ") == ["oobsize is 65, must be at most 64", "more spills"]
    assert [need for need, _ in fs.kernel_needs({"size": "small"})] == ["CONFIG_X"]
    assert len(fs.kernel_needs({"size": "big"})) == 3


def test_what_only_an_image_can_have_is_refused_to_a_mount() -> None:
    ubifs = load_noun("filesystems", "ubifs", FilesystemModel)
    with pytest.raises(UsageError, match="image make --fs ubifs --set journal=1024"):
        ubifs.resolve_values({"journal": "1024"}, "here")
    assert ubifs.resolve_values({"journal": "1024"}, "here", from_image=True)["journal"] == "1024"


def test_a_refused_value_is_refused_with_its_reason() -> None:
    with pytest.raises(UsageError, match=r"here: x: size = 'huge' .*: nobody made it"):
        model().resolve_values({"size": "huge"}, "here")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mount": "mount {optins}"}, r"uses \['optins'\]"),
        ({"options": {"mtd": MINIMAL["options"]["size"]}, "format": []}, "cannot be named"),
        ({"chip_parameters": {"writesize": "512"}}, "chip_parameters"),
        ({"differs": {"speed": "It is slow."}}, "differs"),
        ({"options": {"size": {**MINIMAL["options"]["size"], "default": "none"}}}, "is none of"),
    ],
)
def test_a_bad_file_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model(**changes)


@pytest.mark.parametrize("name", catalog.list_noun_names("filesystems"))
def test_help_is_a_sentence(name: str) -> None:
    fs = catalog.load_noun("filesystems", name, FilesystemModel)
    for option in fs.options.values():
        helps = [option.help, *(v.help for v in option.values.values() if v.help)]
        assert all(re.fullmatch(r".+\.", text) for text in helps)


def test_a_file_system_is_put_on_the_chips_that_it_names(tmp_path: Path) -> None:
    specs = plan(tmp_path, '{ name = "jffs2" }, { name = "nftl-fat32", on = ["nandsim-small"] }')
    assert [(s.filesystem.name, s.chip.name) for s in specs] == [
        ("jffs2", "apf27"),
        ("jffs2", "nandsim-small"),
        ("nftl-fat32", "nandsim-small"),
    ]


@pytest.mark.parametrize(
    ("filesystems", "said"),
    [
        ('{ name = "nftl-fat32" }', "matrix.filesystems.0: nftl-fat32 cannot live on apf27: "),
        ('{ name = "nftl-fat32" }', "writesize is 2048, must be at most 512: NFTL keeps"),
        ('{ name = "jffs2", on = ["W25N01GV"] }', "on: no 'W25N01GV' among the matrix's chips"),
        ('{ name = "yaffs2", inband_tags = "on" }', "writesize is 512, must be at least 1024: "),
        ('{ name = "jffs2", compression = "rtime" }', "compression = 'rtime' cannot be: "),
    ],
)
def test_what_cannot_be_is_refused_at_plan_time(
    tmp_path: Path, filesystems: str, said: str
) -> None:
    with pytest.raises(UsageError) as error:
        plan(tmp_path, filesystems)
    assert said in str(error.value)


def test_nftl_takes_the_small_pages_of_the_catalog_and_no_others() -> None:
    fs = catalog.load_noun("filesystems", "nftl-fat32", FilesystemModel)
    chosen = fs.resolve_values({}, "here")
    fits = {
        name
        for name in catalog.list_noun_names("chips")
        if not fs.list_hindrances(chosen, catalog.load_noun("chips", name, ChipModel).figures(1024))
    }
    assert fits == {"nandsim-small", "nandsim-small-no-delays"}
    whole = catalog.load_noun("chips", "nandsim-small", ChipModel)
    assert "partition_mib" in fs.list_hindrances(chosen, whole.figures(whole.geometry.blocks))[0]


def test_the_chip_presents_itself_as_the_file_system_demands(tmp_path: Path) -> None:
    (spec,) = plan(tmp_path, '{ name = "nftl-fat32", on = ["nandsim-small"] }')
    assert " partition_name=DiskOnChip" in make_trial_job(spec).steps[0].command


def test_a_kernel_without_what_is_asked_is_refused_before_anything_runs(tmp_path: Path) -> None:
    specs = plan(tmp_path, '{ name = "jffs2", compression = "lzo", summary = "off" }')
    board = FakeBoard(kernel_config={"CONFIG_JFFS2_SUMMARY": "y", "CONFIG_JFFS2_LZO": "n"})
    with pytest.raises(UsageError) as error:
        refuse_unsupported_kernel(specs, board.kernel_config, "small")
    lacks, has = str(error.value).splitlines()
    assert lacks.startswith("small: JFFS2 with compression = 'lzo' ")
    assert "apf27 lacks CONFIG_JFFS2_LZO: --source jffs2=package,lzo=true " in lacks
    assert has.startswith("small: JFFS2 with summary = 'off' ")
    assert "apf27 has CONFIG_JFFS2_SUMMARY: --source jffs2=package,summary=false " in has
    refuse_unsupported_kernel(specs, {"CONFIG_JFFS2_LZO": "m"}, "small")


def test_a_part_that_a_kernel_lacks_can_be_built(tmp_path: Path) -> None:
    specs = plan(tmp_path, '{ name = "nftl-fat32", on = ["nandsim-small"] }')
    with pytest.raises(UsageError, match="lacks CONFIG_NFTL_RW: --source nftl=package "):
        refuse_unsupported_kernel(specs, {"LINUX": "6.1"}, "small")


def test_a_kernel_too_old_is_refused(tmp_path: Path) -> None:
    specs = plan(tmp_path, '{ name = "nftl-fat32", on = ["nandsim-small"] }')
    nftl = {"CONFIG_NFTL_RW": "y"}
    for fit in ("6.1", "6.12", "7.0"):
        refuse_unsupported_kernel(specs, {**nftl, "LINUX": fit}, "small")
    for old in ("5.10", "5.15", "6.0"):
        with pytest.raises(UsageError, match=rf"is Linux {old}, .*6.1 or newer"):
            refuse_unsupported_kernel(specs, {**nftl, "LINUX": old}, "small")


def test_an_option_left_alone_is_no_part_of_the_id(tmp_path: Path) -> None:
    spelt = plan(tmp_path, '{ name = "ubifs", writeback = "on" }')
    assert [s.id for s in spelt] == [s.id for s in plan(tmp_path, '{ name = "ubifs" }')]
    other = plan(tmp_path, '{ name = "ubifs", writeback = "off" }')
    assert spelt[0].id != other[0].id
    assert make_trial_job(other[0]).steps[3].command.endswith("-o rw,sync ubi0:data /mnt")


def test_advice_before_a_first_write_names_a_page_that_is_there() -> None:
    models = [load_noun("filesystems", name, FilesystemModel) for name in SHIPPED]
    advised = {m.name: m.first_write.source for m in models if m.first_write}
    assert set(advised) == {"jffs2"}
    assert all((ROOT / page).is_file() for page in advised.values())
