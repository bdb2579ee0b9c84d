# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggested commands name the real run and study."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support import samples

from nandlab.results import naming
from nandlab.trial.publishedrun import open_results


def test_a_shipped_study_is_named_by_its_name(tmp_path: Path) -> None:
    found = naming.make_run_folder_naming("quickstart", tmp_path / "run")
    assert found.run_command == f"nandlab run quickstart --out {tmp_path}/run"
    assert found.power_cut_command == f"nandlab powercut {tmp_path}/run"


def test_a_study_of_ones_own_is_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gateway.toml").write_text("")
    run = Path("runs/a b")
    found = naming.make_run_folder_naming("gateway", run)
    assert shlex.split(found.run_command) == ["nandlab", "run", "gateway.toml", "--out", "runs/a b"]
    Path("runs").mkdir()
    Path("gateway.toml").rename("runs/gateway.toml")
    assert naming.make_run_folder_naming("gateway", run).study == "runs/gateway.toml"


def test_nothing_is_run_beside_a_figures_file() -> None:
    found = open_results(Path("quickstart")).naming()
    assert (found.run_command, found.power_cut_command) == (
        "nandlab run quickstart",
        "nandlab run quickstart --powercut",
    )


def test_a_run_knows_its_own_folder(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run")
    assert folder.naming().run == str(folder.path)
