# SPDX-License-Identifier: GPL-2.0-or-later
"""The shell scripts of docs/findings/shell, which need a plain kernel with nandsim alone: on the
board's kernel each shows its fault, without nandlab's chip, journal, loads or judge."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from nandlab.base.paths import ROOT
from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.kit.partsource import add_patches
from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

SHELL = ROOT / "docs/findings/shell"
SHARED = "nandsim.sh"
PATCHES = sorted(SHELL.parent.glob("*.diff"))
SCRIPTS = sorted(each.name for each in SHELL.iterdir() if each.name != SHARED)
SCRIPTED = [each for each in PATCHES if each.with_suffix(".sh").name in SCRIPTS]
"""Those whose fault a script shows."""
AWAY = "cd /; umount /tmp/reproduced; ubidetach -d 0; rmmod nandsim; rm -f /tmp/reproduced.chip"
"""After a script, for the next one."""
LIMIT_S = 120
"""Of a script, in seconds of the board."""


def run_scripts(board: QemuBoard, scripts: Iterable[str]) -> JobRecord:
    files = {each.name: each.read_bytes() for each in SHELL.iterdir()}
    steps: list[Step] = []
    for name in scripts:
        steps.append(Step(name, f"sh ./{name} 2>&1; echo ended $?", LIMIT_S))
        steps.append(Step(f"after {name}", f"{{ {AWAY}; }} >/dev/null 2>&1; true"))
    return asyncio.run(board.run(Job(tuple(steps), files)))


@pytest.fixture(scope="module")
def record(board: QemuBoard) -> JobRecord:
    return run_scripts(board, SCRIPTS)


@pytest.mark.board
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_shows_its_fault_on_a_plain_kernel(record: JobRecord, script: str) -> None:
    *_, line, ended = record[script].stdout.splitlines()
    assert ended == "ended 0", record[script].stdout
    assert line.startswith("fault: ")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_belongs_to_a_page_that_names_it(script: str) -> None:
    page = SHELL.parent / Path(script).with_suffix(".md")
    assert f"shell/{script}" in page.read_text()


def test_each_script_has_a_patch() -> None:
    assert [each.with_suffix(".sh").name for each in SCRIPTED] == SCRIPTS
    assert len(SCRIPTS) >= 8


@pytest.mark.long
@pytest.mark.board
@pytest.mark.parametrize("patch", SCRIPTED, ids=lambda p: p.stem)
def test_a_script_shows_nothing_once_the_patch_mends_it(patch: Path) -> None:
    """The part of the kernel, or YAFFS2, is built from the locked source, with the patch."""
    model = load_noun("boards", os.environ.get("NANDLAB_TEST_BOARD", "apf27"), BoardModel)
    board = open_board(model, sources=add_patches({}, [patch], "the test"))
    script = patch.with_suffix(".sh").name
    *_, line, ended = run_scripts(board, [script])[script].stdout.splitlines()
    assert ended == "ended 1", line
    assert line.startswith("no fault: ")


@pytest.mark.parametrize("patch", PATCHES, ids=lambda p: p.stem)
def test_a_patch_changes_a_part_that_can_be_built_and_has_a_page(patch: Path) -> None:
    assert len(add_patches({}, [patch], "the test")) == 1
    assert patch.name in patch.with_suffix(".md").read_text()
