# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's progress fits 80 columns, and no work is silent for long."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest
from rich.console import Console

from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load
from nandlab.cli import preparing, progress
from nandlab.plan.study import find, plan, read
from nandlab.plan.trialspec import TrialSpec, labels
from nandlab.results.record import Trial
from nandlab.trial.asked import asked

WIDTH = 80


@pytest.fixture(scope="module")
def specs() -> list[TrialSpec]:
    return plan(read(find("quickstart")))


def ended(spec: TrialSpec) -> Trial:
    return Trial.model_validate({**asked(spec, "quickstart"), "status": "ok"})


def test_a_label_has_file_system_and_state_and_what_trials_do_not_share(
    specs: list[TrialSpec],
) -> None:
    found = labels(specs)
    assert len(set(found.values())) == len(specs)
    first = found[specs[0].id].split()
    assert first[:4] == ["JFFS2", "fresh", "apf27", "seed"]
    assert not any("=" in word for word in first)
    assert labels(specs[:1]) == {specs[0].id: "JFFS2 fresh"}


def test_bars_fit_a_terminal_of_80_columns(
    specs: list[TrialSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda **_: Console(file=said, width=WIDTH, force_terminal=True)
    )
    bars = progress.Bars()
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
    lines = progress.Lines()
    lines.run_begins(specs, {}, 2)
    lines.trial_begins(specs[0])
    lines.trial_ends(specs[0], ended(specs[0]))
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("[1/28] JFFS2 ")
    assert len(last) <= WIDTH


def test_work_that_takes_long_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert preparing.BEAT_S < 10
    monkeypatch.setattr(preparing, "BEAT_S", 0.01)
    with preparing.alive("sleeping"):
        time.sleep(0.2)
    assert "sleeping: 0 s" in capsys.readouterr().err.splitlines()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_what_the_first_board_takes_is_told_where_nothing_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANDLAB_CACHE", str(tmp_path))
    told = preparing.costs(load("boards", "apf27", BoardModel))
    assert "200 MB" in told
    assert "1.2 GB" in told
    assert str(tmp_path) in told
