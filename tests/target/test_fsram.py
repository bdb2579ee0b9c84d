# SPDX-License-Identifier: GPL-2.0-or-later
"""fsram on the real kernel: a known number of allocations of known sizes is counted exactly."""

from __future__ import annotations

import asyncio

import pytest
from chipsteps import numbers, run

from nandlab.board.build import modules
from nandlab.board.job import Job, Step
from nandlab.board.qemu import QemuBoard

pytestmark = pytest.mark.board

USAGE = "/sys/kernel/debug/fsram/usage"
SLAB, KMALLOC, VMALLOC = 136, 256 + 16 + 512, 8192
"""Bytes of one round of fsramtry, as the allocators round them up."""
LEAKED = 256
"""Bytes of what fsramtry forgets to free."""
LARGE = (5 << 20) + 3 * 4096
"""5 MiB, and the list of its 1,280 pages, which vmalloc() makes for the same caller."""


@pytest.fixture(scope="module")
def files(board: QemuBoard) -> dict[str, bytes]:
    (path,) = modules(board.machine.kit.tools, "fsramtry", board.machine.kit.kernel)
    return {path.name: path.read_bytes()}


def look(name: str) -> Step:
    return Step(name, f"cat {USAGE}")


@pytest.mark.parametrize(("count", "free"), [(101, 0), (101, 37), (0, 0), (7, 7)])
def test_known_allocations_are_counted_exactly(
    board: QemuBoard, files: dict[str, bytes], count: int, free: int
) -> None:
    record = run(
        board,
        Step("fsram", "modprobe fsram modules=fsramtry,nosuch"),
        look("before"),
        Step("try", f"insmod ./fsramtry.ko count={count} free={free}"),
        look("held"),
        Step("reset", f"echo > {USAGE}"),
        look("reset-peak"),
        Step("away", "rmmod fsramtry"),
        look("after"),
        Step("unload", "rmmod fsram"),
        files=files,
    )
    assert set(numbers(record["before"].stdout).values()) == {0}
    held, left = numbers(record["held"].stdout), count - free
    assert held["slab_bytes"] == left * SLAB
    assert held["kmalloc_bytes"] == left * KMALLOC
    assert held["vmalloc_bytes"] == left * VMALLOC + LARGE
    assert held["bytes"] == left * (SLAB + KMALLOC + VMALLOC) + LARGE
    assert held["peak_bytes"] == count * (SLAB + KMALLOC + VMALLOC) + LARGE
    assert (held["allocations"], held["frees"]) == (5 * count + 2, 5 * free)
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
    assert held["lost"] == 502 - held["objects"] > 0
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


@pytest.mark.parametrize("parameters", ["", "modules=x slots_log2=7", "modules=x slots_log2=25"])
def test_bad_parameters_are_refused(board: QemuBoard, parameters: str) -> None:
    record = asyncio.run(board.run(Job((Step("fsram", f"modprobe fsram {parameters}"),))))
    assert record["fsram"].rc != 0
