# SPDX-License-Identifier: GPL-2.0-or-later
"""A product's limits, and what one configuration's trials say to each.

A limit is *met*, *broken*, *in doubt* (the trials of its ensemble disagree, or the limit lies
between the figure's two bounds), or *unknown*: the figure was not measured, or the load was too
short for it. Unknown is never met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nandlab.analysis import asked, durable, energy, forecast
from nandlab.analysis.asked import MAY_LOSE, POWER, Limit
from nandlab.analysis.figures import Figure
from nandlab.analysis.forecast import Forecast
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.members import RAM, RAM_MEMBERS
from nandlab.analysis.ranking import joined
from nandlab.analysis.ready import LOST
from nandlab.analysis.steady import Steadiness
from nandlab.base import amounts, units
from nandlab.base.errors import UsageError

Outcome = Literal["met", "broken", "in doubt", "unknown"]
DAYS_A_YEAR = 365.25
NONE_DURABLE = (
    "not known: no operation of this workload is durable; run a workload that has one, such as "
    "logger"
)


@dataclass(frozen=True)
class Limits:
    """What a product allows; nothing given asks for nothing."""

    figures: tuple[Limit, ...] = ()
    years: float | None = None
    """How long the chip must last when ``daily`` bytes are written to it a day."""
    daily: int | None = None
    """Bytes that the product writes a day."""
    may_lose: bool = False
    """Whether a power cut may cost synced data."""

    @property
    def none(self) -> bool:
        """Whether nothing is asked for."""
        return not self.figures and self.years is None

    def over(self, base: Limits) -> Limits:
        """These limits with those of ``base`` that they say nothing about."""
        own = {limit.figure for limit in self.figures} | ({LOST} if self.may_lose else set())
        kept = tuple(limit for limit in base.figures if limit.figure not in own)
        return Limits(
            (*kept, *self.figures),
            base.years if self.years is None else self.years,
            base.daily if self.daily is None else self.daily,
            self.may_lose or (base.may_lose and LOST not in own),
        )


LIFETIME = ("lifetime_years", "daily_write")
"""Keys of a study's limits that are of no figure; they go together."""


def of_study(spec: Mapping[str, Any]) -> Limits:
    """The limits of a study, as it is read or as a run's head keeps it; UsageError if they are bad.

    A product has years and the bytes of each load a day; :mod:`nandlab.analysis.product` judges by
    each load's own.
    """
    told, product = spec.get("limits") or {}, spec.get("product")
    years, daily = (told.get(key) for key in LIFETIME)
    if product and (years or daily):
        raise UsageError(f"{LIFETIME[0]}, {LIFETIME[1]}: [product] has them: years, daily_write")
    if (years is None) != (daily is None):
        raise UsageError(f"{LIFETIME[0]} and {LIFETIME[1]} go together: give both or neither")
    may_lose = told.get(POWER.name) == MAY_LOSE
    apart = (*LIFETIME, POWER.name) if may_lose else LIFETIME
    figures = asked.table({k: v for k, v in told.items() if k not in apart})
    if product and not may_lose and all(limit.figure != LOST for limit in figures):
        figures.append(POWER)
    if years is not None and (not isinstance(years, int | float) or years <= 0):
        raise UsageError(f"{LIFETIME[0]}: give a number above 0, such as 10; it is {years!r}")
    if product:
        years = product["years"]
        daily = sum(amounts.size(load["daily_write"], "") for load in product["loads"])
    elif daily is not None:
        daily = amounts.size(str(daily), f"{LIFETIME[1]}:")
    return Limits(tuple(figures), years, daily, may_lose)


def given(texts: Iterable[str], years: float | None = None, daily: int | None = None) -> Limits:
    """The limits of a command line."""
    words = [" ".join(text.split()) for text in texts]
    figures = tuple(asked.parse(text) for text in words if not _waives(text))
    return Limits(figures, years, daily, any(map(_waives, words)))


def _waives(text: str) -> bool:
    return text in (f"{POWER.name} {MAY_LOSE}", f"{POWER.name} = {MAY_LOSE}")


@dataclass(frozen=True)
class Judgement:
    """One limit and one configuration in one flash state."""

    limit: str
    outcome: Outcome
    text: str
    figure: str = "wear.most"
    """The figure that it goes by."""


def judge(setting: Setting, ensemble: Ensemble, limits: Limits) -> list[Judgement]:
    """Every limit that was asked for and is about this workload."""
    here = ((limit, limit.here(setting.words)) for limit in limits.figures)
    found = [_one(setting, ensemble, limit, figure) for limit, figure in here if figure]
    if limits.years is not None and limits.daily is not None:
        found.append(_lifetime(ensemble, limits.years, limits.daily))
    return found


def lasts_years(ensemble: Ensemble, daily: float) -> tuple[float, float] | None:
    """The years that every trial of an ensemble is certain of, and those beyond which none is
    possible; None: a trial does not know."""
    found = [forecast.of(t) for t in ensemble.ok]
    known = [f for f in found if isinstance(f, Forecast)]
    if not known or len(known) < len(found):
        return None
    yearly = daily * DAYS_A_YEAR
    return min(f.least for f in known) / yearly, max(f.most for f in known) / yearly


def _one(setting: Setting, ensemble: Ensemble, limit: Limit, figure: Figure) -> Judgement:
    """A figure that must be within a limit in every trial."""
    bound, title = limit.bound(figure), limit.title(figure)
    kinds = _kinds(setting, ensemble, figure)
    if kinds == []:
        return Judgement(limit.text, "unknown", f"{title}: {NONE_DURABLE}", figure.name)
    found = ensemble.spread(figure)
    most = RAM_MEMBERS if figure.name.startswith(RAM) else len(ensemble.ok)
    if found is None or found.n < min(most, len(ensemble.ok)):
        return Judgement(limit.text, "unknown", f"{title}: {_why(ensemble, figure)}", figure.name)
    met = [limit.met(value, bound) for value in (found.min, found.top)]
    outcome: Outcome = "met" if all(met) else "in doubt" if any(met) else "broken"
    beyond = "above" if limit.at_most else "below"
    sign = {"met": "within", "broken": beyond, "in doubt": "on both sides of"}[outcome]
    aside = _in_memory(setting, ensemble, kinds or [])
    text = f"{title}{aside} {found.text(figure.form)}, {sign} {figure.form(bound)}"
    return Judgement(limit.text, outcome, text, figure.name)


def _why(ensemble: Ensemble, figure: Figure) -> str:
    """Why a figure is not known; of an energy, what to give."""
    if figure.name == LOST:
        return "not tried"
    if figure.name.startswith("energy.") and ensemble.ok:
        most = figure.name.endswith(".max")
        lacking = dict.fromkeys(energy.lacks(t, most=most) for t in ensemble.ok)
        if told := "; ".join(filter(None, lacking)):
            return f"not known: it takes {told}"
    return "not measured"


def _kinds(setting: Setting, ensemble: Ensemble, figure: Figure) -> list[str] | None:
    """The kinds of operation that a figure is the latency of; None: it is of no operation."""
    family, _, rest = figure.name.partition(".")
    if family != "latency":
        return None
    kind = rest.rpartition(".")[0]
    kinds = durable.kinds_of(kind, setting.words, ensemble.first)
    return kinds if kinds or kind == durable.DURABLE else None


def _in_memory(setting: Setting, ensemble: Ensemble, kinds: Sequence[str]) -> str:
    """What must be said of writes that return before their data need be on flash."""
    operations = [setting.words.operation(kind) for kind in kinds]
    waits = [o.name for o in operations if o.writes and not durable.durable(o, ensemble.first)]
    if not waits:
        return ""
    which = f"{joined(waits)} " if len(operations) > 1 else ""
    return f" ({which}not durable: the data may still be in RAM)"


def _lifetime(ensemble: Ensemble, years: float, daily: int) -> Judgement:
    """From the least that any trial tells to the most; one that is too short tells nothing."""
    found = [forecast.of(t) for t in ensemble.ok]
    short = [f for f in found if isinstance(f, Steadiness)]
    if short:
        worst = max(short, key=lambda s: s.at_least or 0)
        return Judgement("lifetime", "unknown", f"lifetime: not known: {worst.advice}")
    lasts = lasts_years(ensemble, daily)
    if lasts is None:
        return Judgement("lifetime", "unknown", "lifetime: endurance or erases are not known")
    least, most = lasts
    outcome: Outcome = "met" if least >= years else "broken" if most < years else "in doubt"
    text = (
        f"lifetime at {units.size(daily)} a day {units.figures3(least)} to {units.figures3(most)} "
        f"years, asked {units.figures3(years)}"
    )
    return Judgement("lifetime", outcome, text)
