# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of traces for tests, from answers that no board gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nandlab.board.jobs.fake import FakeBoard, FakeResult
from nandlab.board.jobs.job import Job
from nandlab.cli.singletrial import plan_single_trial
from nandlab.trace import job, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import TraceRequest
from nandlab.traced.records import EventType
from support.tracemade import ERASE, GC, Made, ev, page_read, program

CHIP = dict.fromkeys(job.CHIP_COUNTS, 5)
STATUS = (
    "mode overwrite\nwritten 12\nlost 0\nmissed 0\nabsent FS_READAHEAD the file system has none:\n"
)
PROC_NAMES = "task 7 7 user cat\ntask 8 8 kernel gcd\nfunction 0 jffs2_garbage_collect_pass\n"


def request(**more: Any) -> TraceRequest:
    spec = plan_single_trial(
        board="apf27",
        workload={"name": "ffsmark"},
        filesystem={"name": "jffs2"},
        chip={"part": "apf27", "partition_mib": 16},
        state={"name": "fresh"},
        seed=1,
    )
    return TraceRequest(spec, more.pop("command", "true"), ("vfs", "flash", "func"), **more)


def made() -> Made:
    erase = ev(EventType.FLASH_ERASE, 500, extra=2, object=128)
    write = ev(EventType.VFS_WRITE, 90, program(), GC(20, program(), ERASE(5, erase)), object=17)
    read = ev(EventType.VFS_READ, 50, ev(EventType.PC_MISS, size=1), page_read(), object=17)
    return (
        Made().task(7, ev(EventType.MARK, text=b"begin"), write, read).task(8, GC(9, page_read()))
    )


def counters(**more: int) -> FakeResult:
    return FakeResult("".join(f"{k} {v + more.get(k, 0)}\n" for k, v in CHIP.items()))


def listed(names: dict[int, bytes]) -> str:
    """As treelist tells of a folder."""
    rest = {"mode": 0o100644, "uid": 0, "gid": 0, "bytes": 0, "mtime_s": 0}
    entries = ({"path_hex": name.hex(), **rest, "inode": inode} for inode, name in names.items())
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def board(**answers: FakeResult) -> FakeBoard:
    results: dict[str, FakeResult | Callable[[Job], FakeResult]] = {
        s.name: FakeResult() for s in job.make_trace_job(request()).steps
    }
    results |= {
        "chip-before": counters(),
        "chip-after": counters(reads=2, programs=2, erases=1),
        "settle-after": FakeResult('{"settled": true}'),
        "status": FakeResult(STATUS),
        "names": FakeResult(PROC_NAMES),
        "paths": FakeResult(listed({1: b"", 17: b"a b", 18: b"\xc3\xa9\xff\n"}) + '{"path_h'),
    }
    results.update({k.replace("_", "-"): v for k, v in answers.items()})
    return FakeBoard(answers=results, kernel="6.1.0-44-amd64", brings=lambda job: made().file())


def traced(to: Path, given: FakeBoard | None = None, image: bytes = b"") -> TraceFolder:
    given = given or board()
    record = asyncio.run(given.run(job.make_trace_job(request())))
    writer.write_trace_folder(
        to, request(), record, job.decode_trace_outcome(request(), record), given, image
    )
    return TraceFolder(to)
