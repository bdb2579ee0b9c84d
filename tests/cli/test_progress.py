# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's progress fits 80 columns, and no work is silent for long."""

from __future__ import annotations

import io
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from nandlab.base import printer
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli import preparation, progress, runcuts
from nandlab.plan.study import find_study_file, plan_trials, read_study_file
from nandlab.plan.trialspec import TrialSpec, make_trial_labels
from nandlab.results.record import Trial
from nandlab.trial.request import describe_trial_request

WIDTH = 80


@pytest.fixture(scope="module")
def specs() -> list[TrialSpec]:
    return plan_trials(read_study_file(find_study_file("quickstart")))


def ended(spec: TrialSpec) -> Trial:
    return Trial.model_validate({**describe_trial_request(spec, "quickstart"), "status": "ok"})


def test_a_label_has_file_system_and_state_and_what_trials_do_not_share(
    specs: list[TrialSpec],
) -> None:
    found = make_trial_labels(specs)
    assert len(set(found.values())) == len(specs)
    first = found[specs[0].id].split()
    assert first[:3] == ["JFFS2", "fresh", "S34ML01G1"]
    assert not any("=" in word for word in first)
    assert make_trial_labels(specs[:1]) == {specs[0].id: "JFFS2 fresh"}


def test_bars_fit_a_terminal_of_80_columns(
    specs: list[TrialSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda **_: Console(file=said, width=WIDTH, force_terminal=True)
    )
    bars = progress.BarWatcher()
    bars.run_begins(specs, {"x": [4000.0]}, 2)
    for spec in specs[:3]:
        bars.trial_begins(spec)
        bars.step_begins(spec, "workload with a very long name of its step, which is cut")
    bars.trial_ends(specs[0], ended(specs[0]))
    table = Console(file=(shown := io.StringIO()), width=WIDTH)
    table.print(bars._progress.get_renderable())
    bars._progress.stop()
    lines = shown.getvalue().splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= WIDTH
    assert re.search(r"trials +\S+ +2/29 .* min left", lines[0])
    assert [line.split()[1] for line in lines[1:]] == ["JFFS2", "JFFS2"]
    assert all(" aged" in line or " fresh" in line for line in lines[1:])


def test_a_line_for_each_trial_fits_too(
    specs: list[TrialSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = progress.LineWatcher()
    lines.run_begins(specs, {}, 2)
    lines.trial_begins(specs[0])
    lines.trial_ends(specs[0], ended(specs[0]))
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("[1/28] JFFS2 ")
    assert len(last) <= WIDTH


def test_work_that_takes_long_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert preparation.HEARTBEAT_S < 10
    monkeypatch.setattr(preparation, "HEARTBEAT_S", 0.01)
    with preparation.print_heartbeats("sleeping"):
        time.sleep(0.2)
    assert "sleeping: 0 s" in capsys.readouterr().err.splitlines()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


class Clock:
    """A clock that only goes on by what it is told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[float] = []

    def __call__(self) -> float:
        return self.now

    def say(self, *lines: object) -> None:
        self.told += [self.now] * len(lines)
        printer.NOTES.last_note_s = self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "monotonic", found)
    monkeypatch.setattr(printer.NOTES, "last_note_s", 0.0)
    for module in (preparation, progress):
        monkeypatch.setattr(module, "print_note", found.say)
    return found


def test_a_run_in_lines_is_never_silent_for_ten_seconds(
    specs: list[TrialSpec], clock: Clock
) -> None:
    lines = progress.LineWatcher()
    beat = preparation.Beat(lines.doing, clock.now)
    begun, of_trials = clock.now, (3.0, 139.0, 9.9, 0.5, 47.0)
    clock.now += beat.tick()
    beat.tick()
    lines.run_begins(specs, {}, 1)
    for spec, seconds in zip(specs, of_trials, strict=False):
        lines.trial_begins(spec)
        lines.step_begins(spec, "workload")
        ends = clock.now + seconds
        while (due := clock.now + beat.tick()) < ends:
            clock.now = due
        clock.now = ends
        lines.trial_ends(spec, ended(spec))
    times = [begun, *clock.told]
    assert max(b - a for a, b in pairwise(times)) < 10
    assert len(clock.told) < (clock.now - begun) / preparation.HEARTBEAT_S + 2 * len(of_trials) + 2


def test_what_is_under_way_is_the_step_that_takes_longest(
    specs: list[TrialSpec], clock: Clock
) -> None:
    lines = progress.LineWatcher()
    lines.run_begins(specs, {}, 2)
    lines.trial_begins(specs[0])
    clock.now += 5
    lines.trial_begins(specs[4])
    clock.now += 1
    lines.step_begins(specs[0], "workload")
    clock.now += 7
    known = make_trial_labels(specs)
    assert lines.doing().startswith(f"[0/28] {known[specs[4].id]}: begins for 8 s")
    lines.step_begins(specs[4], "mount")
    assert lines.doing().startswith(f"[0/28] {known[specs[0].id]}: workload for 7 s")
    assert len(lines.doing().splitlines()) == 1


def test_cuts_of_a_run_tell_their_parts_while_nothing_else_is_told(clock: Clock) -> None:
    said: list[str] = []
    progress = runcuts.Progress("power cuts, UBIFS under logger", said.append, clock.now)
    clock.now += 9
    assert progress.format_state().split(", ") == [
        "power cuts",
        "UBIFS under logger: begins",
        "9 s",
    ]
    progress.note_piece(1, 4, [])
    clock.now += 3
    assert progress.format_state().startswith(said[-1])
    assert progress.format_state().endswith(", 12 s")


def test_what_the_first_board_takes_is_told_where_nothing_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    told = preparation.format_first_board_costs(load_noun("boards", "apf27", BoardModel))
    assert "200 MB" in told
    assert "1.2 GB" in told
    assert str(tmp_path) in told
