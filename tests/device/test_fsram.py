# SPDX-License-Identifier: GPL-2.0-or-later
"""fsram on the real kernel: a known number of allocations of known sizes is counted exactly."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import pytest
from support.cases import Cases, run_cases
from support.chipsteps import numbers, run

from nandlab.board.jobs.build import build_kernel_modules
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard

pytestmark = pytest.mark.board

USAGE, SERIES, FUNCTIONS = (
    f"/sys/kernel/debug/fsram/{n}" for n in ("usage", "series", "functions")
)
SLAB, VMALLOC = 136, 8192
"""Bytes of one round of fsramtry, as the allocators round them up."""
LEAKED = 256
"""Bytes of what fsramtry forgets to free."""


class Kernel(NamedTuple):
    """What hangs on the kernel's architecture."""

    kmalloc: int
    """Bytes of one round that kmalloc() gives."""
    large: int
    """Bytes of kvmalloc() of 5 MiB."""
    large_allocations: int
    large_of_vmalloc: bool


KERNELS = {
    # vmalloc() makes the list of the 1,280 pages for the same caller
    "amd64": Kernel(256 + 16 + 512, (5 << 20) + 3 * 4096, 2, large_of_vmalloc=True),
    # kmalloc() gives 64 bytes at least, for DMA; and the 5 MiB, as 8
    "armhf": Kernel(256 + 64 + 512, 8 << 20, 1, large_of_vmalloc=False),
}


def kernel(board: QemuBoard) -> Kernel:
    return KERNELS[board.machine.model.arch]


@pytest.fixture(scope="module")
def files(board: QemuBoard) -> dict[str, bytes]:
    (path,) = build_kernel_modules(board.machine.kit.tools, "fsramtry", board.machine.kit.kernel)
    return {path.name: path.read_bytes()}


def look(name: str) -> Step:
    return Step(name, f"cat {USAGE}")


COUNTS = [(101, 0), (101, 37), (0, 0), (7, 7)]


@pytest.fixture(scope="module")
def known_counts(board: QemuBoard, files: dict[str, bytes]) -> Cases:
    """One job that allocates each of COUNTS, and frees."""
    cases = {
        f"{count} {free}": (
            Step("fsram", "modprobe fsram modules=fsramtry,nosuch"),
            look("before"),
            Step("try", f"insmod ./fsramtry.ko count={count} free={free}"),
            look("held"),
            Step("reset", f"echo > {USAGE}"),
            look("reset-peak"),
            Step("away", "rmmod fsramtry"),
            look("after"),
            Step("unload", "rmmod fsram"),
        )
        for count, free in COUNTS
    }
    return run_cases(board, cases, files=files)


@pytest.mark.xdist_group("fsram-counts")
@pytest.mark.parametrize(("count", "free"), COUNTS)
def test_known_allocations_are_counted_exactly(
    board: QemuBoard, known_counts: Cases, count: int, free: int
) -> None:
    record = known_counts[f"{count} {free}"]
    of = kernel(board)
    each = SLAB + of.kmalloc + VMALLOC
    assert set(numbers(record["before"].stdout).values()) == {0}
    held, left = numbers(record["held"].stdout), count - free
    assert held["slab_bytes"] == left * SLAB
    assert held["kmalloc_bytes"] == left * of.kmalloc + of.large * (not of.large_of_vmalloc)
    assert held["vmalloc_bytes"] == left * VMALLOC + of.large * of.large_of_vmalloc
    assert held["bytes"] == left * each + of.large
    assert held["peak_bytes"] == count * each + of.large
    assert held["allocations"] == 5 * count + of.large_allocations
    assert held["frees"] == 5 * free
    assert numbers(record["reset-peak"].stdout)["peak_bytes"] == held["bytes"]
    after = numbers(record["after"].stdout)
    assert (after["bytes"], after["objects"], after["lost"]) == (0, 0, 0)
    assert after["frees"] == after["allocations"]


def test_a_table_that_is_full_says_what_it_lost(board: QemuBoard, files: dict[str, bytes]) -> None:
    record = run(
        board,
        Step("fsram", "modprobe fsram modules=fsramtry slots_log2=8"),
        Step("try", "insmod ./fsramtry.ko count=100"),
        look("held"),
        Step("away", "rmmod fsramtry"),
        look("after"),
        files=files,
    )
    held = numbers(record["held"].stdout)
    assert held["lost"] == 500 + kernel(board).large_allocations - held["objects"] > 0
    assert numbers(record["after"].stdout)["bytes"] == 0


def test_a_leak_shows_once_its_module_is_gone(board: QemuBoard, files: dict[str, bytes]) -> None:
    record = run(
        board,
        Step("fsram", "modprobe fsram modules=fsramtry"),
        Step("try", "insmod ./fsramtry.ko count=100 leak=7 && rmmod fsramtry"),
        look("once"),
        Step("again", "insmod ./fsramtry.ko count=100 leak=6 && rmmod fsramtry"),
        look("twice"),
        files=files,
    )
    for name, lost in (("once", 7), ("twice", 7 + 6)):
        left = numbers(record[name].stdout)
        assert left["bytes"] == left["kmalloc_bytes"] == lost * LEAKED
        assert left["objects"] == lost


INTERVAL_NS = 1_000_000


def samples_of(record: JobRecord) -> list[list[int]]:
    """Time, bytes and reclaimable bytes of each sample."""
    return [[int(word) for word in line.split()] for line in record["series"].stdout.splitlines()]


def changes_of(record: JobRecord) -> list[list[int]]:
    """What fsramtry logged: begin, end, allocations then held of 1024 B and of 2048 B."""
    said = (line.partition("fsramtry: at ")[2] for line in record["log"].stdout.splitlines())
    return [[int(word) for word in line.split()] for line in said if line]


def timed(board: QemuBoard, files: dict[str, bytes], parameters: str, count: int) -> JobRecord:
    """fsramtry's timed allocations, one in 0.7 ms or somewhat more, with a series."""
    return run(
        board,
        Step("fsram", f"modprobe fsram modules=fsramtry reclaimable=fsramtry_give {parameters}"),
        Step("none", f"cat {SERIES}"),
        Step("begin", f"echo > {SERIES}"),
        Step("try", f"insmod ./fsramtry.ko count=0 timed={count} pause_us=700"),
        look("held"),
        Step("series", f"cat {SERIES}"),
        Step("functions", f"cat {FUNCTIONS}"),
        Step("log", "dmesg"),
        Step("away", "rmmod fsramtry"),
        look("after"),
        Step("unload", "rmmod fsram"),
        files=files,
    )


@pytest.mark.parametrize("room", [1000, 5])
def test_known_allocations_at_known_times_give_exactly_the_samples(
    board: QemuBoard, files: dict[str, bytes], room: int
) -> None:
    record = timed(board, files, f"interval_ms=1 samples={room}", 101)
    large = kernel(board).large
    samples, changes = samples_of(record), changes_of(record)
    usage = numbers(record["held"].stdout)
    assert record["none"].stdout == ""
    assert len(changes) == 151
    assert usage["samples_lost"] == max(0, usage["samples"] - room)
    assert usage["samples"] - usage["samples_lost"] == len(samples)
    assert (usage["samples_lost"] > 0) == (room == 5)
    assert room == 5 or len(samples) > 100
    begin = samples[0][0]
    assert all((t - begin) % INTERVAL_NS == 0 for t, _, _ in samples)
    assert all(a[0] < b[0] and a[1:] != b[1:] for a, b in pairwise(samples))
    first = max(begin, changes[0][1])
    ends = [t for t in range(begin, changes[-1][0], INTERVAL_NS) if t >= first]
    assert len(ends) > (2 if room == 5 else 100)
    for end in ends:
        _, held, reclaimable = next(s for s in reversed(samples) if s[0] <= end)
        # a change that was under way at this instant may count or not
        before = next(c for c in reversed(changes) if c[1] <= end)
        until = next(c for c in reversed(changes) if c[0] <= end)
        may_be = [(large + kept * 1024 + n * 2048, n * 2048) for _, _, kept, n in (before, until)]
        assert (held, reclaimable) in may_be


def test_each_function_has_its_own_sum(board: QemuBoard, files: dict[str, bytes]) -> None:
    record = timed(board, files, "interval_ms=1", 101)
    rows = (line.split() for line in record["functions"].stdout.splitlines())
    told = {name: [int(n) for n in more] for name, *more in rows}
    assert told["fsramtry_keep"] == [51 * 1024, 51 * 1024, 51, 0]
    assert told["fsramtry_give"] == [0, 50 * 2048, 50, 1]
    (rest,) = told.keys() - {"fsramtry_keep", "fsramtry_give"}
    large = kernel(board).large
    assert told[rest][:2] == [large, large]
    assert sum(row[0] for row in told.values()) == numbers(record["held"].stdout)["bytes"]
    usage = numbers(record["held"].stdout)
    assert usage["reclaimable_bytes"] == 0
    assert usage["peak_kept_bytes"] == usage["bytes"] == large + 51 * 1024
    assert usage["peak_bytes"] == usage["bytes"] + 50 * 2048
    assert numbers(record["after"].stdout)["bytes"] == 0


def test_without_an_interval_there_is_no_series(board: QemuBoard, files: dict[str, bytes]) -> None:
    record = run(
        board,
        Step("fsram", "modprobe fsram modules=fsramtry"),
        Step("none", f"! test -e {SERIES}"),
        Step("try", "insmod ./fsramtry.ko"),
        look("held"),
        files=files,
    )
    assert numbers(record["held"].stdout)["samples"] == 0


BAD = (
    *("", "modules=x slots_log2=7", "modules=x slots_log2=25"),
    *("modules=x interval_ms=3600001", "modules=x samples=1", "modules=x samples=131073"),
)


@pytest.fixture(scope="module")
def refusals(board: QemuBoard) -> Cases:
    """One job that loads the module with each of BAD."""
    return run_cases(board, {bad: [Step("fsram", f"! modprobe fsram {bad}")] for bad in BAD})


@pytest.mark.xdist_group("fsram-bad")
@pytest.mark.parametrize("parameters", BAD)
def test_bad_parameters_are_refused(refusals: Cases, parameters: str) -> None:
    assert refusals[parameters]["fsram"].rc == 0
