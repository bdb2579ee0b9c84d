# SPDX-License-Identifier: GPL-2.0-or-later
"""From the record of a job to what a trial came to."""

from __future__ import annotations

import re
from typing import Any

from nandlab.board.job import ALWAYS, Job, JobRecord, printable
from nandlab.plan.study import TrialSpec
from nandlab.results.record import Doubt, State, StepTaken
from nandlab.trial import measured
from nandlab.trial.measured import Unreadable
from nandlab.trial.steps import MEMORY, measures_memory

WORKLOAD_DOUBTS = {"fill-off-target": "state_missed"}
"""Codes of a workload's warnings that have a code of their own in results.WARNINGS."""

KERNEL_WARNING = 4
"""The kernel's log level "warning"; lower is worse."""

EXPECTED_IN_LOG = ("taints kernel.", "tainting kernel")
"""What the kernel says of any module built outside its tree, ours among them."""

NUMBER = re.compile(r"[0-9]{1,18}")
"""What a step counted: no more than fits a result."""


def outcome(spec: TrialSpec, job: Job, record: JobRecord) -> dict[str, Any]:
    """What the steps came to, as fields of a result."""
    commands = {s.name: s.command for s in job.steps}
    log = kernel_log(spec, record)
    found: dict[str, Any] = {
        "status": "ok",
        "kernel_log": log,
        "steps": [
            StepTaken(name=s.step, ns=s.ns, command=commands.get(s.step))
            for s in record.steps
            if not s.step.startswith((ALWAYS, MEMORY))
        ],
        "warnings": [Doubt(code="output_cut", text=text) for text in record.cut()],
    }
    if log:
        text = f"{len(log)} lines, the first: {log[0]}"
        found["warnings"].append(Doubt(code="kernel_log", text=text))
    failed = record.failed()
    if failed is not None:
        return found | {"status": "trial_failed", "error": failed.failure()}
    try:
        return found | _figures(spec, record, found["warnings"])
    except Unreadable as e:
        return found | {"status": "trial_failed", "error": str(e)}


def _figures(spec: TrialSpec, record: JobRecord, doubts: list[Doubt]) -> dict[str, Any]:
    """What was measured, as fields of a result, and its doubts; Unreadable if it was not told."""
    try:
        settled = measured.settled(record["settle"].stdout)
    except Unreadable as e:
        raise Unreadable(f"step settle: {e}") from None
    if not settled:
        text = f"the chip was still busy after {spec.filesystem.settle.limit_s} s"
        doubts.append(Doubt(code="not_settled", text=text))
    try:
        told = measured.read(record["workload"].stdout)
    except Unreadable as e:
        name = spec.workload.name
        raise Unreadable(f"{name} printed no result that nandlab understands: {e}") from None
    state = State(**spec.state.model_dump(), obtained=told.obtained)
    figures: dict[str, Any] = {**told.fields(), "state": state, "measured": {}}
    doubts += _doubts(told.warnings)
    if measures_memory(spec):
        figures["measured"]["memory"] = _held(record)
        doubts += _memory_doubts(record)
    if spec.filesystem.counters:
        figures["measured"]["counters"] = _numbers(record, "counters")
    return figures


def _numbers(record: JobRecord, step: str) -> dict[str, int]:
    """A step's lines ``name value``; what is otherwise is left out."""
    rows = (line.split() for line in printable(record[step].stdout).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and NUMBER.fullmatch(row[1])}


def _number(record: JobRecord, step: str, name: str) -> int:
    """One of a step's numbers; Unreadable if it printed none of the name."""
    found = _numbers(record, step)
    if name not in found:
        raise Unreadable(f"step {step}: printed no {name}")
    return found[name]


HELD = {
    "mounted": ("mounted", "bytes"),
    "peak": ("end", "peak_bytes"),
    "end": ("end", "bytes"),
    "unmounted": ("unmounted", "bytes"),
    "slab": ("end", "slab_bytes"),
    "kmalloc": ("end", "kmalloc_bytes"),
    "vmalloc": ("end", "vmalloc_bytes"),
}
"""Bytes that the file system's modules held: the step that asked fsram, and its word for it."""


def _held(record: JobRecord) -> dict[str, int]:
    return {key: _number(record, MEMORY + step, word) for key, (step, word) in HELD.items()}


def _memory_doubts(record: JobRecord) -> list[Doubt]:
    found = [Doubt(code="memory_measured", text="each allocation of the kernel was looked at")]
    lost = _number(record, MEMORY + "end", "lost")
    if lost:
        text = f"{lost} allocations found the table full"
        found.append(Doubt(code="memory_lost", text=text))
    return found


def _doubts(warnings: list[str]) -> list[Doubt]:
    """The workload's own warnings, each ``code: sentence``, in the words of results.WARNINGS."""
    split = [text.partition(": ") for text in warnings]
    return [
        Doubt(code=WORKLOAD_DOUBTS.get(code, "workload"), text=f"{code}: {text}")
        for code, _, text in split
    ]


def kernel_log(spec: TrialSpec, record: JobRecord) -> list[str]:
    """The kernel's lines of warning and worse since the job began."""
    log = record.get(ALWAYS + "kernel-log")
    if log is None:
        return []
    harmless = re.compile("|".join(spec.filesystem.harmless_log) or r"(?!)")
    since_s = record.steps[0].start_ns / 1e9
    found = []
    for line in printable(log.stdout).splitlines():
        level, _, rest = line.removeprefix("<").partition(">")
        stamp, _, said = rest.removeprefix("[").partition("]")
        try:
            told = int(level) & 7 <= KERNEL_WARNING and float(stamp.strip()) >= since_s
        except ValueError:
            continue  # a line of a message's continuation
        expected = said.endswith(EXPECTED_IN_LOG) or harmless.match(said.strip())
        if told and not expected:
            found.append(rest)
    return found
