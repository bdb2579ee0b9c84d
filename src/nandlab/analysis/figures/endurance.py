# SPDX-License-Identifier: GPL-2.0-or-later
"""How many erases a chip stands until so many of its blocks are dead.

A block b was erased w_b times by a load, and m is the mean of all. What the load's next erases
strike is one of three *courses*; when it has gone on x times as long, b was meant to be erased

    even     m x                       times: the blocks take turns, and nothing can be more even
    chance   m x + (w_b - m) sqrt(x)   times: which is next is chance, and unevenness grows so
    kept     w_b x                     times: a block goes on as it did, and the worst stays so

A block stands E_b erases, evenly spread from a least to a most, and nothing tells which block has
which E_b. So it is dead by then with the chance P(E_b < what it was meant to be erased); the sum of
the chances is how many are dead. It took the mean of min(E_b, what it was meant to be); the sum of
these is how often the chip was erased, for what a dead block does not take others do. Both only
grow with x, so the erases until n are dead are the second sum at the x at which the first is n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

WearCourse = Literal["even", "chance", "kept"]
ERASES_BY_COURSE: dict[WearCourse, Callable[[float, float, float], float]] = {
    "even": lambda worn, mean, x: mean * x,
    "chance": lambda worn, mean, x: mean * x + (worn - mean) * math.sqrt(x),
    "kept": lambda worn, mean, x: worn * x,
}
Z_95 = 2.0
"""Standard errors from the middle to each end of an interval: 95 % where errors are normal."""
SEARCH_STEPS = 60
"""Halvings of a search: more than a number has digits for."""


@dataclass(frozen=True)
class BlockEndurance:
    """Erases that a block stands: evenly spread from the least to the most."""

    least: float
    most: float

    @property
    def error(self) -> float:
        """Standard deviation of one block's endurance, as a share of the mean."""
        return (self.most - self.least) / math.sqrt(12) / ((self.most + self.least) / 2)

    def compute_death_chance(self, erases: float) -> float:
        """The chance that a block which was to be erased so often is dead."""
        if self.most == self.least:
            return float(erases >= self.most)
        return min(1.0, max(0.0, (erases - self.least) / (self.most - self.least)))

    def compute_endured_erases(self, erases: float) -> float:
        """How many of the erases a block stands: the mean of min(E, erases)."""
        if erases <= self.least:
            return erases
        top = min(erases, self.most)
        dead = self.compute_death_chance(top)
        return (1 - dead) * top + dead * (self.least + top) / 2


@dataclass(frozen=True)
class BlockWear:
    """What the blocks had been erased by some moment of a load."""

    load: Sequence[float]
    """For each block, by the load."""
    before: float
    """For each block, before the load: when the file system was made."""

    def exclude_static_blocks(self, static: int) -> BlockWear:
        """Without so many of the blocks that were erased least: data that stays lies in them.

        Only those that the load did not erase once are left out.
        """
        order = sorted(self.load)
        idle = min(static, sum(w < 1 for w in order), len(order) - 1)
        return BlockWear(order[idle:], self.before)

    def count_erases_until_dead(
        self, dead: float, course: WearCourse, endurance: BlockEndurance
    ) -> float:
        """Erases by the load until so many blocks are dead.

        Where the blocks that it strikes at all are fewer, until these are dead.
        """
        mean = sum(self.load) / len(self.load)
        law = ERASES_BY_COURSE[course]

        def at(x: float) -> list[float]:
            return [self.before + law(w, mean, x) for w in self.load]

        few, many = 0.0, 2 * endurance.most / min(w for w in (mean, *self.load) if w > 0)
        for _ in range(SEARCH_STEPS):
            middle = (few + many) / 2
            if sum(map(endurance.compute_death_chance, at(middle))) < dead:
                few = middle
            else:
                many = middle
        return sum(endurance.compute_endured_erases(e) - self.before for e in at(many))


def compute_wilson_interval_of_deaths(dead: int, blocks: int) -> tuple[float, float]:
    """Deaths expected where so many of the blocks died: Wilson's interval."""
    share, z2 = dead / blocks, Z_95 * Z_95
    middle = share + z2 / (2 * blocks)
    half = Z_95 * math.sqrt(share * (1 - share) / blocks + z2 / (4 * blocks * blocks))
    scale = blocks / (1 + z2 / blocks)
    return (middle - half) * scale, (middle + half) * scale
