# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program is built from beside its folder: locked apart, in no board's identity."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from support.debmirror import Mirror

from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.kit import kit, lock, needs, packages
from nandlab.board.kit.apt import Suite
from nandlab.board.kit.packagesets import KernelSourceSet, LibrarySet, SourceSet
from nandlab.catalog import files
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

SUITE = Suite("bookworm", "amd64")
SET = "library bookworm amd64 libx-dev"


def program(home: Path, text: str = 'packages = ["libx-dev"]\nlink = ["-lx"]\n') -> Path:
    folder = home / "programs" / "mine"
    folder.mkdir(parents=True)
    (folder / needs.FILE).write_text(text)
    return folder


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """The only mirror that this machine's apt has; it has one library."""
    made = Mirror(tmp_path / "mirror")
    monkeypatch.setenv("APT_CONFIG", str(made.folder / "apt.conf"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    made.has(("libx-dev", "1", "libc6-dev"), ("libc6-dev", "2", ""))
    return made


@pytest.fixture
def model() -> BoardModel:
    return load_noun("boards", "apf27", BoardModel)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("link = []", "it names neither packages nor a source"),
        ('package = ["a"]', "package: there is no such key here"),
        ('[source]\npackage = "sqlite3"\nfiles = []', "source.files"),
        ('[source]\npackage = "No Package"\nfiles = ["a.c"]', "source.package"),
        ("packages =", "not TOML"),
    ],
)
def test_a_needs_file_is_checked_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    folder = program(tmp_path, text)
    with pytest.raises(UsageError, match=r"needs\.toml.*" + said):
        needs.read_program_needs(folder)


def test_a_program_without_the_file_needs_nothing(tmp_path: Path, model: BoardModel) -> None:
    assert needs.read_program_needs(tmp_path) is None
    assert needs.fetch_program_needs(model, tmp_path).lock == {}
    assert needs.unpack_build_material(tmp_path, model, {}) is None


def test_a_project_s_program_is_locked_in_the_project_with_what_it_names_alone(
    mirror: Mirror, model: BoardModel, tmp_path: Path
) -> None:
    shipped = (kit.SHIPPED_BOARDS / lock.FILE).read_bytes()
    brought = needs.fetch_program_needs(model, program(tmp_path))
    own = lock.read_package_lock(tmp_path / "catalog/boards/boards.lock")
    assert brought.lock == own
    assert {name: list(files) for name, files in own.items()} == {SET: ["libx-dev_1_amd64.deb"]}
    assert packages.list_missing_packages(own[SET]) == []
    assert (kit.SHIPPED_BOARDS / lock.FILE).read_bytes() == shipped


def test_a_mirror_that_moved_on_is_told_and_refused_where_the_lock_must_hold(
    mirror: Mirror, model: BoardModel, tmp_path: Path
) -> None:
    folder = program(tmp_path)
    first = needs.fetch_program_needs(model, folder)
    mirror.has(("libx-dev", "3", ""))
    packages.make_cached_package_path(first.lock[SET]["libx-dev_1_amd64.deb"]).unlink()
    assert needs.fetch_program_needs(model, folder).lock_differences == (
        f"{SET}: libx-dev: 1 -> 3",
    )
    with pytest.raises(UsageError, match="packages are not to be had"):
        needs.fetch_program_needs(model, folder, locked=True)
    with pytest.raises(UsageError, match="packages are not to be had"):
        needs.fetch_program_needs(model, folder, lock=first.lock)


def test_a_run_s_lock_without_the_set_is_refused(
    mirror: Mirror, model: BoardModel, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"no lock has '{SET}'"):
        needs.fetch_program_needs(model, program(tmp_path), lock={})


def test_files_of_a_source_are_taken_and_a_lacking_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: BoardModel
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x-1" / "test").mkdir(parents=True)
    (tmp_path / "x-1" / "test" / "speed.c").write_text("int main(void) { return 0; }\n")
    archive = tmp_path / "x_1.orig.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tmp_path / "x-1", "x-1")
    sha256 = "0" * 64
    packages.make_cached_package_path(sha256).parent.mkdir(parents=True)
    archive.rename(packages.make_cached_package_path(sha256))
    known = {"source bookworm x1": {"x_1.orig.tar.xz": sha256}}
    text = '[source]\npackage = "x1"\nfiles = ["test/{}.c"]\n'
    made = needs.unpack_build_material(program(tmp_path, text.format("speed")), model, known)
    assert made is not None and made.foreign is not None
    assert [p.name for p in made.foreign.iterdir()] == ["speed.c"]
    with pytest.raises(UsageError, match=r"x_1\.orig\.tar\.xz has no test/slow\.c"):
        needs.unpack_build_material(program(tmp_path / "b", text.format("slow")), model, known)


def test_sqlite_is_locked_as_library_and_source_of_one_version() -> None:
    for name in ("sqlbench", "speedtest1"):
        found = needs.read_program_needs(DEVICE / "programs" / name)
        assert found is not None
        for each in found.list_package_sets(SUITE):
            assert each.name in lock.read_package_lock(kit.SHIPPED_BOARDS / lock.FILE)
    shipped = lock.read_package_lock(kit.SHIPPED_BOARDS / lock.FILE)
    library = shipped[LibrarySet(SUITE, ("libsqlite3-dev",)).name]
    source = shipped[SourceSet(SUITE, "sqlite3").name]
    version = next(iter(library)).split("_")[1]
    assert f"sqlite3_{version}.dsc" in source


def test_no_board_is_made_of_what_programs_need(model: BoardModel) -> None:
    needed = [each for each, _ in needs.list_needed_package_sets(model)]
    sources = [each.name for each in needed if isinstance(each, KernelSourceSet)]
    builders = kit.make_kernel_build_set(model).name
    placed = {each.name for each in needed} - {*sources, builders}
    assert len(sources) == 1, "the kernel's"
    assert len(placed) == 3, "a library, a source, and the makers of read-only images"
    boards_own = {each.name for each in kit.list_board_package_sets(model)}
    assert boards_own.isdisjoint({*placed, *sources, builders})
    assert {each.name for each, _ in needs.list_locked_package_sets(model)} == placed


def test_a_board_beside_a_study_in_another_folder_has_its_lock_there(tmp_path: Path) -> None:
    boards = tmp_path / "catalog" / "boards"
    boards.mkdir(parents=True)
    text = (
        (kit.SHIPPED_BOARDS / "apf27.toml").read_text().replace('name = "apf27"', 'name = "mine"')
    )
    (boards / "mine.toml").write_text(text)
    with files.use_project_beside_study(tmp_path):
        mine = files.load_noun("boards", "mine", BoardModel)
    assert kit.make_board_lock_path(mine) == boards / "boards.lock"
