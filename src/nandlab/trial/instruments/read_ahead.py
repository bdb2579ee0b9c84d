# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the kernel reads ahead, as each mount's step read it back after writing it.

It has no steps of its own, so it costs nothing. A trial that leaves read-ahead to the kernel is not
measured by it: its mounts look at nothing, and stay the steps that they were.
"""

from __future__ import annotations

from nandlab.board.jobs.job import JobRecord
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial.instruments.instrument import (
    Instrument,
    InstrumentReading,
    UnreadableOutput,
    parse_step_numbers,
)

OPTION = "read_ahead"


def _applies_to(spec: TrialSpec) -> bool:
    option = spec.filesystem.options.get(OPTION)
    return option is not None and option.is_number(spec.options[OPTION])


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    number = spec.filesystem.options[OPTION].number
    assert number is not None, "only a trial with a number is measured"
    name = number.make_measure_name(OPTION)
    told = {s.step: parse_step_numbers(record, s.step).get(name) for s in record.steps}
    mounts = {
        step: n
        for step, n in told.items()
        if n is not None and step not in _list_program_steps(spec)
    }
    if not mounts:
        raise UnreadableOutput(f"no step printed {name}: nothing was mounted")
    if len(set(mounts.values())) > 1:
        each = ", ".join(f"{step} {n}" for step, n in mounts.items())
        raise UnreadableOutput(f"the mounts differ in {name}: {each}")
    return {number.unit.lower(): next(iter(mounts.values()))}


def _list_program_steps(spec: TrialSpec) -> set[str]:
    """The steps that ran the workload's own programs, which may print anything."""
    return {"workload", *(s.phase for s in spec.workload.steps if s.do == "run")}


INSTRUMENT = Instrument(
    OPTION,
    _applies_to,
    InstrumentReading(lambda spec, record, phases: _collect_figures(spec, record)),
    order=3,
)
