# SPDX-License-Identifier: GPL-2.0-or-later
"""A product's limits, and what one configuration's trials say to each.

A limit is *met*, *broken*, *in doubt* (the trials of its ensemble disagree, or the limit lies
between the figure's two bounds), or *unknown*: the figure was not measured, or the load was too
short for it. Unknown is never met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nandlab.analysis import forecast
from nandlab.analysis.figures import Figure
from nandlab.analysis.forecast import Forecast
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.steady import Steadiness
from nandlab.base import units

Outcome = Literal["met", "broken", "in doubt", "unknown"]
DAYS_A_YEAR = 365.25
AT_MOST = (
    ("RAM", "ram", "memory.peak"),
    ("flash reserve", "flash_reserve", "state.before"),
    ("p99 of writes", "p99_write_ns", "latency.writes.p99"),
)
"""Limits that a figure must not exceed: what each is called, its key in Limits, the figure."""


@dataclass(frozen=True)
class Limits:
    """What a product allows; None asks for nothing."""

    ram: int | None = None
    """Bytes of RAM that the file system may take."""
    flash_reserve: float | None = None
    """Share of the partition's pages that it may take before any file is there."""
    p99_write_ns: int | None = None
    """The 99th percentile of creating or appending to a file, ns."""
    years: float | None = None
    """How long the chip must last when ``daily`` bytes are written to it a day."""
    daily: int | None = None
    """Bytes that the product writes a day."""


@dataclass(frozen=True)
class Judgement:
    """One limit and one configuration in one flash state."""

    limit: str
    outcome: Outcome
    text: str


def judge(setting: Setting, ensemble: Ensemble, limits: Limits) -> list[Judgement]:
    """Every limit that was asked for."""
    asked = ((limit, getattr(limits, key), name) for limit, key, name in AT_MOST)
    found = [
        _most(ensemble, limit, setting.figure(name), most)
        for limit, most, name in asked
        if most is not None
    ]
    if limits.years is not None and limits.daily is not None:
        found.append(_lifetime(ensemble, limits.years, limits.daily))
    return found


def _most(ensemble: Ensemble, limit: str, figure: Figure, most: float) -> Judgement:
    """A figure that may be ``most`` at most, in every trial."""
    found = ensemble.spread(figure)
    if found is None or found.n < len(ensemble.ok):
        return Judgement(limit, "unknown", f"{limit}: not measured")
    outcome: Outcome = "met" if found.max <= most else "broken" if found.min > most else "in doubt"
    sign = {"met": "within", "broken": "above", "in doubt": "on both sides of"}[outcome]
    text = f"{limit} {found.text(figure.form)}, {sign} {figure.form(most)}"
    return Judgement(limit, outcome, text)


def _lifetime(ensemble: Ensemble, years: float, daily: int) -> Judgement:
    """From the least that any trial tells to the most; one that is too short tells nothing."""
    found = [forecast.of(t) for t in ensemble.ok]
    short = [f for f in found if isinstance(f, Steadiness)]
    if short:
        worst = max(short, key=lambda s: s.at_least or 0)
        return Judgement("lifetime", "unknown", f"lifetime: not known: {worst.advice}")
    known = [f for f in found if isinstance(f, Forecast)]
    if not known or len(known) < len(ensemble.ok):
        return Judgement("lifetime", "unknown", "lifetime: endurance or erases are not known")
    least = min(f.least for f in known) / daily / DAYS_A_YEAR
    most = max(f.most for f in known) / daily / DAYS_A_YEAR
    outcome: Outcome = "met" if least >= years else "broken" if most < years else "in doubt"
    text = (
        f"lifetime at {units.size(daily)} a day {units.figures3(least)} to {units.figures3(most)} "
        f"years, asked {units.figures3(years)}"
    )
    return Judgement("lifetime", outcome, text)
