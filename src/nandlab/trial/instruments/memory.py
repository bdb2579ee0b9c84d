# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM that the file system's modules hold, by fsram: mounted, peak, end, after the unmount.

With the series also over the time of the load, by the function that allocated it, and what the
kernel can take back apart from what it cannot.
"""

from __future__ import annotations

from nandlab.board.jobs.job import JobRecord, Step, escape_output
from nandlab.plan.trialspec import MemorySeries, TrialSpec
from nandlab.results.recordparts import Doubt, Series
from nandlab.trial.instruments.instrument import (
    NUMBER_PATTERN,
    Instrument,
    InstrumentReading,
    InstrumentSteps,
    Moment,
    UnreadableOutput,
    parse_step_number,
    parse_step_numbers,
)

USAGE_FILE, FUNCTIONS, SERIES = (
    f"/sys/kernel/debug/fsram/{name}" for name in ("usage", "functions", "series")
)
END_STEP, BEGIN_SERIES = "memory-end", "memory-series"
HELD_BYTES = {
    "mounted": ("memory-mounted", "bytes"),
    "peak": (END_STEP, "peak_bytes"),
    "end": (END_STEP, "bytes"),
    "unmounted": ("memory-unmounted", "bytes"),
    "slab": (END_STEP, "slab_bytes"),
    "kmalloc": (END_STEP, "kmalloc_bytes"),
    "vmalloc": (END_STEP, "vmalloc_bytes"),
}
"""Bytes that the modules held: the step that asked fsram, and its word for it."""
BYTES, RECLAIMABLE = "memory.bytes", "memory.reclaimable"
"""The series: what was held, and what of it the kernel could have taken back."""
NS_PER_MS = 1_000_000
FUNCTION_WORDS, SAMPLE_WORDS = 5, 3
"""How many words fsram's lines have: of a function, and of a sample."""


def _applies_to(spec: TrialSpec) -> bool:
    asked = {"memory", "memory-series"} & set(spec.measure)
    return bool(asked) and bool(spec.filesystem.memory_of)


def _make_steps(spec: TrialSpec) -> dict[Moment, Step]:
    look = f"cat {USAGE_FILE}"
    commands: dict[Moment, tuple[str, str]] = {
        "loaded": ("memory-watch", _make_watch_command(spec)),
        "formatted": ("memory-begin", f"echo > {USAGE_FILE}"),
        "mounted": ("memory-mounted", look),
        "worked": (END_STEP, look),
        "unmounted": ("memory-unmounted", look),
    }
    if spec.memory_series:
        commands["ready"] = (BEGIN_SERIES, f"echo > {SERIES}")
        commands["worked"] = (END_STEP, f"cat {USAGE_FILE} {FUNCTIONS} {SERIES}")
    return {
        moment: Step(name, command, beside=True) for moment, (name, command) in commands.items()
    }


def _make_watch_command(spec: TrialSpec) -> str:
    """Loads fsram; fails if one of the modules is loaded already: its RAM would go unseen."""
    modules = spec.filesystem.memory_of
    loaded = f"grep -E '^({'|'.join(modules)}) ' /proc/modules >&2"
    words = [f"modules={','.join(modules)}", *_make_series_words(spec)]
    return f"! {loaded} && modprobe fsram {' '.join(words)}"


def _make_series_words(spec: TrialSpec) -> list[str]:
    """fsram's parameters for the series."""
    series = spec.memory_series
    if series is None:
        return []
    functions = spec.filesystem.memory_reclaimable
    reclaimable_words = [f"reclaimable={','.join(functions)}"] if functions else []
    room = [f"samples={series.samples}", f"slots_log2={series.slots_log2}"]
    return [f"interval_ms={series.interval_ms}", *room, *reclaimable_words]


def _collect_figures(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """The figures of HELD; with the series ``of.FUNCTION`` and ``peak_of.FUNCTION`` too.

    ``reclaimable`` is of the load's end, ``kept_peak`` the most of the rest since the mount.
    """
    figures: dict[str, int | float] = {
        key: parse_step_number(record, step, word) for key, (step, word) in HELD_BYTES.items()
    }
    if spec.memory_series is None:
        return figures
    for name, held, peak, *_ in _parse_rows(record, FUNCTION_WORDS, names=1):
        figures |= {f"of.{name}": int(held), f"peak_of.{name}": int(peak)}
    if spec.filesystem.memory_reclaimable is not None:
        figures["reclaimable"] = parse_step_number(record, END_STEP, "reclaimable_bytes")
        figures["kept_peak"] = parse_step_number(record, END_STEP, "peak_kept_bytes")
    return figures


def _collect_series(spec: TrialSpec, record: JobRecord) -> list[Series]:
    """RAM over the load; a time without a sample has the value of the sample before."""
    if spec.memory_series is None:
        return []
    rows = _complete_samples(_parse_samples(record), record[END_STEP].start_ns, spec.memory_series)
    names = [BYTES] if spec.filesystem.memory_reclaimable is None else [BYTES, RECLAIMABLE]
    times, *columns = (list(column) for column in zip(*rows, strict=True))
    return [
        Series(name=name, unit="bytes", t_ns=times, values=list(values))
        for name, values in zip(names, columns, strict=False)
    ]


MemorySample = tuple[int, int, int]
"""Time in ns of the board's clock, bytes, and what of them is reclaimable."""


def _parse_samples(record: JobRecord) -> list[MemorySample]:
    """What fsram kept of the load: up to the beginning of the step that asks."""
    until = record[END_STEP].start_ns
    found = [(int(t), int(held), int(of)) for t, held, of in _parse_rows(record, SAMPLE_WORDS)]
    kept = [sample for sample in found if sample[0] <= until]
    if not kept:
        raise UnreadableOutput(f"step {END_STEP}: printed no sample of the load")
    return kept


def _complete_samples(
    samples: list[MemorySample], until_ns: int, series: MemorySeries
) -> list[MemorySample]:
    """The samples with one at the load's last end of an interval, where nothing had changed."""
    last, *values = samples[-1]
    interval_ns = series.interval_ms * NS_PER_MS
    end = last + (until_ns - last) // interval_ns * interval_ns
    return [*samples, (end, values[0], values[1])] if end > last else samples


def _parse_rows(record: JobRecord, words: int, names: int = 0) -> list[list[str]]:
    """The lines of so many words that fsram printed: ``names`` words, then numbers."""
    rows = [line.split() for line in escape_output(record[END_STEP].stdout).splitlines()]
    return [
        row
        for row in rows
        if len(row) == words and all(NUMBER_PATTERN.fullmatch(w) for w in row[names:])
    ]


def _make_doubts(record: JobRecord) -> list[Doubt]:
    doubts = [Doubt(code="memory_measured", text="each allocation of the kernel was looked at")]
    lost = parse_step_number(record, END_STEP, "lost")
    if lost:
        text = f"{lost} allocations found the table full"
        doubts.append(Doubt(code="memory_lost", text=text))
    told = parse_step_numbers(record, END_STEP)
    if overwritten := told.get("samples_lost"):
        text = (
            f"the first {overwritten} of {told['samples']} samples were overwritten by later ones"
        )
        doubts.append(Doubt(code="memory_series_lost", text=text))
    return doubts


INSTRUMENT = Instrument(
    "memory",
    _applies_to,
    InstrumentReading(
        lambda spec, record, phases: _collect_figures(spec, record),
        lambda spec, record: _make_doubts(record),
        _collect_series,
    ),
    InstrumentSteps(_make_steps),
    order=1,
)
