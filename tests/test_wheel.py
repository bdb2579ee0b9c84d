# SPDX-License-Identifier: GPL-2.0-or-later
"""A wheel brings all that nandlab needs: it works without a checkout, and is not written to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from support.commandline import run_command

from nandlab.base.digest import digest_tree
from nandlab.base.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


class Installed:
    """A wheel in a virtual environment of its own, and a folder to work in."""

    def __init__(self, wheel: Path, place: Path) -> None:
        venv, self.project = place / "venv", place / "project"
        self.project.mkdir()
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        into = [*pip, "--python", str(venv / "bin" / "python"), "install", "--no-index"]
        subprocess.run([*into, "--no-deps", "--no-compile", str(wheel)], check=True)
        (packages,) = venv.glob("lib/python*/site-packages")
        # what nandlab depends on is that of these tests; their own nandlab is not on this path
        (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.share = packages / "nandlab" / "share"
        self.program = venv / "bin" / "nandlab"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "NANDLAB_CACHE": str(place / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *words],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def said(self, *words: str) -> str:
        done = self(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(wheel, tmp_path_factory.mktemp("wheel"))


def here(*words: str) -> str:
    """What this checkout's own nandlab says."""
    done = run_command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_every_file_that_git_has_there(wheel: Path) -> None:
    argv = ["git", "ls-files", "catalog", "docs", "studies", "device"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {f"nandlab/share/{name}" for name in listed.stdout.split()}
    assert tracked
    assert tracked <= set(zipfile.ZipFile(wheel).namelist())


def test_what_runs_on_the_board_is_built_from_the_very_sources(installed: Installed) -> None:
    """So boards, trials and keys are those of a checkout."""
    assert digest_tree(installed.share / "device") == digest_tree(ROOT / "device")


def test_it_lists_plans_and_tells_what_the_machine_has(installed: Installed) -> None:
    before = digest_tree(installed.share.parent)
    assert installed.said("chip", "list") == here("chip", "list") != ""
    assert installed.said("board", "list") == here("board", "list")
    plan = installed("plan", "quickstart")  # what its trials take is told on standard error
    assert (plan.returncode, plan.stdout) == (0, here("plan", "quickstart"))
    doctor = installed("doctor")
    assert doctor.stderr == ""
    assert f"cache: {installed.environment['NANDLAB_CACHE']}" in doctor.stdout
    assert "for tests" not in doctor.stdout
    assert digest_tree(installed.share.parent) == before


def test_it_shows_a_published_study_without_a_board(installed: Installed) -> None:
    words = ("show", "quickstart", "--figure", "chip.erases", "--format", "csv")
    assert installed.said(*words) == here(*words) != ""
    assert "Take JFFS2" in installed.said("show", "quickstart")
    assert not Path(installed.environment["NANDLAB_CACHE"]).exists()


def test_it_has_the_pages_that_help_names(installed: Installed) -> None:
    named = set(re.findall(r"docs/[a-z0-9/-]+\.md", installed.said("man").replace("\\", "")))
    assert named
    assert [name for name in named if not (installed.share / name).is_file()] == []
    assert str(installed.share / "docs") in "".join(installed.said("--help").split())


def test_it_takes_the_nouns_of_a_project(installed: Installed) -> None:
    chips = installed.project / "catalog" / "chips"
    chips.mkdir(parents=True)
    text = (ROOT / "catalog" / "chips" / "S34ML01G1.toml").read_text()
    (chips / "MINE.toml").write_text(text.replace("S34ML01G1", "MINE"))
    lines = [line for line in installed.said("chip", "list").splitlines() if "MINE" in line]
    assert [line.endswith(f"({chips / 'MINE.toml'})") for line in lines] == [True]


def test_its_locks_are_not_written_to(installed: Installed) -> None:
    done = installed("board", "update", "apf27")
    assert done.returncode == 2
    assert "came with the installed nandlab" in done.stderr
    assert "catalog/boards" in done.stderr


def test_it_is_of_no_commit(installed: Installed) -> None:
    python = installed.program.with_name("python")
    asked = "from nandlab.base.checkout import find_commit; print(find_commit())"
    argv = [str(python), "-c", asked]
    # a project is under git itself: that commit is not nandlab's
    subprocess.run(["git", "init", "-q"], cwd=installed.project, check=True)
    done = subprocess.run(argv, cwd=installed.project, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
