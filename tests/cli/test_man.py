# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual page has all verbs and options and no fault that mandoc finds; shells complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.base.paths import ROOT
from nandlab.board.kit import packages
from nandlab.catalog import files
from nandlab.cli import man
from nandlab.cli.main import app


@pytest.fixture(scope="module")
def page() -> str:
    done = CliRunner().invoke(app, ["man"])
    assert done.exit_code == 0
    return done.stdout


def test_mandoc_finds_no_fault(page: str, tmp_path: Path) -> None:
    (tmp_path / "nandlab.1").write_text(page)
    argv = ["mandoc", "-T", "lint", "-W", "style", "nandlab.1"]
    found = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    # the page has no date: it is of the version that made it
    assert [line for line in found.splitlines() if "missing date" not in line] == []


def test_every_verb_and_option_is_in_it_as_it_is(page: str) -> None:
    argv = ["mandoc", "-T", "utf8", "-O", "width=200"]
    drawn = subprocess.run(argv, input=page, capture_output=True, text=True, check=True).stdout
    plain = re.sub(".\b", "", drawn)  # bold is a letter twice
    for verb in ("nandlab run", "nandlab trace parts", "nandlab board export", "nandlab schema"):
        assert f"   {verb} [OPTIONS]" in plain
    for option in ("--members", "-o, --out", "--with-mount", "--install-completion"):
        assert f"       {option}" in plain


@pytest.mark.parametrize("text", [".PP", "'quoted", "a\\b", '"x" -y', "plain"])
def test_a_text_stands_for_itself(text: str) -> None:
    page = f'.TH A 1 "" ""\n.SH B\n{man.escape_man_line(text)}\n'
    argv = ["mandoc", "-T", "ascii"]
    drawn = subprocess.run(argv, input=page, capture_output=True, text=True, check=True).stdout
    assert text in [line.strip() for line in drawn.splitlines()]


def test_it_knows_what_nandlab_reads_of_the_environment() -> None:
    assert set(man.VARIABLES) == {
        "NANDLAB_CACHE",
        files.CATALOG_VARIABLE,
        packages.PACKAGES_VARIABLE,
    }


def test_the_docs_have_the_same_exit_statuses() -> None:
    told = (ROOT / "docs" / "scripting.md").read_text()
    for status, meaning in man.EXITS.items():
        assert f"| {status} | {meaning} |" in told


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("nandlab sch", "schema"),
        ("nandlab run quick", "quickstart"),
        ("nandlab plan quickstart --board apf27-6.", "apf27-6.12"),
        ("nandlab trace --fs yaf", "yaffs2"),
        ("nandlab run quickstart --progress pl", "plain"),
    ],
)
def test_the_shell_completes(line: str, offered: str) -> None:
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    how = {**os.environ, **asked, "_NANDLAB_COMPLETE": "complete_bash"}
    argv = [str(Path(sys.executable).with_name("nandlab"))]
    done = subprocess.run(argv, env=how, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [offered]
