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
from nandlab.base.scratch import scratch
from nandlab.board.job import JobRecord, Step, StepRecord, printable
from nandlab.chip import simulated
from nandlab.measure import tracing
from nandlab.measure.instrument import Instrument, Moment, NotKnown, Unreadable
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.measures import Doubt, Phase
from nandlab.traced.setup import FOLDER, room, start_lines

if TYPE_CHECKING:
    from nandlab.traced.parts import Events
    from nandlab.traced.records import Names, Recording

NAME = "parts"
BEGIN, END = "parts-begin", "parts-end"
LOOKS = "simnand:counters_show"
"""The function that a program's reading of the chip's counters calls."""
FUNCTIONS = ("schedule", LOOKS)
COUNTERS = "--counters--\n"
"""What the chip's counters follow in the outputs of the two steps."""
LOOK_NS = 1_000_000
"""The most that a phase lacks of the time between the readings around it: what follows the one and
comes before the other, some 0.1 ms on apf27."""
WHOLE = "whole"
FOR_WHOM = (
    *("file_system_in_calls", "collector_in_calls", "collector_in_threads"),
    "other_threads",
)
"""Whose time is in MTD and in the chip; an application is in neither by itself."""
SYNCED = "sync-after-"


def _wanted(spec: TrialSpec) -> bool:
    return NAME in spec.measure


def _records(spec: TrialSpec) -> int:
    assert spec.parts is not None
    return spec.parts.records


def _steps(spec: TrialSpec) -> Mapping[Moment, Step]:
    # of a list, the file system may be mounted anew: its type selects it
    where = None if spec.workload.steps else MOUNTPOINT
    begin = start_lines(spec.filesystem, where, functions=FUNCTIONS, records=_records(spec))
    look = f"echo {COUNTERS.strip()}; cat {simulated.COUNTERS}"
    return {
        "ready": Step(BEGIN, "; ".join([*begin, look]), beside=True),
        "worked": tracing.end(END, look),
    }


def _room(spec: TrialSpec) -> int:
    return room(_records(spec))


def _recording(record: JobRecord) -> Recording:
    from nandlab.traced import records

    if record.cargo is None:
        raise NotKnown(_lost("the records did not come back: no unmount ends the trial"))
    try:
        return records.decode(record.cargo, "the trial's trace")
    except NandlabError as e:
        raise NotKnown(_lost(str(e))) from None


def _lost(text: str) -> Doubt:
    return Doubt(code="parts_lost", text=text)


def _read(spec: TrialSpec, record: JobRecord, phases: Sequence[Phase]) -> dict[str, int | float]:
    """Of the whole load and of each phase: parts in ns, and the chip's operations by who asked.

    Unreadable where parts do not add up to the time that passed, NotKnown where the trace is not
    whole.
    """
    from nandlab.traced import parts

    recording, names = _recording(record), tracing.names(record, END)
    _refuse_what_is_not_whole(spec, record, recording)
    events = _events(spec, recording, names)
    begin, end = record[BEGIN].end_ns, record[END].start_ns
    windows = [(WHOLE, begin, end)]
    looks = _looks(recording, names)
    _check_chip(record, events, looks)
    windows += [(f"phase.{p.name}", *w) for p in phases if (w := _window(record, p, looks))]
    windows = [w for w in windows if begin <= w[1] < w[2] <= end]
    found: dict[str, int | float] = {"records": len(recording.records)}
    found["cost_ns"] = _cost(spec, record)["ns"]
    for part in parts.of_windows(events, windows):
        _check(part)
        found |= {f"{part['name']}.{key}": n for key, n in _figures(part)}
    return found


def _refuse_what_is_not_whole(spec: TrialSpec, record: JobRecord, recording: Recording) -> None:
    if recording.lost:
        raise NotKnown(
            _lost(
                f"{recording.lost} of {recording.written} records were overwritten: room was for "
                f"{_records(spec)}; raise records of parts (the board apf27-trace has RAM for "
                "1048576, apf27-trace-8m for 8388608), or make the load smaller"
            )
        )
    if recording.missed:
        raise NotKnown(_lost(f"{recording.missed} events were seen by no probe"))
    symbols: Mapping[str, Sequence[str]] = spec.filesystem.symbols  # type: ignore[assignment]
    listed = symbols.get("garbage_collection", [])
    probed = {
        w[2] for w in map(str.split, tracing.status(record, END).splitlines()) if w[:2] == PROBED
    }
    if listed and not probed & set(listed):
        text = f"the kernel has none of {', '.join(listed)}, so no collector is seen"
        raise NotKnown(_lost(text))


PROBED = ["probe", "FUNC"]


def _events(spec: TrialSpec, recording: Recording, names: Names) -> Events:
    """The trace's events by way of its table, which is what ``nandlab trace parts`` reads too."""
    from nandlab.traced import parts

    symbols: Mapping[str, Sequence[str]] = spec.filesystem.symbols  # type: ignore[assignment]
    with scratch() as folder:
        table = folder / "events.parquet"
        tracing.table(recording, names, spec.filesystem, table)
        try:
            return parts.read(table, symbols, names.kernel_threads())
        except parts.NotOne as e:
            raise NotKnown(_lost(str(e))) from None


Window = tuple[int, int]
"""Beginning and end, ns of the board's clock."""


def _looks(recording: Recording, names: Names) -> list[Window]:
    """When the chip's counters were read, in order."""
    from nandlab.traced.records import Type

    numbers = [n for n, name in names.functions.items() if name == LOOKS]
    calls = recording.of(Type.FUNC)
    begins = [(int(c["start_ns"]), int(c["latency_ns"])) for c in calls if c["object"] in numbers]
    return sorted((start, start + ns) for start, ns in begins)


def _window(record: JobRecord, phase: Phase, looks: list[Window]) -> Window | None:
    """When a phase was: a step's, or between readings of the counters; None: not known."""
    step = record.get(phase.name)
    if step is not None:
        last = record.get(f"{SYNCED}{phase.name}") or step
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


def _check(part: Mapping[str, Any]) -> None:
    together = sum(part["parts_ns"].values())
    if together != part["elapsed_ns"]:
        raise Unreadable(
            f"parts: those of {part['name']} add up to {together} ns, and {part['elapsed_ns']} ns "
            "passed"
        )


def _figures(part: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield "elapsed_ns", part["elapsed_ns"]
    for name, ns in part["parts_ns"].items():
        yield f"{name}_ns", ns
    for who in FOR_WHOM:
        for where in ("mtd", "chip"):
            yield f"{who}.{where}_ns", part["for_ns"][who][where]
    for who, counts in part["operations"].items():
        for what, count in counts.items():
            yield f"{who}.{what}", count


def _check_chip(record: JobRecord, events: Events, looks: list[Window]) -> None:
    """NotKnown unless the tracers saw the pages programmed and blocks erased that the chip counted.

    Between the first and the last reading of the counters, which are this instrument's. What the
    chip was at during a reading may be in it or not.
    """
    from nandlab.traced.parts import OPERATIONS

    did = simulated.between(_told(record[BEGIN]), _told(record[END]))
    if did is None or not looks:
        raise NotKnown(_lost("the chip's counters were not read at both ends of the load"))
    of, first, last = events.intervals, looks[0], looks[-1]
    for kind, name in OPERATIONS.items():
        if name == "reads":  # the chip answers some of its register, and counts these apart
            continue
        own = (events.type == kind) & ~events.spare
        most = int((own & (of.end_ns >= first[0]) & (of.start_ns <= last[1])).sum())
        least = int((own & (of.start_ns > first[1]) & (of.end_ns < last[0])).sum())
        if not least <= did[name] <= most:
            seen = f"{least} to {most}" if least < most else f"{most}"
            raise NotKnown(_lost(f"{name}: {seen} in the trace, {did[name]} by the chip's count"))


def _told(step: StepRecord) -> str:
    """The chip's counters that a step printed."""
    return printable(step.stdout).partition(COUNTERS)[2].partition(tracing.STATUS)[0]


def _cost(spec: TrialSpec, record: JobRecord) -> dict[str, Any]:
    """What the tracers cost, by the prices of the catalog."""
    import numpy as np

    from nandlab.traced import cost
    from nandlab.traced.records import Type

    types = _recording(record).records["type"]
    counts = np.bincount(types, minlength=256)
    rows = [{"event": t.name, "count": int(counts[t.value])} for t in Type if counts[t.value]]
    span = record[END].start_ns - record[BEGIN].end_ns
    probes = cost.probe_kinds(tracing.status(record, END))
    return cost.of(rows, probes, tracing.board(spec, record, END), span)


def _doubts(spec: TrialSpec, record: JobRecord) -> list[Doubt]:
    try:
        told = _cost(spec, record)
    except NotKnown:
        return [Doubt(code="parts_measured", text="the tracers ran in the load")]
    ms, share = told["ns"] / 1e6, told["share"] or 0.0
    text = f"the tracers took {ms:,.1f} ms of the load's time, {share:.1%}, by their known prices"
    return [Doubt(code="parts_measured", text=text)]


PARTS = Instrument(
    NAME,
    _wanted,
    _steps,
    lambda spec, record: {},
    doubts_of=_doubts,
    read_with=_read,
    brings=f"cat {FOLDER}/records",
    room=_room,
)
