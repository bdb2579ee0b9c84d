# SPDX-License-Identifier: GPL-2.0-or-later
"""A product's limits, and what one configuration's trials say to each.

A limit is *met*, *broken*, *in doubt* (the trials of its ensemble disagree, or the limit lies
between the figure's two bounds), or *unknown*: the figure was not measured. Unknown is never met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from nandlab.analysis.figures import Figure, erases_per_block
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import spread
from nandlab.base import units
from nandlab.results.record import Trial

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


def worst_block_years(trial: Trial, daily: int) -> float | None:
    """Years until the most erased block of the trial reaches the chip's endurance.

    pe_cycles / (most erases of a block / bytes written x daily x 365.25): the block goes on being
    erased as often as in the trial for each byte written.
    """
    wear = erases_per_block(trial)
    return _years(trial, daily, None if wear is None else float(wear.max))


def even_years(trial: Trial, daily: int) -> float | None:
    """The same if every block were erased as often as the mean: no wear levelling can do better."""
    wear = erases_per_block(trial)
    return _years(trial, daily, None if wear is None else wear.mean)


def _years(trial: Trial, daily: int, erases: float | None) -> float | None:
    cycles, written = pe_cycles(trial), trial.bytes.get("written")
    if erases is None or cycles is None or not written or not daily:
        return None
    if erases == 0:
        return None  # nothing was erased: the trial was too short to say
    return cycles / (erases / written * daily * DAYS_A_YEAR)


def pe_cycles(trial: Trial) -> int | None:
    """The endurance that the chip's catalog file promises."""
    endurance = trial.about("chip").get("endurance") or {}
    cycles = endurance.get("pe_cycles")
    return None if cycles is None else int(cycles)


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
    """Worst block and even wear are the two ends that the truth lies between."""

    def of(figure: Callable[[Trial, int], float | None]) -> Sequence[float | None]:
        return [figure(t, daily) for t in ensemble.ok]

    worst, even = spread(of(worst_block_years)), spread(of(even_years))
    if worst is None or even is None or min(worst.n, even.n) < len(ensemble.ok):
        return Judgement("lifetime", "unknown", "lifetime: endurance or erases are not known")
    outcome: Outcome = "met" if worst.min >= years else "broken" if even.max < years else "in doubt"
    text = (
        f"lifetime at {units.size(daily)} a day {units.figures3(worst.min)} years by its worst "
        f"block, {units.figures3(even.max)} if its wear were even, asked {units.figures3(years)}"
    )
    return Judgement("lifetime", outcome, text)
