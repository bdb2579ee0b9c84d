# SPDX-License-Identifier: GPL-2.0-or-later
"""The board of media whose file systems name sources of the kernel's parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import CATALOG
from nandlab.board.kit.partsource import parse_source_words
from nandlab.board.virtual.partset import add_board_sources
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.part import KIND, PartModel
from nandlab.plan.mediaboard import (
    add_filesystem_sources,
    find_media_board,
    group_filesystems_by_kernel,
    list_used_parts,
)
from nandlab.plan.study import Study, plan_trials
from nandlab.plan.trialspec import TrialSpec

FASTMAP = '[source.ubi]\ntree = "package"\nfastmap = true\n'
UBIFS = '[source.ubifs]\ntree = "linux"\npatch = ["fix.diff"]\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with file systems of its own, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    for kind in ("filesystems", "boards"):
        (tmp_path / "catalog" / kind).mkdir(parents=True)
    return tmp_path


def describe(kind: str, old: str, new: str, source: str) -> None:
    """Writes a noun like a shipped one, with these sources."""
    text = (CATALOG / kind / f"{old}.toml").read_text().replace(f'"{old}"', f'"{new}"', 1)
    Path("catalog", kind, f"{new}.toml").write_text(f"{text}\n{source}")


def plan(*filesystems: str, board: str = "apf27") -> list[TrialSpec]:
    told: dict[str, Any] = {
        "name": "own",
        "question": "How fast?",
        "board": board,
        "matrix": {
            "workloads": [{"name": "mounts"}],
            "filesystems": [{"name": name} for name in filesystems],
            "chips": [{"part": "nandsim-small", "partition_mib": 8}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
    }
    return plan_trials(Study.model_validate(told), "here")


def test_without_a_source_the_board_is_as_its_file_has_it() -> None:
    specs = plan("jffs2", "ubifs")
    assert find_media_board(specs) is specs[0].virtual


def test_a_file_systems_sources_are_the_boards_with_paths_from_its_project(project: Path) -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP + UBIFS)
    specs = plan("mine", "jffs2")
    requests = add_board_sources(find_media_board(specs), {})
    assert requests["ubi"].options == {"fastmap": True}
    assert requests["ubi"].tree is None
    assert requests["ubifs"].tree == project / "linux"
    assert requests["ubifs"].patches == (project / "fix.diff",)
    assert specs[0].virtual.source == {}


def test_a_trials_id_is_not_moved_by_a_source() -> None:
    describe("filesystems", "ubifs", "mine", "")
    before = [spec.id for spec in plan("mine")]
    describe("filesystems", "ubifs", "mine", FASTMAP)
    assert [spec.id for spec in plan("mine")] == before


def test_the_users_source_takes_its_place() -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP)
    own = parse_source_words(["ubi=package,block=true"], "--source")
    found = add_board_sources(find_media_board(plan("mine", "ubifs"), own), own)
    assert found["ubi"].options == {"block": True}


@pytest.mark.parametrize(
    ("other", "source"), [("ubifs", None), ("yours", FASTMAP.replace("fastmap", "block"))]
)
def test_two_that_use_a_part_name_one_source_of_it(other: str, source: str | None) -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP)
    if source:
        describe("filesystems", "ubifs", other, source)
    with pytest.raises(UsageError, match=r"source\.ubi: .*\bone kernel"):
        find_media_board(plan("mine", other))


def test_two_with_the_same_source_are_run_together() -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP)
    describe("filesystems", "ubifs", "yours", FASTMAP)
    assert find_media_board(plan("mine", "yours")).source.keys() == {"ubi"}


def test_a_board_and_a_file_system_agree() -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP)
    describe("boards", "apf27", "same", FASTMAP)
    describe("boards", "apf27", "unlike", FASTMAP.replace("true", "false"))
    assert find_media_board(plan("mine", "ubifs", board="same")).source.keys() == {"ubi"}
    with pytest.raises(UsageError, match="board unlike"):
        find_media_board(plan("mine", board="unlike"))


def test_an_option_that_needs_a_part_is_refused_without_a_source_of_it() -> None:
    specs = plan("ubifs")
    on = [
        spec.model_copy(update={"options": {**spec.options, "encryption": "on"}}) for spec in specs
    ]
    with pytest.raises(UsageError, match="--source crypto=package"):
        find_media_board(on)
    own = parse_source_words(["crypto=package"], "--source")
    assert find_media_board(on, own) is on[0].virtual
    describe("boards", "apf27", "ciphers", "[source.crypto]\n")
    here = [
        spec.model_copy(update={"options": on[0].options})
        for spec in plan("ubifs", board="ciphers")
    ]
    assert find_media_board(here).source.keys() == {"crypto"}


@pytest.mark.parametrize(
    ("source", "mistake"),
    [("[source.ubo]\n", "no part 'ubo'"), ("[source.ubi]\nfastmop = true\n", "'fastmop'")],
)
def test_a_part_or_option_that_is_not_there_is_refused(source: str, mistake: str) -> None:
    describe("filesystems", "ubifs", "mine", source)
    with pytest.raises(UsageError, match=f"file system mine.*{mistake}"):
        find_media_board(plan("mine"))


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("ubifs", {"ubifs", "ubi", "mtd"}),
        ("jffs2", {"jffs2", "mtd"}),
        ("yaffs2", {"yaffs2", "mtd"}),
        ("nftl-fat32", {"nftl", "fat", "mtd"}),
        ("squashfs", {"ubi", "mtd"}),
    ],
)
def test_a_file_system_uses_the_parts_of_its_modules(name: str, uses: set[str]) -> None:
    parts = {each: load_noun(KIND, each, PartModel) for each in ("ubi", "ubifs", "jffs2", "mtd")}
    parts |= {each: load_noun(KIND, each, PartModel) for each in ("yaffs2", "nftl", "fat")}
    assert list_used_parts(load_noun("filesystems", name, FilesystemModel), parts) == uses


def test_a_source_of_another_part_moves_no_other_file_system() -> None:
    describe("filesystems", "jffs2", "mine", "[source.jffs2]\nsummary = false\n")
    model = load_noun("boards", "apf27", BoardModel)
    systems = [load_noun("filesystems", name, FilesystemModel) for name in ("mine", "ubifs")]
    assert add_filesystem_sources(model, systems).source["jffs2"].options == {"summary": False}


def test_file_systems_of_other_kernels_are_groups_of_their_own() -> None:
    describe("filesystems", "jffs2", "mine", "[source.jffs2]\nsummary = false\n")
    describe("filesystems", "jffs2", "yours", "[source.jffs2]\nsummary = true\n")
    model = load_noun("boards", "apf27", BoardModel)
    names = ("mine", "yours", "jffs2", "ubifs")
    systems = [load_noun("filesystems", name, FilesystemModel) for name in names]
    groups = group_filesystems_by_kernel(model, systems)
    assert [[system.name for system in group] for _, group in groups] == [
        ["mine", "ubifs"],
        ["yours"],
        ["jffs2"],
    ]
    options = [own.source["jffs2"].options for own, _ in groups[:2]]
    assert options == [{"summary": False}, {"summary": True}]
    assert groups[2][0] is model


def test_one_that_no_board_can_have_alone_is_refused() -> None:
    describe("filesystems", "ubifs", "mine", FASTMAP)
    describe("boards", "apf27", "unlike", FASTMAP.replace("true", "false"))
    mine = load_noun("filesystems", "mine", FilesystemModel)
    with pytest.raises(UsageError, match="board unlike"):
        group_filesystems_by_kernel(load_noun("boards", "unlike", BoardModel), [mine])
