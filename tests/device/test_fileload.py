# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``fileload`` on this machine: known loads are done and told exactly."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fileloads import (
    fileload,
    interleaved,
    rewritten,
    shuffled,
    told,
    updated,
    updated_at_multiples,
    written_at_random,
)
from support.native import native

from nandlab.trial import workloadresult

UPDATE = ("--count", 137, "--bytes", 10)
INTERLEAVE = ("--steps", 7, "--big-step", 1000, "--small", 600, "--rounds", 3)
REWRITE = ("--files", 9, "--size", "uniform(1,5000)", "--total", 100_000)
CYCLE = ("--files", 5, "--size", 70_000, "--rounds", 4)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(i % 251 for i in range(5003)))
    return path


def counts(found: dict[str, Any]) -> dict[str, int]:
    return {kind: latency["count"] for kind, latency in found["latency_ns"].items()}


def phases(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {phase["name"]: phase for phase in found["phases"]}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("seed", [1, 77])
def test_updates_are_counted_and_lie_where_they_must(file: Path, seed: int) -> None:
    before = file.read_bytes()
    found = told("update", file, *UPDATE, "--seed", seed)
    operations = {"open": 1, "write": 137, "close": 1}
    assert found["operations"] == counts(found) == operations
    assert found["bytes"] == {"read": 0, "written": 1370}
    assert found["figures"] == {"file_bytes": 5003}
    (phase,) = found["phases"]
    assert (phase["name"], phase["operations"], phase["bytes"]["written"]) == (
        *("updating", operations, 1370),
    )
    assert "sync_ns" not in phase and "chip" not in phase
    assert file.read_bytes() == updated(before, 137, 10, seed) != before
    assert list(file.parent.iterdir()) == [file]


def test_an_update_may_be_of_all_the_file(file: Path) -> None:
    told("update", file, "--count", 2, "--bytes", 5003)
    assert file.read_bytes() == updated(bytes(5003), 2, 5003, 1)


@pytest.mark.parametrize("seed", [1, 77])
def test_updates_begin_at_multiples_of_their_size_if_asked(file: Path, seed: int) -> None:
    before = file.read_bytes()
    found = told("update", file, "--count", 137, "--bytes", 100, "--at", "multiple", "--seed", seed)
    assert found["operations"] == {"open": 1, "write": 137, "close": 1}
    assert found["figures"] == {"file_bytes": 5003}
    after = file.read_bytes()
    assert after == updated_at_multiples(before, 137, 100, seed) != before
    assert after[5000:] == before[5000:]  # where no whole multiple lies


@pytest.mark.parametrize("seed", [1, 77])
def test_an_empty_file_is_written_at_random_each_place_once(file: Path, seed: int) -> None:
    file.write_bytes(b"")
    found = told("update", file, "--count", 137, "--bytes", 100, "--at", "shuffled", "--seed", seed)
    assert found["operations"] == {"open": 1, "write": 137, "close": 1}
    assert found["bytes"] == {"read": 0, "written": 13700}
    assert found["figures"] == {"file_bytes": 13700}
    assert sorted(shuffled(137, seed)) == list(range(137)) != shuffled(137, seed)
    assert file.read_bytes() == written_at_random(137, 100, seed)


def test_what_lies_behind_the_places_of_a_longer_file_stays(file: Path) -> None:
    before = file.read_bytes()
    found = told("update", file, "--count", 7, "--bytes", 100, "--at", "shuffled")
    assert found["figures"] == {"file_bytes": 5003}
    assert file.read_bytes() == written_at_random(7, 100, 1) + before[700:]


def test_a_file_is_opened_for_each_write_if_asked(file: Path) -> None:
    found = told("update", file, *UPDATE, "--open", "each", "--fsync-every", 10)
    assert found["operations"] == {"open": 137, "write": 137, "fsync": 13, "close": 137}
    assert file.read_bytes() == updated(bytes(i % 251 for i in range(5003)), 137, 10, 1)


@pytest.mark.parametrize("more", [(), ("--open", "each")])
def test_a_big_file_and_a_small_one_are_written_by_turns(tmp_path: Path, more: Any) -> None:
    big, small = tmp_path / "big", tmp_path / "small"
    found = told("interleave", big, small, *INTERLEAVE, *more)
    opens = 2 * 7 * (1 + 3) if more else 2
    assert found["operations"] == {
        **{"writing_create": 2, "writing_write": 14},
        **({"writing_open": 12, "writing_close": 14} if more else {}),
        **({"open": 42} if more else {}),
        **{"write": 42, "close": opens - 14 if more else opens},
    }
    assert counts(found) == found["operations"]
    assert found["figures"] == {"file_bytes": 7600}
    written = {name: phase["bytes"]["written"] for name, phase in phases(found).items()}
    assert written == {"writing": 7 * 1600, "updating": 3 * 7 * 1600}
    assert found["bytes"]["written"] == sum(written.values())
    assert (big.read_bytes(), small.read_bytes()) == interleaved(7, 1000, 600, 3, 1)


def test_by_turns_is_by_turns_to_the_kernel(tmp_path: Path) -> None:
    strace, trace = shutil.which("strace"), tmp_path / "trace"
    if not strace:
        pytest.fail("strace is missing: setup/install-packages setup/apt-test.txt")
    if subprocess.run([strace, "-o", "/dev/null", "true"], check=False).returncode:
        pytest.skip("strace may not trace here")
    words = ["interleave", "big", "small", *map(str, INTERLEAVE), "--fsync-every", "4"]
    argv = [strace, "-o", str(trace), "-e", "trace=pwrite64,fsync", str(native("fileload"))]
    subprocess.run([*argv, *words], check=True, capture_output=True, cwd=tmp_path)
    calls = re.findall(r"^(\w+)\((\d+)(?:.*, (\d+), (\d+)\) =)?", trace.read_text(), re.MULTILINE)
    expected: list[tuple[str, ...]] = []
    for step in range(7 * 4):
        at = step % 7 * 1000
        synced = step % 4 == 3
        expected += [("pwrite64", "big", "1000", str(at)), *[("fsync", "big", "", "")] * synced]
        expected += [("pwrite64", "small", "600", "0"), *[("fsync", "small", "", "")] * synced]
    names = dict(zip(dict.fromkeys(fd for _, fd, *_ in calls), ("big", "small"), strict=True))
    assert [(call, names[fd], *more) for call, fd, *more in calls] == expected


@pytest.mark.parametrize("more", [(), ("--how", "overwrite")])
@pytest.mark.parametrize("size", ["uniform(1,5000)", "pow2(64,4096)", "table(10:1,90000:2)"])
def test_files_are_rewritten_whole_until_the_total(tmp_path: Path, size: str, more: Any) -> None:
    words = ("--files", 9, "--size", size, "--total", 100_000)
    found = told("rewrite", tmp_path / "d", *words, "--seed", 5, *more)
    expected, count = rewritten(9, size, 100_000, 5)
    assert contents(tmp_path / "d") == expected
    made, again = phases(found)["making"], phases(found)["rewriting"]
    writes = sum(-(-len(c) // 65536) for c in expected.values())
    names = ("making_create", "making_write", "making_close")
    assert made["operations"] == dict(zip(names, (9, writes, 9), strict=True))
    assert made["bytes"]["written"] == sum(map(len, expected.values()))
    assert found["figures"] == {"file_bytes": made["bytes"]["written"]}
    assert again["operations"]["open"] == again["operations"]["close"] == count
    largest = max(map(len, expected.values()))
    assert 100_000 <= again["bytes"]["written"] < 100_000 + largest
    assert counts(found) == found["operations"] == {**made["operations"], **again["operations"]}


def test_files_are_made_and_deleted_round_after_round(tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("stays")
    found = told("cycle", tmp_path, *CYCLE, "--fsync-every", 3, "--sync")
    operations = {"create": 20, "write": 40, "fsync": 6, "close": 20, "unlink": 20}
    assert counts(found) == found["operations"] == operations
    writing, deleting = phases(found)["writing"], phases(found)["deleting"]
    assert writing["bytes"]["written"] == found["bytes"]["written"] == 20 * 70_000
    assert deleting["operations"] == {"unlink": 20}
    assert writing["sync_ns"] > 0 and deleting["sync_ns"] > 0
    assert contents(tmp_path) == {"beside": b"stays"}


@pytest.mark.parametrize("seed", [3, 4])
def test_equal_seeds_give_equal_bytes(tmp_path: Path, seed: int) -> None:
    for name in ("a", "b"):
        told("rewrite", tmp_path / name, *REWRITE, "--seed", seed)
    told("rewrite", tmp_path / "other", *REWRITE, "--seed", 9)
    assert contents(tmp_path / "a") == contents(tmp_path / "b") != contents(tmp_path / "other")


def test_the_data_are_those_that_were_asked_for(tmp_path: Path) -> None:
    more = ("--payload", "postmark", "--compressibility", "0.5")
    told("rewrite", tmp_path / "d", *REWRITE, *more)
    content = b"".join(contents(tmp_path / "d").values())
    assert set(content) <= {0, *range(32, 127)}
    assert 0.4 < content.count(0) / len(content) < 0.6


def test_what_the_chip_did_is_told_by_phase(tmp_path: Path) -> None:
    """The counters of a chip that stands still, and of one that is not there."""
    chip = tmp_path / "chip"
    chip.mkdir()
    (chip / "counters").write_text("reads 7\nprograms 8\nerases 9\n")
    (chip / "blocks").write_text("0 1 2 3\n1 4 5 6\n")
    still = dict.fromkeys(("reads", "programs", "erases"), 0)
    found = told("cycle", tmp_path / "d", *CYCLE, "--flash", chip, "--sync")
    for phase in found["phases"]:
        assert phase["chip"] == phase["chip_sync"] == still
    assert found["per_block"] == {key: [0, 0] for key in still}
    found = told("cycle", tmp_path / "e", *CYCLE)
    assert found["per_block"] is None
    assert all("chip" not in phase for phase in found["phases"])


def test_a_result_is_read_as_a_trial_does(tmp_path: Path) -> None:
    done = fileload("rewrite", tmp_path / "d", *REWRITE, "--sync")
    found = workloadresult.parse_workload_result(done.stdout)
    assert [p.name for p in found.phases] == ["making", "rewriting"]
    assert found.phases[1].sync_ns
    assert found.figures["file_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a command is missing"),
        (("renew", "f"), "unknown command 'renew'; there are update"),
        (("update",), "update needs FILE"),
        (("update", "file"), "update needs --count"),
        (("update", "file", "--count", "3"), "update needs --bytes"),
        (("update", "file", "--count", "0", "--bytes", "1"), "--count: 0 is out of range"),
        (("update", "file", "--count", "1", "--bytes", "0"), "--bytes: 0 is out of range"),
        (("update", "file", "--count", "-1", "--bytes", "1"), "--count: '-1' is not a whole"),
        (("update", "file", "--count", "1", "--bytes", "5004"), "has 5003 bytes; give as many"),
        (("update", ".", "--count", "1", "--bytes", "1"), "'.' is no file"),
        (("update", "file", "x", "--count", "1", "--bytes", "1"), "'x' is one argument too many"),
        (("update", "file", "--count", "1", "--bytes", "1", "--files", "2"), "--files is not of"),
        (("interleave", "big", *map(str, INTERLEAVE)), "interleave needs BIG and SMALL"),
        (("interleave", "a", "a", *map(str, INTERLEAVE)), "BIG and SMALL are one file"),
        (("interleave", "a", "b", "--steps", "1", "--rounds", "0"), "--rounds: 0 is out of range"),
        (("interleave", "a", "b", "--steps", "0", "--rounds", "1"), "--steps: 0 is out of range"),
        (("rewrite", "d", "--files", "0", "--size", "1", "--total", "1"), "--files: 0 is out of"),
        (("rewrite", "d", "--files", "1", "--size", "1", "--total", "0"), "--total: 0 is out of"),
        (("rewrite", "d", "--files", "3", "--size", "0", "--total", "1"), "drawn with 0 bytes"),
        (("rewrite", "d", "--files", "1", "--size", "norm(1)", "--total", "1"), "norm(MEAN,"),
        (("cycle", "d", "--files", "1", "--size", "1", "--rounds", "0"), "--rounds: 0 is out of"),
        (("cycle", "d", *map(str, CYCLE), "--payload", "zeros"), "give one of random, postmark"),
        (("cycle", "d", *map(str, CYCLE), "--compressibility", "2"), "give a share from 0 to 1"),
        (("cycle", "d", *map(str, CYCLE), "--what"), "unknown option '--what'"),
        (("rewrite", "d", *map(str, REWRITE), "--how", "x"), "give one of truncate, overwrite"),
        (("rewrite", "d", *map(str, REWRITE), "--open", "each"), "--open is not of rewrite"),
    ],
)
def test_what_cannot_be_meant_is_refused(file: Path, words: tuple[str, ...], said: str) -> None:
    before = file.read_bytes()
    done = fileload(*words, cwd=file.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert contents(file.parent) == {"file": before}


def test_what_is_not_there_or_already_there_fails(tmp_path: Path) -> None:
    done = fileload("update", tmp_path / "none", *UPDATE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No such file" in done.stderr
    (tmp_path / "f0003").write_text("mine")
    done = fileload("cycle", tmp_path, *CYCLE)
    assert done.returncode == 1
    assert "f0003': File exists" in done.stderr
    assert "210000 bytes were written before; " in done.stderr
    assert json.loads(done.stdout)["operations"] == {"create": 3, "write": 6, "close": 3}
    assert (tmp_path / "f0003").read_text() == "mine"
    (tmp_path / "big").write_text("mine")
    done = fileload("interleave", tmp_path / "big", tmp_path / "small", *INTERLEAVE)
    assert (done.returncode, (tmp_path / "big").read_text()) == (1, "mine")


def test_a_full_file_system_is_told_with_what_was_done(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=300k none "$0" && exec "$@"'
    words = [str(native("fileload")), "cycle", str(tmp_path), *map(str, CYCLE)]
    argv = ["unshare", "-rm", "sh", "-c", script, str(tmp_path), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no mounts in a namespace here")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    left = json.loads(done.stdout)
    assert 280_000 <= left["bytes"]["written"] <= 300 * 1024
    assert f"{left['bytes']['written']} bytes were written before" in done.stderr


def test_a_signal_ends_it_between_two_writes(tmp_path: Path) -> None:
    words = ["rewrite", "d", "--files", "3", "--size", "1000", "--total", str(10**15)]
    argv = [str(native("fileload")), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path) as running:
        while not (tmp_path / "d" / "f0002").exists():
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert "stopped by signal 15" in err
    assert json.loads(out)["bytes"]["written"] >= 3000


def test_help_teaches_each_command() -> None:
    done = fileload("--help")
    assert done.returncode == 0
    for word in ("update FILE", "interleave BIG SMALL", "rewrite DIR", "cycle DIR", "--total"):
        assert word in done.stdout
