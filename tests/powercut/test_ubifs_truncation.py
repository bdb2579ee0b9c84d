# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS, where the power goes after a truncation is on flash and before the data that it shortened:
what docs/findings/01 says of it, on a real board. Both oracles find it by themselves, once
the check has made the file longer; UBIFS's own check fails where nobody did."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import on

from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.powercut import campaign, hostcheck, kernellog, loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, build_chip_module, make_cut_job, select_single_cut_point
from nandlab.powercut.oracle import EXTENDED_BYTES

pytestmark = pytest.mark.board

LOADS = loads.parse_loads(
    "truncation",
    """
mkdir A
mkdir B
create A/foo
write A/foo 0 8192
load dirty
write A/foo 1000 100
truncate A/foo 2500
sync
load dirty and long
write A/foo 1000 100
truncate A/foo 2500
create B/a
fsyncdir B
create B/b
fsyncdir B
load clean
write A/foo 1000 100
fsync A/foo
truncate A/foo 2500
sync
load another page
write A/foo 5000 100
truncate A/foo 2500
sync
load whole page
write A/foo 1000 100
truncate A/foo 4096
sync
""",
)
END, BLOCK = 2500, 4096
GOTO = f"echo goto {{}} before 1 > {DEBUG_FOLDER}/journal"
UP = "ubiattach -m 0 -d 0 >/dev/null && mount -t ubifs ubi0:data /mnt"
DOWN = "umount /mnt && ubidetach -d 0"


def test_both_oracles_find_it_until_the_data_is_written(board: QemuBoard) -> None:
    """Only if the page that the file now ends in was dirty; for as long as the data waits. UBIFS's
    own checks are off."""
    medium = on(board, "ubifs")
    power = medium.filesystem.power
    assert power is not None and power.checks
    bare = medium.filesystem.model_copy(
        update={"power": power.model_copy(update={"checks": (), "check_says": ()})}
    )
    medium = medium.model_copy(update={"filesystem": bare})
    one = Campaign(medium, LOADS, CutPoints(variants=("before",)))
    told = asyncio.run(campaign.run_piece(one, one.points, board))
    failing = {each.load: each.outcomes["before"].count("S") for each in told}
    assert failing == {"dirty": 1, "dirty and long": 2, "clean": 0, "another page": 0} | {
        "whole page": 0
    }
    stale = f"A/foo: made longer, byte {END} of {END + EXTENDED_BYTES} is "
    for finding in (each for load in told for each in load.findings):
        assert (finding.name, finding.what.startswith(stale)) == ("stale bytes", True)
    k = told[0].outcomes["before"].index("S")
    at = select_single_cut_point(one.points, 0, k, "before", 1)
    verdicts = asyncio.run(hostcheck.try_point(one, at, board))
    assert verdicts.host_mistakes == [each.what for each in verdicts.findings] != []
    assert [_old_bytes(one, at, board, k), _old_bytes(one, at, board, k + 1)] == [BLOCK - END, 0]


def test_its_own_check_fails_where_nobody_made_the_file_longer(board: QemuBoard) -> None:
    one = Campaign(on(board, "ubifs"), LOADS, CutPoints(variants=("before",)))
    (told, *_) = asyncio.run(campaign.run_piece(one, replace(one.points, last_load=0), board))
    k = told.outcomes["before"].index("S")
    at = select_single_cut_point(one.points, 0, k, "before", 1)
    assert all("check_leaf" not in line for line in _own_check(one, at, board, k + 1))
    assert any(
        "check_leaf" in line and f"is not within inode size {END}" in line
        for line in _own_check(one, at, board, k)
    )


def _own_check(one: Campaign, at: CutPoints, board: QemuBoard, k: int) -> list[str]:
    """Errors of the kernel after the state of ``k`` operations was mounted and unmounted, and
    mounted with all of UBIFS's checks."""
    power = one.medium.filesystem.power
    checks = [each.partition("=") for each in power.checks] if power else []
    switch = "; ".join(f"echo {value or 1} > {file}" for file, _, value in checks)
    again = f"{UP} && {DOWN} && {{ {switch}; }} && {{ {UP}; true; }} && {kernellog.PRINT_ERRORS}"
    record = _record(
        one, at, board, Step("check", f"{GOTO.format(k)} && dmesg -c >/dev/null; {again}")
    )
    return kernellog.parse_kernel_errors(record["check"].stdout)


def _record(one: Campaign, at: CutPoints, board: QemuBoard, *more: Step) -> JobRecord:
    whole = make_cut_job(one.medium, one.loads, replace(at, leave=True), build_chip_module(board))
    record = asyncio.run(board.run(replace(whole, steps=(*whole.steps, *more))))
    failed = record.failed()
    assert failed is None, failed.failure()
    return record


def _old_bytes(one: Campaign, at: CutPoints, board: QemuBoard, k: int) -> int:
    """Bytes between the old end and the end of its block that are not 0, after the state of ``k``
    operations was mounted, the file extended, and all was unmounted and mounted again."""
    extend = "[ $(stat -c %s /mnt/A/foo) = 2500 ] && truncate -s 8192 /mnt/A/foo && sync"
    count = (
        f"dd if=/mnt/A/foo bs=1 skip={END} count={BLOCK - END} 2>/dev/null | tr -d '\\0' | wc -c"
    )
    record = _record(
        *(one, at, board),
        Step("extend", f"{GOTO.format(k)} && {UP} && {extend} && {DOWN}"),
        Step("read", f"{UP} && {count} && {DOWN}"),
    )
    return int(record["read"].stdout)
