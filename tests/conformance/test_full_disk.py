# SPDX-License-Identifier: GPL-2.0-or-later
"""A full disk: the program is told, nothing else is lost, and deleting brings the space back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.compare import outcomes
from support.place import Place, places

from nandlab.board.jobs.job import Board, JobRecord, Step
from nandlab.plan.medium import MOUNTPOINT

pytestmark = [pytest.mark.board, pytest.mark.timeout(1200)]

ENOUGH_MIB = {"jffs2": 4, "yaffs2": 8}
SMALL = [
    replace(place, mib=ENOUGH_MIB.get(place.system))
    for place in places(every_part=False, small=True)
]
"""Less than what is small, where a file system can live on that: all of it is filled twice."""
KEPT, FULL = f"{MOUNTPOINT}/kept", f"{MOUNTPOINT}/full"
KEPT_FILES = 37
BACK = 0.95
"""Of what went in the first time, what must go in again after all was deleted."""


def fill(name: str, sync: str) -> Step:
    return Step(name, f"diskfull fill {sync} {FULL}", deadline_s=6 * 3600)


def verify(name: str, files: str) -> Step:
    """All of both folders is there; ``files``: what a fill said, as a shell can take it."""
    return Step(
        name,
        f"diskfull verify --files {KEPT_FILES} {KEPT} && diskfull verify {files} {FULL}",
        deadline_s=3600,
    )


def told(record: JobRecord, step: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record[step].stdout.splitlines()[-1])
    return found


def counted(fill_step: str) -> str:
    """What a fill said, as options of verify: taken from where the step kept it."""
    number = f"$(sed 's/.*\"{{}}\":\\([0-9]*\\).*/\\1/' /tmp/{fill_step})"
    return f"--files {number.format('files')} --partial {number.format('partial_bytes')}"


def kept(step: Step) -> Step:
    return Step(step.name, f"{step.command} | tee /tmp/{step.name}", step.deadline_s)


def run(board: Board, place: Place, sync: str) -> tuple[JobRecord, list[str]]:
    remount = place.remount()
    return place.run(
        board,
        Step("keep", f"mkdir {KEPT} {FULL} && diskfull fill --limit {KEPT_FILES} {KEPT} && sync"),
        kept(fill("first", sync)),
        verify("verify", counted("first")),
        Step("remount", remount),
        verify("verify-mounted-again", counted("first")),
        Step("empty", f"diskfull empty {FULL} && sync", 3600),
        Step("rest", place.rest().command),
        kept(fill("second", sync)),
        verify("verify-second", counted("second")),
        Step("empty-again", f"diskfull empty {FULL} && rmdir {FULL} && sync", 3600),
        Step("remount-empty", remount),
        Step("verify-kept", f"diskfull verify --files {KEPT_FILES} {KEPT}"),
        Step("left", f"find {MOUNTPOINT} -type f | wc -l"),
    )


def loses_nothing(board: Board, place: Place, sync: str) -> None:
    record, said = run(board, place, sync)
    failed = record.failed()
    assert failed is None, f"{failed.failure()}"
    first, second = told(record, "first"), told(record, "second")
    assert first["error"] == second["error"] == "ENOSPC"
    assert first["files"] > 100
    assert second["bytes"] >= BACK * first["bytes"]
    for fill_step, empty_step in (("first", "empty"), ("second", "empty-again")):
        emptied = told(record, empty_step)
        partial = told(record, fill_step)["failed"] != "open"
        assert emptied["deleted"] == told(record, fill_step)["files"] + partial
        assert emptied["readings"] == 1 or "steady_directories" in place.differs()
    assert int(record["left"].stdout) == KEPT_FILES
    assert said == []


@pytest.mark.parametrize("place", SMALL, ids=lambda p: p.system)
def test_a_full_disk_loses_nothing(board: Board, place: Place) -> None:
    loses_nothing(board, place, sync="")


@pytest.mark.long
@pytest.mark.parametrize("sync", ["", "--sync"], ids=["back", "sync"])
@pytest.mark.parametrize("place", places(every_part=True), ids=lambda p: f"{p.system}-{p.part}")
def test_a_larger_full_disk_loses_nothing(board: Board, place: Place, sync: str) -> None:
    loses_nothing(board, place, sync)


OLD, NEW, FEW = 4, 8, 6
"""Kinds of fsops's data; none of them compresses."""
PAGE = "0 0 4096"
LONE_FAILURE = (
    *("open 0 a c", f"write {PAGE} {OLD}", "fsync 0"),
    *("open 1 new c", f"write 1 0 4096 {NEW}", "fsync 1", "read 1 0 4096", "close 1"),
    *("open 2 room c", "put 2 32768 2", "fsync 2", "close 2"),
    *("open 3 filler c", *["put 3 65536 2"] * 260, *["put 3 4096 2"] * 40, "fsync 3"),
    *("unlink room", f"write 0 1451 11 {FEW}", f"read {PAGE}", *["put 3 4096 2"] * 40),
    *(f"write {PAGE} {NEW}", f"read {PAGE}", "drop", f"read {PAGE}"),
)
"""A few bytes go into a file while there is room, then a page over them when there is none."""
AGAIN = ("open 0 a r", f"read {PAGE}")


@pytest.mark.parametrize("place", SMALL, ids=lambda p: p.system)
def test_a_write_that_fails_changes_no_byte(board: Board, place: Place) -> None:
    """What was accepted before, and not yet synced, is there after it, and on flash."""
    files = {
        name: "\n".join(["seq 0", *sequence, ""]).encode()
        for name, sequence in (("all", LONE_FAILURE), ("again", AGAIN))
    }
    play = Step("play", f"fsops all {MOUNTPOINT}")
    again = Step("again", f"fsops again {MOUNTPOINT}")
    record, said = place.run(board, play, Step("remount", place.remount()), again, files=files)
    assert record.failed() is None, record.failed()
    outcome = outcomes(record["play"].stdout)["0"]
    new = outcome[LONE_FAILURE.index("read 1 0 4096")]
    few, wrote, *reads = (outcome[-45], outcome[-4], outcome[-3], outcome[-1])
    assert "ENOSPC" in outcome, "the disk was never full"
    assert wrote in ("ENOSPC", "4096")
    reads.append(outcomes(record["again"].stdout)["0"][-1])
    assert set(reads) == {few if wrote == "ENOSPC" else new}
    assert said == []
