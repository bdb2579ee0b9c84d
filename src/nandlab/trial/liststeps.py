# SPDX-License-Identifier: GPL-2.0-or-later
"""From the record of a list of steps to its figures: each step is a phase, or prints its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nandlab.board.job import JobRecord
from nandlab.catalog.step import Run, StepWords
from nandlab.catalog.steptitles import by_filetree
from nandlab.measure.instrument import Unreadable
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.measures import Counts, Phase
from nandlab.trial.filesteps import SYNC_AFTER, caches
from nandlab.trial.measured import Measured

Chip = Mapping[str, Counts | None]
"""What the chip did in each step of the board."""
Told = Callable[[str], Measured]
"""The result that a step printed."""


def figures(spec: TrialSpec, record: JobRecord, chip: Chip, told: Told) -> dict[str, Any]:
    """The figures of a workload that is a list, as fields of a result."""
    steps = spec.workload.steps
    several = sum(isinstance(s, Run) and s.tells for s in steps) > 1
    whole, phases, cache = Measured(), list[Phase](), caches(spec)
    for step in steps:
        if isinstance(step, Run) and step.tells:
            said = told(step.phase)
            said = said.called(step.phase) if several else said
            phases += said.phases
            whole = whole.with_(said)
            continue
        phase = _phase(step, record, chip)
        if step.phase in cache:
            phase = phase.model_copy(update={"at": {"cache": cache[step.phase]}})
        if by_filetree(step):
            said = _said(step, told).called(step.phase)
            made = {"operations": said.operations, "bytes": said.bytes}
            phase = phase.model_copy(update=made)
            whole = whole.with_(said)
        phases.append(phase)
    return whole.model_copy(update={"phases": phases}).fields()


def _phase(step: StepWords, record: JobRecord, chip: Chip) -> Phase:
    """A step as a phase, with the sync of its own that may follow it."""
    name, sync = step.phase, f"{SYNC_AFTER}{step.phase}"
    synced = record.get(sync)
    if synced is None:
        return Phase(name=name, ns=record[name].ns, chip=chip[name])
    return Phase(
        name=name,
        ns=record[name].ns,
        sync_ns=synced.ns,
        chip=_both(chip[name], chip[sync]),
        chip_sync=chip[sync],
    )


def _both(one: Counts | None, other: Counts | None) -> Counts | None:
    """Counts together; None where one of them is not known."""
    if one is None or other is None:
        return None
    sums = {k: getattr(one, k) + getattr(other, k) for k in Counts.model_fields}
    return Counts(**sums)


def _said(step: StepWords, told: Told) -> Measured:
    """What a step printed; nothing where it may fail and printed no result."""
    try:
        return told(step.phase)
    except Unreadable:
        if not step.may_fail:
            raise
        return Measured()
