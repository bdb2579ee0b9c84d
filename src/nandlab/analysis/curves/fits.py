# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines through configurations that differ in one thing: least squares, and where two lines cross.

What a figure is *along* something is told by the least-squares line y = intercept + slope x, by
R² (the share of y's variance that the line explains) and by the change: what the line rises
from the least x to the greatest, as a share of the mean of y. A line needs three places of x: any
two points lie on one. No line is laid through medians: each member has its own.

R² is a weak judge where x doubles from place to place, as numbers of files do. Over 62, 124, ...
1984 a figure that grows as x log x has R² = 0.998, as x^1.25 0.994, as x^1.5 0.979, as x²
0.940: so 0.99 tells a line from what grows as x^1.5, and not from x log x.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from nandlab.analysis.curves import curveplaces
from nandlab.analysis.curves.curves import is_attribute_name
from nandlab.analysis.figures import figures
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.figures.workloadwords import Words
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.catalog.claimbounds import LINEAR_DOUBT
from nandlab.results.record import Trial

if TYPE_CHECKING:
    from nandlab.catalog.paper import FigureTrend

LEAST_PLACES = 3
"""A line through fewer places of x says nothing."""
ValueByPlace = dict[float, float]
"""By x, the figure there."""
MemberKey = tuple[int, float]
"""Seed and phase offset."""


@dataclass(frozen=True)
class LineFit:
    """A least-squares line."""

    slope: float
    """The figure's unit for one more of x."""
    intercept: float
    r2: float
    """0 where the figure is the same everywhere: then there is nothing that a line explains."""
    change: float
    """Of the line from the least x to the greatest, as a share of the mean; below 0 it falls."""

    def compute_y(self, x: float) -> float:
        """The line's value."""
        return self.intercept + self.slope * x

    def format_equation(self, form: units.Form) -> str:
        """``12.3 ms + 0.51 ms each``, without the crumbs of floating point."""
        slope = float(f"{self.slope:.9g}")
        from_0 = float(f"{self.intercept:.9g}") if abs(self.intercept) > 1e-9 * abs(slope) else 0.0
        return f"{form(from_0)} {'-' if slope < 0 else '+'} {form(abs(slope))} each"


def fit_line(points: Iterable[tuple[float, float]]) -> LineFit | None:
    """The line through these; None where they have less than :data:`LEAST_PLACES` places."""
    pairs = list(points)
    if len({x for x, _ in pairs}) < LEAST_PLACES:
        return None
    xs, ys = zip(*pairs, strict=True)
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    across = sum((a - x) ** 2 for a in xs)
    up = sum((b - y) ** 2 for b in ys)
    slope = sum((a - x) * (b - y) for a, b in pairs) / across
    change = slope * (max(xs) - min(xs)) / y if y else 0.0
    return LineFit(slope, y - slope * x, slope**2 * across / up if up else 0.0, change)


def find_crossover_x(line: ValueByPlace, base_line: ValueByPlace) -> float | None:
    """The x from which on a line is below the base line at every place that both have.

    Between places both are straight. 0: it is below at all places; infinite: not at the last one.
    None where both have less than two places together.
    """
    gaps = [(x, line[x] - base_line[x]) for x in sorted(line.keys() & base_line.keys())]
    if len(gaps) < 2:
        return None
    if gaps[-1][1] >= 0:
        return math.inf
    for (before, above), (after, below) in reversed(list(pairwise(gaps))):
        if above >= 0:
            return before + (after - before) * above / (above - below)
    return 0.0


def collect_points_by_member(
    by: str, trials: Iterable[Trial], figure: Figure, of: Words
) -> dict[MemberKey, ValueByPlace]:
    """Each member's points; UsageError where two of its trials are at one place."""
    at = _make_place_reader(by, of)
    members: dict[MemberKey, dict[float, Trial]] = {}
    for trial in trials:
        x, y = at(trial), figure(trial)
        if x is None or y is None:
            continue
        member_points = members.setdefault(trial.member, {})
        if x in member_points:
            both = f"{member_points[x].id} and {trial.id}"
            raise UsageError(f"along {by}: {both} are both at {x:g}: name in what they differ")
        member_points[x] = trial
    return {
        member: {x: y for x, t in member_points.items() if (y := figure(t)) is not None}
        for member, member_points in members.items()
    }


def find_trials_at_greatest_x(
    by: str, trials: Sequence[Trial], of: Words
) -> tuple[float, list[Trial]] | None:
    """The greatest place, and the trials there; None: no trial has a place."""
    at = _make_place_reader(by, of)
    places = [(x, t) for t in trials if (x := at(t)) is not None]
    if not places:
        return None
    greatest = max(x for x, _ in places)
    return greatest, [t for x, t in places if x == greatest]


def format_x_axis_title(by: str, of: Words) -> str:
    """In words: what the configurations differ in."""
    if is_attribute_name(by):
        return by.rpartition(".")[2].replace("_", " ")
    return figures.find_workload_figure(by, of).title


def _make_place_reader(by: str, of: Words) -> Callable[[Trial], float | None]:
    """How the place of a trial is read."""
    if not is_attribute_name(by):
        return figures.find_workload_figure(by, of)

    def read(trial: Trial) -> float | None:
        told = curveplaces.parse_number_or_word(curveplaces.CurvePlace(trial).identity.get(by, ""))
        return told if isinstance(told, float) else None

    return read


def compute_member_trend_number(
    along: FigureTrend, line: ValueByPlace, base_line: ValueByPlace | None
) -> float | None:
    """A member's number of a part along something."""
    if along.says == "falls below":
        return find_crossover_x(line, base_line or {})
    fit = fit_line(line.items())
    if fit is None:
        return None
    return fit.r2 if along.says == "linear" else fit.change


def compute_trend_numbers_spread(
    along: FigureTrend, of: Mapping[MemberKey, ValueByPlace], over: Mapping[MemberKey, ValueByPlace]
) -> Spread | None:
    """The spread of the members' numbers; places that were not met have no mean."""
    sides = ((points, over.get(member)) for member, points in of.items())
    values = [v for a, b in sides if (v := compute_member_trend_number(along, a, b)) is not None]
    if values and not all(map(math.isfinite, values)):
        return Spread(len(values), min(values), statistics.median(values), max(values))
    return compute_spread(values)


def choose_trend_number_formatter(along: FigureTrend, figure: Figure | None) -> units.Form:
    """How the number is written; figure: that of the places."""
    if along.says == "linear":
        return format_r2
    if along.says != "falls below":
        return lambda v: f"{v * 100:+.1f} %"
    at = figure.form if figure else units.format_count
    ends = {0.0: "below at all places", math.inf: "below at no last place"}
    return lambda v: ends.get(v) or at(v)


def judge_trend_claim(
    along: FigureTrend, within: float, ours: Spread
) -> Literal["right", "wrong", "both"]:
    """Whether all members go the way that is said, or none does.

    Between the bound of R² and its doubt nothing is decided: papers say "seems linear".
    """
    low, high = ours.min, ours.max
    if along.says == "linear":
        right, wrong = low >= 1 - within, high < 1 - max(within, LINEAR_DOUBT)
    elif along.says == "grows":
        right, wrong = low > within, high <= within
    elif along.says == "does not depend":
        right, wrong = -within <= low and high <= within, low > within or high < -within
    else:
        right, wrong = low > 0 and high < math.inf, high == 0 or low == math.inf
    return "right" if right else "wrong" if wrong else "both"


def format_median_slope_line(of: Mapping[MemberKey, ValueByPlace], form: units.Form) -> str:
    """The line of the member whose slope is the middle one; empty: there is none."""
    fits = [f for points in of.values() if (f := fit_line(points.items())) is not None]
    if not fits:
        return ""
    return find_median_slope_fit(sorted(fits, key=lambda f: f.slope)).format_equation(form)


def find_median_slope_fit(fits: Sequence[LineFit]) -> LineFit:
    """Of lines by their slopes that of the middle; of an even number the flatter one."""
    return fits[(len(fits) - 1) // 2]


def format_r2_range_of_fits(fits: Sequence[LineFit]) -> str:
    """``R² 0.9991 (0.9989 to 0.9993)``."""
    found = compute_spread(f.r2 for f in fits)
    return "" if found is None else f"R² {found.brief(format_r2)}"


def format_r2(value: float) -> str:
    """R² in words; one that is not 1 is never written as 1."""
    return f"{value:.4f}" if value in (0, 1) or value < 0.99995 else "> 0.9999"
