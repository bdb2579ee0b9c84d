# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's and a board's file measured on an emulated ARM board, and a study on both boards."""

from __future__ import annotations

from pathlib import Path

import pytest
from standinssh import SLOW_S, board_file, reached
from support import standin
from typer.testing import CliRunner

from nandlab.cli.main import app
from nandlab.results.folder import RunFolder

PART = "S34ML01G1-mine"
STUDY = f"""
name = "both"
question = "What does the model of my board lack?"
board = "mine-model"
[matrix]
filesystems = [{{ name = "jffs2" }}]
chips = [{{ part = "{PART}", partition_mib = 32 }}]
states = [{{ name = "fresh" }}]
seeds = [1, 2]
workloads = [{{ name = "ffsmark", files = 30, transactions = 60, size_max = 4096 }}]
"""


def said(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


@pytest.mark.long
@pytest.mark.timeout(10 * SLOW_S)
def test_a_study_runs_on_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files load; the study ends well on the measured board's model, and is held against it
    on the board itself."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    with reached(tmp_path, monkeypatch) as there:
        made = said("board", "calibrate", there.mine, "--erase", standin.DATA)
        assert f"catalog/chips/{PART}.toml" in made and "catalog/boards/mine-model.toml" in made
        assert "Measured on mine" in said("chip", "show", PART)
        mine = board_file(tmp_path, PART)
        said("run", "study.toml", "--board", mine, "--erase", standin.DATA, "--out", "real")
        assert there.says("ls /tmp") == ""
    said("run", "study.toml", "--out", "model")
    for name in ("real", "model"):
        assert {t.status for t in RunFolder(Path(name)).trials()} == {"ok"}
    told = " ".join(said("compare", "real", "model").split())
    assert "real" in told and "simulated" in told and "ratio" in told
