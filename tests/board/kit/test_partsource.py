# SPDX-License-Identifier: GPL-2.0-or-later
"""Which source a part is built from: the words, the catalog's table, the files, the refusals."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from nandlab.base.errors import UsageError
from nandlab.board.kit.kernelsource import make_kernel_source_set, unpack_kernel_source
from nandlab.board.kit.partsource import (
    PART_FILES_MAX,
    SourceRequest,
    add_patches,
    make_source_requests,
    parse_source_words,
    read_part_files,
    read_tree_version,
    refuse_absent_trees,
)
from nandlab.catalog.board import UNSIMULATED_KEYS, BoardModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.noun import dump_noun_identity
from nandlab.catalog.part import KIND, PartModel, PartSource
from nandlab.results.sources import list_source_words

PARTS = {"crypto", "fat", "jffs2", "mtd", "nftl", "spinand", "ubi", "ubifs", "yaffs2"}


def part(name: str) -> PartModel:
    return load_noun(KIND, name, PartModel)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel's tree with what UBIFS's folder is known by."""
    for name, text in {
        "fs/ubifs/ubifs.h": "one\n",
        "fs/ubifs/gc.c": "two\n",
        "fs/ubifs/Makefile": "obj-m += ubifs.o\n",
        "fs/ubifs/notes.txt": "not taken\n",
        "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 95\n",
    }.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    return tmp_path / "tree"


def test_the_shipped_parts_name_each_other_and_no_module_twice() -> None:
    assert set(list_noun_names(KIND)) == PARTS
    modules = [name for each in PARTS for name in part(each).modules]
    assert len(modules) == len(set(modules))
    assert {other for each in PARTS for other in part(each).after} <= PARTS


def test_words_are_a_tree_and_its_options(tree: Path) -> None:
    words = ["ubi=package,fastmap=true,block=false", f"ubifs={tree}", "jffs2=/a,b=c/d"]
    found = parse_source_words(words, "--source")
    assert found["ubi"] == SourceRequest(part("ubi"), None, {"fastmap": True, "block": False})
    assert found["ubifs"] == SourceRequest(part("ubifs"), tree)
    assert found["jffs2"].tree == Path("/a,b=c/d")


@pytest.mark.parametrize(
    "words",
    [
        ["ubifs"],
        ["ubifs="],
        ["=package"],
        ["ubi=,fastmap=true"],
        ["ubfs=package"],
        ["ubifs=package", "ubifs=package"],
        ["ubi=package,fastmap=yes"],
        ["ubi=package,fast=true"],
        ["ubi=package,fastmap=1"],
        ["ubi=package,wl_threshold=true"],
        ["ubi=package,wl_threshold=1"],
        ["ubi=package,wl_threshold=65537"],
        ["fat=package,fastmap=true"],
    ],
)
def test_wrong_words_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--source"):
        parse_source_words(words, "--source")


def test_options_set_symbols_and_leave_others_as_the_kernel_has_them() -> None:
    assert part("ubi").settings({}) == {}
    assert part("ubi").settings({"fastmap": True}) == {"CONFIG_MTD_UBI_FASTMAP": "y"}
    assert part("jffs2").settings({"summary": False}) == {"CONFIG_JFFS2_SUMMARY": "n"}
    assert part("ubi").settings({"wl_threshold": 2}) == {"CONFIG_MTD_UBI_WL_THRESHOLD": "2"}
    assert part("nftl").settings({}) == {"CONFIG_NFTL": "m", "CONFIG_NFTL_RW": "y"}


def test_a_board_names_sources_from_its_own_folder(tmp_path: Path) -> None:
    told = {"tree": "linux", "patch": ["fix.diff"], "summary": False}
    found = make_source_requests({"jffs2": PartSource.model_validate(told)}, tmp_path, "board x")
    assert found == {
        "jffs2": SourceRequest(
            part("jffs2"), tmp_path / "linux", {"summary": False}, (tmp_path / "fix.diff",)
        )
    }
    with pytest.raises(UsageError, match=r"board x: source\.jffs2"):
        make_source_requests({"jffs2": PartSource(fastmap=True)}, tmp_path, "board x")  # type: ignore[call-arg]


@pytest.mark.parametrize("told", [{"summary": 1}, {"summary": 0}])
def test_a_number_is_no_truth_value(told: dict[str, int], tmp_path: Path) -> None:
    source = PartSource.model_validate(told)
    with pytest.raises(UsageError, match=r"source\.jffs2: summary is true or false, not [01]$"):
        make_source_requests({"jffs2": source}, tmp_path, "board x")


def test_an_option_takes_a_number_within_its_bounds() -> None:
    for number in (2, 65536):
        found = parse_source_words([f"ubi=package,wl_threshold={number}"], "--source")
        assert found["ubi"].options == {"wl_threshold": number}
        told = {"sources": {"ubi": found["ubi"].identity()}}
        assert list_source_words(told) == [f"ubi=package,wl_threshold={number}"]


@pytest.mark.parametrize(
    "told", [{"summary": "yes"}, {"summary": 1.5}, {"tree": ""}, {"tree": " "}]
)
def test_a_wrong_source_of_a_catalog_file_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PartSource.model_validate(told)


def test_a_board_without_sources_has_the_identity_that_it_had() -> None:
    board = load_noun("boards", "apf27", BoardModel)
    other = BoardModel.model_validate({**board.model_dump(), "source": {"ubi": {"fastmap": True}}})
    assert other.source["ubi"].options == {"fastmap": True}
    assert "source" not in dump_noun_identity(board)
    kept = dump_noun_identity(other, *UNSIMULATED_KEYS)
    assert kept == dump_noun_identity(board, *UNSIMULATED_KEYS)


def test_a_tree_or_the_parts_folder_of_one_gives_the_same_files(tree: Path) -> None:
    whole = read_part_files(SourceRequest(part("ubifs"), tree), None, "")
    alone = read_part_files(SourceRequest(part("ubifs"), tree / "fs/ubifs"), None, "")
    assert set(whole.content) == {f"fs/ubifs/{n}" for n in ("ubifs.h", "gc.c", "Makefile")}
    assert whole.sha256 == alone.sha256
    assert read_tree_version(tree) == "6.12.95"
    assert read_tree_version(tree / "fs/ubifs") is None


def make_patch(path: Path, file: str, was: str = "two", now: str = "zwei") -> Path:
    path.write_text(f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{was}\n+{now}\n")
    return path


def test_a_patch_is_of_the_parts_whose_files_it_changes(tree: Path, tmp_path: Path) -> None:
    fix = make_patch(tmp_path / "fix.diff", "fs/ubifs/gc.c")
    assert add_patches({}, [fix], "--patch") == {
        "ubifs": SourceRequest(part("ubifs"), None, {}, (fix,))
    }
    mine = parse_source_words([f"ubifs={tree}"], "--source")
    request = add_patches(mine, [fix], "--patch")["ubifs"]
    files = read_part_files(request, None, "")
    assert files.content["fs/ubifs/gc.c"] == b"zwei\n"
    assert (tree / "fs/ubifs/gc.c").read_text() == "two\n"
    assert files.sha256 != read_part_files(mine["ubifs"], None, "").sha256


def test_no_source_is_of_two_parts(tmp_path: Path) -> None:
    for name, file in {"nftl": "nftlcore.c", "mtd": "mtdcore.c", "ubi": "ubi/wl.c"}.items():
        fix = make_patch(tmp_path / f"{name}.diff", f"drivers/mtd/{file}")
        assert list(add_patches({}, [fix], "--patch")) == [name]


@pytest.mark.parametrize("file", ["mm/slab.c", "fs/ubifs/sub/gc.c", "include/linux/mtd/mtd.h"])
def test_a_patch_of_no_part_is_refused(tmp_path: Path, file: str) -> None:
    with pytest.raises(UsageError, match="of no part"):
        add_patches({}, [make_patch(tmp_path / "fix.diff", file)], "--patch")


def test_trees_that_are_not_there_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match=str(path)):
            refuse_absent_trees(parse_source_words([f"ubifs={path}"], "--source"), "--source")


def test_the_mark_that_a_tree_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "drivers/mtd").mkdir(parents=True)
    (tmp_path / "drivers/mtd/mtdcore.c").touch()
    with pytest.raises(UsageError, match=r"mtd: drivers/mtd/nand/core\.c is not there"):
        read_part_files(SourceRequest(part("mtd"), tmp_path), None, "")


def test_a_header_that_is_a_link_out_of_a_tree_is_refused(tmp_path: Path) -> None:
    tree, header = tmp_path / "tree", "include/linux/mtd/ubi.h"
    for name in ("drivers/mtd/ubi/ubi.h", header):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("1")
    request = SourceRequest(part("ubi"), tree)
    assert read_part_files(request, None, "").content[header] == b"1"
    (tree / header).unlink()
    (tmp_path / "secret").write_text("secret")
    (tree / header).symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"ubi\.h"):
        read_part_files(request, None, "")


def test_links_out_of_a_tree_pipes_and_crowds_are_refused(tree: Path, tmp_path: Path) -> None:
    request = SourceRequest(part("ubifs"), tree)
    folder = tree / "fs/ubifs"
    (folder / "inside.c").symlink_to("gc.c")
    assert read_part_files(request, None, "").content["fs/ubifs/inside.c"] == b"two\n"
    (tmp_path / "secret.c").write_text("secret")
    (folder / "out.c").symlink_to(tmp_path / "secret.c")
    with pytest.raises(UsageError, match=r"out\.c"):
        read_part_files(request, None, "")
    (folder / "out.c").unlink()
    (folder / "loop.c").symlink_to("loop.c")
    with pytest.raises(UsageError, match=r"loop\.c"):
        read_part_files(request, None, "")
    (folder / "loop.c").unlink()
    os.mkfifo(folder / "pipe.c")
    with pytest.raises(UsageError, match=r"pipe\.c"):
        read_part_files(request, None, "")
    (folder / "pipe.c").unlink()
    with (folder / "large.c").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match=r"large\.c"):
        read_part_files(request, None, "")
    (folder / "large.c").unlink()
    for number in range(PART_FILES_MAX):
        (folder / f"{number}.c").touch()
    with pytest.raises(UsageError, match="limit"):
        read_part_files(request, None, "")


KERNEL = {"linux-image-6.12.95+deb12-amd64_6.12.95-1~bpo12+1_amd64.deb": "0" * 64}


def test_the_locked_source_is_of_the_kernels_version() -> None:
    board = load_noun("boards", "apf27-6.12", BoardModel)
    assert (
        make_kernel_source_set(board, KERNEL).name == "source bookworm-backports linux-source-6.12"
    )
    other = {"linux-source-6.12_6.12.94-1_all.deb": "0" * 64}
    with pytest.raises(UsageError, match=r"board update apf27-6\.12"):
        unpack_kernel_source(board, KERNEL, other)


def test_a_kernels_package_of_an_odd_name_is_no_traceback() -> None:
    """A board file from elsewhere may have it: one more underscore."""
    board = load_noun("boards", "apf27", BoardModel)
    files = {"linux-image-6.1.0-50-amd64_6.1.1_2_amd64.deb": "0" * 64}
    assert make_kernel_source_set(board, files).version == "6.1"
