# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that is killed at any moment goes on, and ends as if it had not been: nothing is left."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from support.smallruns import TEXT, fake

from nandlab.analysis.differences.compare import compare_runs
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.results.folder import RunFolder
from nandlab.results.store import Store
from nandlab.trial import runner

FORK = multiprocessing.get_context("fork")


def execute(home: Path) -> None:
    """Runs a small study on a fake board into the folder home/run, or goes on with it."""
    tempfile.tempdir = str(home / "tmp")
    path = home / "study.toml"
    made = study.read_study_file(path)
    specs, board = study.plan_trials(made), fake()
    folder = RunFolder.create(home / "run", runner.make_run_head(made, specs, board))
    with folder.hold_lock():
        store = Store(home / "store")
        asyncio.run(
            runner.run_trials(
                folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher(), store
            )
        )


def place(home: Path) -> Path:
    (home / "tmp").mkdir(parents=True)
    (home / "study.toml").write_text(TEXT.replace("[1, 2]", str([*range(1, 7)])))
    return home


def killed_after(home: Path, seconds: float) -> bool:
    """Whether the run was killed before its end."""
    process = FORK.Process(target=execute, args=(home,))
    process.start()
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_random_moments_it_ends_as_an_undisturbed_run(kills: int, tmp_path: Path) -> None:
    whole = place(tmp_path / "whole")
    began = time.monotonic()
    assert not killed_after(whole, 60)
    took = time.monotonic() - began
    undisturbed = RunFolder(whole / "run")
    assert not undisturbed.missing()
    rng, done, n = random.Random(1), 0, 0
    while done < kills:
        n += 1
        home = place(tmp_path / str(n))
        for _ in range(4):  # kills of one run, each further on
            done += killed_after(home, rng.uniform(0, took))
        assert not killed_after(home, 60)
        again = RunFolder(home / "run")
        assert not again.missing()
        assert compare_runs(undisturbed, again) == []
        assert list((home / "tmp").iterdir()) == []
        assert list((home / "run").rglob(".part-*")) == []
        shutil.rmtree(home)


MARK = "NANDLAB_TEST_MARK"


def with_mark(mark: str) -> list[str]:
    """The processes that have this mark in their environment: by name."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue
    return found


@pytest.mark.board
@pytest.mark.long
def test_a_killed_run_leaves_no_qemu(tmp_path: Path) -> None:
    mark, tmp, out = tmp_path.name, tmp_path / "tmp", tmp_path / "run"
    tmp.mkdir()
    env = {**os.environ, MARK: mark, "TMPDIR": str(tmp)}
    argv = [sys.executable, "-m", "nandlab", "run", "quickstart", "--members", "1"]
    argv += ["--progress", "json", "--out", str(out)]
    rng = random.Random(2)
    for _ in range(4):
        process = subprocess.Popen(argv, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if '"workload"' in line:
                break
        time.sleep(rng.uniform(0, 2))
        process.kill()
        process.wait()
        time.sleep(1)
        assert with_mark(mark) == []
    done = subprocess.run(argv, cwd=tmp_path, env=env, check=False, capture_output=True)
    assert done.returncode == 0
    assert list(tmp.iterdir()) == []
    assert not list(out.rglob(".part-*"))
    whole = [*argv[:-1], str(tmp_path / "whole"), "--anew"]
    assert subprocess.run(whole, cwd=tmp_path, check=False, capture_output=True).returncode == 0
    assert compare_runs(RunFolder(tmp_path / "whole"), RunFolder(out)) == []
