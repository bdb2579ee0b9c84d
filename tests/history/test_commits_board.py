# SPDX-License-Identifier: GPL-2.0-or-later
"""Planted commits of the kernel's UBI, on the board: one erases a block once more."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import lock, planted

pytestmark = [pytest.mark.board, pytest.mark.long, pytest.mark.timeout(3600)]

COUNT, PLANTED, FAULTY = 32, 21, (15,)
SOURCE = ("--source", "ubi=linux", "--progress", "plain")
BISECT = (
    *("bisect", "--good", f"main~{COUNT - 1}", "--bad", "main", "--study", "watch.toml"),
    *("--figure", "chip.erases", "--format", "json", *SOURCE),
)
STEP = "bisect: step 3"
"""How the line begins after which the bisection is interrupted."""


def start(cwd: Path, *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "nandlab", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=cwd, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, and a tree of UBI's sources in planted commits."""
    lock.need_locked("apf27")
    folder = tmp_path_factory.mktemp("project")
    (folder / "watch.toml").write_text(planted.UBI_STUDY)
    planted.plant(folder / "linux", planted.ubi_series(COUNT, PLANTED, FAULTY))
    return folder


def test_the_commit_is_found_and_an_interruption_costs_a_trial(project: Path) -> None:
    first = start(project, *BISECT)
    assert first.stderr is not None
    lines = list(itertools.takewhile(lambda line: not line.startswith(STEP), first.stderr))
    with first:
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 130, "".join(lines)
    second = start(project, *BISECT)
    out, err = second.communicate()
    assert second.returncode == 0, err
    result = json.loads(out)
    assert [c["subject"] for c in result["first_bad"]] == [f"c{PLANTED}"]
    assert result["before"]["subject"] == f"c{PLANTED - 1}"
    assert result["first_bad"][0]["value"] - result["before"]["value"] == 1
    skipped = [step["commit"] for step in result["steps"] if step["mark"] == "skip"]
    known = planted.git(project / "linux", "rev-list", "--reverse", "main").split()
    assert set(skipped) <= {known[number] for number in FAULTY}
    assert "chip.erases" in {change["figure"] for change in result["changes"]}


def test_ten_commits_are_a_table_and_a_chart(project: Path) -> None:
    ends = f"main~{COUNT - PLANTED + 7}..main~{COUNT - PLANTED - 2}"
    words = ("check", "watch.toml", "--commits", ends, *SOURCE, "--figure", "chip.erases")
    done = start(project, *words, "--format", "json", "--chart", "erases.svg")
    out, err = done.communicate()
    assert done.returncode == 1, err
    rows = json.loads(out)
    assert [row["subject"] for row in rows] == [f"c{n}" for n in range(13, 23)]
    assert [row["subject"] for row in rows if row["median"] is None] == ["c15"]
    assert [row["subject"] for row in rows if row["figure_moved"]] == [f"c{PLANTED}"]
    assert (project / "erases.svg").read_text().startswith("<svg")
