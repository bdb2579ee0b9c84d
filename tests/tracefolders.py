# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of traces for tests, from answers that no board gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracemade import ERASE, GC, Made, ev, page_read, program

from nandlab.board.fake import Answer, FakeBoard
from nandlab.board.job import Job
from nandlab.cli import trace as cli_trace
from nandlab.trace import job, writer
from nandlab.trace.folder import TraceFolder
from nandlab.trace.job import Request
from nandlab.traced.records import Type

CHIP = dict.fromkeys(job.CHIP_COUNTS, 5)
STATUS = (
    "mode overwrite\nwritten 12\nlost 0\nmissed 0\nabsent FS_READAHEAD the file system has none:\n"
)
PROC_NAMES = "task 7 7 user cat\ntask 8 8 kernel gcd\nfunction 0 jffs2_garbage_collect_pass\n"


def request(**more: Any) -> Request:
    spec = cli_trace._spec(
        board="apf27",
        workload={"name": "ffsmark"},
        filesystem={"name": "jffs2"},
        chip={"part": "apf27", "partition_mib": 16},
        state={"name": "fresh"},
        seed=1,
    )
    return Request(spec, more.pop("command", "true"), ("vfs", "flash", "func"), **more)


def made() -> Made:
    erase = ev(Type.FLASH_ERASE, 500, extra=2, object=128)
    write = ev(Type.VFS_WRITE, 90, program(), GC(20, program(), ERASE(5, erase)), object=17)
    read = ev(Type.VFS_READ, 50, ev(Type.PC_MISS, size=1), page_read(), object=17)
    return Made().task(7, ev(Type.MARK, text=b"begin"), write, read).task(8, GC(9, page_read()))


def counters(**more: int) -> Answer:
    return Answer("".join(f"{k} {v + more.get(k, 0)}\n" for k, v in CHIP.items()))


def listed(names: dict[int, bytes]) -> str:
    """As treelist tells of a folder."""
    rest = {"mode": 0o100644, "uid": 0, "gid": 0, "bytes": 0, "mtime_s": 0}
    entries = ({"path_hex": name.hex(), **rest, "inode": inode} for inode, name in names.items())
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def board(**answers: Answer) -> FakeBoard:
    given: dict[str, Answer | Callable[[Job], Answer]] = {
        s.name: Answer() for s in job.job(request()).steps
    }
    given |= {
        "chip-before": counters(),
        "chip-after": counters(reads=2, programs=2, erases=1),
        "settle-after": Answer('{"settled": true}'),
        "status": Answer(STATUS),
        "names": Answer(PROC_NAMES),
        "paths": Answer(listed({1: b"", 17: b"a b", 18: b"\xc3\xa9\xff\n"}) + '{"path_h'),
    }
    given.update({k.replace("_", "-"): v for k, v in answers.items()})
    return FakeBoard(answers=given, kernel="6.1.0-44-amd64", brings=lambda job: made().file())


def traced(to: Path, given: FakeBoard | None = None, image: bytes = b"") -> TraceFolder:
    given = given or board()
    record = asyncio.run(given.run(job.job(request())))
    writer.write(to, request(), record, job.outcome(request(), record), given, image)
    return TraceFolder(to)
