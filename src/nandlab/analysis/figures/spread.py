# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the trials of one configuration lie apart, and what that allows to be said.

A board that repeats to the nanosecond is still not robust: a figure is an ensemble of seeds and
phase offsets, and two configurations are told apart only when their ranges do not touch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from nandlab.analysis.figures.deviations import compute_sample_stddev

MEAN_MEMBERS_MIN = 5
"""Mean and standard deviation need this many trials; with fewer, they mislead."""


@dataclass(frozen=True)
class Spread:
    """The spread of one figure over an ensemble, in the figure's own unit."""

    n: int
    min: float
    median: float
    max: float
    mean: float | None = None
    stddev: float | None = None
    """Of the sample (n - 1); null below :data:`MEAN_MEMBERS_MIN` trials, as is the mean."""
    has_lower_bounds: bool = False
    """Whether some values are lower bounds, so that the range has no upper end."""
    is_median_lower_bound: bool = False
    """Whether the median is only a lower bound, since one of those values is at or below it."""

    @property
    def top(self) -> float:
        """The upper end of the range; infinite where it has none."""
        return math.inf if self.has_lower_bounds else self.max

    def overlaps(self, other: Spread) -> bool:
        """Whether the two ranges min..top share a point."""
        return self.min <= other.top and other.min <= self.top

    def is_distinct_from(self, other: Spread) -> bool:
        """Both are ensembles (n >= 2) and their ranges do not touch."""
        return self.n > 1 and other.n > 1 and not self.overlaps(other)

    def text(self, form: Callable[[float], str]) -> str:
        """``1.23 s (1.20 s to 1.30 s, n = 5)``; the range is left out for a single trial."""
        if self.n == 1:
            return f"{self.middle(form)} (n = 1)"
        return f"{self.middle(form)} ({self.extent(form)}, n = {self.n})"

    def brief(self, form: Callable[[float], str]) -> str:
        """The same without n, for tables that have it in a column of its own."""
        if self.n == 1:
            return self.middle(form)
        return f"{self.middle(form)} ({self.extent(form)})"

    @property
    def marks(self) -> tuple[float, float, float]:
        """Least, median, greatest."""
        return self.min, self.median, self.max

    def middle(self, form: Callable[[float], str]) -> str:
        """The median in words."""
        return f"at least {form(self.median)}" if self.is_median_lower_bound else form(self.median)

    def extent(self, form: Callable[[float], str]) -> str:
        """From the least to the greatest, in words."""
        low, high = form(self.min), form(self.max)
        extent = f"each {low}" if low == high else f"{low} to {high}"
        return f"{extent} or more" if self.has_lower_bounds else extent


def compute_spread(values: Iterable[float | None]) -> Spread | None:
    """Spread of the values that are there; None when there is none."""
    measured = [v for v in values if v is not None]
    if not measured:
        return None
    enough = len(measured) >= MEAN_MEMBERS_MIN
    return Spread(
        n=len(measured),
        min=min(measured),
        median=statistics.median(measured),
        max=max(measured),
        mean=statistics.fmean(measured) if enough else None,
        stddev=compute_sample_stddev(measured) if enough else None,
    )


def compute_spread_with_lower_bounds(values: Iterable[tuple[float | None, bool]]) -> Spread | None:
    """Spread of values of which some (True) are lower bounds: they would have grown on."""
    pairs = [(v, is_bound) for v, is_bound in values if v is not None]
    spread = compute_spread(v for v, _ in pairs)
    if spread is None or not any(is_bound for _, is_bound in pairs):
        return spread
    bounded_median = statistics.median(math.inf if is_bound else v for v, is_bound in pairs)
    return replace(
        spread,
        mean=None,
        stddev=None,
        has_lower_bounds=True,
        is_median_lower_bound=bool(bounded_median != spread.median),
    )


def divide_spreads(over: Spread | None, under: Spread | None) -> Spread | None:
    """over / under: quotient of the medians, and the widest range that the two ranges allow.

    min = over.min / under.max, max = over.max / under.min; n is the smaller of the two. None when
    a side is missing or the lower side reaches 0.
    """
    if over is None or under is None or under.min <= 0:
        return None
    return Spread(
        n=min(over.n, under.n),
        min=over.min / under.max,
        median=over.median / under.median,
        max=over.max / under.min,
    )
