# SPDX-License-Identifier: GPL-2.0-or-later
"""Four MTD partitions on the board, known work on three, and a trace of one of them or of all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support import lock
from support.layouts import make_spec

from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.plan.mediaboard import find_media_board
from nandlab.trace import job, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import TraceRequest
from nandlab.traced import tables

pytestmark = pytest.mark.board

BOOT, KERNEL, ROOTFS, DATA = range(4)
BEFORE = (
    "dd if=/bin/busybox of=f bs=4k count=16 2>/dev/null; mkdir /data; "
    "mount -t jffs2 -o compr=none mtd3 /data; "
    "dd if=/bin/busybox of=/data/g bs=4k count=16 2>/dev/null; "
    "sync; echo 3 > /proc/sys/vm/drop_caches"
)
COMMAND = (
    "dd if=f of=/dev/null bs=4k count=7; dd if=/data/g of=/dev/null bs=4k count=5; "
    "dd if=/dev/mtd1 of=/dev/null bs=2048 count=53; cat /proc/mtd"
)
"""Calls of read() of a file system: 7 on rootfs, 5 on data. Pages of kernel: 53."""


def trace_partition(board: QemuBoard, path: Path, only: str) -> TraceFolder:
    spec = make_spec(board=board.machine.model.name)
    wanted = TraceRequest(spec, COMMAND, ("vfs", "flash", "func"), before=BEFORE, only=only)
    record = asyncio.run(board.run(job.make_trace_job(wanted)))
    writer.write_trace_folder(path, wanted, record, job.decode_trace_outcome(wanted, record), board)
    return TraceFolder(path)


def count_by_partition(trace: TraceFolder, kind: str) -> dict[int, int]:
    """How many events of a kind each MTD device has."""
    rows = tables.query_parquet_rows(
        trace.events,
        f"SELECT device, count(*) FROM events WHERE event = '{kind}' GROUP BY device",
    )
    return {int(device): int(n) for device, n in rows}


def count_reads(trace: TraceFolder) -> int:
    rows = tables.query_parquet_rows(
        trace.events, "SELECT count(*) FROM events WHERE event = 'VFS_READ' AND task = 'dd'"
    )
    return int(rows[0][0])


@pytest.fixture(scope="module")
def traces(board: QemuBoard, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TraceFolder]:
    home = tmp_path_factory.mktemp("layout")
    parted = open_board(find_media_board([make_spec(board=board.machine.model.name)]))
    return {
        only: trace_partition(parted, home / (only or "all"), only)
        for only in ("", "kernel", "rootfs", "data")
    }


def test_the_boards_partitions_are_those_of_the_table(traces: dict[str, TraceFolder]) -> None:
    assert traces[""].meta["stdout"].splitlines()[1:] == [
        'mtd0: 00200000 00020000 "boot"',
        'mtd1: 00400000 00020000 "kernel"',
        'mtd2: 01000000 00020000 "rootfs"',
        'mtd3: 00800000 00020000 "data"',
    ]
    for trace in traces.values():
        assert lock.sentences(trace.summary["warnings"]) == []


def test_each_partitions_pages_are_its_own(traces: dict[str, TraceFolder]) -> None:
    every = traces[""]
    reads = count_by_partition(every, "FLASH_READ")
    assert set(reads) == {KERNEL, ROOTFS, DATA}
    assert reads[KERNEL] == 53
    # without a filter the trace has all that the chip counted
    assert sum(reads.values()) == every.summary["chip"]["reads"]
    layout = every.meta["layout"]["partitions"]
    pages = 64
    for number in (KERNEL, ROOTFS, DATA):
        first, blocks = layout[number]["first"], layout[number]["blocks"]
        rows = tables.query_parquet_rows(
            every.events,
            "SELECT min(object), max(object) FROM events WHERE event = 'FLASH_READ' "
            f"AND device = {number}",
        )
        assert first * pages <= rows[0][0] <= rows[0][1] < (first + blocks) * pages
    assert count_reads(every) == 7


@pytest.mark.parametrize(
    ("only", "number", "calls"), [("kernel", KERNEL, 0), ("rootfs", ROOTFS, 7), ("data", DATA, 5)]
)
def test_the_filter_passes_exactly_one_partition(
    traces: dict[str, TraceFolder], only: str, number: int, calls: int
) -> None:
    trace, every = traces[only], traces[""]
    reads = count_by_partition(trace, "FLASH_READ")
    # what the others' reads were, the chip counted, and the trace has none of them
    assert reads == {number: count_by_partition(every, "FLASH_READ")[number]}
    assert trace.summary["chip"]["reads"] == every.summary["chip"]["reads"]
    assert set(count_by_partition(trace, "MTD_READ")) == {number}
    assert count_reads(trace) == calls
