# SPDX-License-Identifier: GPL-2.0-or-later
"""What the catalog declares is true: each difference shows itself when nothing excuses it."""

from __future__ import annotations

from typing import get_args

import pytest
from compare import outcomes
from place import SYSTEMS, Place, places
from replay import play
from sequences import Sequence
from test_fsx import fsx

from nandlab.board.job import Board, Step
from nandlab.catalog.files import load
from nandlab.catalog.filesystem import Difference, FilesystemModel
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

THEN = 1_234_567_891
MANY = tuple(f"open 0 {name} c" for name in "abcdefgh")
WITNESSES: dict[str, Sequence] = {
    "hard_links": ("open 0 a c", "link a b"),
    "symbolic_links": ("open 0 a c", "symlink a b"),
    "attributes": ("open 0 a c", "setxattr a p 17 1"),
    "modes": ("open 0 a c", "chmod a 600", "stat a"),
    "case": ("open 0 a c", "open 1 A cx"),
    "precise_times": ("open 0 a c", f"utime a {THEN}", "stat a"),
    "truncate_times": (
        *("open 0 a c", f"utime a {THEN}", "trunc a 0", "stat a"),
        *("trunc a 100", "stat a"),
    ),
    "empty_writes": ("open 0 a c", f"utime a {THEN}", "write 0 0 0 1", "stat a"),
    "inode_numbers": ("open 0 a c",),
    "folder_links": ("mkdir e 755", "mkdir e/c 755", "mkdir e/d 755", "rename e/c e/d", "stat e"),
    "steady_directories": (
        *(*MANY, "opendir 0 .", "readdir 0 3"),
        *(f"open 0 {name} c" for name in "ijklmnop"),
        "enddir 0",
    ),
}
BY_FSX = {"shared_writable_maps"}
"""Differences that fsx sees."""
BY_DURABILITY = {"unreadable_pages", "errors_once"}
"""Those that test_durability.py sees, which fails where one does not show."""
DECLARED = {
    (place.system, difference): (place, difference)
    for place in reversed(places(every_part=True))
    for difference in place.differs() - BY_DURABILITY
}.values()
"""Each on the first part on which it is declared."""


def test_every_difference_has_its_witness() -> None:
    assert set(get_args(Difference)) == WITNESSES.keys() | BY_FSX | BY_DURABILITY


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_difference_is_told_in_a_sentence(system: str) -> None:
    for sentence in load("filesystems", system, FilesystemModel).differs.values():
        assert len(sentence.split()) > 3
        assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("place", "difference"), sorted(DECLARED, key=str), ids=lambda x: getattr(x, "system", x)
)
def test_a_declared_difference_is_there(board: Board, place: Place, difference: str) -> None:
    if difference in BY_FSX:
        record, _ = place.run(board, fsx(place, 101, differs=()))
        assert "map-write" in record["fsx"].stderr.splitlines()[0]
        return
    others = place.differs() - {difference}
    got = play(board, place, [WITNESSES[difference]], others)
    assert got.mismatches[0] is not None, "it does as tmpfs does: take the declaration back"
    assert play(board, place, [WITNESSES[difference]]).ok, "excused, it must pass"


EVERY = pytest.mark.parametrize("place", places(every_part=False), ids=lambda p: p.system)


@EVERY
def test_a_shared_mapping_is_refused_just_as_declared(board: Board, place: Place) -> None:
    """Of a descriptor that may write, to read too; never of one that only reads."""
    sequence = (
        *("open 0 a c", "write 0 0 5000 1", "open 1 a r"),
        *("mapshared 0 0 5000", "mapshared 1 0 5000", "read 1 0 5000"),
    )
    text = "\n".join(["seq 0", *sequence, ""])
    step = Step("fsops", f"fsops sequence {MOUNTPOINT}")
    record, complaints = place.run(board, step, files={"sequence": text.encode()})
    assert record.failed() is None, record.failed()
    assert complaints == []
    by_writer, by_reader, read = outcomes(record["fsops"].stdout)["0"][-3:]
    assert by_reader == read
    refused = "shared_writable_maps" in place.differs()
    assert by_writer == ("EINVAL" if refused else read)


def changed(call: str) -> str:
    """Whether a change of size sets the times: of modification, then of change; a line of both."""
    file = f"{MOUNTPOINT}/0/a"
    times = f"stat -c '%Y %Z' {file}"
    return (
        f"fsops {call}-make {MOUNTPOINT} > /tmp/made && set -- $({times}) && sleep 2 && "
        f"fsops {call} {MOUNTPOINT} > /tmp/said && ! grep E /tmp/made /tmp/said && "
        f"set -- $@ $({times}) && echo $(($3 > $1)) $(($4 > $2)) && rm -r {MOUNTPOINT}/0"
    )


@EVERY
def test_times_of_truncate_are_left_just_as_declared(board: Board, place: Place) -> None:
    """By path and by handle; UBIFS's declaration is of files that keep their size."""
    files = {
        "path-make": b"seq 0\nopen 0 a c\nwrite 0 0 5000 1\n",
        "path": b"seq 0\ntrunc a 100\n",
        "handle-make": b"seq 0\nopen 0 a c\nwrite 0 0 5000 1\n",
        "handle": b"seq 0\nopen 0 a -\nftrunc 0 100\n",
    }
    steps = [Step(call, changed(call)) for call in ("path", "handle")]
    record, complaints = place.run(board, *steps, files=files)
    assert record.failed() is None, record.failed()
    assert complaints == []
    left = "leaves" in place.spec.filesystem.differs.get("truncate_times", "")
    assert record["path"].stdout.split() == (["0", "0"] if left else ["1", "1"])
    assert record["handle"].stdout.split() == ["1", "1"]
