# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers are pointed at known work, a prime number of each kind, on every file system."""

from __future__ import annotations

from collections import Counter

import pytest
from support.chipsteps import numbers
from support.smalltrial import WRITABLE, spec
from tracersteps import (
    AROUND,
    MODULES,
    TOTALS,
    VECTOR,
    Row,
    assert_same,
    count,
    read,
    rows,
    run,
    start,
    status,
    tell,
)

from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard

pytestmark = pytest.mark.board

READAHEAD_KIB = "for b in /sys/class/bdi/*/read_ahead_kb; do echo {} > $b; done"
COLD = "sync && echo 3 > /proc/sys/vm/drop_caches"
SETTLE = "settle --quiet-ms 2600 --limit-s 60 > /dev/null"
COUNTERS = "cat /sys/kernel/debug/simnand/counters"
PAGE = 4096
BIG_PAGES = 30
CALLS = (
    "write:13:0:4096 writev:5:53248:4096 fsync:3 read:17:0:500 readv:7:0:900:0 send:11:0:512:0 "
    "truncate:2:60000:1:0 create:19:0:1:1 rename:3:0:1:1 unlink:19:0:1:1 folder:5:0:1:1"
)
CALLED = {
    "VFS_OPEN": 1 + 19,
    "VFS_CLOSE": 1 + 19,
    "VFS_RELEASE": 1 + 19,
    "VFS_WRITE": 13 + 5,
    "VFS_READ": 17 + 7,
    "VFS_SPLICE": 11,
    "VFS_FSYNC": 3,
    "VFS_TRUNCATE": 2,
    "VFS_UNLINK": 19,
    "VFS_RENAME": 2 * 3,
    "VFS_MKDIR": 5,
    "VFS_RMDIR": 5,
    "VFS_EVICT": 19 + 5,
    "FS_WRITE_BEGIN": 13 + 5,
    "FS_WRITE_END": 13 + 5,
    "FS_CREATE": 1 + 19,
}


def part(name: str, *commands: str) -> list[Step]:
    """Steps that trace commands alone, and read what was recorded."""
    go = [tell("control", "reset"), tell("control", "start"), *commands, tell("control", "pause")]
    return [Step(f"{name}-go", " && ".join(go)), Step(name, read("control"))]


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=pytest.mark.xdist_group(f"tracers-{n}")) for n in WRITABLE],
)
def known(request: pytest.FixtureRequest, board: QemuBoard) -> tuple[str, JobRecord]:
    """All known work on a file system, in one job; and FFSMark with its chip's own counts."""
    name: str = request.param
    made = spec(board, name)
    steps = [
        Step("start", "sh ./tracers.sh"),
        Step("make", f"head -c {BIG_PAGES * PAGE} /bin/busybox > /mnt/big"),
        Step("task", tell("control", "task filecalls")),
        *part("calls", f"filecalls /mnt/f {CALLS}"),
        Step("none", READAHEAD_KIB.format(0)),
        *part("cache", COLD, "filecalls /mnt/big read:23:0:4096 read:29:0:4096:0"),
        *part("map", COLD, "filecalls /mnt/big map:1:0:28672"),
        Step("sums", read("funcmon_functions")),
        Step("some", READAHEAD_KIB.format(16)),
        *part("ahead", COLD, f"filecalls /mnt/big read:{BIG_PAGES}:0:4096"),
        Step("status", read("status")),
        Step("all", f"{tell('control', 'task all')} && {SETTLE}"),
        Step("before", f"{tell('control', 'reset')} && {tell('control', 'start')} && {COUNTERS}"),
        Step("ffsmark", "ffsmark --json ffsmark.cfg", deadline_s=3600),
        Step("rest", f"sync && {SETTLE}"),
        Step("after", f"{COUNTERS} && {tell('control', 'pause')}"),
        Step("totals", read("status")),
        Step("blocks", read("flashmon_blocks")),
        Step("log", f"{read('flashmon')} | cut -d';' -f2,6 | sort | uniq -c"),
        Step("unload", f"rmmod {MODULES}"),
    ]
    functions = ["vfs_read", "generic_file_read_iter"]
    return name, run(board, made, *steps, files=start(made, functions))


def test_each_call_is_counted_exactly(known: tuple[str, JobRecord]) -> None:
    name, record = known
    found = rows(record["calls"].stdout)
    counted = count(found)
    assert {kind: counted[kind] for kind in CALLED} == CALLED, name
    assert {row["task"] for row in found} == {"filecalls"}
    assert Counter(r["event"] for r in found if int(r["flags"]) & VECTOR) == {
        "VFS_WRITE": 5,
        "VFS_READ": 7,
    }
    assert sum(int(r["size"]) for r in found if r["event"] == "VFS_READ") == 17 * 500 + 7 * 900
    begins = [int(r["offset"]) for r in found if r["event"] == "FS_WRITE_BEGIN"]
    assert begins == [n * PAGE for n in range(18)]
    assert len({r["object"] for r in found if r["event"] == "VFS_WRITE"}) == 1


def test_functions_are_counted_with_what_they_are_nested_in(
    known: tuple[str, JobRecord],
) -> None:
    found = [r for r in rows(known[1]["cache"].stdout) if r["event"] == "FUNC"]
    outer = [r for r in found if r["depth"] == "0"]
    inner = [r for r in found if r["depth"] == "1"]
    assert len({r["object"] for r in outer}) == 1
    assert (len(outer), len([r for r in inner if int(r["object"]) > int(outer[0]["object"])])) == (
        *(23 + 29, 23 + 29),
    )
    for out, into in zip(outer, inner, strict=False):
        assert int(out["offset"]) == int(into["latency_ns"]) < int(out["latency_ns"])


def pages(found: list[Row], event: str) -> int:
    return sum(int(r["size"]) for r in found if r["event"] == event)


def file_pages(found: list[Row]) -> int:
    """Pages that the file system was asked for, one by one or in windows."""
    return count(found)["FS_READ_PAGE"] + pages(found, "FS_READAHEAD")


def test_hits_and_misses_of_the_page_cache_are_counted_exactly(
    known: tuple[str, JobRecord],
) -> None:
    found = rows(known[1]["cache"].stdout)
    assert (pages(found, "PC_MISS"), pages(found, "PC_HIT")) == (23, 29)
    assert count(found)["SYNC_RA"] == 23
    assert file_pages(found) == 23
    faults = rows(known[1]["map"].stdout)
    at = [int(r["offset"]) for r in faults if r["event"] == "PC_MISS"]
    assert at == list(range(7))
    asked = [r for r in faults if r["event"] == "VFS_FAULT" and not int(r["flags"]) & AROUND]
    assert len(asked) == 7
    assert file_pages(faults) == 7


def test_windows_of_read_ahead_are_those_of_the_algorithm(known: tuple[str, JobRecord]) -> None:
    found = rows(known[1]["ahead"].stdout)
    windows = [(int(r["offset"]), int(r["size"])) for r in found if r["event"] == "RA_SUBMIT"]
    assert windows == [(0, 2), *((n, 4) for n in range(2, 30, 4))]
    counted = count(found)
    assert (counted["SYNC_RA"], counted["ASYNC_RA"]) == (1, 8)
    assert pages(found, "PC_MISS") + pages(found, "PC_HIT") == BIG_PAGES
    assert file_pages(found) == BIG_PAGES


def test_flashmon_counts_what_the_chip_counts_over_a_whole_ffsmark(
    known: tuple[str, JobRecord],
) -> None:
    _, record = known
    before, after = numbers(record["before"].stdout), numbers(record["after"].stdout)
    chip = {key: after[key] - before[key] for key in TOTALS}
    said = status(record["totals"].stdout)
    mine = {key: int(said[f"flashmon.{key}"]) for key in TOTALS}
    assert_same(mine, chip, after["buffer_hits"] - before["buffer_hits"])
    assert (said["lost"], said["missed"]) == ("0", "0")
    assert chip["programs"] > 500
    _, *lines = record["blocks"].stdout.splitlines()
    columns = list(zip(*([int(n) for n in line.split(";")] for line in lines), strict=True))
    assert [sum(c) for c in columns[2:7]] == [mine[key] for key in TOTALS]
    logged: Counter[str] = Counter()
    for line in record["log"].stdout.splitlines():
        times, what = line.split()
        op, _, kind = what.partition(";")
        logged[f"{op}{'oob' if kind == 'oob' else ''}"] += int(times)
    assert [logged[key] for key in ("R", "W", "E", "Roob", "Woob")] == [mine[k] for k in TOTALS]
    assert logged["H"] == int(said["flashmon.hits"])


def test_every_symbol_of_the_catalog_is_found_or_named(known: tuple[str, JobRecord]) -> None:
    name, record = known
    said = record["status"].stdout.splitlines()
    assert [line for line in said if line.startswith("absent VFS_")] == []
    absent = {line.split()[1] for line in said if line.startswith("absent")}
    armed = {line.split()[1] for line in said if line.startswith("probe")}
    operations = {"read_page", "write_begin", "write_end", "look_up", "create"}
    assert {f"FS_{o.upper()}" for o in operations} <= armed, name
    assert {"FS_READAHEAD", "FS_WRITE_PAGE", "FS_WRITE_PAGES"} <= absent | armed
