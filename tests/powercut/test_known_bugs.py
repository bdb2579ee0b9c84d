# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of known bugs: what it names is there, and its commands show what they must."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nandlab.base.paths import ROOT
from nandlab.catalog.files import list_noun_names
from nandlab.powercut import requests, workloads
from nandlab.powercut.campaignresult import LETTERS

BUGS: list[dict[str, Any]] = tomllib.loads((ROOT / "bench/known_bugs.toml").read_text())["bug"]
BY_CUTS_ALONE = ("U1", "U3", "U4", "U5", "U9", "J6")
"""Those that the wide sets and the races show, each with what its kernels have mended."""
CRASH = "kernel crash"


def _option(bug: dict[str, Any], name: str) -> str | None:
    words = bug["command"]
    return words[words.index(name) + 1] if name in words else None


def test_there_are_24_each_once() -> None:
    assert len(BUGS) == len({bug["id"] for bug in BUGS}) == 24
    assert all(("lacks" in bug) != ("command" in bug or "test" in bug) for bug in BUGS)


@pytest.mark.parametrize("bug", [b for b in BUGS if "command" in b], ids=lambda b: b["id"])
def test_a_command_names_what_is_there(bug: dict[str, Any]) -> None:
    load, title = _option(bug, "--load"), _option(bug, "--title")
    assert load is not None
    if workloads.is_workload_load_name(load):
        assert load in workloads.SMALL_PARAMETERS
    elif title is not None:
        assert title in [each.title for each in requests.find_load_set_named(load).loads]
    assert {*bug["on"], *bug.get("mended", [])} <= set(list_noun_names("boards"))
    assert set(bug["classes"]) <= {*LETTERS, CRASH}


def test_the_page_of_what_was_found_is_of_this_table() -> None:
    """bench/known_bugs.py --page wrote it; what has no command or test says what it lacks."""
    page = (ROOT / "docs/known-bugs.md").read_text()
    chapters = re.split(r"^## ", page, flags=re.MULTILINE)
    shown = sum("\nShown.\n" in chapter for chapter in chapters)
    assert f"# Known bugs: {shown} of {len(BUGS)} are shown\n" in chapters[0]
    for bug, chapter in zip(BUGS, chapters[1:], strict=True):
        assert chapter.startswith(f"{bug['id']}: {bug['title']}\n")
        if "command" in bug:
            assert f"nandlab {shlex.join(bug['command'])} --board BOARD" in chapter
            boards = re.findall(r"^- ([\w.-]+): ", chapter, flags=re.MULTILINE)
            assert boards == [*bug["on"], *bug.get("mended", [])]
        else:
            words = bug["lacks"] if "lacks" in bug else bug["test"].partition("::")[0]
            assert words in chapter


def test_a_bug_that_is_tried_alone_replaces_its_chapter_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "bench")
    bench = importlib.import_module("known_bugs")
    whole, page = (ROOT / "docs/known-bugs.md").read_text(), tmp_path / "page.md"
    page.write_text(whole)
    bug = next(bug for bug in BUGS if bug["id"] == "F3")
    bench.write_page(page, [])
    assert page.read_text() == whole
    bench.write_page(page, [bench.BugOutcome(bug, bench.NOT_SHOWN, [("apf27", "held")])])
    before, _, after = whole.partition(f"## F3: {bug['title']}\n")
    changed = page.read_text()
    shown = whole.count("\nShown.\n")
    assert changed.startswith(before.replace(f"{shown} of", f"{shown - 1} of"))
    told = changed.removeprefix(before.replace(f"{shown} of", f"{shown - 1} of"))
    assert told.startswith(f"## F3: {bug['title']}\n\nNot shown.\n")
    assert told.endswith("- apf27: held\n") and after.rstrip() not in told


@pytest.mark.long
@pytest.mark.board
@pytest.mark.parametrize("bug", BY_CUTS_ALONE)
def test_a_known_bug_is_shown_on_its_kernels_and_on_no_other(bug: str) -> None:
    argv = [sys.executable, str(ROOT / "bench/known_bugs.py"), bug]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1])["shown"] == [bug], done.stdout
