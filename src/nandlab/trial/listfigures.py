# SPDX-License-Identifier: GPL-2.0-or-later
"""From the record of a list of steps to its figures: each step is a phase, or prints its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nandlab.board.jobs.job import JobRecord
from nandlab.catalog.step import RunStep, WorkloadStep
from nandlab.catalog.stepwords import runs_filetree
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import OperationCounts, Phase
from nandlab.trial.filesteps import SYNC_PREFIX, find_step_cache_states
from nandlab.trial.instruments.instrument import UnreadableOutput
from nandlab.trial.workloadresult import WorkloadResult

ChipCounts = Mapping[str, OperationCounts | None]
"""What the chip did in each step of the board."""
ResultReader = Callable[[str], WorkloadResult]
"""The result that a step printed."""


def collect_step_list_figures(
    spec: TrialSpec, record: JobRecord, chip: ChipCounts, read_result: ResultReader
) -> dict[str, Any]:
    """The figures of a workload that is a list, as fields of a result."""
    steps = spec.workload.steps
    several = sum(isinstance(s, RunStep) and s.tells for s in steps) > 1
    list_result, phases, cache = WorkloadResult(), list[Phase](), find_step_cache_states(spec)
    for step in steps:
        if isinstance(step, RunStep) and step.tells:
            result = read_result(step.phase)
            result = result.add_prefix(step.phase) if several else result
            phases += result.phases
            list_result = list_result.merge_later(result)
            continue
        phase = _make_phase(step, record, chip)
        if step.phase in cache:
            phase = phase.model_copy(update={"at": {"cache": cache[step.phase]}})
        if runs_filetree(step):
            result = _parse_step_result(step, read_result).add_prefix(step.phase)
            counts = {"operations": result.operations, "bytes": result.bytes}
            phase = phase.model_copy(update=counts)
            list_result = list_result.merge_later(result)
        phases.append(phase)
    return list_result.model_copy(update={"phases": phases}).fields()


def _make_phase(step: WorkloadStep, record: JobRecord, chip: ChipCounts) -> Phase:
    """A step as a phase, with the sync of its own that may follow it."""
    name, sync = step.phase, f"{SYNC_PREFIX}{step.phase}"
    synced = record.get(sync)
    if synced is None:
        return Phase(name=name, ns=record[name].ns, chip=chip[name])
    return Phase(
        name=name,
        ns=record[name].ns,
        sync_ns=synced.ns,
        chip=_add_counts(chip[name], chip[sync]),
        chip_sync=chip[sync],
    )


def _add_counts(
    counts: OperationCounts | None, other_counts: OperationCounts | None
) -> OperationCounts | None:
    """Counts together; None where one of them is not known."""
    if counts is None or other_counts is None:
        return None
    sums = {k: getattr(counts, k) + getattr(other_counts, k) for k in OperationCounts.model_fields}
    return OperationCounts(**sums)


def _parse_step_result(step: WorkloadStep, read_result: ResultReader) -> WorkloadResult:
    """What a step printed; nothing where it may fail and printed no result."""
    try:
        return read_result(step.phase)
    except UnreadableOutput:
        if not step.may_fail:
            raise
        return WorkloadResult()
