# SPDX-License-Identifier: GPL-2.0-or-later
"""From the record of a job to the outcome of its trial."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from nandlab.base.digest import digest_bytes
from nandlab.board.jobs.job import Job, JobRecord, StepRecord, escape_output
from nandlab.flash.chip import simnand
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import (
    Artefact,
    ChipUsage,
    Doubt,
    FlashState,
    OperationCounts,
    PageShares,
    Phase,
    StepResult,
)
from nandlab.trial import listfigures, workloadresult
from nandlab.trial.instruments.instrument import FiguresUnknown, UnreadableOutput
from nandlab.trial.instruments.instruments import list_trial_instruments
from nandlab.trial.instruments.wear import collect_trial_wear
from nandlab.trial.kernelfindings import list_kernel_findings
from nandlab.trial.steps import list_fill_step_names, list_state_fill_steps, map_idle_wait_seconds
from nandlab.trial.workloadresult import WorkloadResult

OFF_TARGET = "fill-off-target"
"""The fill's own warning, from before its end."""
OFF_TARGET_MAX = 0.02
WORKLOAD_DOUBTS = {OFF_TARGET: "state_missed"}
"""Codes of a workload's warnings that have a code of their own in record.WARNINGS."""
CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
"""Signals that a program is ended by when it is at fault; a shell makes an exit of them, + 128."""
KERNEL_WARNING = 4
"""The kernel's log level "warning"; lower is worse."""
REFUSED_BY_SIMNAND = re.compile(r"simnand: (not loaded: .*)$", re.MULTILINE)
"""Why the step that loads the chip failed; modprobe itself says "Invalid argument" of anything."""
EXPECTED_IN_LOG = ("taints kernel.", "tainting kernel")
"""Ends of the lines that the kernel logs for modules built outside its tree, such as ours."""


def make_trial_outcome(spec: TrialSpec, job: Job, record: JobRecord) -> dict[str, Any]:
    """The outcome of a trial's steps, as fields of its result."""
    commands = {s.name: s.command for s in job.steps if not (s.beside or s.always)}
    log, chip = filter_kernel_log(spec, record), _count_chip_operations(spec, record)
    hits, usage = (
        _count_register_hits(spec, record),
        _compare_steps(spec, record, simnand.compute_chip_usage_between),
    )
    outcome: dict[str, Any] = {
        "status": "ok",
        "kernel_log": log,
        "available": record.available,
        "steps": [
            StepResult(
                name=s.step,
                ns=s.ns,
                chip=chip[s.step],
                blocks_erased=simnand.parse_erased_block_count(s.counts),
                register_hits=hits[s.step],
                usage=ChipUsage(**told) if (told := usage[s.step]) else None,
                command=commands[s.step],
            )
            for s in record.steps
            if s.step in commands
        ],
        "warnings": [Doubt(code="output_cut", text=text) for text in record.cut()],
    }
    if log:
        text = f"{len(log)} lines, the first: {log[0]}"
        outcome["warnings"].append(Doubt(code="kernel_log", text=text))
    if reports := list_kernel_findings(log):
        more = f", and {len(reports) - 1} more" if len(reports) > 1 else ""
        outcome["warnings"].append(Doubt(code="kernel_finding", text=f"{reports[0]}{more}"))
    if missed := max(
        (simnand.parse_missed_operation_count(s.counts) for s in record.steps), default=0
    ):
        text = f"probes missed {missed} events"
        outcome["warnings"].append(Doubt(code="counts_missed", text=text))
    failed = record.failed()
    if failed is not None:
        status = "not_measured" if _is_own_fault(spec, failed) else "trial_failed"
        said = REFUSED_BY_SIMNAND.search("\n".join(log)) if failed.step == "load" else None
        why = f"; the kernel: {said[1]}" if said else ""
        return outcome | {"status": status, "error": failed.failure() + why}
    try:
        return outcome | _collect_figures(spec, record, outcome["warnings"])
    except UnreadableOutput as e:
        return outcome | {"status": "not_measured", "error": str(e)}


def _is_own_fault(spec: TrialSpec, failed: StepRecord) -> bool:
    """Whether a step of the workload failed by itself: it is no program, or it crashed."""
    steps = {"workload", *(s.phase for s in spec.workload.steps if s.uses_files)}
    crashed = failed.signal in CRASHES or failed.rc - 128 in CRASHES
    return failed.step in steps and (failed.rc in (126, 127) or crashed)


def _collect_figures(spec: TrialSpec, record: JobRecord, doubts: list[Doubt]) -> dict[str, Any]:
    """What was measured, as fields of a result; adds to doubts. Unreadable if output is invalid."""
    limits_s = map_idle_wait_seconds(spec)
    for name in (s.step for s in record.steps if s.step in limits_s):
        if not _parse_step_output(name, workloadresult.parse_settle_result, record):
            text = f"{name}: the chip was still busy after {limits_s[name]} s"
            doubts.append(Doubt(code="not_settled", text=text))
    obtained = _find_obtained_shares(spec, record, doubts)
    of_load: list[Doubt] = []
    if spec.workload.steps:
        told_by = partial(_parse_workload_output, spec, record, doubts=of_load)
        figures = listfigures.collect_step_list_figures(
            spec, record, _count_chip_operations(spec, record), told_by
        )
    else:
        told = _parse_workload_output(spec, record, "workload", of_load)
        figures, obtained = told.fields(), _choose_shares(obtained, told.obtained)
    doubts += [*(_check_target(spec, obtained) if obtained and spec.aged else []), *of_load]
    doubts += _find_unmatched_words(spec, figures)
    figures["artefacts"] = _list_artefacts(spec, record)
    figures["state"] = FlashState(**spec.state.model_dump(), obtained=obtained)
    figures["measured"] = _collect_measurements(spec, record, doubts, figures["phases"])
    more = [line for i in list_trial_instruments(spec) for line in i.reading.series(spec, record)]
    figures["series"] = [*figures.get("series", []), *more]
    if wear := collect_trial_wear(spec, record):
        figures["wear"] = wear
    return figures


def _collect_measurements(
    spec: TrialSpec, record: JobRecord, doubts: list[Doubt], phases: list[Phase]
) -> dict[str, dict[str, int | float]]:
    """What the instruments measured, by their names; adds to doubts."""
    measurements = {}
    for instrument in list_trial_instruments(spec):
        try:
            figures = instrument.reading.figures(spec, record, phases)
            if figures or not instrument.reading.is_left_out_empty:
                measurements[instrument.name] = figures
        except FiguresUnknown as e:
            doubts.append(e.doubt)
        doubts += [*instrument.reading.doubts(spec, record)]
    return measurements


def _find_unmatched_words(spec: TrialSpec, figures: dict[str, Any]) -> list[Doubt]:
    """A doubt where the workload's file has words for other names than its program prints."""
    workload = spec.workload
    pairs = {
        "phases": ([p.name for p in workload.phases], [p.name for p in figures["phases"]]),
        "operations": (
            [o.name for o in workload.operations],
            [*figures["operations"], *figures["latency_ns"]],
        ),
    }
    doubts = []
    for what, (declared, told) in pairs.items():
        lost = [name for name in declared if name not in told]
        more = [name for name in dict.fromkeys(told) if name not in declared]
        if lost and more:
            text = f"{what}: declared, not told: {', '.join(lost)}; told, not declared: "
            doubts.append(Doubt(code="workload", text=text + ", ".join(more)))
    return doubts


T = TypeVar("T")


def _parse_step_output(step: str, read: Callable[[str], T], record: JobRecord) -> T:
    """What ``read`` finds in the output of one of our own steps; Unreadable names the step."""
    try:
        return read(record[step].stdout)
    except UnreadableOutput as e:
        raise UnreadableOutput(f"step {step}: {e}") from None


def _parse_workload_output(
    spec: TrialSpec, record: JobRecord, step: str, doubts: list[Doubt]
) -> WorkloadResult:
    """The result that the workload's program printed; its warnings become doubts."""
    try:
        result = workloadresult.parse_workload_result(record[step].stdout)
    except UnreadableOutput as e:
        who = spec.workload.name if step == "workload" else f"{spec.workload.name}, step {step},"
        raise UnreadableOutput(f"{who} printed no result that nandlab understands: {e}") from None
    doubts += _make_doubts(result.warnings)
    return result


def _find_obtained_shares(
    spec: TrialSpec, record: JobRecord, doubts: list[Doubt]
) -> PageShares | None:
    """The shares that the chip held after the fill; None if no step filled it."""
    name = next((n for n in list_state_fill_steps(spec) if spec.aged and record.get(n)), None)
    if name is None:
        return None
    result = _parse_step_output(name, workloadresult.parse_workload_result, record)
    last = next(s for n in reversed(list_fill_step_names(name)) if (s := record.get(n)))
    programmed = simnand.parse_programmed_page_share(last.counts)
    doubts += _make_doubts([w for w in result.warnings if not w.startswith(OFF_TARGET)])
    if result.obtained is None or programmed is None:
        return result.obtained
    return _update_shares(result.obtained, programmed)


def _choose_shares(filled: PageShares | None, seen: PageShares | None) -> PageShares | None:
    """The shares after the fill, as the workload found the chip if it looked at it."""
    if filled is None or seen is None or seen.programmed is None:
        return filled or seen
    return _update_shares(filled, seen.programmed)


def _update_shares(filled: PageShares, programmed: float) -> PageShares:
    """The shares at a later moment: what was erased since then was invalid data."""
    if filled.invalid is None or filled.programmed is None:
        return filled.model_copy(update={"programmed": programmed})
    erased = max(0.0, filled.programmed - programmed)
    invalid = max(0.0, filled.invalid - erased)
    return filled.model_copy(update={"invalid": invalid, "programmed": programmed})


def _check_target(spec: TrialSpec, obtained: PageShares) -> list[Doubt]:
    """A doubt for each share that is more than two points off the one asked for.

    Shares of the free bytes are not held against pages.
    """
    if spec.state.of == "free":
        return []
    pairs = (
        ("valid", spec.state.valid, obtained.valid),
        ("invalid", spec.state.invalid, obtained.invalid),
    )
    return [
        Doubt(
            code="state_missed",
            text=f"{what} data: {asked:.1%} asked, {got:.1%} on the chip when the load began",
        )
        for what, asked, got in pairs
        if got is not None and abs(asked - got) > OFF_TARGET_MAX
    ]


def _list_artefacts(spec: TrialSpec, record: JobRecord) -> list[Artefact]:
    """What the trial left besides figures: the chip's image, if a step saved it."""
    names = [step.phase for step in spec.workload.steps if step.do == "save"]
    names += [i.name for i in list_trial_instruments(spec) if i.back.saves_chip]
    if not names or record.cargo is None:
        return []
    sha256, size = digest_bytes(record.cargo), len(record.cargo)
    return [Artefact(name=names[0], kind="chip image", sha256=sha256, bytes=size)]


def _count_chip_operations(spec: TrialSpec, record: JobRecord) -> dict[str, OperationCounts | None]:
    """What the chip did up to the end of each step, since the end of the step before.

    None if it is not known: after a step that loads the chip anew, its counters start anew.
    """
    did = _compare_steps(spec, record, simnand.count_operations_between)
    return {step: OperationCounts(**counted) if counted else None for step, counted in did.items()}


def _count_register_hits(spec: TrialSpec, record: JobRecord) -> dict[str, int | None]:
    """The same of the reads that the chip's page register answered."""
    return _compare_steps(spec, record, simnand.count_register_hits_between)


def _compare_steps(
    spec: TrialSpec, record: JobRecord, compare: Callable[[str, str], T | None]
) -> dict[str, T | None]:
    """For each step what the chip did since the end of the step before."""
    cut_phases = {step.phase for step in spec.workload.steps if step.do == "cut"}
    before, changes = "", {}
    for step in record.steps:
        changes[step.step] = None if step.step in cut_phases else compare(before, step.counts)
        before = step.counts
    return changes


def _make_doubts(warnings: list[str]) -> list[Doubt]:
    """The workload's own warnings, each ``code: sentence``, as doubts."""
    split = [text.partition(": ") for text in warnings]
    return [
        Doubt(code=WORKLOAD_DOUBTS.get(code, "workload"), text=f"{code}: {text}")
        for code, _, text in split
    ]


def filter_kernel_log(spec: TrialSpec, record: JobRecord) -> list[str]:
    """The kernel's warnings and errors since the job began, but for those known to be harmless."""
    log = record.get("kernel-log")
    if log is None:
        return []
    harmless = re.compile("|".join(spec.filesystem.harmless_log) or r"(?!)")
    since_s = record.steps[0].start_ns / 1e9
    lines = []
    for line in escape_output(log.stdout).splitlines():
        level, _, text = line.removeprefix("<").partition(">")
        stamp, _, message = text.removeprefix("[").partition("]")
        try:
            is_reported = int(level) & 7 <= KERNEL_WARNING and float(stamp.strip()) >= since_s
        except ValueError:
            continue  # the continuation of a message
        expected = message.endswith(EXPECTED_IN_LOG) or harmless.match(message.strip())
        if is_reported and not expected:
            lines.append(text)
    return lines
