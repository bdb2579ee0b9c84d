# SPDX-License-Identifier: GPL-2.0-or-later
"""How evenly the blocks of a partition were erased: pure functions of erases per block.

Blocks that are factory-bad cannot be erased, so they are no part of any of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat

from nandlab.analysis.figures.deviations import compute_population_stddev
from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.results.record import Trial
from nandlab.results.recordparts import EraseSpread, Wear, WearReading

WEAR_SPREAD_FIGURES: dict[str, tuple[str, Callable[[EraseSpread], float]]] = {
    "spread": ("wear spread", lambda w: w.max - w.min),
    "mean": ("per block: mean", lambda w: w.mean),
    "stddev": ("per block: standard deviation", lambda w: w.stddev),
    "least": ("per block: least", lambda w: w.min),
    "most": ("per block: most", lambda w: w.max),
}
"""Of counts per block: a figure's title, and how it is read."""
EVENNESS_FIGURES = {
    "erases": ("erases", "count"),
    "mean": ("erases per block, mean", "count"),
    "sd": ("erases per block, standard deviation", "count"),
    "max": ("erases per block, most", "count"),
    "min": ("erases per block, least", "count"),
    "never_share": ("blocks never erased", "share"),
    "gini": ("Gini coefficient of erases", "ratio"),
}
"""Of the instrument: a figure's title and quantity."""
UBI_WEAR_FIGURES = {
    "moves": "blocks moved by UBI itself",
    "programs": "pages programmed for UBI's moves",
    "erases": "blocks erased for UBI's moves",
}
"""What UBI did to level wear."""


@dataclass(frozen=True)
class EraseEvenness:
    """The erases of blocks in a few numbers."""

    erases: int
    """Of all blocks together."""
    mean: float
    sd: float
    """Of the population: all blocks are known, so it is divided by n, not by n - 1."""
    max: int
    min: int
    never_share: float
    """Share of the blocks, 0..1, that were never erased."""
    gini: float | None
    """0: all blocks alike; 1 - 1/n: one block has all; None: nothing was erased, so nothing is
    known of evenness."""


def compute_erase_evenness(erases: Sequence[int]) -> EraseEvenness | None:
    """Of the erases of each block; None: there is no block."""
    if not erases:
        return None
    return EraseEvenness(
        erases=sum(erases),
        mean=statistics.fmean(erases),
        sd=compute_population_stddev(erases),
        max=max(erases),
        min=min(erases),
        never_share=sum(not n for n in erases) / len(erases),
        gini=compute_gini_coefficient(erases),
    )


def compute_gini_coefficient(erases: Sequence[int]) -> float | None:
    """The Gini coefficient: half the mean difference of two blocks, over the mean.

    By whole numbers up to the one division, so that equal blocks give 0 and not nearly 0.
    """
    total, n = sum(erases), len(erases)
    if not total:
        return None
    weighed = sum((2 * i - n - 1) * x for i, x in enumerate(sorted(erases), 1))
    return weighed / (n * total)


def make_sorted_erase_curve(erases: Sequence[int]) -> list[tuple[float, int]]:
    """Corners of the curve of erases over the share of blocks, the most erased first.

    ``(share, erases)``: the blocks up to this share have so many or more. Only places where the
    erases change are told, so an evenly worn partition has two points.
    """
    down = sorted(erases, reverse=True)
    n = len(down)
    found = [(0.0, down[0])] if down else []
    for i in range(1, n):
        if down[i] != down[i - 1]:
            found += [(i / n, down[i - 1]), (i / n, down[i])]
    return [*found, (1.0, down[-1])] if down else []


def unpack_erases_of_reading(reading: WearReading) -> list[int]:
    """The erases of each block since the reading before."""
    runs = reading.runs
    return list(chain.from_iterable(repeat(runs[i + 1], runs[i]) for i in range(0, len(runs), 2)))


def pack_erases_as_runs(erases: Sequence[int]) -> list[int]:
    """Runs of equal numbers: how many blocks, erases of each, how many, ..."""
    runs: list[int] = []
    for n in erases:
        if runs and runs[-1] == n:
            runs[-2] += 1
        else:
            runs += [1, n]
    return runs


def sum_erases_of_readings(readings: Sequence[WearReading], blocks: int) -> list[int]:
    """The erases of each block over these readings."""
    found = [0] * blocks
    for reading in readings:
        found = [a + b for a, b in zip(found, unpack_erases_of_reading(reading), strict=True)]
    return found


def insert_zeros_for_bad_blocks(wear: Wear, erases: Sequence[int]) -> list[int]:
    """Erases of the good blocks at their places in the partition; a bad one has 0."""
    bad, left = set(wear.bad), iter(erases)
    return [0 if block in bad else next(left) for block in range(wear.blocks + len(bad))]


def count_all_erases_per_block(wear: Wear) -> list[int]:
    """Erases of each good block from the chip's loading to the last reading, format included."""
    return sum_erases_of_readings(wear.readings, wear.blocks)


def count_load_erases_per_block(wear: Wear) -> list[int]:
    """The same less the first formatting: since the load's first step."""
    return sum_erases_of_readings(wear.readings[wear.before :], wear.blocks)


def list_erase_evenness_over_time(wear: Wear) -> list[tuple[int, EraseEvenness]]:
    """At the end of each reading: the board's clock in ns, and the evenness since the load's
    first step, whose own reading is the first."""
    at = [[0] * wear.blocks] + [unpack_erases_of_reading(r) for r in wear.readings[wear.before :]]
    sums = accumulate(at, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    clock = [r.t_ns for r in wear.readings[wear.before - 1 :]]
    found = ((t, compute_erase_evenness(s)) for t, s in zip(clock, sums, strict=True))
    return [(t, e) for t, e in found if e is not None]


@memoize_by_trial
def compute_load_erase_evenness(trial: Trial) -> EraseEvenness | None:
    """Since the load's first step; None: the trial was not measured."""
    return compute_erase_evenness(count_load_erases_per_block(trial.wear)) if trial.wear else None


@memoize_by_trial
def compute_all_erase_evenness(trial: Trial) -> EraseEvenness | None:
    """The first formatting included; None: the trial was not measured."""
    return compute_erase_evenness(count_all_erases_per_block(trial.wear)) if trial.wear else None


def compute_load_erase_spread(trial: Trial) -> EraseSpread | None:
    """:func:`compute_load_erase_evenness` as a workload tells its own; None: the trial was not
    measured."""
    found = compute_load_erase_evenness(trial)
    if found is None:
        return None
    return EraseSpread(mean=found.mean, stddev=found.sd, min=found.min, max=found.max)
