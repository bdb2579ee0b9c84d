# SPDX-License-Identifier: GPL-2.0-or-later
"""The jobs for GitHub and GitLab in docs/examples: their commands are run, on a fake board.

The project that they are run in has a study and its baseline. The nandlab that they clone is a
repository with a Makefile, whose setup makes a nandlab of this checkout on a fake board.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from support.smallruns import TEXT
from veryboard import Place, placed, very_board

from nandlab.base.paths import ROOT
from nandlab.plan import study

EXAMPLES = ROOT / "docs/examples/check"
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""How GitHub runs a step; GitLab's shell ends at the first error too."""
NANDLAB = f"""\
#!{sys.executable}
import os, sys
sys.path[:0] = {[str(ROOT / p) for p in ("src", "tests", "tests/trial")]!r}
import test_check, veryboard
import nandlab.board.opening as opening
board = test_check.erases_once_more if os.environ["BOARD"] == "more" else veryboard.very_board
opening.open_board = lambda *words, **named: board()
from nandlab.cli.main import main
main()
"""
SETUP = (
    "setup:\n\tmkdir -p .venv/bin && cp nandlab .venv/bin/nandlab && chmod +x .venv/bin/nandlab\n"
)


class Ran(NamedTuple):
    """How a job ended, by the exit status of its commands, and what they wrote."""

    status: int
    out: str


def below(name: str, line: str) -> list[str]:
    """What is indented below each such line of an example; a list's items without their dashes."""
    text = (EXAMPLES / name).read_text()
    found = re.finditer(rf"^( *){re.escape(line)}\n((?:\1 +.*\n)+)", text, re.MULTILINE)
    return [re.sub(r"^- ", "", textwrap.dedent(match[2]), flags=re.MULTILINE) for match in found]


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    """A folder with watch.toml and watch.figures.json; beside it the nandlab to clone."""
    place = placed(tmp_path, monkeypatch, capsys)
    there = place.elsewhere("project")
    place.ran(very_board(), TEXT.replace('"small"', '"watch"'))
    (there / "small.toml").rename(there / "watch.toml")
    place.published().rename(there / "watch.figures.json")
    clone = tmp_path / "nandlab.git"
    clone.mkdir()
    (clone / "nandlab").write_text(NANDLAB)
    (clone / "Makefile").write_text(SETUP)
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    apt.chmod(0o755)
    git = ("git", "-C", str(clone), "-c", "user.name=n", "-c", "user.email=n@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "it")):
        subprocess.run([*git, *words], check=True, timeout=60)
    return place


def run(place: Place, commands: list[str], board: str, **more: str | Path) -> Ran:
    """Runs commands in the project, each in a shell of its own, until one fails."""
    top = place.folder.parent
    env: Mapping[str, str] = {
        **os.environ,
        "PATH": f"{top}/bin:{os.environ['PATH']}",
        "BOARD": board,
        "NANDLAB_URL": str(top / "nandlab.git"),
        "NANDLAB_COMMIT": "HEAD",
        **{name: str(value) for name, value in more.items()},
    }
    out = ""
    for command in commands:
        words, there = [*BASH, command], place.folder
        done = subprocess.run(
            words, cwd=there, env=env, capture_output=True, text=True, check=False, timeout=200
        )
        out += done.stdout + done.stderr
        if done.returncode:
            return Ran(done.returncode, out)
    return Ran(0, out)


@pytest.mark.parametrize(("board", "status"), [("same", 0), ("more", 1)])
def test_githubs_commands_check_and_write_a_summary(
    project: Place, board: str, status: int
) -> None:
    commands, summary = below("github-workflow.yml", "run: |"), project.folder.parent / "summary"
    assert len(commands) == 2
    ran = run(project, commands, board, GITHUB_STEP_SUMMARY=summary)
    assert ran.status == status, ran.out
    assert ("| chip.erases | 18 | 19 | +1 " in summary.read_text()) == bool(status)
    assert ("No figure moved" in summary.read_text()) != bool(status)
    asked = (project.folder.parent / "asked").read_text().splitlines()
    assert [line.split()[0] for line in asked] == ["update", "install"]


@pytest.mark.parametrize(("board", "status"), [("same", 0), ("more", 1)])
def test_gitlabs_commands_check_and_write_junit(project: Place, board: str, status: int) -> None:
    before, script, after = (
        below("gitlab-ci.yml", key) for key in ("before_script:", "script:", "after_script:")
    )
    ran = run(project, [*before, *script], board)
    assert ran.status == status, ran.out
    told = ET.parse(project.folder / "check.xml").getroot()
    assert told.get("failures") == str(status)
    ran = run(project, after, board)
    assert "\n0 trials to run, 4 done before\n" in ran.out
    assert ("chip.erases" in ran.out) == bool(status)


@pytest.mark.parametrize("name", ["github-workflow.yml", "gitlab-ci.yml"])
def test_an_example_names_no_host_and_its_files_are_those_of_the_page(name: str) -> None:
    text, page = (EXAMPLES / name).read_text(), (ROOT / "docs/check.md").read_text()
    assert "://" not in text
    assert not re.search(r"image: \S*[./]\S*", text)
    assert f"examples/check/{name}" in page
    for file in ("watch.toml", "watch.figures.json"):
        assert file in text
        assert file in page


def test_the_pages_study_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs/check.md").read_text()
    text = page.split("```toml\n")[1].split("```")[0]
    (tmp_path / "watch.toml").write_text(text)
    specs = study.plan_trials(study.read_study_file(tmp_path / "watch.toml"))
    assert {s.filesystem.name for s in specs} == {"yaffs2"}
    assert len({s.seed for s in specs}) > 1
