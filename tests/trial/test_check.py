# SPDX-License-Identifier: GPL-2.0-or-later
"""A study is held against its baseline: one more erase is seen, and what cannot be held is told."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.fitting import fits
from support.smallruns import TEXT
from veryboard import RICH, Place, VeryBoard, leaves, placed, refused, ubifs_is_full, very_board

from nandlab.analysis.differences.baselinecheck import compare_run_with_baseline
from nandlab.analysis.differences.baselines import FiguresBaseline
from nandlab.board.jobs.fake import FakeResult
from nandlab.report.tables.figurechanges import FigureChangeRecord
from nandlab.results.folder import RunFolder

SAME = "No figure moved: all trials (4) are the same, to the nanosecond.\n"
STUDY = "small.toml"


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    return placed(tmp_path, monkeypatch, capsys)


def erases_once_more() -> VeryBoard:
    """On this board UBIFS erases a block more in its transactions; nothing else is another."""
    board = very_board()
    board.made_of["parts"] = {"init": "12", "simnand.ko": "34", "ubifs.ko": "new"}
    well = board.answers["workload"]
    assert isinstance(well, FakeResult)
    told = json.loads(json.dumps(RICH))
    told["phases"][1]["chip"]["erases"] += 1
    more = FakeResult(f"{json.dumps(told)}\n", counts=well.counts)
    board.answers["workload"] = lambda job: more if "ubifs" in str(job.steps) else well
    return board


def test_the_same_board_gives_the_baseline_and_the_store_answers_again(place: Place) -> None:
    file, board = place.published(), very_board()
    ended = place.nandlab(board, "check", STUDY, "--against", file)
    assert (ended.status, ended.out) == (0, SAME)
    assert len(board.jobs) == 4
    ended = place.nandlab(board, "check", STUDY, "--against", file, "--out", "again")
    assert (ended.status, ended.out) == (0, SAME)
    assert len(board.jobs) == 4
    assert len(list(RunFolder(Path("again")).trials())) == 4
    place.nandlab(board, "check", STUDY, "--against", file, "--out", "anew", "--anew")
    assert len(board.jobs) == 8


def test_one_more_erase_is_found_and_named_with_its_change(place: Place) -> None:
    file = place.published()
    ended = place.nandlab(erases_once_more(), "check", STUDY, "--against", file)
    assert ended.status == 1
    first, blank, title, head, *rows = ended.out.splitlines()
    assert first == "Figures of 1 of 2 configurations moved."
    assert (blank, title) == ("", "UBIFS, aged, ffsmark on apf27, 8 MiB")
    assert head.split()[0] == "figure"
    found = {row.split()[0]: row.split()[1:] for row in rows}
    assert list(found) == ["chip.erases", "phase.transactions.erases"]
    assert found["phase.transactions.erases"][:4] == ["6", "7", "+1", "(+16.7"]
    assert found["chip.erases"][:3] == ["18", "19", "+1"]
    assert rows[0].endswith("2 of 2")
    assert "other parts of the board: parts.ubifs.ko" in ended.err


def test_a_run_that_was_made_is_checked_without_a_board(place: Place) -> None:
    file, board = place.published(), very_board()
    ended = place.nandlab(board, "check", "--run", place.run.path, "--against", file)
    assert (ended.status, ended.out, board.jobs) == (0, SAME, [])
    ended = place.nandlab(board, "check", "--run", place.run.path, "--against", place.run.path)
    assert (ended.status, ended.out) == (0, SAME)


def test_only_the_figures_that_are_named_count(place: Place) -> None:
    file = place.published()
    words = ("check", STUDY, "--against", file)
    for name in ("phase.*.reads", "step.*", "creation.erases"):
        ended = place.nandlab(erases_once_more(), *words, "--figure", name)
        assert (ended.status, ended.out) == (0, SAME)
    ended = place.nandlab(erases_once_more(), *words, "--figure", "chip.*", "--format", "csv")
    assert ended.status == 1
    assert [row["figure"] for row in csv.DictReader(io.StringIO(ended.out))] == ["chip.erases"]
    ended = place.nandlab(erases_once_more(), *words, "--figure", "chip.erasures")
    assert (ended.status, ended.out) == (2, "")
    assert "figure 'chip.erasures'; nearest: chip.erases" in ended.err


def test_each_format_tells_the_same(place: Place) -> None:
    file, board = place.published(), erases_once_more()
    words = ("check", STUDY, "--against", file, "--format")
    told = {f: place.nandlab(board, *words, f) for f in ("markdown", "csv", "json", "junit")}
    assert {ended.status for ended in told.values()} == {1}
    records = fits("compare", told["json"].out)
    assert [tuple(r) for r in records] == [tuple(FigureChangeRecord.model_fields)] * 2
    wanted = {"figure": "phase.transactions.erases", "before": 6, "now": 7, "change": 1}
    assert {k: records[1][k] for k in wanted} == wanted
    rows = list(csv.DictReader(io.StringIO(told["csv"].out)))
    assert rows == [{k: "" if v is None else str(v) for k, v in r.items()} for r in records]
    assert "\n| phase.transactions.erases | 6 | 7 | +1 (+16.7 %) | " in told["markdown"].out
    suite = ET.fromstring(told["junit"].out)
    cases = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    assert list(cases) == ["JFFS2, aged", "UBIFS, aged"]
    assert cases["JFFS2, aged"] is None
    failure = cases["UBIFS, aged"]
    assert failure is not None and failure.text is not None
    assert failure.get("message") == "2 moved, the first is chip.erases: 18, now 19"
    assert "phase.transactions.erases" in failure.text


def test_what_equals_is_told_in_each_format(place: Place) -> None:
    file, words = place.published(), ("check", "--run", place.run.path, "--format")
    told = {
        f: place.nandlab(very_board(), *words, f, "--against", file)
        for f in ("markdown", "csv", "json", "junit")
    }
    assert {ended.status for ended in told.values()} == {0}
    assert told["markdown"].out == SAME
    assert told["csv"].out == ",".join(FigureChangeRecord.model_fields) + "\n"
    assert json.loads(told["json"].out) == []
    suite = ET.fromstring(told["junit"].out)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")


def test_a_change_in_any_value_of_the_baseline_is_a_figure_that_moved(place: Place) -> None:
    path = place.published()
    told = json.loads(path.read_text())
    trial = told["trials"][1]
    for where in leaves(trial):
        *way, last = where
        at: Any = trial
        for part in way:
            at = at[part]
        at[last] += 1
        path.write_text(json.dumps(told))
        moved = [
            one
            for one in compare_run_with_baseline(FiguresBaseline(path), place.run)
            if one.changed_figures
        ]
        assert len(moved) == 1, where
        assert {i for m in moved[0].changed_figures for i in m.trials} == {trial["id"]}
        at[last] -= 1


def test_what_no_figure_tells_is_told_too(place: Place) -> None:
    board = very_board(per_block={**RICH["per_block"], "erases": [1, 2] * 31 + [1, 3]})  # type: ignore[dict-item]
    ended = place.nandlab(board, "check", STUDY, "--against", place.published())
    assert ended.status == 1
    assert "names are equal, but other parts" in ended.out


def test_a_trial_that_ends_otherwise_is_a_row(place: Place) -> None:
    file = place.published()
    ended = place.nandlab(ubifs_is_full(), "check", STUDY, "--against", file, "--figure", "chip.*")
    assert ended.status == 1
    (row,) = (line for line in ended.out.splitlines() if line.startswith("status"))
    assert "ok  trial_failed: " in row
    full = place.elsewhere("full")
    place.ran(ubifs_is_full())
    (full / STUDY).write_text(TEXT)
    failed = place.published()
    assert place.nandlab(ubifs_is_full(), "check", STUDY, "--against", failed).out == SAME
    ended = place.nandlab(very_board(), "check", STUDY, "--against", failed, "--anew", "--out", "b")
    assert ended.status == 1
    assert "status  trial_failed: " in ended.out


def test_only_the_trials_of_the_baseline_are_run(place: Place) -> None:
    place.run.trial_path(place.run.head().trials[3]).unlink()
    file, board = place.published(), very_board()
    ended = place.nandlab(board, "check", STUDY, "--against", file)
    assert (ended.status, len(board.jobs)) == (0, 3)
    assert " which are not checked: 1\n" in ended.err


Change = Callable[[dict[str, Any]], object]
"""Changes what a baseline tells."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["run"].update(study="other"), "figures of the study other; this one is small"),
        (
            lambda t: t["run"]["provenance"]["board"].update(ram_mib=64),
            "figures of another board: board.board.ram_mib is 128 here and 64 there",
        ),
        (lambda t: t["run"]["provenance"].update(accel="kvm"), "figures of another board: "),
        (lambda t: t["run"].update(deterministic=False), "run on the host's time"),
        (lambda t: t.pop("kind"), "not a figures file of nandlab"),
        (lambda t: t["trials"].clear(), "trials: must have at least 1 item"),
    ],
)
def test_a_baseline_that_cannot_be_held_is_refused(place: Place, change: Change, said: str) -> None:
    path, board = place.published(), very_board()
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    for words in ((STUDY,), ("--run", place.run.path)):
        line = refused(place.nandlab(board, "check", *words, "--against", path))
        assert line.startswith(f"nandlab: {path}: ")
        assert said in line
    assert board.jobs == []
    assert not Path("results").exists()


def test_a_run_on_the_hosts_time_is_refused(place: Place) -> None:
    file = place.published()
    place.elsewhere("kvm")
    board = very_board()
    board.deterministic = False
    place.ran(board)
    line = refused(place.nandlab(board, "check", "--run", place.run.path, "--against", file))
    assert "the host's time (--accel kvm)" in line


def test_a_study_that_has_changed_is_refused(place: Place) -> None:
    file, board = place.published(), very_board()
    Path(STUDY).write_text(TEXT.replace("seeds = [1, 2]", "seeds = [1, 3]"))
    line = refused(place.nandlab(board, "check", STUDY, "--against", file))
    assert "lacks 2 of its 4 trials, first " in line
    assert "publish a new baseline" in line
    assert not Path("results").exists()


def test_what_is_asked_wrongly_is_refused(place: Place) -> None:
    file, board = place.published(), very_board()
    assert "name the STUDY" in refused(place.nandlab(board, "check", "--against", file))
    both = (STUDY, "--run", place.run.path, "--against", file)
    assert "name the STUDY" in refused(place.nandlab(board, "check", *both))
    nowhere = place.nandlab(board, "check", STUDY, "--against", "nowhere")
    assert "nowhere: no run's folder or figures" in refused(nowhere)
    place.run.trial_path(place.run.head().trials[0]).unlink()
    line = refused(place.nandlab(board, "check", "--run", place.run.path, "--against", file))
    assert "lacks 1 of the baseline's 4 trials; " in line
