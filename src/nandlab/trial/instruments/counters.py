# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file system counts itself, where its catalog file has a command that prints it."""

from __future__ import annotations

from nandlab.board.jobs.job import JobRecord, Step
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.instruments.instrument import (
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
    parse_step_numbers,
)


def _make_steps(spec: TrialSpec) -> dict[Moment, Step]:
    return {"worked": Step("counters", spec.commands(spec.filesystem.counters or ""))}


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    return {**parse_step_numbers(record, "counters")}


INSTRUMENT = Instrument(
    "counters",
    lambda spec: bool(spec.filesystem.counters),
    InstrumentReading(lambda spec, record, phases: _collect_figures(spec, record)),
    InstrumentSteps(_make_steps),
    order=2,
)
