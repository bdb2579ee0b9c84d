# SPDX-License-Identifier: GPL-2.0-or-later
"""What others wrote to test flash file systems: mtd-utils' integck and fs-tests, on all of them.

Of fs-tests these are left out: `perf` only measures; `gcd_hupper` sends signals to JFFS2's
collector and checks nothing; `rndrm99` is rndrm00 with its system calls timed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from mtdutils import HOME, SCRIPTS, UNPACK, packed, seeded
from support.place import Place, places

from nandlab.board.jobs.job import Board, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = pytest.mark.board

SHORT_MIB, LONG_MIB = {"yaffs2": 5}, (8, 16)
"""The short ones have 8 MiB where no other number is given: UBIFS needs them."""
SEEDS = range(1, 11)
SHORT_SEED = 2
SLOW = {"jffs2"}
"""integck takes a minute there, for JFFS2 compresses and checks all that it reads."""
STRESS_S = 60
"""Seconds of the board's time that each script of many processes runs."""
HOLE = 3_000_000
"""Bytes of stress_3's hole: vfat has no holes and gives it room at once, so it must fit."""
CUT = 300_000
"""Bytes of ftrunc's file, which fits everywhere: on a full disk JFFS2 and UBIFS have no room to
note that a file is shorter. integck and stress_3 take that ENOSPC, ftrunc does not."""
SIMPLE = {
    "test_1": "test_1",
    "test_1-sync": "test_1 -s",
    "test_2": "test_2",
    "ftrunc": f"ftrunc -z{CUT}",
    "orph": "orph -n3",
    "rndrm00": "rndrm00 -z0",
    "rmdir00": "rmdir00 -z0",
    "stress_1": "stress_1 -z100000000 -e",
    "stress_2": "stress_2 -z100000000",
    "stress_3": f"stress_3 -z{HOLE} -e",
    "rndwrite00": "rndwrite00 -z2000000 -e",
}
"""Commands of fs-tests; where a size is 0 or larger than any partition here, they fill it."""
TOLD_LINES = 150
HEX = re.compile(r"(?:[0-9a-f]{2} ?)+")


def sized(mib: float) -> list[Place]:
    return [replace(place, mib=mib) for place in places(every_part=False)]


def list_short_places() -> list[Place]:
    return [replace(place, mib=SHORT_MIB.get(place.system, place.mib)) for place in sized(8)]


def name(place: Place) -> str:
    return f"{place.system}-{place.mib:g}"


def integck(seed: int, more: str = "") -> Step:
    """It fills the disk, empties some, changes much, remounts and checks all of it; twice."""
    command = f"{HOME}/integck -n 1 {more}{MOUNTPOINT}"
    return Step("integck", seeded(seed, command), deadline_s=24 * 3600)


def fs_test(command: str) -> Step:
    words = f"TEST_FILE_SYSTEM_TYPE=any TEST_FILE_SYSTEM_MOUNT_DIR={MOUNTPOINT} {HOME}/{command}"
    return Step("fs-test", seeded(1, words), deadline_s=24 * 3600)


def play(board: Board, place: Place, step: Step, *programs: str) -> tuple[JobRecord, list[str]]:
    steps = (Step("unpack", UNPACK), step, Step("left", f"ls {MOUNTPOINT}"))
    return place.run(board, *steps, files=packed(*programs))


def told(text: str) -> str:
    """The end of what a program said, without the bytes that it dumps."""
    lines = [line for line in text.splitlines() if not HEX.fullmatch(line.strip() or "-")]
    return "\n".join(lines[-TOLD_LINES:])


def holds(
    request: pytest.FixtureRequest, board: Board, place: Place, step: Step, *programs: str
) -> None:
    """The step ends well, nothing is left over, and the kernel complains of nothing."""
    record, complaints = play(board, place, step, *programs)
    failed = record.failed()
    if failed or complaints:
        here = Path(__file__).relative_to(Path(__file__).parents[2])
        lines = [
            f"{place.system} on {place.mib:g} MiB of {place.part}: {step.command}",
            f"again: pytest -m '' '{here}::{request.node.name}'",
            *(f"the kernel: {line}" for line in complaints[:20]),
            failed.failure()[:400] if failed else "it ended well",
            told(failed.stdout + failed.stderr) if failed else "",
        ]
        pytest.fail("\n".join(lines), pytrace=False)
    own = set(place.spec.filesystem.own_entries)
    assert set(record["left"].stdout.split()) <= own


def integck_holds(request: pytest.FixtureRequest, board: Board, place: Place, seed: int) -> None:
    """integck; where there are no links it must say so, for it cannot do without.

    Which it wants first is the seed's: a link of either kind, or a path longer than FAT takes.
    """
    if "hard_links" not in place.differs():
        holds(request, board, place, integck(seed), "integck")
        return
    record, complaints = play(board, place, integck(seed), "integck")
    link, name = r"(hard|sym)link .*error 1 \(Op", r"(file|directory) .*error 36 \(File name"
    ends = f"cannot create ({link}|{name})"
    assert re.search(ends, record["integck"].stdout, re.DOTALL)
    assert complaints == []


def test_a_seed_is_what_integck_begins_from(board: Board) -> None:
    place = list_short_places()[0]
    record, _ = play(board, place, Step("integck", seeded(7, f"{HOME}/integck /proc")), "integck")
    assert "pid 1007, testing" in record["integck"].stdout


@pytest.mark.parametrize(
    "place", [p for p in list_short_places() if p.system not in SLOW], ids=name
)
def test_integck(request: pytest.FixtureRequest, board: Board, place: Place) -> None:
    integck_holds(request, board, place, SHORT_SEED)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", [p for mib in LONG_MIB for p in sized(mib)], ids=name)
def test_integck_ten_times(
    request: pytest.FixtureRequest, board: Board, place: Place, seed: int
) -> None:
    integck_holds(request, board, place, seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", SIMPLE)
@pytest.mark.parametrize("place", sized(LONG_MIB[0]), ids=name)
def test_fs_tests(request: pytest.FixtureRequest, board: Board, place: Place, command: str) -> None:
    words = SIMPLE[command]
    holds(request, board, place, fs_test(words), words.split()[0])


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("script", [Path(s).name for s in SCRIPTS])
@pytest.mark.parametrize("place", sized(LONG_MIB[0]), ids=name)
def test_fs_tests_of_many_processes(
    request: pytest.FixtureRequest, board: Board, place: Place, script: str
) -> None:
    programs = ("fwrite00", "rndwrite00", "pdfrun", "fstest_monitor", "free_space")
    holds(request, board, place, fs_test(f"{script} {STRESS_S}"), script, *programs)
