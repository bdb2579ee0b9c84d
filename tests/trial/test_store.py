# SPDX-License-Identifier: GPL-2.0-or-later
"""No trial is run twice: what a run has done, another takes, if it is the very same."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from support.smallruns import TEXT, fake
from veryboard import placed, refused, very_board

from nandlab import report
from nandlab.analysis.differences.compare import compare_runs, format_source_runs_of_trials
from nandlab.board.jobs.fake import FakeBoard, FakeResult
from nandlab.board.jobs.job import Job
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.results.folder import RunFolder
from nandlab.results.seals import seal_json, unseal_json
from nandlab.results.store import Store
from nandlab.trial import runner


def execute(home: Path, text: str, board: FakeBoard, *, anew: bool = False) -> RunFolder:
    """Runs a study into results below a folder; the board counts the jobs."""
    path = home / "study.toml"
    path.write_text(text)
    made = study.read_study_file(path)
    specs = study.plan_trials(made)
    run = runner.make_run_head(made, specs, board)
    folder = RunFolder.create(home / "results" / made.name / run.id, run)
    store = None if anew else Store(home / "results" / "store")
    asyncio.run(
        runner.run_trials(
            folder, specs, board, runner.LocalEngine(board, 2), SilentWatcher(), store
        )
    )
    return folder


def test_a_grown_study_runs_only_what_is_new(tmp_path: Path) -> None:
    board = fake()
    first = execute(tmp_path, TEXT, board)
    assert len(board.jobs) == 4
    grown = execute(tmp_path, TEXT.replace("[1, 2]", "[1, 2, 3]"), board)
    assert len(board.jobs) == 4 + 2
    assert grown.path != first.path
    assert [t.origin is None for t in grown.trials()] == [False, False, True] * 2
    (source,) = format_source_runs_of_trials(grown.trials())
    assert source.startswith("4 of its trials ")
    assert source.endswith(f" in small, run {first.head().id}")
    assert "4 of its trials were run" in report.write_run_report(grown).read_text()
    again = execute(tmp_path, TEXT.replace("[1, 2]", "[3, 2, 1]"), board)
    assert len(board.jobs) == 6
    assert {t.id for t in again.trials()} == {t.id for t in grown.trials()}
    assert len(format_source_runs_of_trials(again.trials())) == 2


def test_another_question_or_name_runs_nothing(tmp_path: Path) -> None:
    board = fake()
    first = execute(tmp_path, TEXT, board)
    reworded = execute(tmp_path, TEXT.replace("Which?", "Which one, then?"), board)
    renamed = execute(tmp_path, TEXT.replace('name = "small"', 'name = "other"'), board)
    assert len(board.jobs) == 4
    assert [t.study for t in renamed.trials()] == ["other"] * 4
    heads = ("run.id", "run.question", "run.spec.question")
    assert {d.path for d in compare_runs(first, reworded)} == set(heads)


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
    board = fake(workload=FakeResult(rc=1))
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
    told = unseal_json(first.read_bytes())
    first.unlink()
    first.write_bytes(seal_json(json.dumps({**told, "key": "0"})))
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
    board.lock_differences = ("dosfstools: 4.2-0 -> 4.2-1",)
    moved = execute(tmp_path, TEXT, board)
    board.lock_differences = ()
    again = execute(tmp_path, TEXT.replace("Which?", "Which one?"), board)
    assert len(board.jobs) == 4
    assert moved.path != locked.path
    assert all("not_locked" not in c for c in codes(locked) + codes(again))
    assert all("not_locked" in c for c in codes(moved))


def test_a_trial_from_before_an_option_was_there_has_its_default(tmp_path: Path) -> None:
    board = fake()
    before = [t.options for t in execute(tmp_path, TEXT, board).trials()]
    for kept in (tmp_path / "results/store/trials").glob("*.json"):
        told = unseal_json(kept.read_bytes())
        if told.get("options", {}).pop("read_ahead", None) is not None:
            kept.write_bytes(seal_json(json.dumps(told)))
    again = execute(tmp_path, TEXT.replace("Which?", "Which one?"), board)
    assert len(board.jobs) == 4, "nothing is run again"
    assert [t.options for t in again.trials()] == before
    assert all("read_ahead" in t.options for t in again.trials())


def shared(home: Path, board: FakeBoard, store: Path, jobs: int = 1) -> RunFolder:
    """Runs the study in a place of its own, with a store that others share."""
    home.mkdir(exist_ok=True)
    path = home / "study.toml"
    path.write_text(TEXT)
    made = study.read_study_file(path)
    specs = study.plan_trials(made)
    folder = RunFolder.create(home / "run", runner.make_run_head(made, specs, board))
    engine = runner.LocalEngine(board, jobs)
    asyncio.run(runner.run_trials(folder, specs, board, engine, SilentWatcher(), Store(store)))
    return folder


def test_runs_at_the_same_time_take_what_the_other_has_finished(tmp_path: Path) -> None:
    """While this one runs its third trial the other run is done; this one takes the last."""
    store, first, second = tmp_path / "store", fake(), fake()
    others: list[RunFolder] = []
    workload = first.answers["workload"]
    assert isinstance(workload, FakeResult)

    def meanwhile(job: Job) -> FakeResult:
        if len(first.jobs) == 3 and not others:
            other = threading.Thread(
                target=lambda: others.append(shared(tmp_path / "second", second, store))
            )
            other.start()
            other.join()
        return workload

    first.answers["workload"] = meanwhile
    folder = shared(tmp_path / "first", first, store)
    assert (len(first.jobs), len(second.jobs)) == (3, 2)
    assert compare_runs(folder, others[0]) == []
    origins = [t.origin is None for t in folder.trials()]
    assert origins == [True, True, True, False]


def test_stores_may_be_copied_together(tmp_path: Path) -> None:
    one, other, board = tmp_path / "one", tmp_path / "other", fake()
    shared(tmp_path / "first", fake(), one)
    halves = sorted((one / "trials").iterdir())
    for path in halves[:2]:
        path.unlink()
    shared(tmp_path / "second", fake(), other)
    for path in sorted((other / "trials").iterdir()):
        if path.name in {p.name for p in halves[2:]}:
            path.unlink()
    shutil.copytree(other, one, dirs_exist_ok=True)
    shared(tmp_path / "third", board, one)
    assert board.jobs == []


def test_a_store_on_another_disk_has_copies_and_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def across(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source))

    monkeypatch.setattr("os.link", across)
    store = tmp_path / "store"
    left = store / "trials" / ".part-of-a-killed-process"
    shared(tmp_path / "first", fake(), store)
    left.write_text("half of a")
    os.utime(left, (0, 0))
    fresh = left.with_name(".part-of-another-machine")
    fresh.write_text("half of a")
    board = fake()
    shared(tmp_path / "second", board, store)
    assert board.jobs == []
    assert [p.name for p in store.rglob(".part-*")] == [fresh.name]


def test_shards_share_a_store_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = placed(tmp_path, monkeypatch, capsys)
    store = tmp_path / "farm"
    parts = [very_board() for _ in range(2)]
    for i, board in enumerate(parts, start=1):
        place.elsewhere(f"machine-{i}")
        run = ("run", tmp_path / "small.toml", "--store", store)
        assert place.nandlab(board, *run, "--shard", f"{i}/2").status == 0
    assert [len(board.jobs) for board in parts] == [2, 2]
    place.elsewhere("third")
    board = very_board()
    assert place.nandlab(board, *run).status == 0
    assert board.jobs == []
    assert not (place.folder / "results" / "store").exists()
    said = refused(place.nandlab(board, *run, "--anew"))
    assert said.startswith("nandlab: --anew and --store: ")
    file = tmp_path / "small.toml"
    place.elsewhere("fourth")
    said = refused(place.nandlab(board, "run", file, "--store", file))
    assert "small.toml" in said and board.jobs == []
