# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the load's time went, in parts that add up to it, and who asked the chip for what.

The tracers run from the moment the load can begin to the moment it has ended, as ``nandlab trace
--functions schedule`` runs them, and cost time meanwhile: a doubt tells how much. Their records
come back after the last unmount and become figures here; no trace is kept.

A step of a list has the time that its board step has. A phase that a program tells by itself is
found by the two readings of the chip's counters between which it lies, which the tracers see too;
one that is the sum of several rounds is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nandlab.base.errors import NandlabError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import JobRecord, Step, StepRecord, escape_output
from nandlab.flash.chip import simnand
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Doubt, Phase
from nandlab.traced.setup import FOLDER, compute_records_file_bytes_max, make_tracer_start_lines
from nandlab.trial.instruments import tracing
from nandlab.trial.instruments.instrument import (
    BroughtBack,
    FiguresUnknown,
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
    UnreadableOutput,
)

if TYPE_CHECKING:
    from nandlab.traced.records import Names, Recording
    from nandlab.traced.timeparts import PartEvents

NAME = "parts"
BEGIN_STEP, END_STEP = "parts-begin", "parts-end"
LOOK_FUNCTION = "simnand:counters_show"
"""The function that a program's reading of the chip's counters calls."""
FUNCTIONS = ("schedule", LOOK_FUNCTION)
COUNTERS = "--counters--\n"
"""What the chip's counters follow in the outputs of the two steps."""
LOOK_NS = 1_000_000
"""The most that a phase lacks of the time between the readings around it: what follows the one and
comes before the other, some 0.1 ms on apf27."""
WHOLE_WINDOW = "whole"
TIME_OWNERS = (
    *("file_system_in_calls", "collector_in_calls", "collector_in_threads"),
    "other_threads",
)
"""Whose time is in MTD and in the chip; an application is in neither by itself."""
SYNC_PREFIX = "sync-after-"


def _applies_to(spec: TrialSpec) -> bool:
    return NAME in spec.measure


def _count_records(spec: TrialSpec) -> int:
    assert spec.parts is not None
    return spec.parts.records


def _make_steps(spec: TrialSpec) -> Mapping[Moment, Step]:
    # of a list, the file system may be mounted anew: its type selects it
    where = None if spec.workload.steps else MOUNTPOINT
    begin = make_tracer_start_lines(
        spec.filesystem, where, functions=FUNCTIONS, records=_count_records(spec)
    )
    look = f"echo {COUNTERS.strip()}; cat {simnand.COUNTERS_FILE}"
    return {
        "ready": Step(BEGIN_STEP, "; ".join([*begin, look]), beside=True),
        "worked": tracing.make_tracing_end_step(END_STEP, look),
    }


def _count_room(spec: TrialSpec) -> int:
    return compute_records_file_bytes_max(_count_records(spec))


def _decode_recording(record: JobRecord) -> Recording:
    from nandlab.traced import records

    if record.cargo is None:
        raise FiguresUnknown(
            _make_lost_doubt("the records did not come back: no unmount ends the trial")
        )
    try:
        return records.decode_trace_records(record.cargo, "the trial's trace")
    except NandlabError as e:
        raise FiguresUnknown(_make_lost_doubt(str(e))) from None


def _make_lost_doubt(text: str) -> Doubt:
    return Doubt(code="parts_lost", text=text)


def _collect_figures(
    spec: TrialSpec, record: JobRecord, phases: Sequence[Phase]
) -> dict[str, int | float]:
    """Of the whole load and of each phase: parts in ns, and the chip's operations by who asked.

    Unreadable where parts do not add up to the time that passed, NotKnown where the trace is not
    whole.
    """
    from nandlab.traced import timeparts

    recording, names = _decode_recording(record), tracing.parse_traced_names(record, END_STEP)
    _require_whole_trace(spec, record, recording)
    events = _read_events(spec, recording, names)
    begin, end = record[BEGIN_STEP].end_ns, record[END_STEP].start_ns
    windows = [(WHOLE_WINDOW, begin, end)]
    looks = _find_looks(recording, names)
    _require_chip_counts(record, events, looks)
    windows += [(f"phase.{p.name}", *w) for p in phases if (w := _find_window(record, p, looks))]
    windows = [w for w in windows if begin <= w[1] < w[2] <= end]
    figures: dict[str, int | float] = {"records": len(recording.records)}
    figures["cost_ns"] = _compute_cost(spec, record)["ns"]
    for part in timeparts.compute_time_parts_of_windows(events, windows):
        _require_equal_sum(part)
        figures |= {f"{part['name']}.{key}": n for key, n in _list_figures(part)}
    return figures


def _require_whole_trace(spec: TrialSpec, record: JobRecord, recording: Recording) -> None:
    if recording.lost:
        raise FiguresUnknown(
            _make_lost_doubt(
                f"{recording.lost} of {recording.written} records were overwritten: room was for "
                f"{_count_records(spec)}; raise records of parts (the board apf27-trace has RAM "
                f"for "
                "1048576, apf27-trace-8m for 8388608), or make the load smaller"
            )
        )
    if recording.missed:
        raise FiguresUnknown(_make_lost_doubt(f"{recording.missed} events were seen by no probe"))
    symbols: Mapping[str, Sequence[str]] = spec.filesystem.symbols  # type: ignore[assignment]
    listed = symbols.get("garbage_collection", [])
    probed = {
        w[2]
        for w in map(str.split, tracing.parse_tracer_status(record, END_STEP).splitlines())
        if w[:2] == PROBE_WORDS
    }
    if listed and not probed & set(listed):
        text = f"the kernel has none of {', '.join(listed)}, so no collector is seen"
        raise FiguresUnknown(_make_lost_doubt(text))


PROBE_WORDS = ["probe", "FUNC"]


def _read_events(spec: TrialSpec, recording: Recording, names: Names) -> PartEvents:
    """The trace's events by way of its table, which is what ``nandlab trace parts`` reads too."""
    from nandlab.traced import timeparts

    symbols: Mapping[str, Sequence[str]] = spec.filesystem.symbols  # type: ignore[assignment]
    with hold_scratch_folder() as folder:
        table = folder / "events.parquet"
        tracing.write_event_table(recording, names, spec.filesystem, table)
        try:
            return timeparts.read_part_events(table, symbols, names.kernel_threads())
        except timeparts.NoPartsPossible as e:
            raise FiguresUnknown(_make_lost_doubt(str(e))) from None


TimeWindow = tuple[int, int]
"""Beginning and end, ns of the board's clock."""


def _find_looks(recording: Recording, names: Names) -> list[TimeWindow]:
    """When the chip's counters were read, in order."""
    from nandlab.traced.records import EventType

    numbers = [n for n, name in names.functions.items() if name == LOOK_FUNCTION]
    calls = recording.select_types(EventType.FUNC)
    begins = [(int(c["start_ns"]), int(c["latency_ns"])) for c in calls if c["object"] in numbers]
    return sorted((start, start + ns) for start, ns in begins)


def _find_window(record: JobRecord, phase: Phase, looks: list[TimeWindow]) -> TimeWindow | None:
    """When a phase was: a step's, or between readings of the counters; None: not known."""
    step = record.get(phase.name)
    if step is not None:
        last = record.get(f"{SYNC_PREFIX}{phase.name}") or step
        return step.start_ns, last.end_ns
    if phase.ns is None:
        return None
    least = phase.ns
    for i, (_, began) in enumerate(looks[:-1]):
        ended = looks[i + 1][0]
        if not least <= ended - began <= least + LOOK_NS:
            continue
        if phase.sync_ns is None:
            return began, ended
        after = looks[i + 2 :]
        if after and phase.sync_ns <= after[0][0] - looks[i + 1][1] <= phase.sync_ns + LOOK_NS:
            return began, after[0][0]
    return None


def _require_equal_sum(part: Mapping[str, Any]) -> None:
    together = sum(part["parts_ns"].values())
    if together != part["elapsed_ns"]:
        raise UnreadableOutput(
            f"parts: those of {part['name']} add up to {together} ns, and {part['elapsed_ns']} ns "
            "passed"
        )


def _list_figures(part: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield "elapsed_ns", part["elapsed_ns"]
    for name, ns in part["parts_ns"].items():
        yield f"{name}_ns", ns
    for who in TIME_OWNERS:
        for where in ("mtd", "chip"):
            yield f"{who}.{where}_ns", part["for_ns"][who][where]
    for who, counts in part["operations"].items():
        for what, count in counts.items():
            yield f"{who}.{what}", count


def _require_chip_counts(record: JobRecord, events: PartEvents, looks: list[TimeWindow]) -> None:
    """NotKnown unless the tracers saw the pages programmed and blocks erased that the chip counted.

    Between the first and the last reading of the counters, which are this instrument's. What the
    chip was at during a reading may be in it or not.
    """
    from nandlab.traced.timeparts import OPERATIONS

    chip_counts = simnand.count_operations_between(
        _parse_counters(record[BEGIN_STEP]), _parse_counters(record[END_STEP])
    )
    if chip_counts is None or not looks:
        raise FiguresUnknown(
            _make_lost_doubt("the chip's counters were not read at both ends of the load")
        )
    intervals, first, last = events.intervals, looks[0], looks[-1]
    for kind, name in OPERATIONS.items():
        if name == "reads":  # the chip answers some of its register, and counts these apart
            continue
        events_of_kind = (events.type == kind) & ~events.spare
        possibly = (intervals.end_ns >= first[0]) & (intervals.start_ns <= last[1])
        certainly = (intervals.start_ns > first[1]) & (intervals.end_ns < last[0])
        most = int((events_of_kind & possibly).sum())
        least = int((events_of_kind & certainly).sum())
        if not least <= chip_counts[name] <= most:
            seen_text = f"{least} to {most}" if least < most else f"{most}"
            raise FiguresUnknown(
                _make_lost_doubt(
                    f"{name}: {seen_text} in the trace, {chip_counts[name]} by the chip's count"
                )
            )


def _parse_counters(step: StepRecord) -> str:
    """The chip's counters that a step printed."""
    return escape_output(step.stdout).partition(COUNTERS)[2].partition(tracing.STATUS_MARK)[0]


def _compute_cost(spec: TrialSpec, record: JobRecord) -> dict[str, Any]:
    """What the tracers cost, by the prices of the catalog."""
    import numpy as np

    from nandlab.traced import cost
    from nandlab.traced.records import EventType

    types = _decode_recording(record).records["type"]
    counts = np.bincount(types, minlength=256)
    rows = [{"event": t.name, "count": int(counts[t.value])} for t in EventType if counts[t.value]]
    span = record[END_STEP].start_ns - record[BEGIN_STEP].end_ns
    probes = cost.parse_probe_kinds(tracing.parse_tracer_status(record, END_STEP))
    return cost.compute_tracing_cost(
        rows, probes, tracing.describe_traced_board(spec, record, END_STEP), span
    )


def _make_doubts(spec: TrialSpec, record: JobRecord) -> list[Doubt]:
    try:
        told = _compute_cost(spec, record)
    except FiguresUnknown:
        return [Doubt(code="parts_measured", text="the tracers ran in the load")]
    ms, share = told["ns"] / 1e6, told["share"] or 0.0
    text = f"the tracers took {ms:,.1f} ms of the load's time, {share:.1%}, by their known prices"
    return [Doubt(code="parts_measured", text=text)]


INSTRUMENT = Instrument(
    NAME,
    _applies_to,
    InstrumentReading(_collect_figures, _make_doubts),
    InstrumentSteps(_make_steps),
    BroughtBack(command=f"cat {FOLDER}/records", room=_count_room),
    order=7,
)
