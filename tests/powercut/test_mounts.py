# SPDX-License-Identifier: GPL-2.0-or-later
"""How many times a point is mounted, and what of these mounts is a finding: the board's own code on
mounts that are written down."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from nandlab.base.paths import DEVICE, ROOT
from nandlab.flash.chip.mishaps import read_tear_ways
from nandlab.powercut.campaignfolder import UNSTABLE_MOUNTS
from nandlab.powercut.campaignresult import LETTERS
from nandlab.powercut.job import CutPoints

WRAPPED = ("say", "recorded", "chip", "recording", "kinds")
"""Functions of the journal that a test of points has itself."""
ADDED_WAYS = "half\tone half is done\t-\t-\nwobbly\tall read so and so\t-\tunstable\n"
"""Of files that another adds to the module's ways."""


@cache
def judge() -> Path:
    """The board's judge of mounts, built for this machine."""
    import tempfile

    out = Path(tempfile.mkdtemp(prefix="nandlab-mounts-")) / "judge_mounts"
    lib = DEVICE / "programs" / "lib"
    files = [lib / "cuts/mounts.c", lib / "cuts/verdict.c", lib / "payload.c", lib / "diag.c"]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-I", str(lib)]
    argv = ["gcc", *flags, '-DMOUNTPOINT="mnt"', str(ROOT / "tests/c/judge_mounts.c")]
    subprocess.run([*argv, *map(str, files), "-o", str(out)], check=True, timeout=120)
    return out


@cache
def cutter() -> Path:
    """What goes to each point, built for this machine; it prints how often a point is mounted."""
    import tempfile

    out = Path(tempfile.mkdtemp(prefix="nandlab-points-")) / "points_mounts"
    lib = DEVICE / "programs" / "lib"
    names = ("cuts/points", "cuts/journal", "cuts/verdict", "payload", "diag", "checked")
    files = [lib / f"{name}.c" for name in names]
    flags = ["-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-I", str(lib)]
    flags += ['-DMOUNTPOINT="mnt"', '-DFLASHSTAT_DIRECTORY="."']
    flags += [f"-Wl,--wrap=journal_{name}" for name in WRAPPED]
    argv = ["gcc", *flags, str(ROOT / "tests/c/points_mounts.c")]
    subprocess.run([*argv, *map(str, files), "-o", str(out)], check=True, timeout=120)
    return out


@pytest.mark.parametrize(
    ("mounts", "shown", "verdict", "what", "count"),
    [
        (2, "1 1", "held", "", 2),
        (2, "x x", "unmountable", "Structure needs cleaning, and at the next mount", 2),
        (2, "x 1", "unmountable", "Structure needs cleaning, and the next mount succeeds", 2),
        (2, "1 x", "not writable", "mount 2: Structure needs cleaning", 2),
        (4, "1 1 1 1", "held", "", 4),
        (4, "x x x x", "never mounts again", "mount 1 and each after it, of 4: ", 4),
        (4, "x x 1", "unmountable", "Structure needs cleaning, and mount 3 succeeds", 3),
        (4, "1 x x x", "never mounts again", "mount 2 and each after it, of 4: ", 4),
        (4, "1 x 1", "not writable", "Structure needs cleaning, and the next mount succeeds", 3),
        (4, "1 1 x x", "never mounts again", "mount 3 and each after it, of 4: ", 4),
        (4, "1 1 1 x", "not writable", "mount 4: Structure needs cleaning", 4),
        (4, "1 2", "another second mount", "each mount's may be, ", 2),
        (4, "1 1 1 2", "another second mount", "mount 4: each mount's may be, ", 4),
        (6, "1 1 1 1 1 x", "not writable", "mount 6: Structure needs cleaning", 6),
    ],
)
def test_a_state_that_never_mounts_again_or_changes_is_a_finding(
    mounts: int, shown: str, verdict: str, what: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "mnt").mkdir()
    argv = [str(judge()), str(mounts), *shown.split()]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=tmp_path)
    named, told, used = done.stdout.splitlines()
    assert (named, int(used)) == (verdict, count)
    assert told.startswith(what)
    assert bool(told) == bool(what)
    assert verdict in LETTERS


def test_the_board_is_asked_for_another_number_of_mounts_alone() -> None:
    assert "--mounts" not in CutPoints().words()
    words = CutPoints(mounts=UNSTABLE_MOUNTS + 5).words()
    assert words[words.index("--mounts") + 1] == f"{UNSTABLE_MOUNTS + 5}"


def test_each_way_whose_cells_are_unstable_is_mounted_often_whatever_its_name(
    tmp_path: Path,
) -> None:
    """The chip's table says which: the program knows none by its name."""
    ways = read_tear_ways()
    table = "".join(
        f"{way.name}\t{way.page}\t{way.block or '-'}\t{'unstable' if way.is_unstable else '-'}\n"
        for way in ways.values()
    )
    (tmp_path / "journal_ways").write_text(table + ADDED_WAYS)
    names = [*ways, "half", "wobbly"]
    argv = [str(cutter()), "9", *names]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, cwd=tmp_path)
    often = {name for name, way in ways.items() if way.is_unstable} | {"wobbly"}
    expected = {name: 9 if name in often else 2 for name in names}
    assert dict(zip(names, map(int, done.stdout.split()), strict=True)) == expected
    unknown = subprocess.run([*argv, "wobb"], check=False, capture_output=True, cwd=tmp_path)
    assert (unknown.returncode, unknown.stdout) == (1, b"")
