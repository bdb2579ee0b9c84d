# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracers wrote: the files ``records`` and ``names`` of /proc/tracers, decoded.

The layout is that of ``device/modules/tracers/records.h``; a test compiles that header and compares
every figure here with it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandlab.base.errors import NandlabError
from nandlab.base.gate import open_regular_file
from nandlab.traced import setup

MAGIC = 0x5243524E
VERSION = 1
HEADER_TYPE = 255
RECORD_BYTES = setup.RECORD_BYTES
STRETCH = 1 << 16
"""Records handled at a time where an array for all would be large: fresh memory costs more than
the work on it."""

Array = NDArray[Any]


def _parse_layout(fields: str) -> np.dtype[np.void]:
    """A dtype of 64 bytes from lines of ``name format offset``."""
    split = [line.split() for line in fields.strip().splitlines()]
    names, formats, offsets = zip(*split, strict=True)
    return np.dtype(
        {
            "names": list(names),
            "formats": list(formats),
            "offsets": [int(o) for o in offsets],
            "itemsize": RECORD_BYTES,
        }
    )


RECORD = _parse_layout("""
    seq        <u8  0
    start_ns   <u8  8
    latency_ns <u8 16
    type        u1 24
    cpu         u1 25
    depth       u1 26
    flags       u1 27
    task       <u2 28
    device     <u2 30
    pid        <u4 32
    size       <u4 36
    object     <u8 40
    offset     <u8 48
    result     <i4 56
    extra      <u4 60
    text       S24 40
""")
"""``text`` is a mark's text; it overlaps ``object`` to ``extra``."""
HEADER = _parse_layout("""
    magic        <u4  0
    version      <u2  4
    record_bytes <u2  6
    time_ns      <u8  8
    lost         <u8 16
    type          u1 24
    missed       <u8 32
    written      <u8 40
""")


class EventType(IntEnum):
    """What happened; records.h says what the fields of each mean."""

    MARK = 1
    VFS_OPEN = 16
    VFS_READ = 17
    VFS_WRITE = 18
    VFS_FSYNC = 19
    VFS_UNLINK = 20
    VFS_RENAME = 21
    VFS_MKDIR = 22
    VFS_RMDIR = 23
    VFS_TRUNCATE = 24
    VFS_SPLICE = 25
    VFS_FAULT = 26
    VFS_CLOSE = 27
    VFS_RELEASE = 28
    VFS_EVICT = 29
    VFS_MOUNT = 30
    VFS_UNMOUNT = 31
    VFS_SYNC = 32
    VFS_WRITEBACK = 33
    PC_HIT = 40
    PC_MISS = 41
    SYNC_RA = 42
    ASYNC_RA = 43
    RA_SUBMIT = 44
    FS_READAHEAD = 45
    FS_READ_PAGE = 48
    FS_WRITE_BEGIN = 49
    FS_WRITE_END = 50
    FS_WRITE_PAGE = 51
    FS_WRITE_PAGES = 52
    FS_LOOK_UP = 53
    FS_CREATE = 54
    FLASH_READ = 64
    FLASH_PROGRAM = 65
    FLASH_ERASE = 66
    FLASH_HIT = 67
    MTD_READ = 70
    MTD_WRITE = 71
    MTD_ERASE = 72
    FUNC = 96


class EventFlag(IntFlag):
    """What else is true of an event."""

    OOB = 1
    RAW = 2
    SUBPAGE = 4
    VECTOR = 8
    AROUND = 16


IS_KNOWN_TYPE = np.zeros(256, bool)
IS_KNOWN_TYPE[[t.value for t in EventType]] = True


@dataclass(frozen=True)
class Recording:
    """Records in the order in which their events began."""

    records: Array
    closed: NDArray[np.int64]
    """For each record, its place in the order in which the events of its task ended."""
    lost: int
    missed: int
    written: int

    def select_types(self, *types: EventType) -> Array:
        """The records of some types."""
        found: Array = self.records[np.isin(self.records["type"], [t.value for t in types])]
        return found


def read_trace_records(path: Path) -> Recording:
    """The records of a file, mapped rather than read."""
    with open_regular_file(path) as file:
        if not os.fstat(file.fileno()).st_size:
            raise NandlabError(f"{path}: empty, not a trace")
        return _decode_array(np.memmap(file, np.uint8, "r"), str(path))


def decode_trace_records(data: bytes, where: str = "trace") -> Recording:
    """Decodes what the file ``records`` gave, read once or several times in a row.

    NandlabError says what is wrong with it, and at which record.
    """
    return _decode_array(np.frombuffer(data, np.uint8), where)


def _decode_array(data: Array, where: str) -> Recording:
    if len(data) < RECORD_BYTES:
        raise NandlabError(f"{where}: {len(data)} bytes are no trace: it begins with a header")
    beyond = len(data) % RECORD_BYTES
    if beyond:
        index = len(data) // RECORD_BYTES
        raise NandlabError(f"{where}: truncated: of record {index} only {beyond} bytes are there")
    all_records = data.view(RECORD)
    types = np.ascontiguousarray(all_records["type"])
    heads = np.flatnonzero(types == HEADER_TYPE)
    if not len(heads) or heads[0] != 0:
        raise NandlabError(f"{where}: not a trace: it does not begin with a header")
    for place in heads:
        index = int(place)
        _check_header(data.view(HEADER)[index], f"{where}: header at record {index}")
    known = IS_KNOWN_TYPE.copy()
    known[HEADER_TYPE] = True
    strange = np.flatnonzero(~known[types])
    if len(strange):
        index = int(strange[0])
        raise NandlabError(
            f"{where}: corrupt: record {index} has type {types[index]}, which is none"
        )
    last = data.view(HEADER)[heads[-1]]
    figures = {k: int(last[k]) for k in ("lost", "missed", "written")}
    records = np.delete(all_records, heads) if len(heads) > 1 else all_records[1:]
    return sort_trace_records(records, where=where, **figures)


def _check_header(head: Any, where: str) -> None:
    if int(head["magic"]) == int.from_bytes(MAGIC.to_bytes(4, "little"), "big"):
        raise NandlabError(f"{where}: from a big-endian board, which this does not read")
    if head["magic"] != MAGIC:
        raise NandlabError(f"{where}: corrupt: its first word is {int(head['magic']):#x}")
    if head["version"] != VERSION or head["record_bytes"] != RECORD_BYTES:
        raise NandlabError(f"{where}: of format {head['version']}; this reads {VERSION}")


def sort_trace_records(
    records: Array, lost: int = 0, missed: int = 0, written: int = 0, where: str = "trace"
) -> Recording:
    """Puts records, given as they were written, into the order in which their events began."""
    seq = np.ascontiguousarray(records["seq"])
    order = np.argsort(seq, kind="stable")
    for at in range(0, len(order), STRETCH):
        ascending = seq[order[at : at + STRETCH + 1]]
        twice = ascending[1:][ascending[1:] == ascending[:-1]]
        if len(twice):
            raise NandlabError(f"{where}: corrupt: two records have the number {twice[0]}")
    # as rows of words: five times as fast as record by record
    words = np.ascontiguousarray(records).view(np.uint64).reshape(-1, RECORD_BYTES // 8)
    taken = words[order].view(RECORD).reshape(-1)
    return Recording(taken, _find_end_order(taken, order), lost, missed, written)


def _find_end_order(records: Array, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """One CPU's records come in the order of their ends; several CPUs' are sorted by the clock."""
    if not len(records) or records["cpu"].min() == records["cpu"].max():
        return order
    ends = records["start_ns"] + records["latency_ns"]
    rank = np.empty(len(records), np.int64)
    rank[np.lexsort((order, ends))] = np.arange(len(records))
    return rank


@dataclass(frozen=True)
class Task:
    """A thread, under a name that it had."""

    pid: int
    kernel: bool
    comm: str


@dataclass(frozen=True)
class Device:
    """An MTD device: pages of its chip, and their shape."""

    name: str
    first_page: int
    end_page: int
    writesize: int
    erasesize: int
    oobsize: int

    @property
    def pages_per_block(self) -> int:
        return self.erasesize // self.writesize


@dataclass(frozen=True)
class Names:
    """What the numbers in records stand for."""

    tasks: dict[int, Task] = field(default_factory=dict)
    devices: dict[int, Device] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)

    def task(self, number: int) -> str:
        """A task's name; "?" if it was not kept."""
        task = self.tasks.get(number)
        return task.comm if task else "?"

    def kernel_threads(self) -> list[int]:
        """The threads that were never a program's, by number."""
        programs = {task.pid for task in self.tasks.values() if not task.kernel}
        return sorted({task.pid for task in self.tasks.values()} - programs)


# a table is made of all numbers of tasks and of functions: none is large
_NUMBER, _INDEX = r"([0-9]{1,19})", r"([0-9]{1,5})"
_TASK = re.compile(rf"task {_INDEX} {_NUMBER} (kernel|user) (.*)")
_DEVICE = re.compile(rf"mtd {_INDEX} {' '.join([_NUMBER] * 5)} (.*)")
_FUNCTION = re.compile(rf"function {_INDEX} (\S+)")


def parse_trace_names(text: str) -> Names:
    """The file ``names``, decoded; NandlabError names a line that it does not know."""
    names = Names()
    for line in text.split("\n"):
        if m := _TASK.fullmatch(line):
            names.tasks[int(m[1])] = Task(int(m[2]), m[3] == "kernel", m[4])
        elif m := _DEVICE.fullmatch(line):
            names.devices[int(m[1])] = Device(m[7], *(int(m[i]) for i in range(2, 7)))
        elif m := _FUNCTION.fullmatch(line):
            names.functions[int(m[1])] = m[2]
        elif line:
            raise NandlabError(f"names of a trace: no line like {line[:80]!r} is known")
    return names
