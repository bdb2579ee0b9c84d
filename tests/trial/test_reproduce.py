# SPDX-License-Identifier: GPL-2.0-or-later
"""A run is done again on its very board: what differs is found, and named by its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.fitting import fits
from support.smallruns import TEXT
from veryboard import (
    COMMIT,
    RICH,
    Place,
    leaves,
    made_older,
    placed,
    refused,
    ubifs_is_full,
    very_board,
)

from nandlab.analysis.differences.baselines import FiguresBaseline
from nandlab.analysis.differences.compare import compare_runs
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import find_noun_file as place_of
from nandlab.catalog.files import read_noun_file
from nandlab.results.folder import RunFolder


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    return placed(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("of", ["folder", "file"])
def test_the_same_board_gives_the_same_and_every_trial_is_run(place: Place, of: str) -> None:
    path = place.run.path if of == "folder" else place.published()
    board = very_board()
    ended = place.nandlab(board, "reproduce", path)
    assert ended.status == 0
    assert ended.err.splitlines()[-1] == "no difference: 4 trials"
    assert len(board.jobs) == 4
    again = RunFolder(Path("results/reproduced/small") / place.run.head().id)
    fits("reproduced", (again.path / "reproduced.json").read_text())
    assert compare_runs(place.run, again) == []
    assert not Path("results/store").exists()


@pytest.mark.parametrize("of", ["folder", "file"])
def test_the_board_is_made_from_what_the_run_tells_of_it(place: Place, of: str) -> None:
    """A catalog that has changed since does not matter: where the chip lies is the run's."""
    own = place.elsewhere("own") / "catalog" / "boards" / "mine.toml"
    own.parent.mkdir(parents=True)
    text = place_of("boards", "apf27").read_text().replace('"apf27"', '"mine"', 1)
    own.write_text(text.replace("ram_mib = 128", "ram_mib = 300"))
    mine = read_noun_file(own, BoardModel)
    board = very_board()
    board.made_of["board"] = mine.model_dump(exclude={"summary"})
    place.ran(board, TEXT.replace('"apf27"', '"mine"', 1))
    path = place.run.path if of == "folder" else place.published()
    own.unlink()
    assert place.nandlab(board, "reproduce", path).status == 0
    ((model, accel, lock),) = place.asked
    assert model.model_dump() == {**mine.model_dump(), "summary": ""}
    assert (model.ram_mib, accel, lock) == (300, "tcg", board.made_of["lock"])


def test_a_trial_may_be_run_alone_and_the_others_later(place: Place) -> None:
    first, _, third, _ = place.run.head().trials
    board = very_board()
    some = ("--trial", third, "--trial", first)
    ended = place.nandlab(board, "reproduce", place.published(), *some)
    assert ended.err.endswith("no difference: 2 trials\n")
    assert len(board.jobs) == 2
    ended = place.nandlab(board, "reproduce", place.published())
    assert ended.err.endswith("no difference: 4 trials\n")
    assert "2 of 4 trials were run by" in ended.err
    assert len(board.jobs) == 4


def test_only_what_the_run_has_finished_is_run(place: Place) -> None:
    unfinished = place.run.head().trials[3]
    place.run.trial_path(unfinished).unlink()
    path, board = place.published(), very_board()
    assert len(FiguresBaseline(path).keys) == 3
    assert place.nandlab(board, "reproduce", path).err.endswith("no difference: 3 trials\n")
    assert len(board.jobs) == 3
    said = refused(place.nandlab(board, "reproduce", path, "--trial", unfinished))
    assert f"no finished trial '{unfinished}'" in said


def test_interrupted_it_goes_on_where_it_was(place: Place) -> None:
    board = very_board()
    board.jobs_max = 3
    argv = ("reproduce", place.run.path, "--jobs", "1", "--out", "again")
    assert place.nandlab(board, *argv).status == 1
    assert len(RunFolder(Path("again")).missing()) == 1
    board = very_board()
    assert place.nandlab(board, *argv).err.endswith("no difference: 4 trials\n")
    assert len(board.jobs) == 1


@pytest.mark.parametrize("of", ["folder", "file"])
def test_the_first_difference_is_named_and_the_others_counted(place: Place, of: str) -> None:
    path = place.run.path if of == "folder" else place.published()
    board = very_board(bytes={"read": 1, "written": 3})
    ended = place.nandlab(board, "reproduce", path)
    assert ended.status == 1
    assert ended.out == f"trials.{place.run.head().trials[0]}.bytes.written: 2 / 3\n"
    assert "of 4 trials 4 differ;" in ended.err
    assert "no difference" not in ended.err


def test_what_the_file_does_not_name_is_covered_by_its_hash(place: Place) -> None:
    first = place.run.head().trials[0]
    board = very_board(per_block={**RICH["per_block"], "erases": [1, 2] * 31 + [1, 3]})  # type: ignore[dict-item]
    ended = place.nandlab(board, "reproduce", place.published())
    assert ended.status == 1
    assert ended.out.startswith(f"trials.{first}.sha256: ")
    assert "that the file names are equal" in ended.out
    ended = place.nandlab(board, "reproduce", place.run.path, "--out", "other")
    assert ended.out == f"trials.{first}.per_block.erases.63: 2 / 3\n"


def test_a_trial_that_fails_now_differs_in_its_status(place: Place) -> None:
    board = very_board()
    board.loss_step = "mount"
    ended = place.nandlab(board, "reproduce", place.published())
    assert ended.status == 1
    assert ended.out == f"trials.{place.run.head().trials[0]}.status: 'ok' / 'board_lost'\n"
    assert "board_lost: the fake board was" in ended.err


def dotted(told: Any, path: tuple[str | int, ...]) -> str:
    """A place as a difference names it: things that have names by their names."""
    words = []
    for part in path:
        told = told[part]
        named = isinstance(part, int) and isinstance(told, dict) and "name" in told
        words.append(told["name"] if named else str(part))
    return ".".join(words)


def test_a_changed_digit_in_any_figure_of_the_file_is_found_and_named(place: Place) -> None:
    path = place.published()
    told = json.loads(path.read_text())
    trial = told["trials"][1]
    again = next(t for t in place.run.trials() if t.id == trial["id"])
    places = leaves(trial)
    kinds = {p[0] for p in places}
    parts = {"available", "steps", "phases", "operations", "bytes", "latency_ns", "figures"}
    parts |= {"erases_per_block"}
    assert kinds == parts
    assert len(places) > 50
    for where in places:
        *way, last = where
        at: Any = trial
        for part in way:
            at = at[part]
        right = at[last]
        at[last] = right + 1
        path.write_text(json.dumps(told))
        (found,) = FiguresBaseline(path).list_differences(again)
        assert found.path == f"trials.{again.id}.{dotted(trial, where)}"
        assert (found.a, found.b) == (right + 1, right)
        at[last] = right
    path.write_text(json.dumps(told))
    assert FiguresBaseline(path).list_differences(again) == []


@pytest.mark.parametrize("gone", ["chip", "sync_ns"])
def test_a_figure_that_was_taken_out_of_the_file_is_missed(place: Place, gone: str) -> None:
    path = place.published()
    told = json.loads(path.read_text())
    was = told["trials"][0]["phases"][1].pop(gone)
    path.write_text(json.dumps(told))
    ended = place.nandlab(very_board(), "reproduce", path)
    assert ended.status == 1
    assert f".phases.transactions.{gone}: None / {was}" in ended.out


def test_a_changed_hash_is_found(place: Place) -> None:
    path = place.published()
    told = json.loads(path.read_text())
    told["trials"][2]["sha256"] = "0" * 64
    path.write_text(json.dumps(told))
    ended = place.nandlab(very_board(), "reproduce", path)
    assert ended.status == 1
    assert ended.out.startswith(f"trials.{told['trials'][2]['id']}.sha256: '000")
    assert "of 4 trials 1 differs;" in ended.err


Change = Callable[[dict[str, Any]], object]
"""Changes what a figures file tells."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["run"].update(deterministic=False), "run on the host's time"),
        (lambda t: t["run"]["provenance"].pop("lock"), "older than boards' locks"),
        (lambda t: t["run"]["provenance"].update(lock={"guest": 1}), "provenance.lock: guest: "),
        (lambda t: t["run"]["provenance"].update(board="pdp11"), "names no board"),
        (lambda t: t["run"]["provenance"]["board"].update(cpus=2), "provenance.board: cpus: "),
        (lambda t: t["run"]["spec"].update(colour="red"), "spec: colour: "),
        (
            lambda t: t["run"]["spec"]["matrix"].update(seeds=[1, 3]),
            "catalog, images or code here are not the run's: it gives no trial",
        ),
        (lambda t: t["trials"][0].update(status="board_lost"), "trials.0.status: "),
        (lambda t: t["trials"][0].update(id="another"), "not those of its run"),
        (lambda t: t["trials"].append(t["trials"][0]), "not those of its run"),
        (lambda t: t["trials"].clear(), "trials: must have at least 1 item"),
        (lambda t: t["trials"][0]["steps"][0].update(ns="soon"), "trials.0.steps.0.ns: "),
        (lambda t: t.pop("kind"), "not a figures file of nandlab"),
        (lambda t: t.update(format=2), "figures of format 2; this nandlab reads format 1"),
    ],
)
def test_a_file_that_cannot_be_repeated_is_refused(place: Place, change: Change, said: str) -> None:
    path, board = place.published(), very_board()
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    line = refused(place.nandlab(board, "reproduce", path))
    assert line.startswith(f"nandlab: {path}: ")
    assert said in line
    assert board.jobs == []
    assert not Path("results").exists()


@pytest.mark.parametrize("share", [0, 0.3, 0.6, 0.99])
def test_a_part_of_a_file_is_refused(place: Place, share: float) -> None:
    path = place.published()
    text = path.read_text()
    path.write_text(text[: int(len(text) * share)])
    assert "not JSON" in refused(place.nandlab(very_board(), "reproduce", path))


def test_what_is_no_run_is_refused(place: Place) -> None:
    board = very_board()
    assert "no run's folder or fig" in refused(place.nandlab(board, "reproduce", "nowhere"))
    (place.folder / "empty").mkdir()
    assert "not a run of nandlab" in refused(place.nandlab(board, "reproduce", "empty"))
    head = place.run.path / "run.json"
    assert "not a figures file of nandlab" in refused(place.nandlab(board, "reproduce", head))
    (place.folder / "list").write_text("[]")
    assert "not a figures file of nandlab" in refused(place.nandlab(board, "reproduce", "list"))
    (place.folder / "bytes").write_bytes(b"\xff\x00")
    assert "not JSON" in refused(place.nandlab(board, "reproduce", "bytes"))
    unknown = place.nandlab(board, "reproduce", place.run.path, "--trial", "moon")
    assert "no finished trial 'moon'" in refused(unknown)


def test_one_trial_is_not_told_as_several(place: Place) -> None:
    one = ("--trial", place.run.head().trials[1])
    ended = place.nandlab(very_board(), "reproduce", place.run.path, *one)
    assert ended.err.splitlines()[-1] == "no difference: 1 trial"


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"kernel": "6.12"}, ["kernel: 6.1, now 6.12"]),
        (
            {"parts": {"init": "12", "simnand.ko": "99"}},
            ["other parts of the board: parts.simnand.ko"],
        ),
        ({"packages": ["linux 6.1"]}, ["other parts of the board: packages.1"]),
        (
            {"kernel": "6.12", "parts": dict.fromkeys("abcdef", "1")},
            [
                "kernel: 6.1, now 6.12",
                "other parts of the board: parts.init, parts.simnand.ko, parts.a, parts.b and 4 "
                "more",
            ],
        ),
    ],
)
@pytest.mark.parametrize("of", ["folder", "file"])
def test_a_board_with_other_parts_runs_and_they_are_named(
    place: Place, of: str, change: dict[str, Any], parts: list[str]
) -> None:
    board = very_board()
    board.made_of |= change
    path = place.run.path if of == "folder" else place.published()
    ended = place.nandlab(board, "reproduce", path)
    assert (ended.status, ended.out) == (0, "")
    said = ended.err.splitlines()
    first, *others = said
    assert first == "preparing the board"
    assert others[: len(parts)] == [f"not the run's: {line}" for line in parts]
    own = others[len(parts)]
    assert f"check out the run's commit, {COMMIT}; " in own
    assert said[-1] == "no difference: 4 trials"
    assert len(board.jobs) == 4


@pytest.mark.parametrize("of", ["folder", "file"])
def test_on_a_board_with_other_parts_what_moved_is_told_as_check_tells_it(
    place: Place, of: str
) -> None:
    board = very_board(bytes={"read": 1, "written": 3})
    board.made_of["parts"] = {"init": "12", "simnand.ko": "99"}
    path = place.run.path if of == "folder" else place.published()
    ended = place.nandlab(board, "reproduce", path)
    assert ended.status == 1
    assert ended.out.startswith("Figures of 2 of 2 configurations moved.\n")
    rows = [line.split() for line in ended.out.splitlines() if line.startswith("bytes.written")]
    assert [row[:4] for row in rows] == [["bytes.written", "2", "B", "3"]] * 2
    assert "of 4 trials 4 differ;" in ended.err
    checked = place.nandlab(
        board, "check", "--run", Path("results/reproduced/small") / again_id(), "--against", path
    )
    assert (checked.status, checked.out) == (1, ended.out)


def again_id() -> str:
    """The id of the one run that was done again."""
    (path,) = Path("results/reproduced/small").iterdir()
    return path.name


def test_the_core_of_its_own_that_a_run_had_is_asked_for(place: Place) -> None:
    board = very_board()
    board.made_of["yaffs2_core"] = {"sha256": "1"}
    ended = place.nandlab(board, "reproduce", place.run.path)
    assert "other parts of the board: yaffs2_core" in ended.err
    assert "--source yaffs2=" in ended.err


def test_trials_that_give_the_board_something_else_are_told_and_run(place: Place) -> None:
    path, board = place.published(), very_board()
    told = json.loads(path.read_text())
    told["trials"][0]["key"] = "0" * 64
    path.write_text(json.dumps(told))
    ended = place.nandlab(board, "reproduce", path)
    assert ended.status == 0
    assert "files of 1 of 4 trials are not" in ended.err
    assert len(board.jobs) == 4


def test_a_catalog_may_have_other_words_but_not_other_steps(place: Place) -> None:
    own = place.elsewhere("own") / "catalog" / "workloads" / "mine.toml"
    own.parent.mkdir(parents=True)
    text = place_of("workloads", "ffsmark").read_text().replace('"ffsmark"', '"mine"', 1)
    own.write_text(text)
    place.ran(very_board(), TEXT.replace('"ffsmark"', '"mine"'))
    path = place.published()
    made_older(path)  # a file of today has the workload itself
    reworded = re.sub(r"(?m)^summary = .*", 'summary = "Said otherwise."', text, count=1)
    assert reworded != text
    own.write_text(reworded)
    assert place.nandlab(very_board(), "reproduce", path).status == 0
    own.write_text(text.replace("set buffering", "set  buffering"))
    assert own.read_text() != text
    ended = place.nandlab(very_board(), "reproduce", path, "--out", "other")
    assert ended.status == 1  # a trial has its steps' commands
    assert "files of 4 of 4 trials are not" in ended.err
    assert f"check out the run's commit, {COMMIT}" in ended.err
    own.unlink()
    said = refused(place.nandlab(very_board(), "reproduce", path, "--out", "other"))
    assert "no 'mine' in the catalog's workloads" in said


def test_a_run_on_the_hosts_time_is_neither_published_nor_repeated(place: Place) -> None:
    place.elsewhere("kvm")
    board = very_board()
    board.deterministic = False
    place.ran(board)
    for argv in (("publish", place.run.path, "-o", "file"), ("reproduce", place.run.path)):
        assert "run on the host's time" in refused(place.nandlab(board, *argv))
    assert not Path("file").exists()


def test_a_run_that_failed_as_a_whole_is_not_published_but_repeated(place: Place) -> None:
    place.elsewhere("lost")
    board = very_board()
    board.loss_step = "fill"
    place.ran(board)
    said = refused(place.nandlab(board, "publish", place.run.path, "-o", "file"))
    assert "of this run ended well" in said
    assert "board_lost: the fake board was" in said
    assert not Path("file").exists()
    ended = place.nandlab(board, "reproduce", place.run.path)
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.endswith("no difference: 4 trials; 4 failed as before\n")


@pytest.mark.parametrize("of", ["folder", "file"])
def test_trials_that_failed_are_told_and_must_fail_again(place: Place, of: str) -> None:
    place.elsewhere("full")
    place.ran(ubifs_is_full())
    path = place.run.path if of == "folder" else place.published()
    ended = place.nandlab(ubifs_is_full(), "reproduce", path)
    assert (ended.status, ended.out) == (0, "")
    assert ended.err.endswith("no difference: 4 trials; 2 failed as before\n")
    ended = place.nandlab(very_board(), "reproduce", path, "--out", "all-well")
    lost = next(t.id for t in place.run.trials() if not t.ok)
    assert (ended.status, ended.out) == (1, f"trials.{lost}.status: 'trial_failed' / 'ok'\n")
    assert "of 4 trials 2 differ;" in ended.err


def test_a_run_is_not_compared_with_itself(place: Place) -> None:
    board = very_board()
    same = place.nandlab(board, "reproduce", place.run.path, "--out", place.run.path)
    assert "this is the run itself" in refused(same)
    into = place.nandlab(board, "reproduce", place.published(), "--out", place.run.path)
    assert "holds a run of `nandlab run`" in refused(into)
    assert place.nandlab(board, "reproduce", place.run.path, "--out", "one").status == 0
    same = place.nandlab(board, "reproduce", "one", "--out", "one")
    assert "this is the run itself" in refused(same)
