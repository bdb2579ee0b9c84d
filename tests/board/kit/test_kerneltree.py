# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's tree is read whole or refused, and what is copied is what was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.treesmade import VERSION, write_small_tree

from nandlab.base.errors import UsageError
from nandlab.board.kit import kerneltree
from nandlab.board.kit.kerneltree import read_kernel_tree
from nandlab.catalog.arch import AMD64, ARMHF


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_small_tree(tmp_path / "linux")


def test_a_tree_has_what_a_build_reads(tree: Path) -> None:
    found = read_kernel_tree(tree, AMD64)
    assert found.version == VERSION
    assert sorted(found.files) == [
        "Documentation/Kconfig",
        "Kconfig",
        "Makefile",
        "arch/Kconfig",
        "arch/arm/crypto/Kconfig",
        "arch/x86/Makefile",
        "init/main.c",
        "scripts/Kconfig.include",
    ]
    assert "arch/arm/Makefile" in read_kernel_tree(tree, ARMHF).files


def test_programs_and_links_of_a_tree_are_told_from_texts(tree: Path) -> None:
    (tree / "scripts/run.sh").write_text("true\n")
    (tree / "scripts/run.sh").chmod(0o755)
    (tree / "scripts/link").symlink_to("/etc/passwd")
    found = read_kernel_tree(tree, AMD64)
    assert found.files["scripts/run.sh"].endswith("+")
    assert not found.files["init/main.c"].endswith("+")
    assert found.links == {"scripts/link": "/etc/passwd"}


def test_equal_trees_have_one_digest_wherever_they_lie(tree: Path, tmp_path: Path) -> None:
    digest = read_kernel_tree(tree, AMD64).sha256
    other = write_small_tree(tmp_path / "other")
    (other / "Documentation/more.rst").write_text("nothing that a build reads")
    assert read_kernel_tree(other, AMD64).sha256 == digest
    (other / "init/main.c").write_text("int main = 1;\n")
    changed = read_kernel_tree(other, AMD64).sha256
    (other / "init/main.c").chmod(0o755)
    assert len({digest, changed, read_kernel_tree(other, AMD64).sha256}) == 3


@pytest.mark.parametrize("edit", ["content", "mode", "gone", "new"])
def test_a_tree_that_changes_after_it_was_read_is_refused(edit: str, tree: Path) -> None:
    found = read_kernel_tree(tree, AMD64)
    found.refuse_changed()
    (tree / "Documentation/long.rst").write_text("read by no build")
    found.refuse_changed()
    path = tree / "init/main.c"
    if edit == "content":
        path.write_text("int edit;\n")
    elif edit == "mode":
        path.chmod(0o755)
    elif edit == "gone":
        path.unlink()
    else:
        path = tree / "init/new.c"
        path.write_text("")
    with pytest.raises(UsageError, match=path.name):
        found.refuse_changed()


@pytest.mark.parametrize("name", ["Makefile", "Kconfig", "init/main.c", "arch/x86/Makefile"])
def test_a_folder_that_is_no_kernels_tree_is_refused(name: str, tree: Path) -> None:
    (tree / name).unlink()
    with pytest.raises(UsageError, match=name):
        read_kernel_tree(tree, AMD64)


def test_a_tree_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        read_kernel_tree(tmp_path / "linux", AMD64)


@pytest.mark.parametrize("version", ["5.9.16", "4.19.300", "2.6.39"])
def test_a_tree_older_than_nandlabs_modules_is_refused(version: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"5\.10 or newer"):
        read_kernel_tree(write_small_tree(tmp_path / "old", version), AMD64)


def test_a_makefile_without_a_version_is_refused(tree: Path) -> None:
    (tree / "Makefile").write_text("all:\n")
    with pytest.raises(UsageError, match="version"):
        read_kernel_tree(tree, AMD64)


@pytest.mark.parametrize("built", [".config", "vmlinux", "include/generated"])
def test_a_tree_that_was_built_in_is_refused(built: str, tree: Path) -> None:
    (tree / built).parent.mkdir(exist_ok=True)
    (tree / built).mkdir()
    with pytest.raises(UsageError, match="mrproper"):
        read_kernel_tree(tree, AMD64)


def test_what_no_tree_has_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tree / "init/pipe")
    with pytest.raises(UsageError, match="pipe"):
        read_kernel_tree(tree, AMD64)
    (tree / "init/pipe").unlink()
    monkeypatch.setattr(kerneltree, "TREE_FILES_MAX", 3)
    with pytest.raises(UsageError, match="more than"):
        read_kernel_tree(tree, AMD64)
