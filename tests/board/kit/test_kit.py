# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a board's packages come from, and what is said when they are not to be had."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.debmirror import Mirror
from support.fitting import fits

from nandlab.base.errors import UsageError
from nandlab.board.kit import boardfile, exchange, kit, lock, packages, packagesets
from nandlab.board.kit.kit import Kit
from nandlab.board.kit.lock import Files
from nandlab.board.kit.root import prepare_package_root
from nandlab.catalog.arch import AMD64, HOST_ARCH
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

OLD = ("linux-image-6.1.0-1-amd64", "6.1.1-1", "")
NEW = ("linux-image-6.1.0-2-amd64", "6.1.2-1", "")


def with_kernel(mirror: Mirror, image: tuple[str, str, str]) -> Files:
    """The mirror now has this kernel and all that a board asks for, and nothing else."""
    release = image[0].removeprefix("linux-image-")
    return mirror.has(
        image,
        ("linux-image-amd64", image[1], image[0]),
        (f"linux-headers-{release}", image[1], f"linux-kbuild-6.1, linux-headers-{release}-all"),
        (f"linux-headers-{release}-all", image[1], ""),
        ("linux-kbuild-6.1", image[1], ""),
        ("busybox-static", "1:1.35", ""),
        ("tool", "1", "library"),
        ("library", "2", ""),
    )


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """The only mirror that this machine's apt has."""
    made = Mirror(tmp_path / "mirror")
    monkeypatch.setenv("APT_CONFIG", str(made.folder / "apt.conf"))
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture
def model(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BoardModel:
    """A project's own board, on a mirror that has the old kernel."""
    with_kernel(mirror, OLD)
    monkeypatch.setattr(packagesets, "ARCHS", {HOST_ARCH: replace(AMD64, tools=("tool",))})
    monkeypatch.setattr(packagesets, "TOOLS", ())
    monkeypatch.setattr(packagesets, "GUEST", ("busybox-static",))
    monkeypatch.setattr(kit, "require_root_entry", lambda tools: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "catalog" / "boards").mkdir(parents=True)
    text = (kit.SHIPPED_BOARDS / "apf27.toml").read_text().replace('"apf27"', '"mine"')
    (tmp_path / "catalog/boards/mine.toml").write_text(text)
    monkeypatch.setattr(kit, "SHIPPED_BOARDS", tmp_path / "none")
    return load_noun("boards", "mine", BoardModel)


def made(model: BoardModel, *, locked: bool = False, given: lock.Lock | None = None) -> Kit:
    return kit.fetch_board_kit(model, locked=locked, lock=given, yaffs2=False)


def moved_on(mirror: Mirror, tmp_path: Path) -> None:
    """The mirror has the new kernel only, and the cache has nothing."""
    with_kernel(mirror, NEW)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


def test_a_board_of_one_s_own_gets_its_lock_beside_its_file(
    model: BoardModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = made(model)
    path = tmp_path / "catalog/boards/boards.lock"
    assert lock.read_package_lock(path) == found.lock
    assert "boards.lock: locked kernel bookworm amd64 amd64" in capsys.readouterr().err
    assert found.lock_differences == ()
    assert found.kernel.release == "6.1.0-1-amd64"
    assert set(found.lock["tools bookworm amd64"]) == {"tool_1_amd64.deb", "library_2_amd64.deb"}
    assert made(model) == found


def test_locked_without_a_lock_is_refused(model: BoardModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has 'tools .*`nandlab board update mine`"):
        made(model, locked=True)
    assert not (tmp_path / "catalog/boards/boards.lock").exists()


def test_the_locked_packages_come_from_the_cache_when_the_mirror_has_moved_on(
    model: BoardModel, mirror: Mirror
) -> None:
    before = made(model)
    with_kernel(mirror, NEW)
    assert made(model, locked=True) == before


def test_a_mirror_that_moved_on_gives_its_newest_and_every_result_will_say_so(
    model: BoardModel, mirror: Mirror, tmp_path: Path
) -> None:
    before = made(model)
    moved_on(mirror, tmp_path)
    found = made(model)
    assert found.kernel.release == "6.1.0-2-amd64"
    assert (
        "kernel bookworm amd64 amd64: linux-image-amd64: 6.1.1-1 -> 6.1.2-1"
        in found.lock_differences
    )
    assert lock.read_package_lock(tmp_path / "catalog/boards/boards.lock") == before.lock
    assert made(model) == found  # and stays the same


@pytest.mark.parametrize("how", ["locked", "given"])
def test_strictly_nothing_else_is_taken(
    model: BoardModel, mirror: Mirror, tmp_path: Path, how: str
) -> None:
    before = made(model)
    moved_on(mirror, tmp_path)
    with pytest.raises(UsageError, match=r"packages are not to be had: kernel") as told:
        made(model, locked=how == "locked", given=before.lock if how == "given" else None)
    assert "nandlab board import" in str(told.value)
    assert "\n" not in str(told.value)
    assert list((tmp_path / "cache" / "archive").glob(".part*")) == []


def test_an_update_makes_a_new_lock_and_tells_what_changed(
    model: BoardModel, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        kit, "YAFFS2_SOURCE", kit.make_tool_package_set(model)
    )  # the mirror has no sources
    made(model)
    with_kernel(mirror, NEW)
    ((path, lines),) = kit.update_package_locks({"mine": model}).items()
    assert path == tmp_path / "catalog/boards/boards.lock"
    assert "kernel bookworm amd64 amd64: linux-image-amd64: 6.1.1-1 -> 6.1.2-1" in lines
    assert made(model, locked=True).kernel.release == "6.1.0-2-amd64"
    assert kit.update_package_locks({"mine": model}) == {path: []}


@pytest.mark.parametrize("kind", ["folder", "board file"])
def test_what_the_user_names_comes_before_the_mirror(
    model: BoardModel, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    before = made(model)
    there = tmp_path / "usb stick"
    if kind == "folder":
        shutil.copytree(mirror.folder / "pool", there / "deep")
    else:
        monkeypatch.setattr(kit, "YAFFS2_SOURCE", kit.make_tool_package_set(model))
        exchange.export_board_file(model, there)
    moved_on(mirror, tmp_path)
    monkeypatch.setenv(packages.PACKAGES_VARIABLE, str(there))
    found = made(model, locked=True)
    assert (found.lock, found.kernel) == (before.lock, before.kernel)


def test_a_tampered_package_is_not_taken(
    model: BoardModel, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(model)
    there = shutil.copytree(mirror.folder / "pool", tmp_path / "there")
    with (there / "library_2_amd64.deb").open("ab") as f:
        f.write(b"x")
    moved_on(mirror, tmp_path)
    monkeypatch.setenv(packages.PACKAGES_VARIABLE, str(there))
    with pytest.raises(UsageError, match=r"library_2_amd64\.deb: its SHA-256 is "):
        made(model)
    sha256 = packages_of(tmp_path)["library_2_amd64.deb"]
    assert not packages.make_cached_package_path(sha256).exists()
    assert list((tmp_path / "cache" / "archive").glob(".part*")) == []


def packages_of(tmp_path: Path) -> Files:
    sets = lock.read_package_lock(tmp_path / "catalog/boards/boards.lock").values()
    return {name: sha256 for files in sets for name, sha256 in files.items()}


def test_a_folder_that_is_not_there_is_told(
    model: BoardModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(model)
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setenv(packages.PACKAGES_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=r"NANDLAB_PACKAGES: .*gone: no such folder"):
        made(model)


def test_a_lock_that_names_what_nobody_has_is_told(
    model: BoardModel, tmp_path: Path, mirror: Mirror
) -> None:
    made(model)
    path = tmp_path / "catalog/boards/boards.lock"
    path.write_text(path.read_text().replace("tool_1_", "tool_77_"))
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(UsageError, match=r"not to be had: tools .*'77'.*tool"):
        made(model, locked=True)
    mirror.has()
    with pytest.raises(UsageError, match=r"neither the locked packages .* nor others"):
        made(model)


@pytest.fixture
def exported(model: BoardModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kit, "YAFFS2_SOURCE", kit.make_tool_package_set(model))
    made(model)
    exchange.export_board_file(model, tmp_path / "mine.board")
    return tmp_path / "mine.board"


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine: no cache, no mirror, no board of one's own."""
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "other cache"))
    monkeypatch.setenv("PATH", "/nonexistent")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path / "there"


def test_two_exports_are_the_same_bytes(model: BoardModel, exported: Path, tmp_path: Path) -> None:
    before = exported.read_bytes()
    shutil.rmtree(tmp_path / "cache")
    exchange.export_board_file(model, exported)
    assert exported.read_bytes() == before
    with tarfile.open(exported) as tar, tar.extractfile("board.json") or io.BytesIO() as told:
        fits("board-file", told.read().decode())


def test_an_imported_board_needs_no_mirror(
    model: BoardModel, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made(model)
    there = elsewhere(tmp_path, monkeypatch)
    told = exchange.import_board_file(exported)
    packages, board = told
    assert packages.startswith("7 packages of board mine ")
    assert board == "catalog/boards/mine.toml: added"
    bare = model.model_copy(update={"controller": None})
    assert load_noun("boards", "mine", BoardModel).model_dump() == bare.model_dump()
    found = made(load_noun("boards", "mine", BoardModel), locked=True)
    assert (found.lock, found.kernel.release) == (before.lock, "6.1.0-1-amd64")
    assert exchange.import_board_file(exported) == told[:1]
    assert sorted(p.name for p in there.iterdir()) == ["catalog"]


def test_an_imported_board_names_no_folder_of_this_machine(
    model: BoardModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = {**model.model_dump(), "source": {"ubi": {"tree": "/tmp/ubi"}}}
    head = boardfile.BoardHead(
        BoardModel.model_validate(evil).model_dump(mode="json", exclude_none=True),
        {each.name: {"a_1_amd64.deb": "0" * 64} for each in kit.list_board_package_sets(model)},
    )
    (tmp_path / "a").write_bytes(b"a")
    boardfile.write_board_file(tmp_path / "evil.board", head, {"0" * 64: tmp_path / "a"})
    there = elsewhere(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=r"\[source\]"):
        exchange.import_board_file(tmp_path / "evil.board")
    assert list(there.iterdir()) == []


def test_two_boards_of_one_name_are_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = elsewhere(tmp_path, monkeypatch)
    shutil.copytree(tmp_path / "catalog", there / "catalog")
    file = there / "catalog/boards/mine.toml"
    file.write_text(file.read_text().replace("ram_mib = 128", "ram_mib = 100"))
    with pytest.raises(UsageError, match=r"another than .*: ram_mib is 128, here 100; rename"):
        exchange.import_board_file(exported)
    assert not (tmp_path / "other cache").exists()


def test_an_imported_board_of_another_lock_is_told(
    exported: Path, mirror: Mirror, model: BoardModel
) -> None:
    with_kernel(mirror, NEW)
    kit.update_package_locks({"mine": model})
    told = exchange.import_board_file(exported)
    assert "boards.lock here names other packages" in told[1]
    assert "6.1.1-1 -> 6.1.2-1" in told[1]


@pytest.mark.parametrize("damage", ["flip", "cut", "tail", "none", "text", "member"])
def test_a_damaged_board_file_leaves_nothing(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    there = elsewhere(tmp_path, monkeypatch)
    content = bytearray(exported.read_bytes())
    with tarfile.open(exported) as tar:
        last = tar.getmembers()[-1]
    if damage == "flip":
        content[last.offset_data + last.size // 2] ^= 1
    elif damage == "cut":
        del content[last.offset_data + last.size // 2 :]
    elif damage == "tail":
        del content[last.offset :]
    elif damage == "none":
        exported.unlink()
    elif damage == "text":
        content = bytearray(b"# a lock, perhaps\n" * 100)
    else:
        content[0:10] = b"other.json"
    if damage != "none":
        exported.write_bytes(content)
    with pytest.raises(UsageError, match=r"mine\.board: ") as told:
        exchange.import_board_file(exported)
    assert "\n" not in str(told.value)
    kept = tmp_path / "other cache"
    assert [p for p in kept.rglob("*") if p.is_file()] == []
    assert list(there.iterdir()) == []


def test_a_board_file_of_another_format_is_told(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boardfile, "FORMAT", 2)
    with pytest.raises(UsageError, match="another format than 2"):
        exchange.import_board_file(exported)


def test_an_export_that_fails_leaves_no_file(
    model: BoardModel, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(boardfile, "_add_member", full)
    with pytest.raises(OSError, match="No space"):
        exchange.export_board_file(model, tmp_path / "new.board")
    assert {p.name for p in tmp_path.glob("*.board")} == {exported.name}
    assert list(tmp_path.glob(".part*")) == []
    with pytest.raises(UsageError, match="no such folder"):
        exchange.export_board_file(model, tmp_path / "nowhere" / "x.board")


def test_a_file_that_was_damaged_in_the_cache_is_had_anew(
    model: BoardModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = made(model)
    sha256 = packages_of(tmp_path)["library_2_amd64.deb"]
    good = packages.make_cached_package_path(sha256).read_bytes()
    shutil.rmtree(tmp_path / "cache" / "roots")
    for bad in (good + b"x", good[:-1], b""):
        packages.make_cached_package_path(sha256).write_bytes(bad)
        assert made(model, locked=True) == before
        assert packages.make_cached_package_path(sha256).read_bytes() == good
        shutil.rmtree(tmp_path / "cache" / "roots")
    packages.make_cached_package_path(sha256).write_bytes(b"")
    with pytest.raises(UsageError, match=r"was damaged .* is removed"):
        prepare_package_root(before.lock["tools bookworm amd64"])


def test_a_board_of_one_s_own_keeps_the_shipped_packages_when_these_move_on(
    model: BoardModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made(model)
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    path = tmp_path / "catalog/boards/boards.lock"
    path.rename(shipped / "boards.lock")
    monkeypatch.setattr(kit, "SHIPPED_BOARDS", shipped)
    assert made(model, locked=True) == before
    assert lock.read_package_lock(path) == before.lock
    (shipped / "boards.lock").write_text("")
    assert made(model, locked=True) == before


def test_an_import_does_not_change_what_other_boards_are_made_of(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = elsewhere(tmp_path, monkeypatch)
    (there / "catalog/boards").mkdir(parents=True)
    mine = {"tools bookworm amd64": {"tool_1_amd64.deb": "0" * 64}}
    lock.write_package_lock(there / "catalog/boards/boards.lock", mine)
    with pytest.raises(UsageError, match=r"has other packages for 'tools .*in another"):
        exchange.import_board_file(exported)
    assert lock.read_package_lock(there / "catalog/boards/boards.lock") == mine
    assert not (tmp_path / "other cache").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "../../evil"}, "its board: name: "),
        ({"name": "/tmp/evil"}, "its board: name: "),
        ({"name": ""}, "its board: name: "),
        ({"board": ["x"]}, "has no board"),
        ({"board": None}, "has no board"),
        ({"lock": {}}, "its lock has no 'tools bookworm amd64'"),
    ],
)
def test_a_board_file_that_lies_of_itself_is_refused(
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    said: str,
) -> None:
    with boardfile.open_board_file(exported) as reader:
        head = reader.head
    board = {**head.board, **change} if "name" in change else change.get("board", head.board)
    told = {"format": 1, "board": board, "lock": change.get("lock", head.lock)}
    content = json.dumps(told).encode()
    with tarfile.open(exported, "w") as tar:
        info = tarfile.TarInfo("board.json")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    there = elsewhere(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match=said):
        exchange.import_board_file(exported)
    assert list(there.iterdir()) == []


def test_a_member_that_is_no_file_is_refused(exported: Path, tmp_path: Path) -> None:
    with tarfile.open(exported, "a") as tar:
        info = tarfile.TarInfo("packages/" + "0" * 64)
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(UsageError, match="in it is no regular file"):
        exchange.import_board_file(exported)


def test_a_summary_of_any_letters_comes_through(
    model: BoardModel, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = model.model_copy(update={"summary": 'a "flash" \U0001f680 \\ é'})
    exchange.export_board_file(odd, exported)
    elsewhere(tmp_path, monkeypatch)
    exchange.import_board_file(exported)
    assert load_noun("boards", "mine", BoardModel).summary == odd.summary


@pytest.mark.parametrize("what", ["folder", "pipe"])
def test_what_is_no_regular_file_is_no_board_file(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.board"
    path.mkdir() if what == "folder" else os.mkfifo(path)
    with pytest.raises(UsageError, match="a regular file is needed"):
        exchange.import_board_file(path)
