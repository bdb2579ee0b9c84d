# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a product waits after a start until the first record that it syncs is on flash.

When all else of a trial is over, the file system is mounted once more, with what the load left on
it, and a record is written to a new file and synced. It is one step, so what lies between the mount
and the write is in its time, and so is the start of the commands. What a mount leaves to do, such
as JFFS2's check of all that is there, may delay the write or not: that is measured.
"""

from __future__ import annotations

from nandlab.board.jobs.job import JobRecord, Step, StepRecord, escape_output
from nandlab.flash.chip import simnand
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Doubt
from nandlab.trial.instruments.instrument import (
    FiguresUnknown,
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
)

NAME = "restart"
STEP = "restart"
RECORD_BYTES = 256
DONE = "synced"
"""What the step prints once the record is on flash."""
WRITE = (
    f"dd if=/dev/zero of={MOUNTPOINT}/first-record bs={RECORD_BYTES} count=1 conv=fsync "
    f"2>/dev/null && echo {DONE}"
)


def _is_requested(spec: TrialSpec) -> bool:
    return NAME in spec.measure and not spec.filesystem.read_only


def _steps(spec: TrialSpec) -> dict[Moment, Step]:
    mount = spec.commands(*spec.filesystem.mount_commands(spec.options))
    return {"over": Step(STEP, f"{mount} && {WRITE}", may_fail=True, beside=True)}


def _parse_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """``durable_ns`` from the mount's begin to the end of the sync, and what the chip did then."""
    step = record.get(STEP)
    if step is None or DONE not in escape_output(step.stdout).split():
        text = escape_output(step.stderr).strip() if step else "no unmount ends the trial"
        raise FiguresUnknown(Doubt(code="restart_failed", text=text or "no record was synced"))
    return {"durable_ns": step.ns, **_chip(record, step)}


def _chip(record: JobRecord, step: StepRecord) -> dict[str, int]:
    before = record.steps[record.steps.index(step) - 1]
    return simnand.count_operations_between(before.counts, step.counts) or {}


INSTRUMENT = Instrument(
    NAME,
    _is_requested,
    InstrumentReading(lambda spec, record, phases: _parse_figures(spec, record)),
    InstrumentSteps(_steps),
    order=9,
)
