# SPDX-License-Identifier: GPL-2.0-or-later
"""On the board, the flash pages of every call are those foretold from the chip before it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import lock
import pytest

from nandlab.board.qemu import QemuBoard
from nandlab.cli import trace as cli_trace
from nandlab.model import score
from nandlab.trace import job, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import Request

pytestmark = pytest.mark.board

DROP = "; sync; sync; sleep 1; echo 3 > /proc/sys/vm/drop_caches"
PLAIN = "dd if=/dev/urandom of=a bs=4k count=64 2>/dev/null"
READ = "cat a > /dev/null"
AT_RANDOM = (
    "for i in 7 3 60 3 12 33 8 9 10 61; do dd if=a bs=4k skip=$i count=1 2>/dev/null; done"
    " > /dev/null"
)


def traced(
    board: QemuBoard, path: Path, compression: str, before: str, command: str
) -> TraceFolder:
    spec = cli_trace._spec(
        board=board.machine.model.name,
        workload={"name": "ffsmark"},
        filesystem={"name": "jffs2", "compression": compression},
        chip={"part": "apf27", "partition_mib": 8},
        state={"name": "fresh"},
        seed=1,
    )
    wanted = Request(spec, command, ("vfs", "flash", "func"), before=before + DROP)
    record = asyncio.run(board.run(job.job(wanted)))
    imaged = asyncio.run(board.run(job.image_job(wanted)))
    outcome = job.outcome(wanted, record)
    writer.write(path, wanted, record, outcome, board, job.image(imaged, record))
    return TraceFolder(path)


@pytest.mark.parametrize(
    ("compression", "before", "command"),
    [
        ("none", PLAIN, READ),
        ("none", f"{PLAIN}; fileload update a --count 400 --bytes 300", READ),
        ("none", f"{PLAIN}; fileload update a --count 60 --bytes 1500", AT_RANDOM),
        ("lzo", "cp /bin/busybox a; fileload update a --count 100 --bytes 700", READ),
        ("zlib", "cp /bin/busybox a", READ),
    ],
    ids=["in-order", "pieces", "at-random", "lzo", "zlib"],
)
def test_n_and_the_order_of_pages_are_foretold_in_every_call(
    board: QemuBoard, tmp_path: Path, compression: str, before: str, command: str
) -> None:
    trace = traced(board, tmp_path / "t", compression, before, command)
    assert lock.sentences(trace.summary["warnings"]) == []
    found = score.summary(trace, score.calls(trace))
    assert found["calls"] >= 9
    assert found["unknown"] == found["differ"] == 0
    if compression == "none":
        # a tick falls into one call or another, so no bound on each
        assert abs(found["nandlab"]["total"]) < 0.005
        assert found["nandlab"]["median"] < 0.002


def test_another_chip_does_not_pass_for_the_trace_s(board: QemuBoard, tmp_path: Path) -> None:
    trace = traced(board, tmp_path / "t", "none", PLAIN, READ)
    image = trace.image.read_bytes()
    trace.image.write_bytes(image[: len(image) // 2])
    with pytest.raises(Exception, match="truncated"):
        score.calls(trace)
