# SPDX-License-Identifier: GPL-2.0-or-later
"""How evenly the blocks of a partition were erased: pure functions of erases per block.

Blocks that are factory-bad cannot be erased, so they are no part of any of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat

from nandlab.analysis.memo import once
from nandlab.results.measures import EraseSpread, Wear, WearReading
from nandlab.results.record import Trial


@dataclass(frozen=True)
class Evenness:
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


def evenness(erases: Sequence[int]) -> Evenness | None:
    """Of the erases of each block; None: there is no block."""
    if not erases:
        return None
    return Evenness(
        erases=sum(erases),
        mean=statistics.fmean(erases),
        sd=statistics.pstdev(erases),
        max=max(erases),
        min=min(erases),
        never_share=sum(not n for n in erases) / len(erases),
        gini=gini(erases),
    )


def gini(erases: Sequence[int]) -> float | None:
    """The Gini coefficient: half the mean difference of two blocks, over the mean.

    By whole numbers up to the one division, so that equal blocks give 0 and not nearly 0.
    """
    total, n = sum(erases), len(erases)
    if not total:
        return None
    weighed = sum((2 * i - n - 1) * x for i, x in enumerate(sorted(erases), 1))
    return weighed / (n * total)


def sorted_curve(erases: Sequence[int]) -> list[tuple[float, int]]:
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


def unpacked(reading: WearReading) -> list[int]:
    """The erases of each block since the reading before."""
    runs = reading.runs
    return list(chain.from_iterable(repeat(runs[i + 1], runs[i]) for i in range(0, len(runs), 2)))


def packed(erases: Sequence[int]) -> list[int]:
    """Runs of equal numbers: how many blocks, erases of each, how many, ..."""
    found: list[int] = []
    for n in erases:
        if found and found[-1] == n:
            found[-2] += 1
        else:
            found += [1, n]
    return found


def summed(readings: Sequence[WearReading], blocks: int) -> list[int]:
    """The erases of each block over these readings."""
    found = [0] * blocks
    for reading in readings:
        found = [a + b for a, b in zip(found, unpacked(reading), strict=True)]
    return found


def placed(wear: Wear, erases: Sequence[int]) -> list[int]:
    """Erases of the good blocks at their places in the partition; a bad one has 0."""
    bad, left = set(wear.bad), iter(erases)
    return [0 if block in bad else next(left) for block in range(wear.blocks + len(bad))]


def all_erases(wear: Wear) -> list[int]:
    """Erases of each good block from the chip's loading to the last reading, format included."""
    return summed(wear.readings, wear.blocks)


def load_erases(wear: Wear) -> list[int]:
    """The same less the first formatting: since the load's first step."""
    return summed(wear.readings[wear.before :], wear.blocks)


def over_time(wear: Wear) -> list[tuple[int, Evenness]]:
    """At the end of each reading: the board's clock in ns, and the evenness since the load's
    first step, whose own reading is the first."""
    at = [[0] * wear.blocks] + [unpacked(r) for r in wear.readings[wear.before :]]
    sums = accumulate(at, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    clock = [r.t_ns for r in wear.readings[wear.before - 1 :]]
    found = ((t, evenness(s)) for t, s in zip(clock, sums, strict=True))
    return [(t, e) for t, e in found if e is not None]


@once
def of_load(trial: Trial) -> Evenness | None:
    """Since the load's first step; None: the trial was not measured."""
    return evenness(load_erases(trial.wear)) if trial.wear else None


@once
def of_all(trial: Trial) -> Evenness | None:
    """The first formatting included; None: the trial was not measured."""
    return evenness(all_erases(trial.wear)) if trial.wear else None


def spread_of_load(trial: Trial) -> EraseSpread | None:
    """:func:`of_load` as a workload tells its own; None: the trial was not measured."""
    found = of_load(trial)
    if found is None:
        return None
    return EraseSpread(mean=found.mean, stddev=found.sd, min=found.min, max=found.max)
