# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems: what packages have, as they have it, the same bytes whoever unpacks them."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest
from support import treemade
from support.debmirror import Mirror
from support.treemade import BEGAN_S, entry

from nandlab.base.errors import UsageError
from nandlab.board.kit import lock, trees
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.tree import TreeContents, TreeModel, compile_glob
from nandlab.image import tree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, with a cache of its own, and no mirror."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NANDLAB_PACKAGES", str(tmp_path / "debs"))
    monkeypatch.setenv("APT_CONFIG", "/dev/null")
    return tmp_path


def unpacked(text: str = treemade.TREE, files: dict[str, str] | None = None) -> Path:
    treemade.project(Path(), text, files)
    model = load_noun("trees", "small", TreeModel)
    taken, moved = trees.fetch_tree_package_set(
        model, trees.read_locked_tree_packages(model), strictly=True
    )
    assert not moved
    return trees.prepare_tree_folder(model, taken)


def paths(top: Path) -> list[str]:
    return sorted(str(p.relative_to(top)) for p in top.rglob("*"))


def test_a_tree_is_what_its_packages_have_but_what_is_left_out(home: Path) -> None:
    top = unpacked(treemade.UNMERGED)
    assert paths(top) == [
        "bin", "bin/again", "bin/sh", "bin/tool", "dev", "etc", "etc/boot.list", "etc/conf",
        "etc/passwd", "usr", "usr/lib", "usr/lib/libx.so", "usr/lib/libx.so.1", "usr/share",
        "usr/share/doc", "usr/share/doc/one", "usr/share/doc/one/copyright", "usr/share/passwd",
    ]  # fmt: skip
    assert stat.S_IMODE((top / "bin/tool").stat().st_mode) == 0o4755
    assert stat.S_IMODE((top / "etc/conf").stat().st_mode) == 0o640
    assert (top / "bin/again").stat().st_ino == (top / "bin/tool").stat().st_ino
    assert os.readlink(top / "usr/lib/libx.so") == "/usr/lib/libx.so.1"  # noqa: PTH115
    assert os.readlink(top / "bin/sh") == "tool"  # noqa: PTH115
    assert (top / "etc/passwd").read_text() == "root:x:0:0\n"
    assert (top / "etc/boot.list").read_text() == "bin/tool\netc/conf\n"
    assert trees.count_tree_contents(top) == TreeContents(folders=8, files=7, links=2, bytes=49_053)


def test_times_are_the_packages_own_and_a_folder_s_the_latest_that_one_has(home: Path) -> None:
    top = unpacked(treemade.UNMERGED)
    assert (top / "bin/tool").stat().st_mtime == BEGAN_S + 1
    assert (top / "etc/conf").stat().st_mtime == BEGAN_S + 4
    assert (top / "usr/lib/libx.so").lstat().st_mtime == BEGAN_S + 3
    assert (top / "etc").stat().st_mtime == BEGAN_S + 5  # one has it at 3, two at 5
    assert stat.S_IMODE((top / "usr/share").stat().st_mode) == 0o775
    latest = BEGAN_S + 7  # what is left out has no say
    assert (top / "usr").stat().st_mtime == latest  # no package has it
    assert (top / "etc/boot.list").stat().st_mtime == latest
    assert top.stat().st_mtime == latest


def test_merged_its_top_folders_are_links(home: Path) -> None:
    top = unpacked(treemade.TREE.replace('"bin/sh"', '"usr/bin/sh"'))
    assert os.readlink(top / "bin") == "usr/bin"  # noqa: PTH115
    assert os.readlink(top / "lib") == "usr/lib"  # noqa: PTH115
    assert not (top / "sbin").is_symlink()
    assert (top / "bin/sh").read_bytes() == (top / "usr/bin/tool").read_bytes()


def test_it_is_the_same_each_time_and_needs_no_packages_again(home: Path) -> None:
    def digest(top: Path) -> str:
        return tree.hash_checksummed_tree(
            tree.add_file_checksums(tree.set_owner_to_root(tree.scan_folder_tree(top)), top)
        )

    top = unpacked(treemade.UNMERGED)
    model = load_noun("trees", "small", TreeModel)
    trees.unpack_tree_packages(model, trees.read_locked_tree_packages(model), home / "again")
    assert digest(home / "again") == digest(top)
    for sha256 in trees.read_locked_tree_packages(model).values():
        make_cached_package_path(sha256).unlink()
    assert trees.prepare_tree_folder(model, trees.read_locked_tree_packages(model)) == top


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"bin/sh"', '"etc/conf"', "etc/conf: a package has it already"),
        ("usr/share/passwd", "usr/share/nothing", "copies: usr/share/nothing: no such file"),
        ('"**/*.a"', '"bin/tool"', "bin/again is a hard link to what is left out"),
        ("[links]", "[holds]\nfolders = 1\nfiles = 1\nlinks = 0\nbytes = 1\n[links]", "mend"),
    ],
)
def test_what_does_not_fit_its_packages_is_told(home: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        unpacked(treemade.UNMERGED.replace(old, new, 1))
    assert not list((home / "cache" / "trees").glob(".part-*"))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry("etc", b"no folder")], "etc is a folder in one package and not in another"),
        ([entry("../out", b"x")], "leads out of the root"),
        (
            [entry("x", type=tarfile.SYMTYPE, linkname="/"), entry("x/out", b"x")],
            "x/out leads out of the tree by a link",
        ),
    ],
)
def test_packages_that_cannot_be_one_tree_are_told(
    home: Path, entries: list[tuple[tarfile.TarInfo, bytes]], said: str
) -> None:
    files = treemade.packages(home / "debs")
    two = treemade.package(home / "debs/two_2_amd64.deb", *entries)
    with pytest.raises(UsageError, match=said):
        unpacked(treemade.UNMERGED, {**files, "two_2_amd64.deb": two})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"one", "two"', '"one", "one"', "packages: more than once: one"),
        ('"one", "two"', "", "packages"),
        ('"bin/sh"', '"../sh"', "leads out of the tree"),
        ('"bin/sh"', '"/bin/sh"', "links"),
        ("leave_out", "leave", "leave: there is no such key"),
    ],
)
def test_a_tree_s_file_is_checked_with_its_place(home: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=rf"small\.toml.*{said}"):
        unpacked(treemade.TREE.replace(old, new, 1))


def test_a_tree_that_is_not_locked_or_otherwise_is_told_with_what_to_do(home: Path) -> None:
    treemade.project(home)
    model = load_noun("trees", "small", TreeModel)
    with pytest.raises(UsageError, match=r"the run's packages .*: `bench/rootfs"):
        trees.read_locked_tree_packages(model, {})
    (home / "catalog/trees/trees.lock").unlink()
    with pytest.raises(UsageError, match=r"trees\.lock has no set .*: `bench/rootfs small --u"):
        trees.read_locked_tree_packages(model)
    files = treemade.packages(home / "debs")
    treemade.project(home, treemade.TREE.replace('"one", "two"', '"one", "two", "six"'), files)
    with pytest.raises(UsageError, match="does not have the package six"):
        trees.read_locked_tree_packages(load_noun("trees", "small", TreeModel))


def test_packages_that_are_nowhere_are_told(home: Path) -> None:
    files = treemade.project(home)
    (home / "debs/two_2_amd64.deb").unlink()
    model = load_noun("trees", "small", TreeModel)
    with pytest.raises(UsageError, match="packages are not to be had"):
        trees.fetch_tree_package_set(model, files, strictly=True)


def test_a_mirror_that_moved_on_gives_another_tree_and_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = Mirror(home / "mirror")
    monkeypatch.setenv("APT_CONFIG", str(mirror.folder / "apt.conf"))
    treemade.project(home)
    monkeypatch.delenv("NANDLAB_PACKAGES")
    mirror.has(("one", "1", ""), ("two", "2", ""))
    assert trees.update_tree_lock("small") == [
        "one_1_amd64.deb: other content",
        "two_2_amd64.deb: other content",
    ]
    model = load_noun("trees", "small", TreeModel)
    first = trees.read_locked_tree_packages(model)
    assert trees.update_tree_lock("small") == []
    mirror.has(("one", "1", ""), ("two", "3", ""))
    taken, moved = trees.fetch_tree_package_set(model, first, strictly=False)
    assert moved == ["tree bookworm amd64 small: two: 2 -> 3"]
    assert "not the locked tree" in capsys.readouterr().err
    assert trees.digest_tree_inputs(model, taken) != trees.digest_tree_inputs(model, first)
    with pytest.raises(UsageError, match="packages are not to be had"):
        trees.fetch_tree_package_set(model, first, strictly=True)
    assert trees.update_tree_lock("small") == ["two: 2 -> 3"]
    assert (
        lock.read_package_lock(trees.make_tree_lock_path("small"))["tree bookworm amd64 small"]
        == taken
    )


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("usr/*.a", "usr/x.a", "usr/lib/x.a"),
        ("usr/**/x", "usr/a/b/x", "usr/x"),
        ("a?", "ab", "abc"),
        ("a.b+", "a.b+", "axbb"),
    ],
)
def test_patterns(glob: str, yes: str, no: str) -> None:
    assert compile_glob(glob).fullmatch(yes)
    assert not compile_glob(glob).fullmatch(no)


@pytest.mark.parametrize("name", list_noun_names("trees"))
def test_shipped_trees_are_locked_and_tell_what_they_hold(name: str) -> None:
    model = load_noun("trees", name, TreeModel)
    assert model.holds is not None
    assert {file.partition("_")[0] for file in trees.read_locked_tree_packages(model)} == set(
        model.packages
    )
    listed = model.texts["etc/boot.list"].split()
    assert len(listed) == len(set(listed)) > 50
    assert all(model.has(path) for path in listed)


def test_the_2012_tree_has_the_study_s_three_figures() -> None:
    holds = load_noun("trees", "rootfs-2012", TreeModel).holds
    assert holds is not None
    assert (holds.folders, holds.files) == (213, 1122)
    assert 12.5 <= holds.bytes / holds.files / 1024 < 13.5
