# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shell is offered after an option, as its completion asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import samples
from support.commandline import run_command

from nandlab.catalog.files import list_noun_names


def offered(line: str, folder: Path) -> set[str]:
    """The words that bash is offered for the last word of a line."""
    words = line.split(" ")
    env = {
        **os.environ,
        "_NANDLAB_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = run_command(env=env, cwd=folder)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("verb", ["powercut", "faults", "trace", "image make", "image sizes"])
def test_chips_and_file_systems_follow_their_options(verb: str, tmp_path: Path) -> None:
    assert offered(f"nandlab {verb} --fs u", tmp_path) == {"ubifs"}
    chips = {name for name in list_noun_names("chips") if name.startswith("S34")}
    assert offered(f"nandlab {verb} --chip S34", tmp_path) == chips != set()


def test_parts_follow_reprice_and_chip_show(tmp_path: Path) -> None:
    assert offered("nandlab reprice run --to W25N01", tmp_path) == {"W25N01GV"}
    assert offered("nandlab chip show W25", tmp_path) == {"W25N01GV", "W25N02KV"}


def test_published_studies_are_offered_where_a_run_is_asked_for(tmp_path: Path) -> None:
    for verb in ("show", "report", "advise", "reproduce", "compare", "check --against"):
        assert offered(f"nandlab {verb} quick", tmp_path) == {"quickstart"}, verb


def test_figures_are_those_of_the_run(tmp_path: Path) -> None:
    samples.folder(tmp_path / "run", [samples.trial()])
    found = offered("nandlab show run --figure phase.t", tmp_path)
    assert "phase.transactions" in found
    assert all(name.startswith("phase.t") for name in found)
    assert offered("nandlab show nowhere --figure phase.t", tmp_path) == set()
