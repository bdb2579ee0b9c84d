# SPDX-License-Identifier: GPL-2.0-or-later
"""Shards become one run, equal to a plain one; what contradicts is told, and nothing is written."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import samples
from support.smallruns import TEXT, fake

from nandlab.analysis.differences.compare import compare_runs
from nandlab.base.errors import UsageError
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.shard import Shard
from nandlab.results.folder import RunFolder
from nandlab.trial import runner
from nandlab.trial.merge import Contradiction, merge_runs


@given(st.lists(st.integers()), st.integers(1, 40))
def test_shards_share_all_trials_out(trials: list[int], of: int) -> None:
    parts = [Shard(i + 1, of).part(trials) for i in range(of)]
    assert sorted(t for part in parts for t in part) == sorted(trials)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("words", ["", "1", "0/2", "3/2", "-1/2", "1/0", "a/b", "1/2/3", "1.5/2"])
def test_what_is_no_shard_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="give I/N"):
        Shard.parse(words)


def shard(home: Path, part: Shard) -> RunFolder:
    path = home / "study.toml"
    path.write_text(TEXT)
    made, board = study.read_study_file(path), fake()
    specs = study.plan_trials(made)
    folder = RunFolder.create(
        home / f"{part.number}-{part.count}", runner.make_run_head(made, specs, board)
    )
    wanted = part.part(runner.order_trials(specs, made.members()))
    asyncio.run(
        runner.run_trials(folder, wanted, board, runner.LocalEngine(board, 2), SilentWatcher())
    )
    return folder


def test_merged_shards_are_the_plain_run(tmp_path: Path) -> None:
    plain = shard(tmp_path, Shard(1, 1))
    parts = [shard(tmp_path, Shard(i, 3)) for i in (1, 2, 3)]
    first = merge_runs(tmp_path / "out", parts[:2])
    assert first.missing()
    whole = merge_runs(tmp_path / "out", [parts[2], plain])
    assert not whole.missing()
    assert compare_runs(whole, plain) == []


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_two_results_of_one_trial_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    trials = samples.study()
    a = samples.folder(tmp_path / "a", trials[:4])
    (tmp_path / "b").mkdir()
    shutil.copytree(a.path, tmp_path / "b", dirs_exist_ok=True)
    path = RunFolder(tmp_path / "b").trial_path(trials[3].id)
    ns = trials[3].phases[2].ns
    samples.rewrite(path, lambda text: text.replace(str(ns), f"{ns}1", 1))
    with pytest.raises(Contradiction, match=r"phases\.transactions\.ns"):
        merge_runs(tmp_path / "out", [a, RunFolder(tmp_path / "b")])
    assert not (tmp_path / "out").exists()
    before = contents(a.path)
    with pytest.raises(Contradiction):
        merge_runs(a.path, [RunFolder(tmp_path / "b")])
    assert contents(a.path) == before


def test_another_run_is_refused(tmp_path: Path) -> None:
    a = samples.folder(tmp_path / "a")
    b = samples.folder(tmp_path / "b", id="another")
    with pytest.raises(UsageError, match="is of another run"):
        merge_runs(tmp_path / "out", [a, b])
    with pytest.raises(UsageError, match="not a run"):
        merge_runs(tmp_path / "out", [a, RunFolder(tmp_path / "nowhere")])
    assert not (tmp_path / "out").exists()
