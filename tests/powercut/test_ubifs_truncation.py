# SPDX-License-Identifier: GPL-2.0-or-later
"""UBIFS, where the power goes after a truncation is on flash and before the data that it shortened:
what docs/power-cuts.md says of it, on a real board."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from cutsteps import on

from nandlab.board.job import Step
from nandlab.board.qemu import QemuBoard
from nandlab.chip.simulated import FOLDER
from nandlab.powercut import campaign, loads, second
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import Points, alone, chip_module, job

pytestmark = pytest.mark.board

LOADS = loads.read(
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


def test_its_own_check_tells_of_it_until_the_data_is_written(board: QemuBoard) -> None:
    """Only if the page that the file now ends in was dirty; for as long as the data waits."""
    one = Campaign(on(board, "ubifs"), LOADS, Points(variants=("before",)))
    told = asyncio.run(campaign.once(one, one.points, board))
    failing = {each["load"]: each["outcomes"]["before"].count("C") for each in told}
    assert failing == {"dirty": 1, "dirty and long": 2, "clean": 0, "another page": 0} | {
        "whole page": 0
    }
    assert all(f["class"] == "check fails" for each in told for f in each["findings"])
    k = told[0]["outcomes"]["before"].index("C")
    at = alone(one.points, 0, k, "before", 1)
    verdicts = asyncio.run(second.tried(one, at, board))
    assert verdicts.wrong == []
    assert any(
        "check_leaf" in line and f"is not within inode size {END}" in line
        for line in verdicts.kernel
    )
    assert [_old_bytes(one, at, board, k), _old_bytes(one, at, board, k + 1)] == [BLOCK - END, 0]


def _old_bytes(one: Campaign, at: Points, board: QemuBoard, k: int) -> int:
    """Bytes between the old end and the end of its block that are not 0, after the state of ``k``
    operations was mounted, the file extended, and all was unmounted and mounted again."""
    whole = job(one.on, one.loads, replace(at, leave=True), chip_module(board))
    up = "ubiattach -m 0 -d 0 >/dev/null && mount -t ubifs ubi0:data /mnt"
    down = "umount /mnt && ubidetach -d 0"
    extend = "[ $(stat -c %s /mnt/A/foo) = 2500 ] && truncate -s 8192 /mnt/A/foo && sync"
    count = (
        f"dd if=/mnt/A/foo bs=1 skip={END} count={BLOCK - END} 2>/dev/null | tr -d '\\0' | wc -c"
    )
    goto = f"echo goto {k} before 1 > {FOLDER}/journal"
    more = (
        Step("extend", f"{goto} && {up} && {extend} && {down}"),
        Step("read", f"{up} && {count} && {down}"),
    )
    record = asyncio.run(board.run(replace(whole, steps=(*whole.steps, *more))))
    failed = record.failed()
    assert failed is None, failed.failure()
    return int(record["read"].stdout)
