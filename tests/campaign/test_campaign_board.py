# SPDX-License-Identifier: GPL-2.0-or-later
"""Shards, and workers of which one is killed, give the plain run on the virtual board."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

STUDY = """
name = "spread"
question = "Is it the same wherever it runs?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 20, transactions = 300 }]
filesystems = [{ name = "jffs2" }, { name = "yaffs2" }]
chips = [{ part = "nandsim-small", partition_mib = 4 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""
TRIALS = 4
WAIT_S = 60


def nandlab(cwd: Path, *words: str) -> str:
    """What it writes to both outputs; it must end well."""
    argv = [sys.executable, "-m", "nandlab", *words]
    both = subprocess.STDOUT
    done = subprocess.run(
        argv, cwd=cwd, stdout=subprocess.PIPE, stderr=both, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def begun(
    cwd: Path, *words: str, stderr: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """A process of this Python, which is killed at the end if it still runs."""
    argv = [sys.executable, "-m", *words]
    null = subprocess.DEVNULL
    process = subprocess.Popen(argv, cwd=cwd, stdout=null, stderr=stderr, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def scheduler(place: Path, stack: ExitStack) -> str:
    """Begins a scheduler on this machine; its address."""
    file = place / "scheduler.json"
    words = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    stack.enter_context(begun(place, *words, "--scheduler-file", str(file)))
    deadline = time.monotonic() + WAIT_S
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return str(json.loads(file.read_text())["address"])


def with_one_killed(place: Path) -> list[str]:
    """Runs the study over two workers, of which one is killed midway; the trials that ended."""
    ended: list[str] = []
    with ExitStack() as stack:
        there = scheduler(place, stack)
        worker = ["dask", "worker", there, "--no-nanny", "--nthreads", "1", "--memory-limit", "0"]
        worker += ["--no-dashboard"]
        first, _ = (stack.enter_context(begun(place, *worker)) for _ in range(2))
        words = ["nandlab", "run", "spread.toml", "--on", there, "--out", "dask", "--anew"]
        words += ["--progress", "json"]
        run = stack.enter_context(begun(place, *words, stderr=subprocess.PIPE))
        assert run.stderr is not None
        for line in run.stderr:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == "trial_ends":
                ended.append(told["trial"])
                if len(ended) == 1:
                    first.kill()
        assert run.wait(WAIT_S) == 0
        assert first.poll() == -9
    return ended


@pytest.mark.board
def test_merged_shards_and_a_run_that_lost_a_worker_are_the_plain_run(tmp_path: Path) -> None:
    (tmp_path / "spread.toml").write_text(STUDY)
    quiet = ("--anew", "--progress", "none")
    nandlab(tmp_path, "run", "spread.toml", "--out", "plain", *quiet)
    for part in ("1", "2"):
        nandlab(tmp_path, "run", "spread.toml", "--shard", f"{part}/2", "--out", part, *quiet)
        assert len(list((tmp_path / part / "trials").iterdir())) == TRIALS // 2
    assert f"{TRIALS} of {TRIALS} trials are done" in nandlab(tmp_path, "merge", "all", "1", "2")
    ended = with_one_killed(tmp_path)
    assert len(ended) == len(set(ended)) == TRIALS
    for whole in ("all", "dask"):
        assert "no difference" in nandlab(tmp_path, "compare", "plain", whole)
