# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracers among others: tasks that die inside what is traced, and a second one on MTD's calls."""

from __future__ import annotations

import pytest
from support.chipsteps import modprobe
from tracersteps import MODULES, read, run, tell

from nandlab.board.jobs.build import build_kernel_modules
from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel
from nandlab.flash.chip.simnand import make_chip_module_parameters

pytestmark = pytest.mark.board

LOAD = "modprobe tracers && modprobe flashmon && modprobe funcmon && modprobe vfsmon"
DEAD, CALLS = 1009, 13
TOLD = "flashmon: somebody else took MTD's"
READS = "cat /sys/module/nandtry/parameters/reads"
READ = "dd if=/dev/mtd0 of=/dev/null bs=2048 count=7 2> /dev/null"


def built(board: QemuBoard, name: str) -> dict[str, bytes]:
    """A job's file: a module that the board does not carry."""
    (path,) = build_kernel_modules(board.machine.kit.tools, name, board.machine.kit.kernel)
    return {path.name: path.read_bytes()}


def chip(board: QemuBoard) -> Step:
    model = catalog.load_noun("chips", "nandsim-small", ChipModel)
    return modprobe(make_chip_module_parameters(model, 64, board.machine.model.store_start))


def test_tasks_that_died_inside_take_no_room(board: QemuBoard) -> None:
    """More than the table of tasks has entries; then a task that returns is still followed."""
    functions = ("dietry_inside", "dietry_returns")
    record = run(
        board,
        None,
        Step("load", "modprobe funcmon && insmod ./dietry.ko"),
        Step("add", " && ".join(tell("funcmon", f"add {name}") for name in functions)),
        Step("start", tell("funcmon", "start")),
        Step("die", f"echo {DEAD} > /sys/module/dietry/parameters/die"),
        Step("call", f"echo {CALLS} > /sys/module/dietry/parameters/call"),
        Step("stop", tell("funcmon", "stop")),
        Step("sums", read("funcmon_functions")),
        Step("unload", "rmmod funcmon tracers dietry"),
        files=built(board, "dietry"),
    )
    head, *lines = (line.split(";") for line in record["sums"].stdout.splitlines())
    inside, returns = (dict(zip(head, line, strict=True)) for line in lines)
    assert (int(inside["open"]), int(inside["calls"])) == (DEAD, 0)
    assert (int(returns["calls"]), int(returns["missed"])) == (CALLS, 0)


def test_a_hook_on_top_of_ours_stays_when_we_go(board: QemuBoard) -> None:
    """Somebody takes MTD's read function after flashmon, and must go on to see each call."""
    record = run(
        board,
        None,
        chip(board),
        Step("begin", f"{LOAD} && {tell('control', 'start')}"),
        Step("hook", f"insmod ./nandtry.ko hook=1 && {READ} && {READS}"),
        Step("stop", f"{tell('control', 'stop')} && {READ} && {READS}"),
        Step("stay", "! rmmod flashmon 2> /dev/null"),
        Step("again", f"{tell('control', 'start')} && {READ} && {READS}"),
        Step("away", f"rmmod nandtry && {READ}"),
        Step("unload", f"{tell('control', 'stop')} && rmmod {MODULES} && {READ}"),
        files=built(board, "nandtry"),
        expected_in_log=(TOLD,),
    )
    seen = [int(record[step].stdout) for step in ("hook", "stop", "again")]
    assert seen == [seen[0], 2 * seen[0], 3 * seen[0]]
    assert seen[0] > 0
