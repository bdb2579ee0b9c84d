# SPDX-License-Identifier: GPL-2.0-or-later
"""Shards, and a run that loses scheduler and worker, give the plain run on the virtual board."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.commandline import run_command

STUDY = """
name = "spread"
question = "Is it the same wherever it runs?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 20, transactions = 40 }]
filesystems = [{ name = "jffs2" }, { name = "yaffs2" }]
chips = [{ part = "nandsim-small", partition_mib = 4 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
"""
TRIALS = 4
WAIT_S = 60
QUIET = ("--anew", "--progress", "none")


def nandlab(cwd: Path, *words: str) -> str:
    """What it writes to both outputs; it must end well."""
    done = run_command(*words, cwd=cwd, deadline_s=250)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


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


def scheduler(file: Path, stack: ExitStack) -> tuple[subprocess.Popen[str], str]:
    """Begins a scheduler on this machine, which is told in this file; and its address."""
    words = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    words += ["--scheduler-file", str(file)]
    process = stack.enter_context(begun(file.parent, *words))
    deadline = time.monotonic() + WAIT_S
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process, str(json.loads(file.read_text())["address"])


WORKER = ["--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]


def told_while_it_runs(
    run: subprocess.Popen[str], at_first_end: Callable[[], None]
) -> tuple[list[str], list[str]]:
    """The trials that a run tells to have ended, and the lines that it tells beside its events."""
    ended: list[str] = []
    lines: list[str] = []
    assert run.stderr is not None
    for line in run.stderr:
        told = json.loads(line) if line.startswith("{") else {}
        if not told:
            lines.append(line)
        if told.get("event") == "trial_ends":
            ended.append(told["trial"])
            if len(ended) == 1:
                at_first_end()
    return ended, lines


def with_one_killed(place: Path) -> None:
    """Loses the scheduler midway, then goes on with two workers, of which one is killed midway."""
    words = ["nandlab", "run", "spread.toml", "--out", "dask", "--anew", "--progress", "json"]
    with ExitStack() as stack:
        dask, there = scheduler(place / "lost.json", stack)
        stack.enter_context(begun(place, "dask", "worker", there, *WORKER))
        run = stack.enter_context(begun(place, *words, "--on", there, stderr=subprocess.PIPE))
        before, lines = told_while_it_runs(run, dask.kill)
        assert run.wait(WAIT_S) == 2
        assert lines[-1].startswith("nandlab: the scheduler is gone; run again to go on"), lines
    with ExitStack() as stack:
        _, there = scheduler(place / "scheduler.json", stack)
        first, _ = (
            stack.enter_context(begun(place, "dask", "worker", there, *WORKER)) for _ in range(2)
        )
        run = stack.enter_context(begun(place, *words, "--on", there, stderr=subprocess.PIPE))
        after, _ = told_while_it_runs(run, first.kill)
        assert run.wait(WAIT_S) == 0
        assert first.poll() == -9
    assert 1 <= len(before) < TRIALS
    assert len({*before, *after}) == len(before) + len(after) == TRIALS


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the study and its plain run."""
    (tmp_path / "spread.toml").write_text(STUDY)
    nandlab(tmp_path, "run", "spread.toml", "--out", "plain", *QUIET)
    return tmp_path


@pytest.mark.board
def test_merged_shards_and_a_run_that_lost_scheduler_and_worker_are_the_plain_run(
    place: Path,
) -> None:
    """A shard runs here, the other one over processes of this machine."""
    nandlab(place, "run", "spread.toml", "--shard", "1/2", "--out", "1", *QUIET)
    run_over_processes(place, "--shard", "2/2", "--out", "2")
    for part in ("1", "2"):
        assert len(list((place / part / "trials").iterdir())) == TRIALS // 2
    assert f"{TRIALS} of {TRIALS} trials are done" in nandlab(place, "merge", "all", "1", "2")
    with_one_killed(place)
    for whole in ("all", "dask"):
        assert "no difference" in nandlab(place, "compare", "plain", whole)


def run_over_processes(place: Path, *more: str) -> None:
    """By a real start: the processes are started as this one was."""
    words = ["run", "spread.toml", "--on", "local:2", *more, *QUIET]
    argv = [sys.executable, "-m", "nandlab", *words]
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
