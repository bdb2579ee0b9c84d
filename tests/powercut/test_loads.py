# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads for power cuts: every sequence that can be made is there once, and none that cannot."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.native import native

from nandlab.base.errors import UsageError
from nandlab.powercut import loads, recordings, requests


def test_every_call_and_every_pair_that_can_be_made_is_there() -> None:
    ones, twos = loads.make_ace1_loads(), loads.make_ace2_loads()
    assert {load.calls[0] for load in ones.loads} == set(loads.CALLS)
    pairs = {load.calls[:2] for load in twos.loads}
    assert ("create A/new", "rename A/foo A/new") in pairs
    assert ("unlink A/foo", "write A/foo 1000 5000") not in pairs
    assert ("create A/new", "create A/new") not in pairs
    assert ("rename A/foo B/bar", "unlink A/foo") not in pairs
    for each in (ones, twos):
        assert len({load.title for load in each.loads}) == len(each.loads)


@pytest.mark.parametrize("name", requests.list_load_sets())
def test_a_text_of_loads_is_read_back_as_it_was(name: str) -> None:
    made = requests.find_load_set_named(name)
    assert loads.parse_loads(name, made.text()) == made


@pytest.mark.parametrize("name", requests.list_load_sets())
def test_the_boards_program_takes_every_load(name: str, tmp_path: Path) -> None:
    """It traces the names of all loads before it touches the chip, which is not there."""
    made, file = requests.find_load_set_named(name), tmp_path / "loads"
    # the program reads the file once for each load: of very many a part does
    made = replace(made, loads=made.loads[:: 1 + len(made.loads) // 2000 * 10])
    file.write_text(made.text())
    argv = [str(native("cutcheck")), "--type", "none", "--variant", "before", "--check", str(file)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(made.loads)} loads\n"


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
        loads.parse_loads("x", text)


def test_a_sample_of_three_calls_is_drawn_by_its_seed() -> None:
    made = loads.make_ace3_loads(count=30)
    assert made == loads.make_ace3_loads(count=30)
    assert made != loads.make_ace3_loads(seed=2, count=30)
    assert len({load.title for load in made.loads}) == 30


RECORDED = """\
dir d 755
file d/old 700
opened 3 d/old O_WRONLY|O_APPEND
calls
+12 write 3 50
open 1 "d/a b" O_RDWR|O_CREAT 644
write 1 100
pwritev 1 10,20 40
lseek 1 -30 SEEK_END = 70
write 1 5
read 1 4096 = 25
fdatasync 1
rename "d/a b" d/old
close 1
stat d/none = -ENOENT
open 2 d O_RDONLY|O_DIRECTORY 0
fsync 2
open 4 log O_WRONLY|O_CREAT|O_SYNC 644
write 4 9
unlink log
write 4 9
sync
"""


def test_a_recording_becomes_the_calls_that_change_something() -> None:
    made = recordings.parse_recorded_load("mine/app", RECORDED)
    assert made.base == ("mkdir d", "create d/old", "write d/old 0 700")
    (load,) = made.loads
    assert load.title == "app"
    assert load.calls == (
        *(
            "open d/old",
            "write d/old 700 50",
            "create d/a%20b",
            "open d/a%20b",
            "write d/a%20b 0 100",
        ),
        *("write d/a%20b 40 30", "write d/a%20b 70 5", "fsync d/a%20b"),
        *("rename d/a%20b d/old", "close d/old", "fsyncdir d"),
        *("create log", "open log", "swrite log 0 9", "unlink log", "sync"),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dir a 755\ncalls\nrename a b\n", "mine:3: the folder a is renamed"),
        ("calls\nsymlink x y\n", "mine:2: a call symlink"),
        ("file a 2000000\ncalls\n", "mine:1: a has more than 1048576 bytes"),
    ],
)
def test_a_recording_that_cannot_be_cut_is_refused_by_line(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        recordings.parse_recorded_load("mine", text)


DRAWN = {
    "ace1": (53, "0a5e27605cb637ff"),
    "ace2": (1539, "cdfc60f27525b1b5"),
    "ace3": (200, "8cbde20119e9119b"),
    "holes": (35, "ddffa3fe576bb1e9"),
    "open-files": (12, "38171188fd273dc8"),
    "rewrite": (14, "26c818790e0cb4dc"),
    "small-files": (1, "d86e20ca02f2ec01"),
    "collect": (1, "05740055d55cbf76"),
}
"""Of each set: how many loads, and the begin of their text's digest."""


@pytest.mark.parametrize("name", DRAWN)
def test_a_set_has_the_same_loads_always(name: str) -> None:
    """A point of a finding is a load's number and an operation's: another load makes it another."""
    made = loads.LOAD_SETS[name]()
    digest = hashlib.sha256(made.text().encode()).hexdigest()
    assert (len(made.loads), digest[:16]) == DRAWN[name]
