# SPDX-License-Identifier: GPL-2.0-or-later
"""Erases of each block, read from the simulated chip between a trial's steps.

The chip's column ``wear`` is read: erases since manufacture, which no reset clears and a power cut
keeps. Reading it costs the chip nothing. It takes the processor some milliseconds between two
steps, of which :data:`COST_FIGURE` is the sum; what works in the background then goes on.

UBI moves a block, to level wear or to scrub it, in ubi_eba_copy_leb(). Nothing in UBI counts it,
so two kprobes of the kernel do, and cost time only when a block is moved: no tracer is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nandlab.board.jobs.job import JobRecord, Step, StepRecord, escape_output
from nandlab.flash.chip import simnand
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Wear, WearReading
from nandlab.trial.instruments.instrument import (
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
    UnreadableOutput,
)

NAME = "wear"
MOMENTS: tuple[Moment, ...] = ("loaded", "formatted", "mounted", "ready", "worked", "unmounted")
BEFORE_LOAD = ("loaded", "formatted", "mounted", "ready")
AFTER = "wear-after-"
"""How the names of readings after a step of a list begin."""
COST_FIGURE = "reading_ns"
READ_COMMAND = f"cut -d ' ' -f 11,12 {simnand.DEBUG_FOLDER}/blocks | uniq -c"
"""Prints runs of blocks that are alike: how many, erases since manufacture, flags."""
ROW = re.compile(r" *(\d{1,9}) (\d{1,9}) (\d{1,9})")
FACTORY_BAD = 1
"""The chip's flag."""
MOVE_FUNCTION = "ubi_eba_copy_leb"
TRACING = "/sys/kernel/debug/tracing"
WATCH = (
    f"if [ -d /sys/module/ubi ]; then cd {TRACING} && "
    f"echo 'r:wear/moved {MOVE_FUNCTION} failed=$retval:s32' >> kprobe_events && "
    "echo 'r:wear/copied ubi_calc_data_len bytes=$retval:s32' >> kprobe_events && "
    "echo 1 > events/wear/enable; fi"
)
"""Has the kernel note each block that UBI moves, and how many bytes of it are copied."""
REPORT_COMMAND = (
    f"; [ ! -d {TRACING}/events/wear ] || grep -E ' (moved|copied): ' {TRACING}/trace || true"
)
MOVED_PATTERN = re.compile(r" (moved|copied): .*(?:failed|bytes)=(-?\d{1,10})$")


def _applies_to(spec: TrialSpec) -> bool:
    return NAME in spec.measure


def _make_steps(spec: TrialSpec) -> dict[Moment, Step]:
    listed = bool(spec.workload.steps)
    steps = {m: Step(f"wear-{m}", READ_COMMAND, beside=True) for m in MOMENTS}
    if _has_ubi(spec):
        steps["formatted"] = Step("wear-formatted", f"{READ_COMMAND} && {WATCH}", beside=True)
        steps["unmounted"] = Step("wear-unmounted", READ_COMMAND + REPORT_COMMAND, beside=True)
    if listed:  # each step of a list has a reading of its own
        del steps["mounted"], steps["ready"]
    return steps


def _has_ubi(spec: TrialSpec) -> bool:
    """Whether UBI lies below, whose moves are wear levelling's own work."""
    return "ubi" in spec.filesystem.modules


def _make_step_after(spec: TrialSpec, name: str) -> Step:
    return Step(f"{AFTER}{name}", READ_COMMAND, beside=True)


def _parse_rows(step: StepRecord) -> tuple[list[int], list[int]]:
    """Wear and flags of each block; Unreadable if the step printed no such thing."""
    wear: list[int] = []
    flags: list[int] = []
    lines = escape_output(step.stdout).splitlines()
    for line in lines:
        row = ROW.fullmatch(line)
        if row is None:
            if MOVED_PATTERN.search(line):
                continue
            raise UnreadableOutput(f"step {step.step}: no line of erases per block: {line[:60]!r}")
        n, erases, flag = map(int, row.groups())
        wear += [erases] * n
        flags += [flag] * n
    return wear, flags


def collect_trial_wear(spec: TrialSpec, record: JobRecord) -> Wear | None:
    """The readings of a trial, for its result; None: it was not measured."""
    if not _applies_to(spec):
        return None
    reading_steps = _list_readings(spec, record)
    last_erases, flags = _parse_rows(reading_steps[-1])
    good = [i for i, flag in enumerate(flags) if not flag & FACTORY_BAD]
    if len(last_erases) != spec.partition_blocks:
        size_text = f"{len(last_erases)} blocks, the partition has {spec.partition_blocks}"
        raise UnreadableOutput(f"step {reading_steps[-1].step}: {size_text}")
    previous_erases, readings = _parse_rows(reading_steps[0])[0], []
    for step in reading_steps[1:]:
        erases, _ = _parse_rows(step)
        growth = (
            [erases[i] - previous_erases[i] for i in good]
            if len(erases) == len(previous_erases)
            else [-1]
        )
        if min(growth, default=0) < 0:
            raise UnreadableOutput(f"step {step.step}: blocks have fewer erases than before")
        readings.append(
            WearReading(after=_name_reading(step), t_ns=step.start_ns, runs=_pack_runs(growth))
        )
        previous_erases = erases
    return Wear(
        blocks=len(good),
        bad=[i for i, flag in enumerate(flags) if flag & FACTORY_BAD],
        before=_count_readings_before_load(spec, reading_steps),
        readings=readings,
    )


def _list_readings(spec: TrialSpec, record: JobRecord) -> list[StepRecord]:
    """The readings, in order; Unreadable if one is missing."""
    names = {s.name for s in _make_steps(spec).values()}
    names |= {f"{AFTER}{s.phase}" for s in spec.workload.steps}
    reading_steps = [s for s in record.steps if s.step in names]
    if len(reading_steps) < len(BEFORE_LOAD) - 1:
        raise UnreadableOutput("erases per block were not read before and after the load")
    return reading_steps


def _name_reading(step: StepRecord) -> str:
    return step.step.removeprefix(AFTER).removeprefix("wear-")


def _count_readings_before_load(spec: TrialSpec, readings: Sequence[StepRecord]) -> int:
    """How many readings, the first of which only begins, lie before the load's first step.

    Of a list the load begins after its first mount, and after the rest that follows it at once.
    """
    names = [_name_reading(s) for s in readings[1:]]
    steps = spec.workload.steps
    if not steps:
        return names.index("ready") + 1
    first = next((i for i, s in enumerate(steps) if s.do == "mount"), None)
    if first is None:
        return names.index("formatted") + 1
    rests = first + 1 < len(steps) and steps[first + 1].do == "rest"
    return names.index(steps[first + rests].phase) + 1


def _pack_runs(erases: Sequence[int]) -> list[int]:
    runs: list[int] = []
    for n in erases:
        if runs and runs[-1] == n:
            runs[-2] += 1
        else:
            runs += [1, n]
    return runs


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """What the readings cost, what the chip erased meanwhile, and what UBI moved by itself."""
    reading_steps = _list_readings(spec, record)
    figures: dict[str, int | float] = {
        "readings": len(reading_steps),
        COST_FIGURE: sum(s.ns for s in reading_steps),
    }
    places = [record.steps.index(s) for s in reading_steps]
    chip_counts = [
        simnand.count_operations_between(record.steps[i - 1].counts, record.steps[i].counts)
        for i in places
        if i > 0
    ]
    if None not in chip_counts:
        figures["reading_erases"] = sum(d["erases"] for d in chip_counts if d)
    return figures | (_count_ubi_moves(spec, record) if _has_ubi(spec) else {})


def _count_ubi_moves(spec: TrialSpec, record: JobRecord) -> dict[str, int]:
    """UBI's moves: blocks moved, pages that it programmed for them, blocks that it erased for them.

    A moved block is its data, a header of the volume's in the new block, and in the old one, once
    it is erased, a header of the erase counter.
    """
    moved = pages = copied = 0
    for line in escape_output(record["wear-unmounted"].stdout).splitlines():
        if not (told := MOVED_PATTERN.search(line)):
            continue
        if told[1] == "copied":
            copied = int(told[2])
        elif int(told[2]) == 0:
            moved += 1
            pages += -(-copied // spec.chip.geometry.writesize) + 2
    return {"own.moves": moved, "own.programs": pages, "own.erases": moved}


INSTRUMENT = Instrument(
    NAME,
    _applies_to,
    InstrumentReading(lambda spec, record, phases: _collect_figures(spec, record)),
    InstrumentSteps(_make_steps, _make_step_after),
    order=6,
)
