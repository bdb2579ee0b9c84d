# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM that is free in single pages only: files are made all the same, and are there after it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.place import Place, places

from nandlab.board.jobs.job import Board, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = [pytest.mark.board, pytest.mark.timeout(1200)]

LEFT_KIB = 3000
"""Of which no more can be taken before the kernel kills programs."""
FILES = 3500
"""So many that YAFFS2 asks for more neighbouring pages than there are; of less than a page."""
NEIGHBOURS_MOST = 1000
"""Free pages that have a free neighbour, of thousands that have none."""
SCATTER = (
    "chmod +x singlepages; (./singlepages {left} > /tmp/scattered 2>&1 &);"
    " until grep -q . /tmp/scattered; do sleep 0.05; done; grep -q ready /tmp/scattered"
)


@pytest.fixture(scope="module")
def scatterer(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    program = tmp_path_factory.mktemp("c") / "singlepages"
    source = Path(__file__).with_name("singlepages.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", program, source], check=True)
    return program.read_bytes()


def free_pages(buddyinfo: str) -> tuple[int, int]:
    """Those that are alone, and the others."""
    zones = [list(map(int, line.split()[4:])) for line in buddyinfo.splitlines()]
    others = (count << order for zone in zones for order, count in enumerate(zone) if order)
    return sum(zone[0] for zone in zones), sum(others)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(p, marks=[pytest.mark.long] if p.system == "nftl-fat32" else [], id=p.system)
        for p in places(every_part=False)
    ],
)
def test_files_are_made_where_ram_is_free_in_single_pages_only(
    board: Board, place: Place, scatterer: bytes
) -> None:
    each = f"[ $i -lt {FILES} ]; do echo $i > {MOUNTPOINT}/f$i || exit 1; i=$((i + 1))"
    record, said = place.run(
        board,
        Step("scatter", SCATTER.format(left=LEFT_KIB)),
        Step("free", "cat /proc/buddyinfo"),
        Step("make", f"i=0; while {each}; done; sync", deadline_s=120),
        Step("remount", place.remount()),
        Step("read", f"cat {MOUNTPOINT}/f*"),
        files={"singlepages": scatterer},
    )
    assert record.failed() is None, record.failed()
    alone, others = free_pages(record["free"].stdout)
    assert (alone > NEIGHBOURS_MOST * 4, others < NEIGHBOURS_MOST) == (True, True)
    assert sorted(map(int, record["read"].stdout.split())) == list(range(FILES))
    assert said == []
