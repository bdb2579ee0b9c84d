# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM that the file system's modules hold, by fsram: mounted, peak, end, after the unmount."""

from __future__ import annotations

from nandlab.board.job import JobRecord, Step
from nandlab.measure.instrument import Instrument, Moment, number
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Doubt

USAGE = "/sys/kernel/debug/fsram/usage"
HELD = {
    "mounted": ("memory-mounted", "bytes"),
    "peak": ("memory-end", "peak_bytes"),
    "end": ("memory-end", "bytes"),
    "unmounted": ("memory-unmounted", "bytes"),
    "slab": ("memory-end", "slab_bytes"),
    "kmalloc": ("memory-end", "kmalloc_bytes"),
    "vmalloc": ("memory-end", "vmalloc_bytes"),
}
"""Bytes that the modules held: the step that asked fsram, and its word for it."""


def _wanted(spec: TrialSpec) -> bool:
    return "memory" in spec.measure and bool(spec.filesystem.memory_of)


def _steps(spec: TrialSpec) -> dict[Moment, Step]:
    look = f"cat {USAGE}"
    commands: dict[Moment, tuple[str, str]] = {
        "loaded": ("watch", _watch(spec.filesystem.memory_of)),
        "formatted": ("begin", f"echo > {USAGE}"),
        "mounted": ("mounted", look),
        "worked": ("end", look),
        "unmounted": ("unmounted", look),
    }
    return {
        moment: Step(f"memory-{name}", command, beside=True)
        for moment, (name, command) in commands.items()
    }


def _watch(modules: list[str]) -> str:
    """Loads fsram; fails if one of the modules is loaded already: its RAM would go unseen."""
    loaded = f"grep -E '^({'|'.join(modules)}) ' /proc/modules >&2"
    return f"! {loaded} && modprobe fsram modules={','.join(modules)}"


def _read(spec: TrialSpec, record: JobRecord) -> dict[str, int | float]:
    return {key: number(record, step, word) for key, (step, word) in HELD.items()}


def _doubts(record: JobRecord) -> list[Doubt]:
    found = [Doubt(code="memory_measured", text="each allocation of the kernel was looked at")]
    lost = number(record, "memory-end", "lost")
    if lost:
        text = f"{lost} allocations found the table full"
        found.append(Doubt(code="memory_lost", text=text))
    return found


MEMORY = Instrument("memory", _wanted, _steps, _read, _doubts)
