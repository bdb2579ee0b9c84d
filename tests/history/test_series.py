# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of commits: its rows, its tables, its chart, and that it goes on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import planted
from support.fitting import fits
from support.planted import Runner

from nandlab.base.errors import UsageError
from nandlab.history.commitruns import CommitRun, CommitRuns, CommitsHead, open_commit_runs
from nandlab.history.gittree import find_commit_of_revision, open_git_tree
from nandlab.history.series import (
    ConfigurationSeries,
    has_moved,
    make_series,
    parse_commit_range,
    run_commit_series,
)
from nandlab.report.charts.commitchart import render_commit_series_chart
from nandlab.report.tables.commitseries import render_commit_series


@contextmanager
def opened(
    top: Path, runner: Runner, identity: str = "abc", builder: str = "b1"
) -> Iterator[CommitRuns]:
    """The runs of the tree's commits, with a new scratch folder."""
    tree = open_git_tree(top / planted.FOLDER, "--source")
    home = top.parent / f"scratch-{len(list(top.parent.iterdir()))}"
    home.mkdir()
    head = CommitsHead(identity=identity, study="s", builder=builder)
    yield open_commit_runs(head, (tree, [tree.folder]), top.parent / "state", runner, home)


def run(top: Path, runner: Runner, text: str = "main~9..main") -> list[CommitRun]:
    with opened(top, runner) as runs:
        first, last = parse_commit_range(runs.tree, text, "--commits")
        return run_commit_series(first, last, runs, lambda number, count, commit: None)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> list[CommitRun]:
    """Ten commits: one erase more at the fifth, the eighth does not build, one less at the last."""
    top = tmp_path_factory.mktemp("ten") / "linux"
    planted.plant(top, planted.series(10, {4: 241, 9: 240}, {7: "fault"}))
    return run(top, Runner())


def only_ubifs(series: list[ConfigurationSeries]) -> ConfigurationSeries:
    (one,) = (one for one in series if one.filesystem == "ubifs")
    return one


def test_each_commit_is_held_against_the_one_before(ten: list[CommitRun]) -> None:
    rows = only_ubifs(make_series(ten, ["chip.erases", "chip.programs"])).rows
    assert [row.commit.subject for row in rows] == [f"c{n}" for n in range(10)]
    cells = [row.cells.get("chip.erases") for row in rows]
    values = [cell.spread.median if cell and cell.spread else None for cell in cells]
    assert values == [240, 240, 240, 240, 241, 241, 241, None, 241, 240]
    assert [n for n, cell in enumerate(cells) if cell and cell.moved] == [4, 9]
    assert not any(cell.moved for row in rows if (cell := row.cells.get("chip.programs")))
    assert [row.moved for row in rows[:4]] == [None, 0, 0, 0]
    assert rows[4].moved == rows[9].moved
    assert (rows[4].moved or 0) > 1
    assert (rows[7].cells, rows[7].moved) == ({}, None)
    assert "gc.c:7" in rows[7].note
    assert rows[8].moved == 0, "it is held against the last that has a run"


def test_the_configuration_without_the_sources_stays(ten: list[CommitRun]) -> None:
    series = make_series(ten, [])
    assert {one.filesystem for one in series} == {"jffs2", "ubifs"}
    (still,) = (one for one in series if one.filesystem == "jffs2")
    assert {row.moved for row in still.rows} == {None, 0}
    assert [figure.name for figure in still.figures][-1] == "chip.erases"
    assert has_moved(series)
    assert not has_moved(make_series(ten[:4], []))
    assert has_moved(make_series(ten[7:9], [])), "a commit could not be run"


def test_tables_and_records(ten: list[CommitRun]) -> None:
    series = make_series(ten, ["chip.erases"])
    text = render_commit_series(series, "text")
    assert text.startswith("Figures moved at 2 of 10 commits")
    lines = [line.split() for line in text.splitlines() if " c4 " in line or " c9 " in line]
    assert [line[2:4] for line in lines if "241" in line or "240" in line] == [
        ["241", "+1"],
        ["240", "-1"],
    ]
    records = json.loads(render_commit_series(series, "json"))
    assert len(records) == 20
    fits("commits", records)
    own = [r for r in records if r["configuration"].startswith("UBIFS")]
    assert [r["median"] for r in own][3:9] == [240, 241, 241, 241, None, 241]
    assert [r["change"] for r in own][3:6] == [0, 1, 0]
    rows = list(csv.DictReader(io.StringIO(render_commit_series(series, "csv"))))
    assert [row["commit"] for row in rows] == [record["commit"] for record in records]
    assert render_commit_series(series, "markdown").count("\n| ") == 2 * (2 + 10)


def test_the_chart_has_a_mark_a_commit_and_fills_what_moved(ten: list[CommitRun]) -> None:
    series = make_series(ten, ["chip.erases"])
    chart = render_commit_series_chart(series)
    marks = chart.datasets["marks"]
    panel = series.index(only_ubifs(series))
    own = [mark for mark in marks if mark["panel"] == panel]
    assert [mark["place"] for mark in own] == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    assert [mark["place"] for mark in own if mark["fill"] != "transparent"] == [4, 9]
    svg = chart.svg()
    assert all(run.commit.short in svg for run in ten)
    assert ">240<" in svg
    assert "240.5" not in svg, "there is no half erase"
    assert ">Linux<" in render_commit_series_chart(series, "Linux").svg()


def test_a_series_goes_on_where_it_was(tmp_path: Path) -> None:
    top = tmp_path / "linux"
    planted.plant(top, planted.series(6, {3: 241}, {2: "fault"}))
    stopped, resumed = Runner(stop_after=4), Runner()
    with pytest.raises(KeyboardInterrupt):
        run(top, stopped, "main~5..main")
    runs = run(top, resumed, "main~5..main")
    assert [len(stopped.ran), len(resumed.ran)] == [4, 2]
    assert [run.folder is None for run in runs] == [n == 2 for n in range(6)]
    again = Runner()
    run(top, again, "main~3..main")
    assert again.ran == [], "another range over the same sources takes the same runs"


def test_equal_sources_are_run_once(tmp_path: Path) -> None:
    top = tmp_path / "linux"
    commits = [planted.source(0), planted.source(1), planted.source(0), {"README": "no source"}]
    planted.plant(top, commits)
    runner = Runner()
    runs = run(top, runner, "main~3..main")
    assert [r.commit.subject for r in runs] == ["c0", "c1", "c2"]
    assert len(runner.ran) == 2


def test_what_does_not_build_is_tried_again_by_another_builder(tmp_path: Path) -> None:
    planted.plant(tmp_path / "linux", planted.series(1, {}, {0: "fault"}))
    runner = Runner()
    for builder, tries in (("b1", 1), ("b1", 1), ("b2", 2), ("b2", 2)):
        with opened(tmp_path / "linux", runner, builder=builder) as runs:
            commit = find_commit_of_revision(runs.tree, "main", "")
            assert runs.run(commit).folder is None
        assert len(runner.ran) == tries


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    planted.plant(tmp_path / "linux", planted.series(2, {}, {}))
    with opened(tmp_path / "linux", Runner()):
        pass
    with (
        pytest.raises(UsageError, match="--out"),
        opened(tmp_path / "linux", Runner(), identity="abd"),
    ):
        pass


@pytest.mark.parametrize("text", ["main", "main..", "..main", "main~1...main", "main..main~1"])
def test_what_is_no_range_is_refused(tmp_path: Path, text: str) -> None:
    planted.plant(tmp_path / "linux", planted.series(2, {}, {}))
    tree = open_git_tree(tmp_path / "linux" / planted.FOLDER, "--source")
    with pytest.raises(UsageError, match="--commits"):
        parse_commit_range(tree, text, "--commits")


def test_merges_are_one_step(tmp_path: Path) -> None:
    """A branch that was merged is held as one commit, by the line of first parents."""
    top = tmp_path / "linux"
    planted.plant(top, planted.series(2, {}, {}))
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    planted.git(top, "checkout", "-q", "-b", "side")
    for erases in (241, 242):
        (top / planted.SOURCE).write_text(f"erases {erases}\nversion\n")
        planted.git(top, *who, "commit", "-qam", f"side {erases}")
    planted.git(top, "checkout", "-q", "main")
    planted.git(top, *who, "merge", "-q", "--no-ff", "-m", "merged", "side")
    runs = run(top, Runner(), "main~2..main")
    assert [r.commit.subject for r in runs] == ["c0", "c1", "merged"]
    assert only_ubifs(make_series(runs, ["chip.erases"])).rows[-1].cells["chip.erases"].moved
