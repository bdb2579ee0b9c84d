# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads for power cuts: every sequence that can be made is there once, and none that cannot."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from native import native

from nandlab.base.errors import UsageError
from nandlab.powercut import loads


def test_every_call_and_every_pair_that_can_be_made_is_there() -> None:
    ones, twos = loads.ace1(), loads.ace2()
    assert {load.calls[0] for load in ones.loads} == set(loads.CALLS)
    pairs = {load.calls[:2] for load in twos.loads}
    assert ("create A/new", "rename A/foo A/new") in pairs
    assert ("unlink A/foo", "write A/foo 1000 5000") not in pairs
    assert ("create A/new", "create A/new") not in pairs
    assert ("rename A/foo B/bar", "unlink A/foo") not in pairs
    for each in (ones, twos):
        assert len({load.title for load in each.loads}) == len(each.loads)


@pytest.mark.parametrize("name", loads.SETS)
def test_a_text_of_loads_is_read_back_as_it_was(name: str) -> None:
    made = loads.given(name)
    assert loads.read(name, made.text()) == made


@pytest.mark.parametrize("name", loads.SETS)
def test_the_boards_program_takes_every_load(name: str, tmp_path: Path) -> None:
    """It traces the names of all loads before it touches the chip, which is not there."""
    file = tmp_path / "loads"
    file.write_text(loads.given(name).text())
    argv = [str(native("cutcheck")), "--type", "none", "--variant", "before", "--check", str(file)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(loads.given(name).loads)} loads\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("create a\n", "no load in it"),
        ("load x\nexplode a\n", "x:2: no such call: explode"),
        ("load x\nwrite a 1\n", "x:2: write takes 3 words"),
        ("load x\nwrite a one 2\n", "x:2: write a one 2: offsets and sizes are whole numbers"),
        ("load x\nsync\nload x\nsync\n", "two loads of one title: x"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        loads.read("x", text)
