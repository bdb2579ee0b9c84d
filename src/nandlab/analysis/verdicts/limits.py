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

from nandlab.analysis.figures import durability, energy, energyfigures
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.members import RAM_MEMBERS_MAX, RAM_PREFIX
from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.verdicts import forecast, limitsyntax
from nandlab.analysis.verdicts.forecast import WriteForecast
from nandlab.analysis.verdicts.limitsyntax import MAY_LOSE_TEXT, NO_LOSS_LIMIT, Limit
from nandlab.analysis.verdicts.wearsteadiness import WearSteadiness
from nandlab.base import amounts, units
from nandlab.base.errors import UsageError

LimitOutcome = Literal["met", "broken", "in doubt", "unknown"]
DAYS_A_YEAR = 365.25
PROFILE_FIGURE = "energy.profile"
NO_DURABLE_OPERATION = (
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
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.figures and self.years is None

    def merge_base(self, base: Limits) -> Limits:
        """These limits with those of ``base`` that they say nothing about."""
        figure_names = {limit.figure for limit in self.figures} | (
            {LOST_FIGURE} if self.may_lose else set()
        )
        base_figures = tuple(limit for limit in base.figures if limit.figure not in figure_names)
        return Limits(
            (*base_figures, *self.figures),
            base.years if self.years is None else self.years,
            base.daily if self.daily is None else self.daily,
            self.may_lose or (base.may_lose and LOST_FIGURE not in figure_names),
        )


LIFETIME_KEYS = ("lifetime_years", "daily_write")
"""Keys of a study's limits that are of no figure; they go together."""


def make_limits_from_spec(spec: Mapping[str, Any]) -> Limits:
    """The limits of a study, as it is read or as a run's head keeps it; UsageError if they are bad.

    A product has years and the bytes of each load a day;
    :mod:`nandlab.analysis.verdicts.product` judges by
    each load's own.
    """
    table, product = spec.get("limits") or {}, spec.get("product")
    years, daily = (table.get(key) for key in LIFETIME_KEYS)
    if product and (years or daily):
        raise UsageError(
            f"{LIFETIME_KEYS[0]}, {LIFETIME_KEYS[1]}: [product] has them: years, daily_write"
        )
    if (years is None) != (daily is None):
        raise UsageError(
            f"{LIFETIME_KEYS[0]} and {LIFETIME_KEYS[1]} go together: give both or neither"
        )
    may_lose = table.get(NO_LOSS_LIMIT.name) == MAY_LOSE_TEXT
    apart = (*LIFETIME_KEYS, NO_LOSS_LIMIT.name) if may_lose else LIFETIME_KEYS
    figures = limitsyntax.make_limits_from_table({k: v for k, v in table.items() if k not in apart})
    if product and not may_lose and all(limit.figure != LOST_FIGURE for limit in figures):
        figures.append(NO_LOSS_LIMIT)
    if years is not None and (not isinstance(years, int | float) or years <= 0):
        raise UsageError(f"{LIFETIME_KEYS[0]}: give a number above 0, such as 10; it is {years!r}")
    if product:
        years = product["years"]
        daily = sum(amounts.parse_size(load["daily_write"], "") for load in product["loads"])
    elif daily is not None:
        daily = amounts.parse_size(str(daily), f"{LIFETIME_KEYS[1]}:")
    return Limits(tuple(figures), years, daily, may_lose)


def parse_command_line_limits(
    texts: Iterable[str], years: float | None = None, daily: int | None = None
) -> Limits:
    """The limits of a command line."""
    words = [" ".join(text.split()) for text in texts]
    figures = tuple(
        limitsyntax.parse_limit(text) for text in words if not _waives_power_limit(text)
    )
    return Limits(figures, years, daily, any(map(_waives_power_limit, words)))


def _waives_power_limit(text: str) -> bool:
    return text in (
        f"{NO_LOSS_LIMIT.name} {MAY_LOSE_TEXT}",
        f"{NO_LOSS_LIMIT.name} = {MAY_LOSE_TEXT}",
    )


@dataclass(frozen=True)
class Judgement:
    """One limit and one configuration in one flash state."""

    limit: str
    outcome: LimitOutcome
    text: str
    figure: str = "wear.most"
    """The figure that it goes by."""


def judge_ensemble_against_limits(
    setting: Setting, ensemble: Ensemble, limits: Limits
) -> list[Judgement]:
    """Every limit that was asked for and is about this workload."""
    here = ((limit, limit.find_known_figure(setting.words)) for limit in limits.figures)
    found = [_judge_figure(setting, ensemble, limit, figure) for limit, figure in here if figure]
    if limits.years is not None and limits.daily is not None:
        found.append(_judge_lifetime(ensemble, limits.years, limits.daily))
    return found


def compute_certain_lifetime_years(ensemble: Ensemble, daily: float) -> tuple[float, float] | None:
    """The years that every trial of an ensemble is certain of, and those beyond which none is
    possible; None: a trial does not know."""
    found = [forecast.forecast_writable_bytes(t) for t in ensemble.ok]
    known = [f for f in found if isinstance(f, WriteForecast)]
    if not known or len(known) < len(found):
        return None
    yearly = daily * DAYS_A_YEAR
    return min(f.least for f in known) / yearly, max(f.most for f in known) / yearly


def _judge_figure(setting: Setting, ensemble: Ensemble, limit: Limit, figure: Figure) -> Judgement:
    """A figure that must be within a limit in every trial."""
    bound, title = limit.parse_bound(figure), limit.title(figure)
    kinds = _list_latency_kinds(setting, ensemble, figure)
    if kinds == []:
        return Judgement(limit.text, "unknown", f"{title}: {NO_DURABLE_OPERATION}", figure.name)
    spread = ensemble.spread(figure)
    most = RAM_MEMBERS_MAX if figure.name.startswith(RAM_PREFIX) else len(ensemble.ok)
    if spread is None or spread.n < min(most, len(ensemble.ok)):
        return Judgement(
            limit.text,
            "unknown",
            f"{title}: {_explain_unknown_figure(ensemble, figure)}",
            figure.name,
        )
    met = [limit.is_met(value, bound) for value in (spread.min, spread.top)]
    outcome: LimitOutcome = "met" if all(met) else "in doubt" if any(met) else "broken"
    beyond = "above" if limit.at_most else "below"
    sign = {"met": "within", "broken": beyond, "in doubt": "on both sides of"}[outcome]
    aside = _format_not_durable_note(setting, ensemble, kinds or [])
    text = f"{title}{aside} {spread.text(figure.form)}, {sign} {figure.form(bound)}"
    return Judgement(limit.text, outcome, text, figure.name)


def _explain_unknown_figure(ensemble: Ensemble, figure: Figure) -> str:
    """Why a figure is not known; of an energy, what to give."""
    if figure.name == LOST_FIGURE:
        return "not tried"
    if figure.name.startswith(PROFILE_FIGURE) and ensemble.ok:
        phase = figure.name.removeprefix(PROFILE_FIGURE).removeprefix(".")
        reasons = dict.fromkeys(
            energyfigures.explain_missing_profile_joules(t, phase) for t in ensemble.ok
        )
        if reason := "; ".join(filter(None, reasons)):
            return f"not known: {reason}"
    elif figure.name.startswith("energy.") and ensemble.ok:
        most = figure.name.endswith(".max")
        missing_inputs = dict.fromkeys(
            energy.format_missing_energy_inputs(t, most=most) for t in ensemble.ok
        )
        if reason := "; ".join(filter(None, missing_inputs)):
            return f"not known: it takes {reason}"
    return "not measured"


def _list_latency_kinds(setting: Setting, ensemble: Ensemble, figure: Figure) -> list[str] | None:
    """The kinds of operation that a figure is the latency of; None: it is of no operation."""
    family, _, rest = figure.name.partition(".")
    if family != "latency":
        return None
    kind = rest.rpartition(".")[0]
    kinds = durability.expand_operation_kind(kind, setting.words, ensemble.first)
    return kinds if kinds or kind == durability.DURABLE_GROUP else None


def _format_not_durable_note(setting: Setting, ensemble: Ensemble, kinds: Sequence[str]) -> str:
    """What must be said of writes that return before their data need be on flash."""
    operations = [setting.words.operation(kind) for kind in kinds]
    waits = [
        o.name
        for o in operations
        if o.writes and not durability.is_operation_durable(o, ensemble.first)
    ]
    if not waits:
        return ""
    which = f"{format_name_list(waits)} " if len(operations) > 1 else ""
    return f" ({which}not durable: the data may still be in RAM)"


def _judge_lifetime(ensemble: Ensemble, years: float, daily: int) -> Judgement:
    """From the least that any trial tells to the most; one that is too short tells nothing."""
    found = [forecast.forecast_writable_bytes(t) for t in ensemble.ok]
    short = [f for f in found if isinstance(f, WearSteadiness)]
    if short:
        worst = max(short, key=lambda s: s.at_least or 0)
        return Judgement("lifetime", "unknown", f"lifetime: not known: {worst.advice}")
    lasts = compute_certain_lifetime_years(ensemble, daily)
    if lasts is None:
        return Judgement("lifetime", "unknown", "lifetime: endurance or erases are not known")
    least, most = lasts
    outcome: LimitOutcome = "met" if least >= years else "broken" if most < years else "in doubt"
    text = (
        f"lifetime at {units.format_size(daily)} a day {units.format_three_figures(least)} to "
        f"{units.format_three_figures(most)} "
        f"years, asked {units.format_three_figures(years)}"
    )
    return Judgement("lifetime", outcome, text)
