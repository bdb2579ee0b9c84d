# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers as a reader wants them: three figures and a unit, and null as a dash."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Form = Callable[[float], str]
"""How a value in its base unit is written."""
Units = tuple[tuple[float, str], ...]
"""Size and name of each unit, the largest first."""

MISSING = "—"
"""What stands where a figure was not measured; never 0."""

TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
ENERGY_UNITS = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"))
BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


def format_three_figures(value: float) -> str:
    """Three figures without exponent; from 100 up all whole digits, and no decimals."""
    if value == 0:
        return "0"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def format_exact(value: float) -> str:
    """Every digit of a value, with marks of thousands; a whole number without a point.

    A float is told to 15 figures, as far as each decimal number is told apart.
    """
    return f"{int(value):,}" if value == int(value) else f"{value:,.15g}"


def choose_unit(largest: float, units: Units) -> tuple[float, str]:
    """The unit (size, name) in which ``largest`` is written; the smallest unit for 0."""
    return next((u for u in units if abs(largest) >= u[0]), units[-1])


def _format_with_unit(value: float | None, units: Units) -> str:
    if value is None:
        return MISSING
    size, name = choose_unit(value, units)
    return f"{format_three_figures(value / size)} {name}"


def format_time(ns: float | None) -> str:
    """A duration in ns as 1.23 s, 45.6 ms, 7.89 µs or 12 ns."""
    return _format_with_unit(ns, TIME_UNITS)


def format_size(bytes_: float | None) -> str:
    """Bytes in binary units: 1.50 KiB."""
    return _format_with_unit(bytes_, BYTE_UNITS)


def format_energy(joules: float | None) -> str:
    """Joules as 1.23 J, 45.6 mJ, 7.89 µJ or 12 nJ."""
    return _format_with_unit(joules, ENERGY_UNITS)


def format_rate(bytes_per_s: float | None) -> str:
    """Bytes per second in binary units: 1.50 MiB/s."""
    return MISSING if bytes_per_s is None else f"{format_size(bytes_per_s)}/s"


def format_count(value: float | None) -> str:
    """A count, or a mean of counts: 12,345 or 1.75."""
    return MISSING if value is None else format_three_figures(value)


def format_ratio(value: float | None) -> str:
    """A quotient in three figures; one that is not 1 is never written as 1.00."""
    if value is None:
        return MISSING
    if value == 1:
        return "1.00"
    decimals = 2
    while decimals < 9 and float(f"{value:.{decimals}f}") == 1:
        decimals += 1
    return format_three_figures(value) if decimals == 2 else f"{value:.{decimals}f}"


def format_percent(share: float | None) -> str:
    """A share 0..1 as a percentage with one decimal: 24.9 %."""
    return MISSING if share is None else f"{share * 100:.1f} %"


@dataclass(frozen=True)
class Quantity:
    """What a figure is an amount of: its unit, and how it is written."""

    name: str
    """As catalog files name it."""
    form: Form
    sizes: Units
    """The units of its axis and its columns; a unit without a name adds nothing to the number."""
    axis: str
    """Title of a chart's axis; ``{u}`` is the unit, ``{title}`` the figure's own title."""
    base: str = ""
    """Name of the unit that its values are in; empty: it has none."""

    def exact(self, value: float) -> str:
        """A value to its last digit, in the base unit: 1,234,567 ns."""
        return f"{format_exact(value)} {self.base}".strip()


PLAIN_UNITS: Units = ((1.0, ""),)
SHARE_UNITS: Units = ((0.01, "%"),)
QUANTITIES = {
    q.name: q
    for q in (
        Quantity("time", format_time, TIME_UNITS, "board time, {u}", "ns"),
        Quantity("bytes", format_size, BYTE_UNITS, "{u}", "B"),
        Quantity("bytes_per_s", format_rate, BYTE_UNITS, "{u}/s", "B/s"),
        Quantity("energy", format_energy, ENERGY_UNITS, "{title}, {u}", "J"),
        Quantity("per_s", format_count, PLAIN_UNITS, "{title}", "1/s"),
        Quantity("count", format_count, PLAIN_UNITS, "{title}"),
        Quantity("ratio", format_ratio, PLAIN_UNITS, "{title}"),
        Quantity("share", format_percent, SHARE_UNITS, "{title}, {u}"),
    )
}
"""By name; each figure of a workload is an amount of one of these."""
