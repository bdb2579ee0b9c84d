# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab exec`` on the board: a program of the user's, and how its end reaches the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.cli.main import app

pytestmark = pytest.mark.board
PROGRESS = ("preparing the board", "the first time", "the program runs")
"""How lines begin that tell what is being done; how many there are depends on the machine."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exec") / "ended"
    source = Path(__file__).with_name("ended.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", made, source], check=True)
    return made


@pytest.mark.parametrize(
    ("fs", "how", "status", "note"),
    [
        ("jffs2", "3", 3, ""),
        ("ubifs", "0", 0, ""),
        ("ubifs", "killed", 137, "ended by signal 9"),
        ("jffs2", "never", 124, "killed after 2 s"),
    ],
)
def test_a_program_says_and_ends_as_it_would_here(
    board: QemuBoard, program: Path, fs: str, how: str, status: int, note: str
) -> None:
    place = ("--chip", "apf27", "--partition-mib", "8", "--board", board.machine.model.name)
    words = ("exec", "--fs", fs, *place, "--limit", "2", "--put", str(program))
    ended = CliRunner().invoke(app, [*words, "--", "ended", how])
    assert ended.exit_code == status
    assert ended.stdout_bytes == b"hello \x01\xff\n"
    said = [line for line in ended.stderr.splitlines() if not line.startswith(PROGRESS)]
    assert said[0] == f"ends {how}"
    notes = [line for line in said[1:] if line.startswith("nandlab: ")]
    assert [note in line for line in notes] == [True] * bool(note)
