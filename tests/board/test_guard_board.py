# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard asks a real kernel that has NFTL on the partition: mounted by another name, and not."""

from __future__ import annotations

import asyncio

import pytest
from support.smalltrial import spec

from nandlab.board.jobs.job import Job, Step
from nandlab.board.own.guard import PartitionSpec, find_erasable_partition
from nandlab.board.own.tables import PRINT_TABLES, Doubt, parse_kernel_tables
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.trial import steps as trial

pytestmark = pytest.mark.board

OTHER = "umount /mnt && mknod /tmp/flashdata b $(tr : ' ' </sys/block/nftla/dev) && "
OTHER += "mount -t vfat /tmp/flashdata /mnt && grep -q /tmp/flashdata /proc/mounts"


def test_nftl_over_the_partition_is_refused_by_whatever_name_it_is_mounted(
    board: QemuBoard,
) -> None:
    setup = trial.make_steps_until_mounted(spec(board, "nftl-fat32"))
    looks = (
        Step("other", OTHER),
        Step("mounted", PRINT_TABLES),
        Step("unmount", "umount /mnt"),
        Step("unmounted", PRINT_TABLES),
    )
    record = asyncio.run(board.run(Job((*setup, *looks))))
    failed = record.failed()
    assert failed is None, failed.failure()
    tables = {name: parse_kernel_tables(record[name].stdout) for name in ("mounted", "unmounted")}
    (mtd,) = tables["mounted"].mtds
    wanted = PartitionSpec(mtd.name, mtd.size, mtd.erasesize)
    with pytest.raises(Doubt, match="mounted at /mnt, as '/tmp/flashdata'"):
        find_erasable_partition(wanted, mtd.name, tables["mounted"])
    assert find_erasable_partition(wanted, mtd.name, tables["unmounted"]) == mtd
