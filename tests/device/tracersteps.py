# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of the tracers share: a file system under trace, records, counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.traced.setup import (
    FOLDER,
    START_COMMAND,
    make_hooks_at_once_command,
    make_tracer_commands,
)
from nandlab.trial import outcome
from nandlab.trial import steps as trial

COLUMNS = (
    "seq;start_ns;latency_ns;cpu;pid;task;event;device;object;offset;size;result;extra;depth;flags"
)
VECTOR, AROUND, OOB = 8, 16, 1
"""Bits of flags."""
TOTALS = ("reads", "programs", "erases", "oob_reads", "oob_programs")
"""What flashmon and the chip both count, by the same names."""
MODULES = "flashmon funcmon vfsmon tracers"

Row = dict[str, str]


def run(
    board: QemuBoard,
    made: TrialSpec | None,
    *steps: Step,
    files: dict[str, bytes] | None = None,
    expected_in_log: Iterable[str] = (),
) -> JobRecord:
    """Runs the steps, on a mounted file system if one is given; the kernel's log stays clean.

    expected_in_log: what lines may say, beside the tracers' refusals.
    """
    setup = trial.make_steps_until_mounted(made) if made else []
    end = Step("kernel-log", "dmesg -r", always=True)
    more = {**(trial.make_trial_job(made).files if made else {}), **(files or {})}
    record = asyncio.run(board.run(Job((*setup, *steps, end), more)))
    failed = record.failed()
    assert failed is None, failed.failure()
    if made:
        said = outcome.filter_kernel_log(made, record)
        assert [line for line in said if not any(e in line for e in expected_in_log)] == []
    return record


def start(
    made: TrialSpec,
    functions: Iterable[str] = (),
    records: int = 65536,
    *,
    hooks_at_once: bool = True,
) -> dict[str, bytes]:
    """The script tracers.sh, a job's file: it loads the tracers and starts them.

    hooks_at_once: as `nandlab trace` starts them; else as README.md of the modules says.
    """
    *lines, begin = make_tracer_commands(
        made.filesystem, MOUNTPOINT, functions=functions, records=records
    )
    assert begin == START_COMMAND
    begin = make_hooks_at_once_command(begin) if hooks_at_once else begin
    return {"tracers.sh": "\n".join([*lines, begin, ""]).encode()}


def rows(text: str) -> list[Row]:
    """The records that a read of the file control gave; marks have a form of their own."""
    head, *lines = text.splitlines()
    assert head == COLUMNS
    found = (line.split(";") for line in lines)
    return [
        dict(zip(COLUMNS.split(";"), words, strict=True)) for words in found if words[1] != "MARK"
    ]


def count(found: Iterable[Row]) -> Counter[str]:
    return Counter(row["event"] for row in found)


def status(text: str) -> dict[str, str]:
    """Lines of the file status, by their first word; those of probes are left out."""
    lines = (line.partition(" ") for line in text.splitlines())
    return {key: value for key, _, value in lines if key not in ("probe", "absent")}


def read(name: str) -> str:
    return f"cat {FOLDER}/{name}"


def tell(name: str, command: str) -> str:
    return f"echo {command} > {FOLDER}/{name}"


def assert_same(flashmon: dict[str, int], chip: dict[str, int], register_hits: int) -> None:
    """Flashmon's counts are the chip's.

    Flashmon sees each page that the driver asks the chip for. When the chip's register still has
    that page from the operation before, it answers without an array read, and counts that apart.
    """
    kinds = ("programs", "erases", "oob_programs")
    assert {k: flashmon[k] for k in kinds} == {k: chip[k] for k in kinds}
    asked = flashmon["reads"] + flashmon["oob_reads"]
    assert asked == chip["reads"] + chip["oob_reads"] + register_hits
    if not register_hits:
        assert flashmon == chip
