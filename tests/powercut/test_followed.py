# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of loads with a call that cannot be is refused when it is read, by its line: on the board
its outcome would be taken for the file system's fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.powercut import loadcheck, loads, requests

BASE = "mkdir A\ncreate A/x\nwrite A/x 0 3000\ncreate y\nopen y\nload first\ncreate n\nload all\n"
"""Eight lines; the ninth is a load's first."""

BAD = {
    "rename A A/x": "A/x is in A: a folder does not move into itself",
    "rename A y": "y is a file: a folder cannot take its name",
    "rename y A": "A is a folder: a file cannot take its name",
    "noreplace y A/x": "A/x is there already",
    "exchange A A/x": "one is in the other",
    "exchange y b": "b is not there",
    "whiteout A B": "A is a folder",
    "symlink l 0": "a target has 1 to 4,095 letters",
    "symlink y 5": "y is there already",
    "tmplink n 5": "it is made in a folder",
    "tmplink A/n 0": "it writes nothing",
    "tmpfile n": "it is made in a folder",
    "tmpfile A/x": "A/x is there already",
    "tmpfile D/n": "there is no folder D",
    "linktmp A/n": "make it before, with tmpfile",
    "beginsync 1000001": "the load goes on after at most 1,000,000 microseconds",
    "endsync": "no sync is beside the load",
    "fallocate y 1048576 1": "a file of 1,048,577 bytes",
    "fallocate y 5 0": "it asks for no room",
    "setxattr y 10 5": "10 is too large: at most 9",
    "setxattr y 1 4097": "4097 is too large: at most 4096",
    "removexattr y 1": "y has no attribute 1",
    "chmod y 888": "888 is no mode: give it in octal",
    "chmod y 10000": "4096 is too large",
    "chown y 70000 1": "70000 is too large",
    "utimens y 2147483648": "2147483648 is too large",
    "fdatasync A": "A is a folder",
    "rename A/x A": "A is a folder",
    "rename A/x D/x": "there is no folder D: make it before, with mkdir D",
    "rename z y": "z is not there",
    "create ../a": "../a is no name below the file system's root",
    "create /a": "/a is no name",
    "create A/./a": "A/./a is no name",
    "create A//a": "A//a is no name",
    "create A/a/": "A/a/ is no name",
    "create .": ". is no name",
    "link y A/../z": "A/../z is no name",
    "fsyncdir /": "/ is no name",
    "create written-after": "has a written-after of its own",
    "mkdir unlinked": "has a unlinked of its own",
    "create filler.3": "has a filler.3 of its own",
    "create A/x": "A/x is there already",
    "create D/x": "there is no folder D",
    "create y/x": "y is a file",
    "mkdir A": "A is there already",
    "link y A/x": "A/x is there already",
    "link A B": "A is a folder",
    "unlink b": "b is not there: make it before this call",
    "unlink n": "n is not there",  # another load made it
    "unlink A": "A is a folder: take rmdir",
    "rmdir y": "y is a file: take unlink",
    "rmdir A": "A is not empty",
    "fsync A": "A is a folder: take fsyncdir",
    "fsyncdir y": "y is a file: take fsync",
    "write A 0 1": "A is a folder",
    "write b 0 1": "b is not there",
    "write y 0 0": "it writes nothing",
    "write y 0 1048577": "a file of 1,048,577 bytes: a load's have at most 1,048,576",
    "swrite y 1048576 1": "a file of 1,048,577 bytes",
    "truncate y 1048577": "a file of 1,048,577 bytes",
    "write y 99999999999999999999 1": "a load's have at most",
    "mwrite A/x 2999 2": "A/x has 3,000 bytes, and a mapping makes no file longer",
    "open A": "A is a folder",
    "close y": "y is not open",  # the base's are closed when it is unmounted
    "write y -1 5": "offsets and sizes are whole numbers",
    "write y ² 5": "offsets and sizes are whole numbers",
    "write y 0x10 5": "offsets and sizes are whole numbers",
    "create a\x07": "a character of it cannot be printed",
    "create " + "a" * 600: "the line has more than 598 bytes",
    "load": "a load has a title",
    "load first": "two loads of one title: first",
    "load " + "a" * 600: "the line has more than 598 bytes",
}


@pytest.mark.parametrize("call", BAD, ids=lambda call: call[:24])
def test_a_call_that_cannot_be_is_refused_with_its_line(call: str) -> None:
    with pytest.raises(UsageError, match=f"^mine:9: .*{re.escape(BAD[call])}"):
        loads.parse_loads("mine", f"{BASE}{call}\nsync\n")


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        (["open y", "readonly"], "a file is open"),
        (["open y", "unlink y", "readonly"], "a file is open"),
        (["open y", "close y", "close y"], "y is not open"),
        (["open y"] * 65, "more than 64 files are open"),
        (["unlink y", "fsync y"], "y is not there"),
        (["open y", "unlink y", "write y 0 1", "swrite y 0 1"], "y is not there"),
        (["rename y z", "truncate y 5"], "y is not there"),
        (["tmpfile A/t", "fsync A/t", "truncate A/t 5"], "A/t is not there"),
        (["tmpfile A/t", "tmpfile A/t"], "A/t is there already"),
        (["tmpfile A/t", "linktmp A/t", "unlink A/t", "linktmp A/t"], "with tmpfile"),
        (["open y", "unlink y", "linktmp y"], "with tmpfile"),
        (["beginsync 5", "beginsync 5"], "a sync is beside the load already"),
        (["beginsync 5", "endsync", "endsync"], "no sync is beside the load"),
        (["truncate A/x 10", "mwrite A/x 0 11"], "A/x has 10 bytes"),
        (["link A/x z", "truncate A/x 10", "mwrite z 0 11"], "z has 10 bytes"),
    ],
)
def test_what_is_there_is_followed_call_by_call(calls: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=f"^mine:{8 + len(calls)}: .*{why}"):
        loads.parse_loads("mine", BASE + "\n".join(calls))


GOOD = (
    *("create A/n", "write A/n 0 1", "mwrite A/n 0 1", "mkdir A/B", "create A/B/c", "fsyncdir A/B"),
    *("unlink A/B/c", "rmdir A/B", "rename A/x y", "rename y A/x", "link A/x z", "rename A/x z"),
    *("fsync A/x", "fsync z", "swrite A/x 1048575 1", "truncate z 0", "fsyncdir", "open z"),
    *("close A/x", "readonly", "sync"),
)
"""A rename of two names of one file does nothing, so both are there."""


def test_calls_that_can_be_are_taken_as_they_are() -> None:
    made = loads.parse_loads("mine", BASE + "\n".join(GOOD))
    assert made.loads[1].calls == GOOD
    assert made.base[-1] == "open y"


def test_the_bounds_are_those_of_the_boards_program() -> None:
    programs = DEVICE / "programs"
    head, load, play = (
        (programs / "lib" / "cuts" / name).read_text() for name in ("cuts.h", "load.c", "play.c")
    )
    filler = (programs / "faultcheck" / "filler.c").read_text()
    assert "FILE_BYTES_MAX (1u << 20)" in head
    assert loadcheck.FILE_BYTES_MAX == 1 << 20
    assert f"LINE_MAX_BYTES {loads.LINE_BYTES_MAX + 2}\n" in load
    assert f"HELD_MAX {loadcheck.HELD_MAX}\n" in play
    assert f'MOUNTPOINT "/{loadcheck.FILLER}%u"' in filler


def test_every_call_is_followed() -> None:
    assert loadcheck.CALL_METHODS.keys() == loads.KINDS.keys()


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_bytes(b"load x\ncreate \xff\n")
    with pytest.raises(UsageError, match="mine: not text in UTF-8"):
        requests.find_load_set_named(str(path))
