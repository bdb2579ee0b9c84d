# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of what tests cost: who pays for what, and that workers' counts arrive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.spent import Spent, folder_of, table

TESTS = """
import time
from types import SimpleNamespace
import pytest
from nandlab.board.virtual.vm import Vm

class Listening:
    def register_listener(self, events): pass

FILES = SimpleNamespace(store=None, console=None, channel=None, ram=None, state=None)

@pytest.fixture(scope="module")
def work():
    end = time.process_time() + 1.2
    while time.process_time() < end:
        pass
    Vm(FILES, None, Listening())

@pytest.mark.parametrize("n", range(3))
def test_it(work, n):
    if n == 2:
        Vm(FILES, None, Listening())

@pytest.mark.skip
def test_not_run():
    pass
"""


def test_a_folder_is_two_deep_at_most() -> None:
    assert folder_of("tests/board/test_a.py::test[a/b]") == "tests/board"
    assert folder_of("tests/fuzz/targets/test_a.py::test") == "tests/fuzz"
    assert folder_of("test_a.py::test") == "."


def test_the_dearest_comes_first_and_the_cheap_share_a_line() -> None:
    spent = {
        "a": Spent(2, 0, 1, 0.5),
        "b": Spent(3, 1, 2, 0.7),
        "c": Spent(4, 2, 9, 8.2),
        "d": Spent(5, 0, 1, 0.4),
    }
    rows = [line.rsplit(maxsplit=4) for line in table(spent)[1:]]
    assert rows == [
        ["c", "4", "2", "9", "8"],
        ["b", "3", "1", "2", "1"],
        ["2 others", "7", "0", "2", "1"],
        ["all", "14", "3", "13", "10"],
    ]


@pytest.mark.parametrize("more", [(), ("-n", "2", "--dist", "loadscope")])
def test_boards_and_seconds_are_counted_in_every_process(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room/test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    words = [sys.executable, "-m", "pytest", "-p", "support.spent", "-p", "no:cacheprovider", *more]
    paths = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [*words, "room"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "SPENT": str(tmp_path / "tests.txt")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("room ")]
    assert [row[:3] for row in rows] == [["room", "4", "2"]]
    assert int(rows[0][4]) >= 1
    dearest, *others = (
        line.split("\t") for line in (tmp_path / "tests.txt").read_text().splitlines()
    )
    assert dearest[1] == "1" and float(dearest[0]) >= 1
    assert dearest[3].startswith("room/test_it.py::test_it[0]")
    assert sorted((n.partition("[")[2][:1], boards) for _, boards, _, n in others) == [
        *(("", "0"), ("1", "0"), ("2", "1")),
    ]
