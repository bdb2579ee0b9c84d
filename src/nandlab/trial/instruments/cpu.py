# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the processor idled in the load, by the kernel's cpuidle, and what the chip did then.

For workloads whose programs do not tell it of each phase. It is of the load as a whole, from the
moment it can begin to the moment it has ended: the shell's work and the program's start are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nandlab.board.jobs.job import JobRecord, Step, StepRecord
from nandlab.flash.chip import simnand
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.instruments.instrument import (
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
    parse_step_numbers,
)

BEGIN_STEP, END_STEP = "cpu-begin", "cpu-end"
IDLE_WORD = "idle_us"
READ_COMMAND = (
    "for f in /sys/devices/system/cpu/cpu0/cpuidle/state*/time; do "
    "read t < $f && s=$((${s:-0} + t)); done; "
    f'[ -z "$s" ] || echo {IDLE_WORD} $s'
)
"""Prints the time in all idle states; nothing where the kernel does not tell."""
NS_PER_US = 1000


def _make_steps(spec: TrialSpec) -> dict[Moment, Step]:
    return {
        "ready": Step(BEGIN_STEP, READ_COMMAND, beside=True),
        "worked": Step(END_STEP, READ_COMMAND, beside=True),
    }


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """``span_ns`` from one reading to the other, ``idle_ns`` of it, and what the chip did then."""
    begin, end = record.get(BEGIN_STEP), record.get(END_STEP)
    if begin is None or end is None:
        return {}
    found: dict[str, int | float] = {"span_ns": end.start_ns - begin.end_ns}
    had, has = (parse_step_numbers(record, step).get(IDLE_WORD) for step in (BEGIN_STEP, END_STEP))
    if had is not None and has is not None:
        found["idle_ns"] = (has - had) * NS_PER_US
    return found | _count_chip_operations(
        record.steps[record.steps.index(begin) : record.steps.index(end) + 1]
    )


def _count_chip_operations(steps: Sequence[StepRecord]) -> dict[str, int]:
    """What the chip counted from the first to the last; one that was loaded anew tells nothing."""
    went = [simnand.compute_chip_usage_between(a.counts, b.counts) for a, b in pairwise(steps)]
    counted = simnand.count_operations_between(steps[0].counts, steps[-1].counts)
    usage = simnand.compute_chip_usage_between(steps[0].counts, steps[-1].counts)
    return {**counted, **usage} if counted and usage and None not in went else {}


INSTRUMENT = Instrument(
    "cpu",
    lambda spec: "cpu" in spec.measure,
    InstrumentReading(lambda spec, record, phases: _collect_figures(spec, record)),
    InstrumentSteps(_make_steps),
    order=4,
)
