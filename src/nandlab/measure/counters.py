# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file system counts itself, where its catalog file has a command that prints it."""

from __future__ import annotations

from nandlab.board.job import JobRecord, Step
from nandlab.measure.instrument import Instrument, Moment, numbers
from nandlab.plan.trialspec import TrialSpec


def _steps(spec: TrialSpec) -> dict[Moment, Step]:
    return {"worked": Step("counters", spec.commands(spec.filesystem.counters or ""))}


def _read(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    return {**numbers(record, "counters")}


COUNTERS = Instrument("counters", lambda spec: bool(spec.filesystem.counters), _steps, _read)
