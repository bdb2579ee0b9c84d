# SPDX-License-Identifier: GPL-2.0-or-later
"""Read-ahead on the real kernel: the catalog's default, a value taken, and what reads cost."""

from __future__ import annotations

import asyncio

import pytest
from chipsteps import numbers
from smalltrial import WRITABLE, spec

from nandlab.board.job import Job, JobRecord, Step
from nandlab.board.qemu import QemuBoard
from nandlab.catalog.option import Number
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import medium, one
from nandlab.trial import steps as trial

pytestmark = pytest.mark.board

PAGES = 64
COUNTERS = "/sys/kernel/debug/simnand/counters"
A_FILE = f"dd if=/dev/urandom of=/mnt/x bs=4096 count={PAGES} 2> /dev/null && sync"
A_PAGE = "dd if=/mnt/x of=/dev/null bs=4096 count=1 2> /dev/null"


def number(made: TrialSpec) -> Number:
    found = made.filesystem.options["read_ahead"].number
    assert found is not None
    return found


def run(board: QemuBoard, made: TrialSpec, *commands: str) -> JobRecord:
    """Mounts the file system and runs the commands one by one."""
    steps = [Step(f"c{i}", command) for i, command in enumerate(commands)]
    record = asyncio.run(board.run(Job((*trial.setup(made), *steps))))
    failed = record.failed()
    assert failed is None, failed.failure()
    return record


def reads_of_a_page(board: QemuBoard, name: str, kib: str) -> int:
    """Flash reads that reading the first page of a file costs, which no cache holds."""
    made = spec(board, name, read_ahead=kib)
    mounts = (medium.unmount(made).command, medium.mount(made).command)
    # the directory is read before the counting
    record = run(
        board, made, A_FILE, *mounts, "ls -l /mnt", f"cat {COUNTERS}", A_PAGE, f"cat {COUNTERS}"
    )
    assert f"read_ahead_kib {kib}\n" in record["c2"].stdout
    before, after = (numbers(record[step].stdout) for step in ("c4", "c6"))
    return after["reads"] - before["reads"]


@pytest.mark.parametrize("name", WRITABLE)
def test_the_kernel_has_by_itself_what_the_catalog_says(board: QemuBoard, name: str) -> None:
    made = spec(board, name)
    asked = number(made)
    looked = run(
        board,
        made,
        f"cat {asked.file}",
        *(f"{medium.unmount(made).command}; {medium.mount(made).command}", f"cat {asked.file}"),
    )
    assert {int(looked[step].stdout) for step in ("c0", "c2")} == {asked.kernel_default}
    assert "read_ahead" not in looked["mount"].stdout


@pytest.mark.parametrize("name", WRITABLE)
def test_a_value_is_taken_by_every_mount_and_told(board: QemuBoard, name: str) -> None:
    made = spec(board, name, read_ahead="128")
    looked = run(board, made, f"cat {number(made).file}")
    assert looked["c0"].stdout == "128\n"
    result = asyncio.run(one.run(made, board, "t"))
    assert (result.status, result.measured["read_ahead"]) == ("ok", {"kib": 128})


@pytest.mark.parametrize("name", WRITABLE)
def test_reading_ahead_costs_flash_reads(board: QemuBoard, name: str) -> None:
    with_none, with_much = (reads_of_a_page(board, name, kib) for kib in ("0", "128"))
    assert with_none * 2 < with_much


def test_what_the_kernel_took_instead_is_told(board: QemuBoard) -> None:
    """6 KiB is no whole page: the kernel makes 4 of it."""
    made = spec(board, "jffs2")
    command = number(made).command("read_ahead", "6").format(**made.words())
    step = Step("mount", f"{medium.mount(made).command} && {command}")
    failed = asyncio.run(board.run(Job((*trial.made(made), step)))).failed()
    assert failed is not None
    assert "read_ahead = 6: the kernel took 4 KiB instead: /sys/" in failed.failure()
