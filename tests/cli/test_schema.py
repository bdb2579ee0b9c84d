# SPDX-License-Identifier: GPL-2.0-or-later
"""Each schema holds what nandlab really writes; other rooms' tests hold their outputs to it too."""

from __future__ import annotations

import ast
import json
import lzma
import re
import tomllib
from pathlib import Path

import pytest
from support import samples
from support.commandline import run_command
from support.fitting import fits, validator
from typer.testing import CliRunner

from nandlab.analysis.differences.compare import compare_runs
from nandlab.base.paths import CATALOG, ROOT, STUDIES
from nandlab.cli import progress
from nandlab.cli.main import app
from nandlab.cli.schemas import SCHEMAS
from nandlab.plan import study

KINDS = {
    "boards": "board",
    "chips": "chip",
    "energy-profiles": "energy-profile",
    "filesystems": "filesystem",
    "instruments": "instrument",
    "parts": "part",
    "tables": "table",
    "trees": "tree",
    "workloads": "workload",
}
"""Folders of the catalog and the schemas of their files."""
DUMPED = re.compile(r"\.(model_dump|dump_python)\(")
TESTED_ELSEWHERE = 'fits\\(\\s*"{}"'


def said(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_lists_and_prints_them() -> None:
    listed = said("schema")
    for name, told in SCHEMAS.items():
        assert f"{name} " in listed
        assert told.description in listed
        schema = json.loads(said("schema", name))
        assert schema["description"] == told.description


def test_an_unknown_name_is_told_in_a_line() -> None:
    done = run_command("schema", "trail")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nandlab: there is no schema 'trail'; ")


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_held_to_something_real(name: str) -> None:
    tests = (ROOT / "tests").rglob("test_*.py")
    used = re.compile(TESTED_ELSEWHERE.format(name))
    assert name in [*KINDS.values(), "study"] or any(
        used.search(path.read_text()) for path in tests
    )


def test_the_files_of_a_run_fit(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", [*samples.study(), samples.failed(seed=7)])
    for path in (run.path / "trials").iterdir():
        fits("trial", path.read_text())
    for path in (run.path / "provenance").iterdir():
        fits("provenance", path.read_text())
    fits("run", (run.path / "run.json").read_text())
    fits("show", said("show", run.path, "--json"))


def test_a_trial_with_a_key_too_many_does_not_fit(tmp_path: Path) -> None:
    run = samples.folder(tmp_path / "run", samples.study(1))
    told = json.loads(next((run.path / "trials").iterdir()).read_text())
    assert not list(validator("trial").iter_errors(told))
    assert list(validator("trial").iter_errors(told | {"speed": 1}))
    assert list(validator("trial").iter_errors({k: v for k, v in told.items() if k != "status"}))


@pytest.mark.parametrize("file", sorted((ROOT / "docs/studies").glob("*.figures.json.xz")), ids=str)
def test_what_was_published_fits(file: Path) -> None:
    fits("figures", lzma.decompress(file.read_bytes()).decode())


def test_what_compare_tells_fits(tmp_path: Path) -> None:
    trials = samples.study()
    changed = trials[0].model_copy(update={"operations": {"read": 7}})
    a = samples.folder(tmp_path / "a", trials)
    b = samples.folder(tmp_path / "b", [changed, *trials[1:]])
    assert compare_runs(a, b)
    done = CliRunner().invoke(app, ["compare", str(a.path), str(b.path), "--format", "json"])
    fits("compare", done.stdout)
    assert done.exit_code == 1


def test_the_claims_of_a_paper_fit() -> None:
    words = ("show", "fs-benchmarking-2012-s2", "--paper", "--format", "json")
    claims = fits("show-paper", said(*words))
    corners = fits("show-paper", said(*words, "--corner", "fs-benchmarking-2012-s1"))
    assert {**corners[0], "board": None} == {"board": None, **claims[0]}
    assert list(corners[0]) == ["board", *claims[0]]


def test_each_event_of_a_run_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = study.plan_trials(study.read_study_file(study.find_study_file("quickstart")))[0]
    watcher = progress.make_progress_watcher("json")
    watcher.run_begins([spec, spec], {}, 1)
    watcher.trial_begins(spec)
    watcher.step_begins(spec, "mount")
    watcher.trial_ends(spec, samples.failed())
    lines = capsys.readouterr().err.splitlines()
    assert [fits("progress", line)["event"] for line in lines] == [
        *("run_begins", "trial_begins", "step_begins", "trial_ends"),
    ]


@pytest.mark.parametrize("folder", KINDS)
def test_the_catalog_fits(folder: str) -> None:
    files = sorted((CATALOG / folder).glob("*.toml"))
    assert files
    for path in files:
        fits(KINDS[folder], tomllib.loads(path.read_text()))


def test_the_studies_fit() -> None:
    for path in STUDIES.glob("*.toml"):
        fits("study", tomllib.loads(path.read_text()))


def test_what_a_command_prints_as_json_is_the_dump_of_a_model() -> None:
    printed = [
        (source.stem, ast.unparse(call.args[0]))
        for source in (ROOT / "src/nandlab/cli").glob("*.py")
        for call in ast.walk(ast.parse(source.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print_json"
    ]
    assert {name for name, _ in printed} >= {"advise", "model", "reprice", "sizes", "space"}
    by_hand = [name for name, value in printed if not DUMPED.search(value)]
    assert by_hand == ["schema"]  # a schema has no model of ours
