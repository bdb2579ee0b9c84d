# SPDX-License-Identifier: GPL-2.0-or-later
"""Each call that reads a page of a file: its flash pages and its time, beside what the model of
reads foretells from what lies on the chip.

The tracers run from the list's first ``drop`` to the end of the load. Then the chip comes back with
their records. It is as it was since the last write, so only the calls after that are scored, step
by step. Of the others, as of those while a collector works, there are pages and times as they were
traced, and nothing foretold. All times are without the tracers' own, but those whose names begin
with ``traced_``.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.flash.chip import image, simnand
from nandlab.flash.layouts.cells import Partition
from nandlab.flash.layouts.decoders import salvage_layout
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Doubt
from nandlab.traced.setup import FOLDER, compute_records_file_bytes_max, make_tracer_start_lines
from nandlab.trial.instruments import tracing
from nandlab.trial.instruments.instrument import (
    BroughtBack,
    FiguresUnknown,
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
)

if TYPE_CHECKING:
    from nandlab.flash.reading.score import CallTimes

NAME = "reads"
BEGIN_STEP, END_STEP = "reads-begin", "reads-end"
TRACERS = ("vfs", "flash")


def _applies_to(spec: TrialSpec) -> bool:
    return NAME in spec.measure


def _make_step_after(spec: TrialSpec, name: str) -> Step | None:
    first = next((s.phase for s in spec.workload.steps if s.do == "drop"), None)
    if spec.reads is None or name != first:
        return None
    lines = make_tracer_start_lines(
        spec.filesystem, MOUNTPOINT, TRACERS, records=spec.reads.records
    )
    return Step(BEGIN_STEP, "; ".join(lines), beside=True)


def _make_steps(spec: TrialSpec) -> Mapping[Moment, Step]:
    return {"worked": tracing.make_tracing_end_step(END_STEP)}


def _count_room(spec: TrialSpec) -> int:
    return (
        compute_records_file_bytes_max(spec.reads.records) + spec.image_bytes if spec.reads else 0
    )


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """Of each step that read: how many calls, their flash pages, their time, ns, and how far the
    model is off, as a share of the time. NotKnown where the trace or the chip is not whole."""
    times = _time_calls(spec, record)
    steps = {
        name: [t for t in times if record[name].start_ns <= t.scored.row.start_ns < end]
        for name, end in _list_traced_steps(spec, record)
    }
    calls_by_step = {name: calls for name, calls in steps.items() if calls}
    known_by_step = {
        name: calls
        for name, step_calls in calls_by_step.items()
        if (calls := _keep_known(step_calls))
    }
    figures: dict[str, int | float] = {"calls": len(_keep_known(times))}
    for name, step_calls in calls_by_step.items():
        figures |= {
            f"step.{name}.{key}": value for key, value in _list_figures(step_calls, spec, record)
        }
    assert spec.reads is not None
    for calibration, step_names in spec.reads.calibrate.items():
        if not set(step_names) <= set(known_by_step):
            raise FiguresUnknown(
                _make_lost_doubt(f"{calibration}: no call of {', '.join(step_names)} is known")
            )
        figures |= _compute_paper_figures(calibration, step_names, known_by_step)
    return figures


def _compute_paper_figures(
    calibration: str, step_names: Sequence[str], calls_by_step: Mapping[str, Sequence[CallTimes]]
) -> dict[str, int | float]:
    """What the paper's formula gives for each step with the mean overhead of the named ones, ns,
    and how far that is off, as a share; the same of times with the tracers' own in them."""
    calibrating = [calls_by_step[name] for name in step_names]
    overhead = statistics.fmean(
        _compute_overhead(calls, [t.ns for t in calls]) for calls in calibrating
    )
    traced_overhead = statistics.fmean(
        _compute_overhead(calls, [t.traced_ns for t in calls]) for calls in calibrating
    )
    figures: dict[str, int | float] = {f"overhead_ns.{calibration}": round(overhead)}
    for name, calls in calls_by_step.items():
        paper_ns = [t.compute_paper_ns(overhead) for t in calls]
        figures[f"step.{name}.{calibration}_mean_ns"] = round(statistics.fmean(paper_ns))
        figures[f"step.{name}.{calibration}_off"] = _compute_error(paper_ns, [t.ns for t in calls])
        figures[f"step.{name}.traced_{calibration}_off"] = _compute_error(
            [t.compute_paper_ns(traced_overhead) for t in calls], [t.traced_ns for t in calls]
        )
    return figures


def _keep_known(calls: Sequence[CallTimes]) -> list[CallTimes]:
    """Those whose pages the chip's image tells."""
    return [call for call in calls if call.scored.is_known]


def _list_traced_steps(spec: TrialSpec, record: JobRecord) -> Iterator[tuple[str, int]]:
    """Name and end of each of the list's steps that ran after the tracers began."""
    for step in spec.workload.steps:
        of = record.get(step.phase)
        if of is not None and of.start_ns >= record[BEGIN_STEP].end_ns:
            yield step.phase, of.end_ns


def _time_calls(spec: TrialSpec, record: JobRecord) -> list[CallTimes]:
    """The calls that read a page, known or not."""
    from nandlab.flash.reading import score, walk
    from nandlab.flash.reading.reads import ReadCall
    from nandlab.traced import records

    if record.cargo is None:
        raise FiguresUnknown(
            _make_lost_doubt("the records did not come back: no unmount ends the trial")
        )
    try:
        chip, rest = image.decode_leading_chip_image(record.cargo)
        recording = records.decode_trace_records(rest, "the trial's trace")
        partition = Partition(chip, spec.partition_blocks, spec.chip.kernel_ecc.strength)
        layout, dropped = salvage_layout(partition, spec.filesystem.name)
    except NandlabError as e:
        raise FiguresUnknown(_make_lost_doubt(str(e))) from None
    if recording.lost:
        text = f"{recording.lost} records were overwritten: raise records of reads"
        raise FiguresUnknown(_make_lost_doubt(text))
    with hold_scratch_folder() as folder:
        events = folder / "events.parquet"
        tracing.write_event_table(
            recording, tracing.parse_traced_names(record, END_STEP), spec.filesystem, events
        )
        told = tracing.describe_traced_board(spec, record, END_STEP)
        fs = spec.filesystem.name
        shape = "reads", fs, spec.chip, told, events, layout, dropped
        drops = _list_drops(spec, record)
        of = walk.ChipTrace(*shape, at_end=True, options=spec.options, drops=drops)
        try:
            found = [one for one in walk.score_traced_calls(of) if isinstance(one.call, ReadCall)]
            return score.list_measured_times(of, found)
        except UsageError as e:
            raise FiguresUnknown(_make_lost_doubt(str(e))) from None


def _list_drops(spec: TrialSpec, record: JobRecord) -> list[int]:
    """When each of the list's steps that drop caches had ended, ns."""
    dropping = (record.get(step.phase) for step in spec.workload.steps if step.do == "drop")
    return [step.end_ns for step in dropping if step is not None]


def _list_figures(
    calls: Sequence[CallTimes], spec: TrialSpec, record: JobRecord
) -> Iterator[tuple[str, int | float]]:
    """What was traced of a step's calls, and how those that are known compare with the model."""
    known_calls = _keep_known(calls)
    yield "calls", len(calls)
    if len(known_calls) < len(calls):
        yield "unknown", len(calls) - len(known_calls)
    if known_calls:
        yield "differ", sum(not t.scored.same for t in known_calls)
        yield "disturbed", sum(t.scored.disturbed for t in known_calls)
    yield "n", sum(len(t.scored.traced_pages) for t in calls)
    yield "n_mean", round(statistics.fmean(len(t.scored.traced_pages) for t in calls), 4)
    yield from _list_time_figures(calls, [t.ns for t in calls])
    for name, time_ns in _list_time_figures(calls, [t.traced_ns for t in calls]):
        yield f"traced_{name}", time_ns
    yield from _list_errors(known_calls, spec, record)


def _list_time_figures(
    calls: Sequence[CallTimes], call_ns: Sequence[float]
) -> Iterator[tuple[str, int]]:
    """Mean, deviation and range of the calls' times, and what they take beside the chip, ns."""
    yield "mean_ns", round(statistics.fmean(call_ns))
    yield "sd_ns", round(statistics.pstdev(call_ns))
    yield "least_ns", round(min(call_ns))
    yield "most_ns", round(max(call_ns))
    yield "overhead_ns", round(_compute_overhead(calls, call_ns))


def _list_errors(
    known_calls: Sequence[CallTimes], spec: TrialSpec, record: JobRecord
) -> Iterator[tuple[str, float]]:
    """How far the model's times of known calls are off; nothing where it has no instructions."""
    from nandlab.flash.reading import times
    from nandlab.flash.reading.score import compute_time_errors
    from nandlab.traced import cost

    kernel = str(tracing.describe_traced_board(spec, record, END_STEP)["kernel"])
    series, arch = cost.parse_kernel_series(kernel), cost.parse_kernel_arch(kernel)
    try:
        instructions = times.find_instruction_counts(spec.filesystem.name, series, arch)
        predicted_ns = [t.compute_predicted_ns(instructions) for t in known_calls]
    except UsageError:  # a compressor, a kernel or a processor that was not measured: no figure
        return
    if known_calls:
        for name, share in compute_time_errors(predicted_ns, known_calls):
            yield f"{name}_off", abs(share)


def _compute_overhead(calls: Sequence[CallTimes], call_ns: Sequence[float]) -> float:
    """The mean of what a call takes beside the chip, ns: the paper's overhead.

    call_ns: the calls' times, with the tracers' own or without.
    """
    return statistics.fmean(call_ns) - statistics.fmean(t.paper_chip_ns for t in calls)


def _compute_error(model_ns: Sequence[float], call_ns: Sequence[float]) -> float:
    """By which share the sum of the times is foretold wrong, either way."""
    return round(abs(sum(model_ns) / sum(call_ns) - 1), 6)


def _make_lost_doubt(text: str) -> Doubt:
    return Doubt(code="reads_lost", text=text)


def _make_doubts(record: JobRecord) -> list[Doubt]:
    text = "the tracers ran while files were read; the times of reads are without theirs"
    return [Doubt(code="reads_measured", text=text)]


INSTRUMENT = Instrument(
    NAME,
    _applies_to,
    InstrumentReading(
        lambda spec, record, phases: _collect_figures(spec, record),
        lambda spec, record: _make_doubts(record),
    ),
    InstrumentSteps(_make_steps, _make_step_after),
    BroughtBack(
        command=f"{{ cat {simnand.IMAGE_FILE} && cat {FOLDER}/records; }}", room=_count_room
    ),
    order=8,
)
