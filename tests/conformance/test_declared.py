# SPDX-License-Identifier: GPL-2.0-or-later
"""What the catalog declares is true: each difference shows itself when nothing excuses it."""

from __future__ import annotations

from typing import get_args

import pytest
from place import SYSTEMS, Place, places
from replay import play
from sequences import Sequence
from test_fsx import fsx

from nandlab.board.job import Board
from nandlab.catalog import load
from nandlab.filesystem import Difference, FilesystemModel

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
BY_DURABILITY = {"unreadable_pages"}
"""Those that test_durability.py sees, which fails where one does not show."""
DECLARED = [
    (place, difference)
    for place in places(every_part=False)
    for difference in place.differs() - BY_DURABILITY
]


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
