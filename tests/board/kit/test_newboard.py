# SPDX-License-Identifier: GPL-2.0-or-later
"""A board that a command makes has its file, its lock and its kernel beside it, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import kernelmade
from support.kernelmade import RELEASE, VERSION
from typer.testing import CliRunner

from nandlab.base.digest import digest_file
from nandlab.base.errors import UsageError
from nandlab.board.kit import kit, needs, newboard, ownkernel, packages
from nandlab.board.kit.apt import Suite
from nandlab.board.kit.lock import FILE, format_package_lock, read_package_lock
from nandlab.board.kit.packagesets import KernelSet, KernelSourceSet, SuiteSet
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.noun import dump_noun_identity
from nandlab.cli.main import app

IMAGE = f"linux-image-{RELEASE}_{VERSION}_amd64.deb"
HEADERS = f"linux-headers-{RELEASE}_{VERSION}_amd64.deb"
SET = "kernel own amd64 ours"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, a cache of its own, and a kernel's packages in the folder built."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    kernelmade.write_kernel_packages(tmp_path / "built")
    return folder


def load(name: str) -> BoardModel:
    return load_noun("boards", name, BoardModel)


def make(tmp_path: Path, name: str = "ours") -> Path:
    new = newboard.make_packages_board(name, load("apf27"), tmp_path / "built")
    return newboard.write_new_board(new)


def test_a_board_is_like_another_in_all_but_its_kernel(tmp_path: Path, project: Path) -> None:
    assert make(tmp_path) == Path("catalog/boards/ours.toml")
    model, like = load("ours"), load("apf27")
    assert (model.kernel, model.own_kernel) == ("ours", True)
    for key in ("arch", "release", "machine", "cpu", "ram_mib", "icount_shift", "chip_store_mib"):
        assert getattr(model, key) == getattr(like, key)
    kept = project / "catalog/boards/ours.packages"
    assert sorted(p.name for p in kept.iterdir()) == [HEADERS, IMAGE]
    lock = read_package_lock(project / "catalog/boards/boards.lock")
    assert lock[SET][IMAGE] == digest_file(tmp_path / "built" / IMAGE)
    assert lock[SET][HEADERS] == digest_file(tmp_path / "built" / HEADERS)
    debian = kit.read_board_package_lock(like)["kernel bookworm amd64 amd64"]
    guest = {file: sha256 for file, sha256 in debian.items() if not file.startswith("linux-")}
    assert {f: s for f, s in lock[SET].items() if f not in (IMAGE, HEADERS)} == guest
    assert kit.make_kernel_package_set(model).name == SET
    assert {each.name for each in kit.list_board_package_sets(model)} <= set(lock)


def test_its_kernel_is_part_of_its_identity_and_of_no_other_boards(tmp_path: Path) -> None:
    make(tmp_path)
    assert dump_noun_identity(load("ours"))["own_kernel"] is True
    assert "own_kernel" not in dump_noun_identity(load("apf27"))
    assert isinstance(kit.make_kernel_package_set(load("apf27")), KernelSet)


def test_its_packages_are_taken_from_beside_it_when_the_cache_has_lost_them(
    tmp_path: Path, project: Path
) -> None:
    make(tmp_path)
    own = kit.make_kernel_package_set(load("ours"))
    files = {IMAGE: digest_file(tmp_path / "built" / IMAGE)}
    packages.make_cached_package_path(files[IMAGE]).unlink()
    packages.fetch_packages(own, files)
    assert packages.list_missing_packages(files) == []
    packages.make_cached_package_path(files[IMAGE]).unlink()
    with (project / "catalog/boards/ours.packages" / IMAGE).open("ab") as f:
        f.write(b"\n")
    with pytest.raises(UsageError, match="was changed or damaged"):
        packages.fetch_packages(own, files)


def test_no_update_moves_its_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    asked: list[str] = []

    def resolve(each: SuiteSet) -> dict[str, str]:
        asked.append(each.name)
        return {"a_1_amd64.deb": "0" * 64}

    monkeypatch.setattr(packages, "resolve_newest_packages", resolve)
    before = read_package_lock(Path("catalog/boards/boards.lock"))[SET]
    kit.update_package_locks({"ours": load("ours")})
    assert read_package_lock(Path("catalog/boards/boards.lock"))[SET] == before
    assert asked == ["tools bookworm amd64", "source bookworm u-boot"]


def test_an_update_looks_for_no_source_of_its_kernel(tmp_path: Path) -> None:
    make(tmp_path)
    sets = [each for each, _ in needs.list_needed_package_sets(load("ours"))]
    assert [each.name for each in sets if isinstance(each, KernelSourceSet)] == []
    shipped = [each for each, _ in needs.list_needed_package_sets(load("apf27"))]
    assert [each.name for each in shipped if isinstance(each, KernelSourceSet)] == [
        "source bookworm linux-source-6.1"
    ]


@pytest.mark.parametrize("name", ["apf27", "Ours", "a b", "../x", "-x", "", "x" * 41])
def test_a_name_that_a_board_cannot_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="board"):
        make(tmp_path, name)
    assert not Path("catalog").exists()


def test_a_board_is_not_made_twice(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(UsageError, match="there is one already"):
        make(tmp_path)
    Path("catalog/boards/ours.toml").unlink()
    with pytest.raises(UsageError, match=r"ours\.packages"):
        make(tmp_path)


def test_a_board_of_a_tree_has_the_kernel_that_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[object, ...]] = []

    def request(*words: object) -> None:
        given.append(words)

    monkeypatch.setattr(newboard, "make_kernel_request", request)
    monkeypatch.setattr(newboard, "fetch_locked_package_set", lambda *of: None)
    monkeypatch.setattr(newboard, "fetch_kernel_builders", lambda *of: None)
    monkeypatch.setattr(newboard, "require_root_entry", lambda root: None)
    built = ownkernel.find_kernel_packages(tmp_path / "built")
    monkeypatch.setattr(newboard, "build_kernel_packages", lambda *of: built)
    new = newboard.make_tree_board("ours", load("apf27"), tmp_path / "linux", ["kasan"])
    assert given == [(tmp_path / "linux", ["kasan"], "amd64")]
    assert new == newboard.make_packages_board("ours", load("apf27"), tmp_path / "built")
    assert sorted(new.kernel) == [HEADERS, IMAGE]


def test_a_kernel_of_another_architecture_than_the_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--like"):
        newboard.make_packages_board("ours", load("apf27-arm"), tmp_path / "built")


def test_nothing_is_left_of_a_board_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = newboard.make_packages_board("ours", load("apf27"), tmp_path / "built")

    def fail(files: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(newboard, "write_files_together", fail)
    with pytest.raises(OSError, match="disk full"):
        newboard.write_new_board(new)
    assert list(Path("catalog/boards").iterdir()) == []


def test_packages_that_another_command_has_written_meanwhile_stay(tmp_path: Path) -> None:
    new = newboard.make_packages_board("ours", load("apf27"), tmp_path / "built")
    kept = Path("catalog/boards/ours.packages")
    kept.mkdir(parents=True)
    (kept / IMAGE).write_text("another's")
    with pytest.raises(UsageError, match="meanwhile"):
        newboard.write_new_board(new)
    assert (kept / IMAGE).read_text() == "another's"


def test_a_boards_file_has_a_figure_that_is_0(tmp_path: Path) -> None:
    quick = BoardModel.model_validate({**load("apf27").model_dump(), "icount_shift": 0})
    newboard.write_new_board(newboard.make_packages_board("ours", quick, tmp_path / "built"))
    assert load("ours").icount_shift == 0


def test_a_release_s_board_like_one_of_ones_own_kernel_has_debian_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    monkeypatch.setattr(packages, "resolve_newest_packages", lambda each: {each.name: "0" * 64})
    monkeypatch.setattr(newboard, "fetch_locked_package_set", lambda *of: None)
    new = newboard.make_release_board("later", load("ours"), "trixie", "amd64")
    assert (new.model.own_kernel, new.model.kernel, new.model.release) == (False, "amd64", "trixie")
    assert isinstance(kit.make_kernel_package_set(new.model), KernelSet)


def test_a_release_s_board_has_the_newest_packages_but_for_the_project_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = {"x_2_amd64.deb": "1" * 64}
    monkeypatch.setattr(packages, "resolve_newest_packages", lambda each: newest)
    monkeypatch.setattr(newboard, "fetch_locked_package_set", lambda *of: None)
    new = newboard.make_release_board("later", load("apf27"), "bookworm", "amd64")
    assert all(files == newest for files in new.lock.values()), "the shipped lock is older"
    (name, *others) = new.lock
    newboard.BOARDS.mkdir(parents=True)
    kept = {"x_1_amd64.deb": "0" * 64}
    (newboard.BOARDS / FILE).write_text(format_package_lock({name: kept}))
    again = newboard.make_release_board("later", load("apf27"), "bookworm", "amd64")
    assert again.lock == {name: kept, **dict.fromkeys(others, newest)}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--packages", "x", "--release", "trixie"],
        ["--packages", "x", "--kernel", "rt-amd64"],
        ["--packages", "none"],
        ["--release", "no_release"],
        ["--packages", "../built", "--like", "none"],
        ["--packages", "../built", "--ram-mib", "3"],
    ],
)
def test_a_bad_request_is_refused_and_leaves_nothing(words: list[str]) -> None:
    done = CliRunner().invoke(app, ["board", "make", "ours", *words])
    code = getattr(done.exception, "exit_code", done.exit_code)
    assert code == 2, done.output
    assert not Path("catalog").exists()


class Archive:
    """A mirror whose kernel has its files in packages of their own, as from Debian 14 on."""

    def depends(self, package: str) -> list[str]:
        return {
            "linux-image-amd64": ["linux-base-amd64", "linux-image-7.2.1-amd64"],
            "linux-image-7.2.1-amd64": [
                *("linux-base", "initramfs-tools", "linux-base-7.2.1-amd64"),
                *("linux-binary-7.2.1-amd64", "linux-modules-7.2.1-amd64"),
            ],
            "linux-headers-7.2.1-amd64": ["linux-headers-7.2.1-common", "linux-kbuild-7.2.1"],
        }[package]

    def with_dependencies(self, names: list[str]) -> list[str]:
        return []

    def files(self, names: list[str]) -> dict[str, str]:
        return {f"{name}_1_amd64.deb": "0" * 64 for name in names}


def test_a_newer_releases_kernel_comes_with_the_packages_of_its_files() -> None:
    files = KernelSet(Suite("forky", "amd64"), "amd64").resolve(Archive())  # type: ignore[arg-type]
    assert sorted(file.partition("_")[0] for file in files) == [
        "linux-base-7.2.1-amd64",
        "linux-binary-7.2.1-amd64",
        "linux-headers-7.2.1-amd64",
        "linux-headers-7.2.1-common",
        "linux-image-7.2.1-amd64",
        "linux-kbuild-7.2.1",
        "linux-modules-7.2.1-amd64",
    ]
