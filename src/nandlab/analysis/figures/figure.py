# SPDX-License-Identifier: GPL-2.0-or-later
"""A figure of a trial: its name, what it is called, its quantity, and what computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nandlab.base.units import QUANTITIES, Quantity
from nandlab.results.record import Trial

FigureReader = Callable[[Trial], float | None]


@dataclass(frozen=True)
class Figure:
    """A figure of a trial."""

    name: str
    title: str
    quantity: Quantity
    compute: FigureReader
    better: str = "less"
    """less, more, or nothing where neither end is better."""
    short: str = ""
    """The title where there is room for ten letters."""
    open_ended: bool = False
    """Whether it is a lower bound for a trial whose load was stopped early."""

    def __call__(self, trial: Trial) -> float | None:
        return self.compute(trial)

    def form(self, value: float) -> str:
        """A value in words."""
        return self.quantity.form(value)


def make_figure(
    name: str,
    title: str,
    quantity: str,
    read: FigureReader,
    *,
    better: str = "less",
    short: str = "",
) -> Figure:
    """A figure; quantity: its name in nandlab.base.units."""
    return Figure(name, title, QUANTITIES[quantity], read, better, short)
