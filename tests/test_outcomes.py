# SPDX-License-Identifier: GPL-2.0-or-later
"""Kept outcomes of jobs hide no fault: one in a program, a module or a test is still seen."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from support import outcomes
from support.commandline import run_command
from support.outcomes import decoded, encoded, inputs, now, run_of

from nandlab.base.paths import ROOT, find_cache_folder
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Job, JobRecord, Setup, Step, StepRecord
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.board.virtual.vm import Vm

PROGRAM = """
#include <stdio.h>
int main(void) { return puts("%s") == EOF; }
"""


def next_test(of_run: str | None = None, *, anew: bool = False) -> None:
    """What comes is another test's, as of conftest.py."""
    file = now.file
    assert file
    now.begin(file, of_run, anew=anew)


@pytest.fixture
def keeping(board: QemuBoard, monkeypatch: pytest.MonkeyPatch) -> Iterator[QemuBoard]:
    """A board with no outcome yet, whether or not this run of the tests keeps any."""
    kind = f"outcomes-{uuid4().hex}"
    monkeypatch.setattr(outcomes, "KIND", kind)
    next_test()
    yield copy(board)
    shutil.rmtree(find_cache_folder() / kind, ignore_errors=True)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Vm]:
    """The boards that have begun."""
    found: list[Vm] = []
    restore = Vm.restore

    async def restored(self: Vm) -> None:
        found.append(self)
        await restore(self)

    monkeypatch.setattr(Vm, "restore", restored)
    return found


def spoil(path: Path) -> None:
    """Changes one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.board
def test_a_fault_in_a_program_is_seen(keeping: QemuBoard, begun: list[Vm], tmp_path: Path) -> None:
    def said(text: str) -> str:
        source = tmp_path / text / "programs/says/says.c"  # a process builds a folder once
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(PROGRAM % text)
        job = Job((Step("it", "says"),), home=tmp_path / text)
        return asyncio.run(keeping.run(job))["it"].stdout

    assert (said("good"), len(begun)) == ("good\n", 1)
    next_test()
    assert (said("good"), len(begun)) == ("good\n", 1), "it is kept"
    assert (said("good"), len(begun)) == ("good\n", 2), "the second in one test is run"
    next_test()
    assert [said("good"), said("good")] == 2 * ["good\n"]
    assert len(begun) == 2, "the second is kept too"
    assert (said("good"), len(begun)) == ("good\n", 3), "the third is run"
    next_test()
    assert (said("bad"), len(begun)) == ("bad\n", 4), "another program is run"


@pytest.mark.board
def test_a_fault_in_a_module_is_seen(keeping: QemuBoard, tmp_path: Path) -> None:
    """In one that a job brings, and in one of the board's image, as simnand is."""
    job = Job((Step("it", "modprobe jffs2"),))
    machine = keeping.machine
    before = inputs(keeping, job)
    folder = tmp_path / "modules"
    shutil.copytree(machine.modules.folder, folder)
    keeping.machine = replace(machine, modules=replace(machine.modules, folder=folder))
    assert inputs(keeping, job) == before
    spoil(folder / "jffs2.ko")
    assert inputs(keeping, job) != before
    assert inputs(keeping, Job((Step("it", "true"),))) != before
    image = tmp_path / "initramfs"
    shutil.copyfile(machine.initrd, image)
    keeping.machine = replace(machine, initrd=image)
    assert inputs(keeping, job) == before
    spoil(image)
    keeping.machine = replace(machine, initrd=shutil.copyfile(image, tmp_path / "other"))
    assert inputs(keeping, job) != before


@pytest.mark.board
def test_a_fault_in_a_test_is_seen(keeping: QemuBoard, begun: list[Vm]) -> None:
    """What is kept is what the board gave; each test asserts on it anew."""

    def checks(wanted: str) -> None:
        record = asyncio.run(keeping.run(Job((Step("it", "echo 17"),))))
        assert record["it"].stdout == wanted

    checks("17\n")
    next_test()
    checks("17\n")
    next_test()
    with pytest.raises(AssertionError):
        checks("18\n")
    assert len(begun) == 1


@pytest.mark.parametrize(
    ("name", "decides"), [("jobs/job.py", True), ("virtual/vm.py", True), ("jobs/build.py", False)]
)
def test_a_change_of_what_reads_a_record_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, decides: bool
) -> None:
    """A change of what only makes files is not: their bytes are among the inputs."""
    for folder in outcomes.DECODING:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    monkeypatch.setattr(outcomes, "ROOT", tmp_path)
    digest = outcomes._decoding.__wrapped__
    before = digest()
    spoil(tmp_path / "src/nandlab/board" / name)
    assert (digest() != before) == decides


@pytest.mark.board
def test_all_that_a_job_is_decides(keeping: QemuBoard) -> None:
    model = keeping.machine.model
    steps = (Step("a", "true"), Step("b", "true"))
    job = Job(steps, files={"f": b"1"})
    setup = Setup(1, frozenset(), 1000)
    jobs = [
        job,
        replace(job, steps=(steps[0], Step("b", "true", deadline_s=7))),
        replace(job, files={"f": b"2"}),
        replace(job, start_offset_ns=1),
        replace(job, cargo=make_cargo(model, 1 << 20)),
        replace(job, cargo=make_cargo(model, 1 << 20, b"x")),
        replace(job, cargo=make_cargo(model, 1 << 20, b"y")),
        replace(
            job, cargo=replace(make_cargo(model, 1 << 20), returned_memory=(model.store_start, 64))
        ),
        replace(job, setup=setup),
        replace(job, setup=replace(setup, offset_ns=5)),
    ]
    told = [str(inputs(keeping, each)) for each in jobs]
    assert len(set(told)) == len(jobs)
    assert told[0] == str(inputs(keeping, replace(job)))


NO_BOARD = """
from nandlab.board.virtual import vm
vm.Vm.restore = None
"""
"""No board can run a job in this process."""


@pytest.mark.board
def test_a_command_takes_them_as_its_test_does(keeping: QemuBoard) -> None:
    """In a process of its own, and what it ran before counts in the other processes too."""
    here = f"from support import outcomes; outcomes.KIND = {outcomes.KIND!r}"
    board = keeping.machine.model.name
    words = ("exec", "--fs", "jffs2", "--partition-mib", "8", "--board", board, "--", "echo 17")

    def ends(first: str = "") -> tuple[int, str]:
        ended = run_command(*words, first=f"{here}\n{first}", deadline_s=250)
        return ended.returncode, ended.stdout

    good, bad = (0, "17\n"), (1, "")
    assert ends(NO_BOARD) == bad
    next_test()
    assert ends() == good
    next_test()
    assert ends(NO_BOARD) == good, "it is kept"
    assert ends(NO_BOARD) == bad, "the second in one test is run"
    next_test(anew=True)
    assert ends(NO_BOARD) == bad, "none is taken"


def test_a_record_is_kept_to_the_byte() -> None:
    step = StepRecord("a", 1, 9, True, 3, 4, "o\udcff\n", "e\n", 5, None, "k 1\n", True, True)
    for record in (
        JobRecord((step, replace(step, step="b")), (1, 2), b"a\nb", 17, b""),
        JobRecord((), cargo=None, returned_memory=b"\0" * 99),
    ):
        again = decoded(encoded(record))
        assert again == record
        assert again.host_memory == record.host_memory


@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({}, True),
        ({"ANEW": "", "CI": "0"}, True),
        ({"ANEW": "1"}, False),
        ({"CI": "true"}, False),
    ],
)
def test_neither_ci_nor_a_run_anew_takes_those_of_others(
    environment: dict[str, str], *, kept: bool
) -> None:
    assert (run_of(environment) is None) == kept
    assert run_of(environment) != run_of(environment) or kept, "each run has a name of its own"
    assert run_of({**environment, "PYTEST_XDIST_TESTRUNUID": "x"}) == (None if kept else "x")


@pytest.mark.board
def test_runs_that_take_none_of_others_share_none(
    board: QemuBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job((Step("it", "true"),))
    names = []
    for run in (None, "a", "b", "a"):
        next_test(run)
        names.append(str(inputs(board, job)))
    assert names[1] == names[3]
    assert len(set(names)) == 3


def test_a_test_of_how_boards_run_takes_none(tmp_path: Path) -> None:
    test = outcomes.Test()
    test.begin(tmp_path / "it", "x", anew=True)
    assert test.file is None
    assert outcomes.TEST not in os.environ
    test.begin(tmp_path / "it", None, anew=False)
    assert os.environ[outcomes.TEST] == str(test.file)
    assert test.read_run() is None
