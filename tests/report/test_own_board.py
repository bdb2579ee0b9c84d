# SPDX-License-Identifier: GPL-2.0-or-later
"""A run on a user's own board: what is told of it, and what is said of the virtual board only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import samples
from support.fitting import fits
from typer.testing import CliRunner

from nandlab.base.errors import UsageError
from nandlab.cli.main import app
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.results.recordparts import Doubt

BOARD = {"board": "ssh mine", "name": "mine", "kind": "remote", "agent": "0" * 64}
NOT_THERE = re.compile(
    r"KVM|host's|to the nanosecond|the model flatters|nandlab powercut",
    re.IGNORECASE,
)
"""Words of the virtual board, and of one on the host's time."""


def trial(filesystem: str, seed: int) -> Trial:
    """A trial without counts of the chip, as a board without tracers gives it."""
    one = samples.trial(filesystem, seed=seed, options={}, erases_per_block=None, per_block=None)
    phases = [p.model_copy(update={"chip": None, "chip_sync": None}) for p in one.phases]
    steps = [s.model_copy(update={"chip": None}) for s in one.steps]
    doubt = Doubt(code="not_deterministic", text="ran on a board of the user's own, on its clock")
    state = one.state.model_copy(update={"obtained": None})
    change = {"phases": phases, "steps": steps, "warnings": [doubt], "state": state}
    return one.model_copy(update=change).add_sources({**one.sources, "board": BOARD})


def run(path: Path, members: int) -> RunFolder:
    of = [trial(fs, seed) for fs in ("jffs2", "ubifs") for seed in range(1, members + 1)]
    return samples.folder(path, of, deterministic=False, provenance=BOARD)


def said(*words: object) -> str:
    """What a verb prints, in one line."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, (done.output, done.exception)
    return " ".join(done.output.split())


def page(folder: RunFolder) -> str:
    """The words of the report, with neither styles nor scripts."""
    said("report", folder.path)
    html = (folder.path / "report" / "index.html").read_text()
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>", " ", html)
    return " ".join(body.split())


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return run(tmp_path / "run", members=5)


def test_a_run_of_five_members_is_answered_with_its_confidence(folder: RunFolder) -> None:
    for told in (said("show", folder.path), page(folder)):
        assert "your own no time repeats" in told
        assert "Of 5 trials it holds" in told and "with 94% confidence" in told
        assert not NOT_THERE.search(told), NOT_THERE.search(told)


def test_advice_on_five_members_holds_no_time_that_varies_against_them(folder: RunFolder) -> None:
    told = said("advise", folder.path, "--limit", "phase.transactions < 60s")
    assert "Take UBIFS (power cuts not tried): " in told
    assert "not_deterministic" not in told
    assert not NOT_THERE.search(told), NOT_THERE.search(told)


def test_less_members_are_a_doubt(tmp_path: Path) -> None:
    few = run(tmp_path / "few", members=2)
    told = said("advise", few.path, "--all", "--limit", "phase.transactions < 60s")
    assert "2 of 2 trials carry the doubt not_deterministic" in told
    assert "less than 5 trials: their spread" in said("show", few.path)
    assert "confidence" not in said("show", few.path)


def test_such_a_run_is_held_against_nothing_to_the_nanosecond(folder: RunFolder) -> None:
    for words in (
        ["publish", folder.path, "-o", folder.path / "f.json"],
        ["reproduce", folder.path],
    ):
        done = CliRunner().invoke(app, [*map(str, words)])
        assert done.exit_code != 0
        assert "a board of the user's own" in str(done.exception), done.exception


def test_a_run_beside_one_on_a_virtual_board_is_told_by_ratios(
    folder: RunFolder, tmp_path: Path
) -> None:
    of = [samples.trial(fs, seed=s, options={}) for fs in ("jffs2", "ubifs") for s in (1, 2)]
    virtual = samples.folder(tmp_path / "virtual", of)
    told = CliRunner().invoke(
        app, ["compare", str(virtual.path), str(folder.path), "--format", "json"]
    )
    assert told.exit_code == 0, told.exception
    fits("compare-own", told.stdout)
    rows = {(r["configuration"], r["figure"]): r for r in json.loads(told.stdout)}
    one = next(r for (_, name), r in rows.items() if name == "phase.transactions")
    assert one["ratio"] == pytest.approx(one["simulated"] / one["real"])
    assert one["ratio_min"] <= one["ratio"] <= one["ratio_max"] and one["in_range"]
    assert not [name for _, name in rows if "erases" in name]  # the real one counted nothing
    text = said("compare", folder.path, virtual.path)
    assert "figure real simulated ratio range of ratio in range" in text


def test_runs_without_a_configuration_in_common_are_refused(
    folder: RunFolder, tmp_path: Path
) -> None:
    other = samples.folder(tmp_path / "virtual", [samples.trial("yaffs2")])
    done = CliRunner().invoke(app, ["compare", str(folder.path), str(other.path)])
    assert isinstance(done.exception, UsageError)
    assert "ended well in both runs" in str(done.exception)
