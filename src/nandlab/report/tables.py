# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the report, and the cells that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nandlab.analysis import answers
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import Spread
from nandlab.base import units

RANGE_NOTE = (
    "Medians over the trials, and from the least to the greatest; each links to the trial that has"
    " it, a median to the trial nearest it."
)


@dataclass(frozen=True)
class Part:
    """Some words of a cell, and the id of the trial whose own figure they are."""

    text: str
    trial: str | None = None


@dataclass(frozen=True)
class Value:
    """What a cell says, and below it, smaller, how far the trials lie apart."""

    middle: Part
    extent: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        extent = "".join(p.text for p in self.extent)
        return f"{self.middle.text} ({extent})" if extent else self.middle.text


Cell = Callable[[Ensemble], Value]
Column = tuple[str, Cell]
MISSING = Value(Part(units.MISSING))
NOT_REACHED = Value(Part("not reached"))


@dataclass(frozen=True)
class TableRow:
    subject: str
    state: str
    count: str
    cells: list[Value]
    trials: list[str]
    """Ids of the trials behind the cells."""


@dataclass(frozen=True)
class Table:
    """A row an ensemble, a column a figure."""

    head: list[str]
    rows: list[TableRow]
    lead: tuple[str, str] = ("configuration", "state")
    """What the rows are told by: the heads of their subject and of their state."""


def table(ensembles: Sequence[Ensemble], columns: Sequence[Column]) -> Table:
    """A row an ensemble: what it is, how many trials ended well, the columns, the trials.

    A column that nothing was measured for is left out.
    """
    told = [(title, [cell(e) for e in ensembles]) for title, cell in columns]
    shown = [(title, cells) for title, cells in told if any(c is not MISSING for c in cells)]
    rows = [
        TableRow(e.subject, e.state, count(e), [c[i] for _, c in shown], [t.id for t in e.trials])
        for i, e in enumerate(ensembles)
    ]
    return Table([title for title, _ in shown], rows)


def count(e: Ensemble) -> str:
    """Trials that ended well, and of how many where that differs."""
    return f"{len(e.ok)}" if len(e.ok) == len(e.trials) else f"{len(e.ok)} of {len(e.trials)}"


def figure(of: Figure, title: str = "") -> Column:
    """Median and range of a figure, each with its trial; or a dash."""
    return title or of.title, partial(_value, of)


def _value(of: Figure, e: Ensemble) -> Value:
    found = e.spread(of)
    if found is None:
        return MISSING
    if found.more:  # a lower bound belongs to no single trial
        return spread_value(found, of.form)
    return linked({t.id: v for t in e.ok if (v := of(t)) is not None}, found, of.form)


def linked(trials: Mapping[str, float], found: Spread, form: Callable[[float], str]) -> Value:
    """Median and range of the values of these trials, by id, each with the trial nearest it."""
    nearest = {at: min(trials, key=lambda i: abs(trials[i] - at)) for at in found.marks}
    low, middle, high = (Part(form(at), nearest[at]) for at in found.marks)
    if found.n == 1:
        return Value(middle)
    if low.text == high.text:
        return Value(middle, (Part(found.extent(form)),))
    return Value(middle, (low, Part(" to "), high))


def spread_value(found: Spread | None, form: Callable[[float], str]) -> Value:
    """Median and range, or a dash."""
    if found is None:
        return MISSING
    extent = (Part(found.extent(form)),) if found.n > 1 else ()
    return Value(Part(found.middle(form)), extent)


def text_cell(text: Callable[[Ensemble], str | None]) -> Cell:
    """Words, or a dash."""
    return lambda e: Value(Part(text(e) or units.MISSING))


def against_fresh(setting: Setting, of: Figure, title: str) -> Column:
    """A figure over the same subject's on fresh flash."""

    def value(e: Ensemble) -> Value:
        fresh = [f for f in setting.ensembles if f.subject == e.subject and f.reference]
        if not e.reference and not answers.reached(of, [e, *fresh]):
            return NOT_REACHED
        return spread_value(answers.ageing_ratio(setting, e.subject, e.state, of), units.ratio)

    return title, value


def worst_tail(setting: Setting) -> Column:
    """The kind of operation with the greatest p99."""

    def value(e: Ensemble) -> Value:
        tail = answers.worst_tail(setting, e)
        if tail is None:
            return MISSING
        p99 = _value(setting.figure(f"latency.{tail.operation}.p99"), e)
        return replace(p99, middle=replace(p99.middle, text=f"{tail.operation}: {p99.middle.text}"))

    return "worst p99", value


def states(setting: Setting) -> list[Column]:
    """What the flash was asked to hold, and what it held."""
    asked: list[Column] = [
        (f"asked: {key}", text_cell(partial(_asked, key=key)))
        for key in ("valid", "invalid", "mix", "of")
    ]
    obtained = ("before", "valid", "invalid", "programmed")
    return [*asked, *(figure(setting.figure(f"state.{key}")) for key in obtained)]


def _asked(e: Ensemble, key: str) -> str:
    told = getattr(e.first.state, key)
    return told if isinstance(told, str) else units.percent(told)
