# SPDX-License-Identifier: GPL-2.0-or-later
"""Read-ahead on the real kernel: the catalog's default, a value taken, and what reads cost."""

from __future__ import annotations

import asyncio

import pytest
from support.cases import UNLOAD, Cases, run_cases
from support.chipsteps import numbers
from support.smalltrial import CHIP, WRITABLE, find_refusal, planned, spec
from support.trialsatonce import RecordedTrial, run_trials_at_once

from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.option import OptionNumber
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import mediumsteps
from nandlab.trial import steps as trial

pytestmark = pytest.mark.board

PAGES = 64
COUNTERS = "/sys/kernel/debug/simnand/counters"
A_FILE = f"dd if=/dev/urandom of=/mnt/x bs=4096 count={PAGES} 2> /dev/null && sync"
A_PAGE = "dd if=/mnt/x of=/dev/null bs=4096 count=1 2> /dev/null"


def number(made: TrialSpec) -> OptionNumber:
    found = made.filesystem.options["read_ahead"].number
    assert found is not None
    return found


def read_a_page(made: TrialSpec) -> list[Step]:
    """Mounts, and reads the first page of a file that no cache holds, which the chip counts.

    The directory is read before the counting.
    """
    return [
        *trial.make_steps_until_mounted(made),
        Step("file", A_FILE),
        Step("value", f"cat {number(made).file}"),
        mediumsteps.make_unmount_step(made),
        mediumsteps.make_mount_step(made, "again"),
        Step("value-again", f"cat {number(made).file}"),
        Step("list", "ls -l /mnt"),
        Step("before", f"cat {COUNTERS}"),
        Step("page", A_PAGE),
        Step("after", f"cat {COUNTERS}"),
        mediumsteps.make_unmount_step(made, "unmount-again"),
        UNLOAD,
    ]


@pytest.fixture(scope="module")
def reading(board: QemuBoard) -> Cases:
    """A job that reads a page of each file system, without its option and then at 0 and 128 KiB,
    for the kernel keeps a read-ahead once it is set."""
    of: dict[str, dict[str, str]] = {NONE: {}, **{k: {"read_ahead": k} for k in ("0", "128")}}
    return run_cases(
        board,
        {
            f"{name} {kib}": read_a_page(planned(board, name, CHIP, **told))
            for kib, told in of.items()
            for name in list_offered(board)
        },
    )


@pytest.fixture(scope="module")
def trials(board: QemuBoard) -> dict[str, RecordedTrial]:
    specs = {name: planned(board, name, read_ahead="128") for name in list_offered(board)}
    return run_trials_at_once(board, specs)


def list_offered(board: QemuBoard) -> list[str]:
    """File systems that the board has."""
    return [name for name in WRITABLE if not find_refusal(planned(board, name), board)]


NONE = "the kernel's own"
EVERY = pytest.mark.parametrize("name", WRITABLE)


@EVERY
def test_the_kernel_has_by_itself_what_the_catalog_says(
    board: QemuBoard, reading: Cases, name: str
) -> None:
    made = spec(board, name)
    looked = reading[f"{name} {NONE}"]
    values = {int(looked[step].stdout) for step in ("value", "value-again")}
    assert values == {number(made).kernel_default}
    assert "read_ahead" not in looked["mount"].stdout


@EVERY
def test_a_value_is_taken_by_every_mount_and_told(
    board: QemuBoard, reading: Cases, trials: dict[str, RecordedTrial], name: str
) -> None:
    spec(board, name)
    looked = reading[f"{name} 128"]
    assert (looked["value"].stdout, looked["value-again"].stdout) == ("128\n", "128\n")
    result = trials[name].trial
    assert (result.status, result.measured["read_ahead"]) == ("ok", {"kib": 128})


@EVERY
def test_reading_ahead_costs_flash_reads(board: QemuBoard, reading: Cases, name: str) -> None:
    spec(board, name)
    cost = {}
    for kib in ("0", "128"):
        record = reading[f"{name} {kib}"]
        assert f"read_ahead_kib {kib}\n" in record["again"].stdout
        before, after = (numbers(record[step].stdout) for step in ("before", "after"))
        cost[kib] = after["reads"] - before["reads"]
    assert cost["0"] * 2 < cost["128"]


def test_what_the_kernel_took_instead_is_told(board: QemuBoard) -> None:
    """6 KiB is no whole page: the kernel makes 4 of it."""
    made = spec(board, "jffs2")
    command = number(made).command("read_ahead", "6").format(**made.words())
    step = Step("mount", f"{mediumsteps.make_mount_step(made).command} && {command}")
    failed = asyncio.run(board.run(Job((*trial.make_steps_until_formatted(made), step)))).failed()
    assert failed is not None
    assert "read_ahead = 6: the kernel took 4 KiB" in failed.failure()
