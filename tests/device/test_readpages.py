# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``readpages`` on this machine: it reads what it is asked to, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.native import dynamic, native, preload

SHIM = Path(__file__).with_name("readcalls.c")
BYTES = 10_000
"""Two pieces of 4096 bytes and one of 1808."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "read.me"
    path.write_bytes(bytes(BYTES))
    return path


def readpages(
    *words: object, program: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    argv = [str(program or native("readpages")), *map(str, words)]
    env = {**os.environ, **env}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env)


def calls(file: Path, *words: object) -> list[str]:
    """What is asked of the kernel for the file, in order."""
    log = file.with_name("calls")
    log.unlink(missing_ok=True)
    done = readpages(
        file, *words, program=dynamic("readpages"), LD_PRELOAD=str(preload(SHIM)), CALLS=str(log)
    )
    assert done.returncode == 0, done.stderr
    return log.read_text().splitlines()


def preads(file: Path, *words: object) -> list[tuple[int, int]]:
    """Offset and size of each."""
    lines = (line.split() for line in calls(file, *words))
    return [(int(line[1]), int(line[2])) for line in lines if line[0] == "pread"]


def told(*words: object) -> dict[str, Any]:
    done = readpages(*words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_file_is_read_in_order_to_its_last_byte(file: Path) -> None:
    assert preads(file) == [(0, 4096), (4096, 4096), (8192, 4096)]
    found = told(file)
    (phase,) = found["phases"]
    assert phase["name"] == "reading"
    assert phase["operations"] == found["operations"] == {"read": 3}
    assert phase["bytes"] == found["bytes"] == {"read": BYTES, "written": 0}
    latency = found["latency_ns"]["read"]
    assert latency["count"] == 3
    assert 3 * latency["min"] <= phase["ns"] <= 3 * latency["max"]
    assert "chip" not in phase


def test_at_random_each_piece_is_read_once(file: Path) -> None:
    words = ("--order", "random", "--size", 100)
    found = {seed: preads(file, *words, "--seed", seed) for seed in (1, 2)}
    for made in found.values():
        assert sorted(made) == [(at, 100) for at in range(0, BYTES, 100)]
    assert found[1] != found[2] != sorted(found[2])
    assert preads(file, *words, "--seed", 1) == found[1]
    assert preads(file, *words, "--count", 7) == found[1][:7]


def test_pieces_may_come_again_or_begin_at_any_byte(file: Path) -> None:
    again = preads(file, "--order", "random-replace", "--size", 1000, "--count", 500)
    assert {at for at, _ in again} == set(range(0, BYTES, 1000))
    assert len(again) == 500
    anywhere = [at for at, _ in preads(file, "--order", "random-unaligned", "--count", 500)]
    assert min(anywhere) >= 0 and max(anywhere) <= BYTES - 4096
    assert len({at % 4096 for at in anywhere}) > 400
    assert told(file, "--order", "random-unaligned", "--count", 9)["bytes"]["read"] == 9 * 4096


def test_pauses_lie_between_reads_and_in_no_time(file: Path) -> None:
    made = [line for line in calls(file, "--pause-us", 30) if "open" not in line]
    kinds = [line.split()[0] for line in made]
    assert kinds == ["pread", "sleep", "pread", "sleep", "pread", "close"]
    assert {line for line in made if line.startswith("sleep")} == {"sleep 30"}
    found = told(file, "--pause-us", 200_000)
    assert found["phases"][0]["ns"] < 200_000_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "FILE is missing"),
        (("FILE", "FILE"), "one FILE is read"),
        (("FILE", "--order", "backward"), "give one of sequential, random"),
        (("FILE", "--count", "0"), "--count"),
        (("FILE", "--count", "4"), "has 3 pieces of 4096 bytes"),
        (("FILE", "--size", "10001"), "not a file of 10001 bytes or more"),
        (("FOLDER",), "not a file of 4096 bytes or more"),
        (("FILE", "--pause-us", "-1"), "--pause-us"),
        (("FILE", "--sizes", "1"), "--sizes"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(
    file: Path, words: tuple[str, ...], said: str
) -> None:
    named = {"FILE": str(file), "FOLDER": str(file.parent)}
    done = readpages(*(named.get(word, word) for word in words))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = readpages(tmp_path / "none")
    assert done.returncode == 1
    assert "No such file" in done.stderr
