# SPDX-License-Identifier: GPL-2.0-or-later
"""No trial is run twice: what a run has done, another takes, if it is the very same."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from test_run import TEXT, fake

from nandlab import report
from nandlab.analysis.compare import compare, taken
from nandlab.board.fake import Answer, FakeBoard
from nandlab.cli.progress import Silent
from nandlab.plan import study
from nandlab.results.folder import RunFolder
from nandlab.results.store import Store
from nandlab.trial import run as runner


def execute(home: Path, text: str, board: FakeBoard, *, anew: bool = False) -> RunFolder:
    """Runs a study into results below a folder; the board counts the jobs."""
    path = home / "study.toml"
    path.write_text(text)
    made = study.read(path)
    specs = study.plan(made)
    run = runner.head(made, specs, board)
    folder = RunFolder.create(home / "results" / made.name / run.id, run)
    store = None if anew else Store(home / "results" / "store")
    asyncio.run(runner.execute(folder, specs, board, runner.Here(board, 2), Silent(), store))
    return folder


def test_a_grown_study_runs_only_what_is_new(tmp_path: Path) -> None:
    board = fake()
    first = execute(tmp_path, TEXT, board)
    assert len(board.jobs) == 4
    grown = execute(tmp_path, TEXT.replace("[1, 2]", "[1, 2, 3]"), board)
    assert len(board.jobs) == 4 + 2
    assert grown.path != first.path
    assert [t.origin is None for t in grown.trials()] == [False, False, True] * 2
    assert taken(grown) == [f"4 of its trials were run in small, run {first.head().id}"]
    assert "4 of its trials were run in small" in report.write(grown).read_text()
    again = execute(tmp_path, TEXT.replace("[1, 2]", "[3, 2, 1]"), board)
    assert len(board.jobs) == 6
    assert {t.id for t in again.trials()} == {t.id for t in grown.trials()}
    assert len(taken(again)) == 2


def test_another_question_or_name_runs_nothing(tmp_path: Path) -> None:
    board = fake()
    first = execute(tmp_path, TEXT, board)
    reworded = execute(tmp_path, TEXT.replace("Which?", "Which one, then?"), board)
    renamed = execute(tmp_path, TEXT.replace('name = "small"', 'name = "other"'), board)
    assert len(board.jobs) == 4
    assert [t.study for t in renamed.trials()] == ["other"] * 4
    heads = ("run.id", "run.question", "run.spec.question")
    assert {d.path for d in compare(first, reworded)} == set(heads)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("files = 10", "files = 11"),
        ("valid = 0.5", "valid = 0.4"),
        ("partition_mib = 8", "partition_mib = 16"),
        ("seeds = [1, 2]", "seeds = [1, 2]\nphase_offsets_ms = [3]"),
        ('{ name = "jffs2" }', '{ name = "jffs2", compression = "none" }'),
    ],
)
def test_what_is_otherwise_is_run(tmp_path: Path, old: str, new: str) -> None:
    board = fake()
    execute(tmp_path, TEXT, board)
    execute(tmp_path, TEXT.replace(old, new), board)
    assert len(board.jobs) in (6, 8)


def test_another_kernel_or_a_clock_of_the_hosts_takes_nothing(tmp_path: Path) -> None:
    execute(tmp_path, TEXT, fake())
    other = fake()
    other.kernel = "6.12"
    execute(tmp_path, TEXT, other)
    assert len(other.jobs) == 4
    shutil.rmtree(tmp_path / "results" / "small")
    hosts = fake()
    hosts.deterministic = False
    execute(tmp_path, TEXT, hosts)
    assert len(hosts.jobs) == 4


def test_anew_takes_nothing_and_what_failed_is_not_kept(tmp_path: Path) -> None:
    board = fake(workload=Answer(rc=1))
    execute(tmp_path, TEXT, board)
    mended = fake()
    shutil.rmtree(tmp_path / "results" / "small")
    execute(tmp_path, TEXT, mended)
    assert len(mended.jobs) == 4
    shutil.rmtree(tmp_path / "results" / "small")
    execute(tmp_path, TEXT, mended, anew=True)
    assert len(mended.jobs) == 8


def test_a_store_outlives_its_runs_and_what_is_broken_there_is_run(tmp_path: Path) -> None:
    board = fake()
    execute(tmp_path, TEXT, board)
    shutil.rmtree(tmp_path / "results" / "small")
    folder = execute(tmp_path, TEXT, board)
    assert len(board.jobs) == 4
    assert all(t.ok for t in folder.trials())
    first, second, *_ = sorted((tmp_path / "results" / "store" / "trials").iterdir())
    told = json.loads(first.read_text())
    first.unlink()
    first.write_text(json.dumps({**told, "key": "0"}))
    second.unlink()
    second.write_text("{")
    shutil.rmtree(tmp_path / "results" / "small")
    execute(tmp_path, TEXT, board)
    assert len(board.jobs) == 6


def test_the_doubt_about_the_lock_is_that_of_today(tmp_path: Path) -> None:
    """The same packages may be the locked ones today, and not tomorrow."""

    def codes(folder: RunFolder) -> list[list[str]]:
        return [[w.code for w in t.warnings] for t in folder.trials()]

    board = fake()
    locked = execute(tmp_path, TEXT, board)
    board.moved = ("dosfstools: 4.2-0 -> 4.2-1",)
    moved = execute(tmp_path, TEXT, board)
    board.moved = ()
    again = execute(tmp_path, TEXT.replace("Which?", "Which one?"), board)
    assert len(board.jobs) == 4
    assert moved.path != locked.path
    assert all("not_locked" not in c for c in codes(locked) + codes(again))
    assert all("not_locked" in c for c in codes(moved))


def test_a_trial_from_before_an_option_was_there_has_its_default(tmp_path: Path) -> None:
    board = fake()
    before = [t.options for t in execute(tmp_path, TEXT, board).trials()]
    for kept in (tmp_path / "results/store").rglob("*.json"):
        told = json.loads(kept.read_text())
        if told.get("options", {}).pop("read_ahead", None) is not None:
            kept.write_text(json.dumps(told))
    again = execute(tmp_path, TEXT.replace("Which?", "Which one?"), board)
    assert len(board.jobs) == 4, "nothing is run again"
    assert [t.options for t in again.trials()] == before
    assert all("read_ahead" in t.options for t in again.trials())
