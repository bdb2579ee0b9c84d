# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM over the time of the load: median and range of an ensemble at moments of a grid.

A series is a step function: between two samples it has the value of the earlier one. The members'
series are laid over each other at their beginnings. They are compared for as long as all of them go
on: a median over fewer members would jump where one ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.results.record import Trial

BYTES_SERIES, RECLAIMABLE_SERIES = "memory.bytes", "memory.reclaimable"
MOMENTS_MAX = 240
"""How many moments a curve has at the most."""


@dataclass(frozen=True)
class MemorySeries:
    """A series of one trial, from its first sample on."""

    t_ns: Sequence[int]
    """Since the first sample."""
    values: Sequence[float]

    def find_value(self, t_ns: float) -> float:
        """The value at a time that is not before the first sample."""
        return self.values[bisect_right(self.t_ns, t_ns) - 1]


@dataclass(frozen=True)
class MemoryMoment:
    """An ensemble at a time since the load began."""

    t_ns: float
    spread: Spread


def make_filesystem_memory_series(trial: Trial) -> MemorySeries | None:
    """All bytes that were held; None: no series of it was measured."""
    found = trial.line(BYTES_SERIES)
    if found is None or not found.t_ns:
        return None
    return MemorySeries([t - found.t_ns[0] for t in found.t_ns], found.values)


def make_unreclaimable_filesystem_memory_series(trial: Trial) -> MemorySeries | None:
    """Of these, the bytes that the kernel could not have taken back; None: not known."""
    all_of_it, given = make_filesystem_memory_series(trial), trial.line(RECLAIMABLE_SERIES)
    if all_of_it is None or given is None:
        return None
    pairs = zip(all_of_it.values, given.values, strict=True)
    return MemorySeries(all_of_it.t_ns, [a - b for a, b in pairs])


def make_memory_curve_of_trials(
    trials: Sequence[Trial], read: Callable[[Trial], MemorySeries | None]
) -> list[MemoryMoment]:
    """The curve of the trials that have the series; empty: none has."""
    lines = [line for t in trials if (line := read(t)) is not None]
    if not lines:
        return []
    end = min(line.t_ns[-1] for line in lines)
    steps = MOMENTS_MAX - 1 if end else 0
    moments = []
    for i in range(steps + 1):
        t = end * i / steps if steps else 0.0
        over = compute_spread(line.find_value(t) for line in lines)
        assert over is not None
        moments.append(MemoryMoment(t, over))
    return moments


def list_largest_allocating_functions(
    trials: Sequence[Trial], most: int
) -> list[tuple[str, float]]:
    """The functions whose allocations held most at a time, with their peaks in bytes.

    The peak is the greatest of any trial's.
    """
    prefix = "peak_of."
    peaks: dict[str, float] = {}
    for trial in trials:
        for key, value in trial.measured.get("memory", {}).items():
            if key.startswith(prefix):
                name = key.removeprefix(prefix)
                peaks[name] = max(peaks.get(name, 0), value)
    return sorted(peaks.items(), key=lambda of: (-of[1], of[0]))[:most]
