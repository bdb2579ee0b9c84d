# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache: an entry is made once, whole or not at all, however many ask at once."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nandlab.base import cache
from nandlab.base.cache import entry, place


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
    folder = entry("kind", {"n": 1}, lambda work: _slow(log, work))
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
        entry("kind", {"n": 2}, fail)
    assert not [p for p in (tmp_path / "cache" / "kind").iterdir() if p.is_dir()]
    assert entry("kind", {"n": 2}, lambda work: None).is_dir()


def test_other_inputs_are_another_entry() -> None:
    assert entry("kind", {"n": 3}, lambda w: None) != entry("kind", {"n": 4}, lambda w: None)


def test_a_part_that_a_killed_process_left_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    left = place("things", 1).with_name(f".part-{place('things', 1).name}-x")
    other = tmp_path / "things" / ".part-of-another"
    for folder in (left, other):
        folder.mkdir(parents=True)
    entry("things", 1, lambda work: None)
    assert not left.exists()
    assert other.exists()


def _make(work: Path) -> None:
    (work / "content").write_text("abc")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "content").write_text("a"),
        lambda folder: (folder / "content").unlink(),
        lambda folder: (folder / "inputs.json").unlink(),
    ],
)
def test_a_damaged_entry_is_made_again(damage: Callable[[Path], object]) -> None:
    damage(entry("kind", {"n": 7}, _make))
    cache._seen.clear()  # as another process
    again = entry("kind", {"n": 7}, _make)
    assert (again / "content").read_text() == "abc"
    assert entry("kind", {"n": 7}, lambda work: pytest.fail("it is there")) == again


@pytest.mark.skipif(os.getuid() != 0, reason="gives a folder to another user")
def test_what_another_user_made_is_not_trusted() -> None:
    others = entry("kind", {"n": 8}, _make)
    os.chown(others, 65534, -1)
    own = entry("kind", {"n": 8}, _make)
    assert own != others
    assert own.stat().st_uid == os.getuid()
    assert entry("kind", {"n": 8}, lambda work: pytest.fail("it is there")) == own


def test_the_cache_is_listed_and_emptied_and_nothing_else_is(tmp_path: Path) -> None:
    made = [entry("kind", {"n": n}, _make) for n in range(3)]
    (tmp_path / "cache" / "kind" / "mine").mkdir()
    (tmp_path / "cache" / "archive").mkdir()
    (tmp_path / "cache" / "archive" / ("0" * 64)).write_text("12345")
    (tmp_path / "cache" / "notes").write_text("mine")
    kept = list(cache.kept())
    assert {one.path for one in kept} == {*made, tmp_path / "cache/archive" / ("0" * 64)}
    assert [one.bytes for one in kept if one.kind == "archive"] == [5]
    for one in kept:
        cache.drop(one)
    assert list(cache.kept()) == []
    assert (tmp_path / "cache" / "notes").exists()
    assert (tmp_path / "cache" / "kind" / "mine").exists()
    assert entry("kind", {"n": 1}, _make).is_dir()
