# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache: an entry is made once, whole or not at all, however many ask at once."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nandlab.base import cache, checksums
from nandlab.base.cache import find_entry_path, make_entry
from nandlab.base.digest import SPARSE_BLOCK_BYTES, _digest_once, digest_bytes, digest_file
from nandlab.base.errors import UsageError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path


def _slow(log: Path, work: Path) -> None:
    with log.open("a") as f:
        f.write("made\n")
    time.sleep(0.3)
    (work / "content").write_text("x")


def _ask(log: Path) -> None:
    folder = make_entry("kind", {"n": 1}, lambda work: _slow(log, work))
    assert (folder / "content").read_text() == "x"


def test_many_at_once_make_it_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    asking = [multiprocessing.Process(target=_ask, args=(log,)) for _ in range(5)]
    for process in asking:
        process.start()
    for process in asking:
        process.join()
    assert [p.exitcode for p in asking] == [0] * 5
    assert log.read_text() == "made\n"


def test_a_failure_keeps_nothing_and_the_next_may_succeed(tmp_path: Path) -> None:
    def fail(work: Path) -> None:
        (work / "half").write_text("")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        make_entry("kind", {"n": 2}, fail)
    assert not [p for p in (tmp_path / "cache" / "kind").iterdir() if p.is_dir()]
    assert make_entry("kind", {"n": 2}, lambda work: None).is_dir()


def test_other_inputs_are_another_entry() -> None:
    assert make_entry("kind", {"n": 3}, lambda w: None) != make_entry(
        "kind", {"n": 4}, lambda w: None
    )


def test_a_part_that_a_killed_process_left_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    left = find_entry_path("things", 1).with_name(f".part-{find_entry_path('things', 1).name}-x")
    other = tmp_path / "things" / ".part-of-another"
    for folder in (left, other):
        folder.mkdir(parents=True)
    make_entry("things", 1, lambda work: None)
    assert not left.exists()
    assert other.exists()


def _make(work: Path) -> None:
    (work / "content").write_text("abc")
    (work / "other").write_text("def")
    (work / "folder").mkdir()
    (work / "link").symlink_to("content")


def as_another_process() -> None:
    """Forgets what this process has read."""
    for known in (cache._list_times, cache._unread_entries):
        known.clear()
    _digest_once.cache_clear()


def flip(path: Path) -> None:
    """Flips a bit in a file's middle; its size and its times stay."""
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def relink(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to("other")


DAMAGES: dict[str, Callable[[Path], object]] = {
    '"content"': lambda folder: flip(folder / "content"),
    '"link"': relink,
    '"folder"': lambda folder: (folder / "folder").rmdir(),
    '"other"': lambda folder: (folder / "other").chmod(0o755),
    '"more"': lambda folder: (folder / "more").write_text(""),
    '"inputs.json"': lambda folder: flip(folder / "inputs.json"),
    "the list": lambda folder: flip(folder.with_suffix(".sums")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_reported_once_and_made_again(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    DAMAGES[name](whole)
    assert make_entry("kind", {"n": 7}, lambda work: pytest.fail("it was read before")) == whole
    as_another_process()
    again = make_entry("kind", {"n": 7}, _make)
    assert (again / "content").read_text() == (again / "link").read_text() == "abc"
    assert sorted(p.name for p in again.iterdir()) == [
        *("content", "folder", "inputs.json", "link", "other")
    ]
    (line,) = capsys.readouterr().err.splitlines()
    assert f"kind/{again.name}" in line
    assert name in line or name == "the list"
    as_another_process()
    assert make_entry("kind", {"n": 7}, lambda work: pytest.fail("it is there")) == again
    assert not capsys.readouterr().err
    assert [p for p in again.parent.iterdir() if p.name.startswith(".part")] == []


@pytest.mark.parametrize("lost", [".sums", "/inputs.json", "/content"])
def test_an_entry_without_its_list_or_a_file_is_made_again(lost: str) -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    Path(f"{whole.parent}/{whole.name}{lost}").unlink()
    as_another_process()
    assert (make_entry("kind", {"n": 7}, _make) / "content").read_text() == "abc"
    as_another_process()
    assert make_entry("kind", {"n": 7}, lambda work: pytest.fail("it is there")) == whole


def test_a_damaged_entry_that_cannot_be_made_again_is_gone() -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    flip(whole / "content")
    as_another_process()
    with pytest.raises(ZeroDivisionError):
        make_entry("kind", {"n": 7}, lambda work: print(1 // 0))
    assert not whole.exists()
    assert not whole.with_suffix(".sums").exists()


def test_of_a_lazy_entry_only_what_is_used_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    flip(whole / "content")
    as_another_process()
    assert make_entry("kind", {"n": 7}, _make, lazy=True) == whole
    cache.verify_entry_files(whole, ["other"])
    assert (whole / "content").read_text() != "abc"
    assert not capsys.readouterr().err
    cache.verify_entry_files(whole, ["content"])
    assert (whole / "content").read_text() == "abc"
    assert '"content"' in capsys.readouterr().err
    for damage in (relink, lambda folder: flip(folder / "content")):
        as_another_process()
        damage(make_entry("kind", {"n": 7}, _make, lazy=True))
        cache.verify_entry_files(whole)
        assert (whole / "link").read_text() == "abc"


def test_what_was_read_today_and_not_changed_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    count: list[Path] = []

    def check(name: str) -> int:
        """How many files a process reads to check one."""
        as_another_process()
        count.clear()
        cache.verify_entry_files(make_entry("kind", {"n": 7}, _make, lazy=True), [name])
        return len(count)

    def counted(path: Path) -> str:
        count.append(path)
        return digest_file(path)

    monkeypatch.setattr("nandlab.base.checksums.digest_known_file", counted)
    assert [check(name) for name in ("content", "content", "other")] == [1, 0, 1]
    note = whole.with_suffix(".read")
    os.utime(note, (0, 0))
    assert [check("other"), check("other")] == [1, 0]
    flip(whole / "other")
    assert check("other") == 1
    assert (whole / "other").read_text() == "def"
    relink(whole)
    check("other")
    assert (whole / "link").read_text() == "abc"


def test_a_reader_takes_no_damaged_entry() -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    flip(whole / "other")
    as_another_process()
    with cache.hold_entry("kind", {"n": 7}) as folder:
        assert folder is None
    with cache.fill_entry("kind", {"n": 7}) as work:
        assert work is not None
        assert whole.exists()
        _make(work)
    with cache.hold_entry("kind", {"n": 7}) as folder:
        assert folder == whole


def test_verify_removes_what_is_damaged_and_nothing_else(tmp_path: Path) -> None:
    whole, damaged, old = (make_entry("kind", {"n": n}, _make) for n in range(3))
    flip(damaged / "content")
    old.with_suffix(".sums").unlink()
    of_apt = tmp_path / "cache" / "apt" / ("0" * 20)
    of_apt.mkdir(parents=True)
    archive = tmp_path / "cache" / "archive"
    archive.mkdir()
    good = archive / digest_bytes(b"good")
    for path in (good, archive / digest_bytes(b"bad")):
        path.write_bytes(b"good")
    wrong = {one.path for one in cache.list_cache_items() if cache.remove_item_if_damaged(one)}
    assert wrong == {damaged, old, archive / digest_bytes(b"bad")}
    assert {one.path for one in cache.list_cache_items()} == {whole, good, of_apt}


def test_verify_leaves_what_is_being_read() -> None:
    whole = make_entry("kind", {"n": 7}, _make)
    with cache.hold_entry("kind", {"n": 7}):
        flip(whole / "content")
        (one,) = cache.list_cache_items()
        assert cache.remove_item_if_damaged(one)
        assert whole.exists()
    assert cache.remove_item_if_damaged(one)
    assert not whole.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="gives a folder to another user")
@pytest.mark.parametrize("ending", ["", ".sums", ".lock", ".read"])
def test_what_another_user_made_is_not_trusted(ending: str) -> None:
    others = make_entry("kind", {"n": 8}, _make)
    Path(f"{others}.read").touch()
    os.chown(f"{others}{ending}", 65534, -1)
    as_another_process()
    own = make_entry("kind", {"n": 8}, _make)
    assert own != others
    assert own.stat().st_uid == os.getuid()
    assert make_entry("kind", {"n": 8}, lambda work: pytest.fail("it is there")) == own
    os.chown(own, 65534, -1)
    with pytest.raises(UsageError):
        make_entry("kind", {"n": 8}, _make)


def _make_sparse(work: Path) -> None:
    with (work / "ram").open("wb") as f:
        f.write(b"x" * (64 << 10))
        f.truncate(64 << 20)
    (work / "link").symlink_to("ram")


def test_a_hole_of_a_file_counts_for_nothing() -> None:
    """Or a board's saved RAM would drive out states for room that it does not take."""
    made = [make_entry("kind", {"n": n}, _make_sparse) for n in range(2)]
    for one in cache.list_cache_items():
        assert 64 << 10 <= one.bytes < 1 << 20
    cache.trim_cache_kind("kind", 2 << 20)
    assert all(folder.is_dir() for folder in made)
    cache.trim_cache_kind("kind", 64 << 10)
    assert [folder.is_dir() for folder in made].count(True) < 2


def _fill_hole(ram: Path) -> None:
    content = ram.read_bytes()
    ram.unlink()
    ram.write_bytes(content)


def _write_at(ram: Path, at: int, content: bytes) -> None:
    with ram.open("r+b") as f:
        f.seek(at)
        f.write(content)


def test_of_a_file_with_holes_each_byte_counts_and_no_hole() -> None:
    """Wherever a byte changes, in what was written, in a hole or at the end; zeros may be both."""
    folder = make_entry("kind", {"n": 7}, _make_sparse)
    ram, listing = folder / "ram", folder.with_suffix(".sums").read_bytes()
    whole = ram.read_bytes()
    for at, content in ((4000, b"y"), (4000, b"\0"), (1 << 20, b"x"), ((64 << 20) - 1, b"\1")):
        _write_at(ram, at, content)
        assert '"ram"' in str(checksums.find_folder_fault(folder, listing))
        _write_at(ram, at, whole[at : at + 1])
        assert checksums.find_folder_fault(folder, listing) is None
    block = slice(0, SPARSE_BLOCK_BYTES)
    _write_at(ram, 0, bytes(SPARSE_BLOCK_BYTES))
    _write_at(ram, 2 * SPARSE_BLOCK_BYTES, whole[block])  # the same block elsewhere
    assert '"ram"' in str(checksums.find_folder_fault(folder, listing))
    _write_at(ram, 0, whole)
    assert ram.read_bytes() == whole
    _fill_hole(ram)
    assert ram.stat().st_blocks * 512 >= len(whole)
    assert checksums.find_folder_fault(folder, listing) is None
    os.truncate(ram, len(whole) - 1)
    assert '"ram"' in str(checksums.find_folder_fault(folder, listing))


def test_the_cache_is_listed_and_emptied_and_nothing_else_is(tmp_path: Path) -> None:
    made = [make_entry("kind", {"n": n}, _make) for n in range(3)]
    (tmp_path / "cache" / "kind" / "mine").mkdir()
    (tmp_path / "cache" / "archive").mkdir()
    (tmp_path / "cache" / "archive" / ("0" * 64)).write_text("12345")
    (tmp_path / "cache" / "notes").write_text("mine")
    kept = list(cache.list_cache_items())
    assert {one.path for one in kept} == {*made, tmp_path / "cache/archive" / ("0" * 64)}
    assert [one.bytes for one in kept if one.kind == "archive"] == [5]
    for one in kept:
        cache.remove_item(one)
    assert list(cache.list_cache_items()) == []
    assert (tmp_path / "cache" / "notes").exists()
    assert (tmp_path / "cache" / "kind" / "mine").exists()
    assert make_entry("kind", {"n": 1}, _make).is_dir()
