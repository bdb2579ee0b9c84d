# SPDX-License-Identifier: GPL-2.0-or-later
"""Both checkers at every point of every call that ``ace1`` has not: the board mounts and judges,
the host reads the chip of the same point with its own decoders, before any mount.

The host takes the chip as it was before the load, and what each operation changed, from one job: so
it has every point of a load for one board. A torn operation's chip is saved by another, which tries
no point after the last of these.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import end_chip_with_partition, on
from recordings import judge_points, judge_saved_points, record_points

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import hostcheck, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.loads import KINDS, Load, LoadSet

pytestmark = pytest.mark.board

EVERYWHERE = (
    *("rename D E", "fsyncdir", "write E/file 0 700", "fdatasync E/file", "rename E B/dir"),
    *("fsyncdir B", "sync", "noreplace A/foo A/new", "fsyncdir A", "symlink A/to 40"),
    *("fsyncdir A", "chmod A/new 600", "chown A/new 7 8", "utimens A/new 1000000000"),
    *("fsync A/new", "chmod B/dir 700", "sync", "write A/new 100 5000", "dropcaches", "sync"),
    *("statfs", "readonly", "open B/bar", "unlink B/bar", "write B/bar 0 900", "fsyncdir B"),
    *("close B/bar", "create B/bar", "link B/bar A/other", "sync", "unlink B/bar", "sync"),
    *("beginsync 700", "create A/beside", "write A/beside 0 3000", "endsync", "fsync A/beside"),
)
"""Calls that each of the file systems takes."""
ATTRIBUTES = ("setxattr A/new 1 100", "setxattr B/dir 2 300", "sync", "removexattr A/new 1", "sync")
OF_UBIFS = (
    *("exchange A/new B/dir/file", "sync", "exchange A C", "fsyncdir", "sync"),
    *("whiteout C/new A/moved", "fsyncdir A", "fsyncdir C", "tmplink C/linked 3000"),
    *("fsync C/linked", "fsyncdir C", "tmpfile C/late", "write C/late 0 2000", "sync"),
    *("linktmp C/late", "fsyncdir C", "tmpfile C/hasty", "write C/hasty 0 500", "beginsync 400"),
    *("linktmp C/hasty", "endsync", "sync"),
)
CALLS = {
    "jffs2": (*EVERYWHERE, *ATTRIBUTES, "wakegc 300", "write A/new 0 900", "fsync A/new"),
    "ubifs": (*EVERYWHERE, *ATTRIBUTES, *OF_UBIFS),
    "yaffs2": EVERYWHERE,
}
REFUSED = {"fallocate"}
"""Calls that none of these file systems takes."""
TORN = ("subset", "done")
"""Ways that tear programs and erases."""
TORN_AT = (3, 5, 7, 9, 11, 13)
"""Operations of which the next is torn, for the host to read."""


def _make_campaign(board: QemuBoard, name: str, calls: tuple[str, ...]) -> Campaign:
    loads = LoadSet("agreement", wideloads.BASE, (Load("all", calls),))
    return Campaign(end_chip_with_partition(on(board, name)), loads, CutPoints())


def test_every_call_is_among_them() -> None:
    kinds = {call.split()[0] for calls in CALLS.values() for call in calls}
    new = {call.split()[0] for call in wideloads.CALLS}
    races = {"tmpfile", "linktmp", "beginsync", "endsync", "wakegc"}
    assert kinds >= (new | races | {"open", "close", "readonly", "statfs", "fdatasync"}) - REFUSED
    assert kinds <= KINDS.keys()


def _list_disagreements(board: QemuBoard, name: str, unread_max: int | None) -> list[str]:
    """Points at which one checker sees what the other does not.

    Where the host cannot read the chip as it lies there, it reads what the board's check left of
    it, on a fresh board: of so many such points, or of all (None).
    """
    one = _make_campaign(board, name, CALLS[name])
    told = record_points(one, board)
    torn = [(k, v, 1) for k, v in zip(TORN_AT, TORN * 3, strict=True)]
    few = replace(one, points=CutPoints(last=max(TORN_AT)))
    every = judge_points(one, told) | judge_saved_points(few, record_points(few, board, torn, TORN))
    assert len(every) == len(told.operations) + 1 + len(TORN_AT)
    unread = [place for place, verdicts in every.items() if verdicts.unread]
    assert len(unread) < len(every) / 10
    for k, variant, seed in unread[:unread_max]:
        point = select_single_cut_point(CutPoints(), 0, k, variant, seed)
        every[k, variant, seed] = asyncio.run(hostcheck.try_point(one, point, board))
        assert not every[k, variant, seed].unread
    return [
        f"{place}: board {verdicts.verdict}, host {verdicts.host_mistakes}"
        for place, verdicts in every.items()
        if verdicts.verdicts_agree is False
    ]


@pytest.mark.parametrize("name", CALLS)
def test_both_checkers_agree_at_every_point_of_every_call(board: QemuBoard, name: str) -> None:
    assert _list_disagreements(board, name, 1) == []


@pytest.mark.long
def test_they_agree_too_where_the_host_needs_a_mount_before(board: QemuBoard) -> None:
    """UBIFS, between the writes of its two master nodes."""
    assert _list_disagreements(board, "ubifs", None) == []
