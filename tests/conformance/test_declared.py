# SPDX-License-Identifier: GPL-2.0-or-later
"""What the catalog declares is true: each difference shows itself when nothing excuses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import get_args

import pytest
from replay import play_each
from support.cases import Cases
from support.compare import Mismatch, outcomes
from support.place import SYSTEMS, Place, places
from support.sequences import Sequence
from test_fsx import fsx

from nandlab.board.jobs.job import Board, Step
from nandlab.catalog.files import load_noun
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
    "name_times": ("open 0 a c", "link a b", "stat a"),
    "change_times": ("open 0 a c", "chmod a 644", "stat a"),
    "folder_times": (
        *("mkdir d 755", "mkdir e 755", "open 0 d/a c", "open 1 e/b c"),
        *("rename d/a e/b", "stat e"),
    ),
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
    for sentence in load_noun("filesystems", system, FilesystemModel).differs.values():
        assert len(sentence.split()) > 3
        assert sentence.endswith(".")


def by_place() -> dict[str, list[tuple[Place, str]]]:
    """The declared differences that a sequence shows, by where."""
    found: dict[str, list[tuple[Place, str]]] = {}
    for place, difference in sorted(DECLARED, key=str):
        if difference not in BY_FSX:
            found.setdefault(str(place), []).append((place, difference))
    return found


@pytest.fixture(scope="module")
def witnesses(board: Board) -> Callable[[str], dict[str, tuple[Mismatch | None, Mismatch | None]]]:
    """What a place does otherwise than tmpfs in each of its witnesses, in one job.

    By the difference: with all others excused, then with it excused too.
    """

    def played(where: str) -> dict[str, tuple[Mismatch | None, Mismatch | None]]:
        shown = by_place()[where]
        place = shown[0][0]
        every = place.differs()
        batch = tuple((WITNESSES[d], excused) for _, d in shown for excused in (every - {d}, every))
        got = play_each(board, place, batch)
        assert got.trouble is None
        pairs = zip(got.mismatches[::2], got.mismatches[1::2], strict=True)
        return dict(zip((d for _, d in shown), pairs, strict=True))

    return cache(played)


@pytest.mark.parametrize(
    ("place", "difference"),
    [
        pytest.param(p, d, marks=pytest.mark.xdist_group(f"declared-{p.system}-{p.part}"))
        for p, d in sorted(DECLARED, key=str)
    ],
    ids=lambda x: getattr(x, "system", x),
)
def test_a_declared_difference_is_there(
    board: Board,
    witnesses: Callable[[str], dict[str, tuple[Mismatch | None, Mismatch | None]]],
    place: Place,
    difference: str,
) -> None:
    if difference in BY_FSX:
        record, _ = place.run(board, fsx(place, 101, differs=()))
        assert "map-write" in record["fsx"].stderr.splitlines()[0]
        return
    by_itself, excused = witnesses(str(place))[difference]
    assert by_itself is not None, "it does as tmpfs does: take the declaration back"
    assert excused is None, "excused, it must pass"


EVERY = pytest.mark.parametrize(
    "place",
    [
        pytest.param(p, marks=pytest.mark.xdist_group(f"as-declared-{p.system}"))
        for p in places(every_part=False)
    ],
    ids=lambda p: p.system,
)
MAPS = (
    *("seq 0", "open 0 a c", "write 0 0 5000 1", "open 1 a r"),
    *("mapshared 0 0 5000", "mapshared 1 0 5000", "read 1 0 5000", ""),
)
TIMES = {
    "path-make": b"seq 0\nopen 0 a c\nwrite 0 0 5000 1\n",
    "path": b"seq 0\ntrunc a 100\n",
    "handle-make": b"seq 0\nopen 0 a c\nwrite 0 0 5000 1\n",
    "handle": b"seq 0\nopen 0 a -\nftrunc 0 100\n",
}


@pytest.fixture(scope="module")
def as_declared(board: Board) -> Callable[[str], Cases]:
    """A file system's job that plays MAPS, and TIMES."""

    def ran(system: str) -> Cases:
        (place,) = (p for p in places(every_part=False) if p.system == system)
        cases = {
            "maps": [Step("fsops", f"fsops maps {MOUNTPOINT}")],
            "times": [Step(call, changed(call)) for call in ("path", "handle")],
        }
        return place.run_cases(board, cases, {"maps": "\n".join(MAPS).encode(), **TIMES})

    return cache(ran)


@EVERY
def test_a_shared_mapping_is_refused_just_as_declared(
    as_declared: Callable[[str], Cases], place: Place
) -> None:
    """Of a descriptor that may write, to read too; never of one that only reads."""
    record = as_declared(place.system)["maps"]
    assert place.complaints(record) == []
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
def test_times_of_truncate_are_left_just_as_declared(
    as_declared: Callable[[str], Cases], place: Place
) -> None:
    """By path and by handle; UBIFS's declaration is of files that keep their size."""
    record = as_declared(place.system)["times"]
    assert place.complaints(record) == []
    left = "leaves" in place.spec.filesystem.differs.get("truncate_times", "")
    assert record["path"].stdout.split() == (["0", "0"] if left else ["1", "1"])
    assert record["handle"].stdout.split() == ["1", "1"]
