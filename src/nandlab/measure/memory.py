# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM that the file system's modules hold, by fsram: mounted, peak, end, after the unmount.

With the series also over the time of the load, by the function that allocated it, and what the
kernel can take back apart from what it cannot.
"""

from __future__ import annotations

from nandlab.board.job import JobRecord, Step, printable
from nandlab.measure.instrument import (
    NUMBER,
    Instrument,
    Moment,
    Unreadable,
    number,
    numbers,
)
from nandlab.plan.trialspec import MemorySeries, TrialSpec
from nandlab.results.measures import Doubt, Series

USAGE, FUNCTIONS, SERIES = (
    f"/sys/kernel/debug/fsram/{name}" for name in ("usage", "functions", "series")
)
END, BEGIN_SERIES = "memory-end", "memory-series"
HELD = {
    "mounted": ("memory-mounted", "bytes"),
    "peak": (END, "peak_bytes"),
    "end": (END, "bytes"),
    "unmounted": ("memory-unmounted", "bytes"),
    "slab": (END, "slab_bytes"),
    "kmalloc": (END, "kmalloc_bytes"),
    "vmalloc": (END, "vmalloc_bytes"),
}
"""Bytes that the modules held: the step that asked fsram, and its word for it."""
BYTES, RECLAIMABLE = "memory.bytes", "memory.reclaimable"
"""The series: what was held, and what of it the kernel could have taken back."""
NS_PER_MS = 1_000_000
FUNCTION_WORDS, SAMPLE_WORDS = 5, 3
"""How many words fsram's lines have: of a function, and of a sample."""


def _wanted(spec: TrialSpec) -> bool:
    asked = {"memory", "memory-series"} & set(spec.measure)
    return bool(asked) and bool(spec.filesystem.memory_of)


def _steps(spec: TrialSpec) -> dict[Moment, Step]:
    look = f"cat {USAGE}"
    commands: dict[Moment, tuple[str, str]] = {
        "loaded": ("memory-watch", _watch(spec)),
        "formatted": ("memory-begin", f"echo > {USAGE}"),
        "mounted": ("memory-mounted", look),
        "worked": (END, look),
        "unmounted": ("memory-unmounted", look),
    }
    if spec.memory_series:
        commands["ready"] = (BEGIN_SERIES, f"echo > {SERIES}")
        commands["worked"] = (END, f"cat {USAGE} {FUNCTIONS} {SERIES}")
    return {
        moment: Step(name, command, beside=True) for moment, (name, command) in commands.items()
    }


def _watch(spec: TrialSpec) -> str:
    """Loads fsram; fails if one of the modules is loaded already: its RAM would go unseen."""
    modules = spec.filesystem.memory_of
    loaded = f"grep -E '^({'|'.join(modules)}) ' /proc/modules >&2"
    words = [f"modules={','.join(modules)}", *_series_words(spec)]
    return f"! {loaded} && modprobe fsram {' '.join(words)}"


def _series_words(spec: TrialSpec) -> list[str]:
    """fsram's parameters for the series."""
    asked = spec.memory_series
    if asked is None:
        return []
    functions = spec.filesystem.memory_reclaimable
    named = [f"reclaimable={','.join(functions)}"] if functions else []
    room = [f"samples={asked.samples}", f"slots_log2={asked.slots_log2}"]
    return [f"interval_ms={asked.interval_ms}", *room, *named]


def _read(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    """The figures of HELD; with the series ``of.FUNCTION`` and ``peak_of.FUNCTION`` too.

    ``reclaimable`` is of the load's end, ``kept_peak`` the most of the rest since the mount.
    """
    found: dict[str, int | float] = {
        key: number(record, step, word) for key, (step, word) in HELD.items()
    }
    if spec.memory_series is None:
        return found
    for name, held, peak, *_ in _rows(record, FUNCTION_WORDS, names=1):
        found |= {f"of.{name}": int(held), f"peak_of.{name}": int(peak)}
    if spec.filesystem.memory_reclaimable is not None:
        found["reclaimable"] = number(record, END, "reclaimable_bytes")
        found["kept_peak"] = number(record, END, "peak_kept_bytes")
    return found


def _series(spec: TrialSpec, record: JobRecord) -> list[Series]:
    """RAM over the load; a time without a sample has the value of the sample before."""
    if spec.memory_series is None:
        return []
    rows = _whole(_samples(record), record[END].start_ns, spec.memory_series)
    names = [BYTES] if spec.filesystem.memory_reclaimable is None else [BYTES, RECLAIMABLE]
    times, *columns = (list(column) for column in zip(*rows, strict=True))
    return [
        Series(name=name, unit="bytes", t_ns=times, values=list(values))
        for name, values in zip(names, columns, strict=False)
    ]


Sample = tuple[int, int, int]
"""Time in ns of the board's clock, bytes, and what of them is reclaimable."""


def _samples(record: JobRecord) -> list[Sample]:
    """What fsram kept of the load: up to the beginning of the step that asks."""
    until = record[END].start_ns
    found = [(int(t), int(held), int(of)) for t, held, of in _rows(record, SAMPLE_WORDS)]
    kept = [sample for sample in found if sample[0] <= until]
    if not kept:
        raise Unreadable(f"step {END}: printed no sample of the load")
    return kept


def _whole(samples: list[Sample], until_ns: int, asked: MemorySeries) -> list[Sample]:
    """The samples with one at the load's last end of an interval, where nothing had changed."""
    last, *values = samples[-1]
    interval_ns = asked.interval_ms * NS_PER_MS
    end = last + (until_ns - last) // interval_ns * interval_ns
    return [*samples, (end, values[0], values[1])] if end > last else samples


def _rows(record: JobRecord, words: int, names: int = 0) -> list[list[str]]:
    """The lines of so many words that fsram printed: ``names`` words, then numbers."""
    rows = [line.split() for line in printable(record[END].stdout).splitlines()]
    return [
        row for row in rows if len(row) == words and all(NUMBER.fullmatch(w) for w in row[names:])
    ]


def _doubts(record: JobRecord) -> list[Doubt]:
    found = [Doubt(code="memory_measured", text="each allocation of the kernel was looked at")]
    lost = number(record, END, "lost")
    if lost:
        text = f"{lost} allocations found the table full"
        found.append(Doubt(code="memory_lost", text=text))
    told = numbers(record, END)
    if overwritten := told.get("samples_lost"):
        text = (
            f"the first {overwritten} of {told['samples']} samples were overwritten by later ones"
        )
        found.append(Doubt(code="memory_series_lost", text=text))
    return found


MEMORY = Instrument("memory", _wanted, _steps, _read, _doubts, _series)
