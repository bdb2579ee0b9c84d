# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the report, and the cells that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread
from nandlab.analysis.verdicts import answers
from nandlab.base import units

RANGE_NOTE = (
    "Medians over the trials, and from the least to the greatest; each links to the trial that has"
    " it, a median to the trial nearest it."
)


@dataclass(frozen=True)
class CellPart:
    """Some words of a cell, and the id of the trial whose own figure they are."""

    text: str
    trial: str | None = None


@dataclass(frozen=True)
class CellValue:
    """What a cell says, and below it, smaller, how far the trials lie apart."""

    middle: CellPart
    extent: tuple[CellPart, ...] = ()

    @property
    def text(self) -> str:
        extent = "".join(p.text for p in self.extent)
        return f"{self.middle.text} ({extent})" if extent else self.middle.text


CellMaker = Callable[[Ensemble], CellValue]
TableColumn = tuple[str, CellMaker]
MISSING_VALUE = CellValue(CellPart(units.MISSING))
NOT_REACHED_VALUE = CellValue(CellPart("not reached"))


@dataclass(frozen=True)
class TableRow:
    subject: str
    state: str
    count: str
    cells: list[CellValue]
    trials: list[str]
    """Ids of the trials behind the cells."""


@dataclass(frozen=True)
class ReportTable:
    """A row an ensemble, a column a figure."""

    head: list[str]
    rows: list[TableRow]
    lead: tuple[str, str] = ("configuration", "state")
    """What the rows are told by: the heads of their subject and of their state."""


def make_ensemble_table(
    ensembles: Sequence[Ensemble], columns: Sequence[TableColumn]
) -> ReportTable:
    """A row an ensemble: what it is, how many trials ended well, the columns, the trials.

    A column that nothing was measured for is left out.
    """
    all_columns = [(title, [cell(e) for e in ensembles]) for title, cell in columns]
    measured_columns = [
        (title, cells) for title, cells in all_columns if any(c is not MISSING_VALUE for c in cells)
    ]
    rows = [
        TableRow(
            e.subject,
            e.state,
            format_trial_count(e),
            [c[i] for _, c in measured_columns],
            [t.id for t in e.trials],
        )
        for i, e in enumerate(ensembles)
    ]
    return ReportTable([title for title, _ in measured_columns], rows)


def format_trial_count(e: Ensemble) -> str:
    """Trials that ended well, and of how many where that differs."""
    return f"{len(e.ok)}" if len(e.ok) == len(e.trials) else f"{len(e.ok)} of {len(e.trials)}"


def make_figure_column(of: Figure, title: str = "") -> TableColumn:
    """Median and range of a figure, each with its trial; or a dash."""
    return title or of.title, partial(_make_figure_value, of)


def _make_figure_value(figure: Figure, e: Ensemble) -> CellValue:
    spread = e.spread(figure)
    if spread is None:
        return MISSING_VALUE
    if spread.has_lower_bounds:  # a lower bound belongs to no single trial
        return make_spread_cell_value(spread, figure.form)
    return make_trial_linked_cell_value(
        {t.id: v for t in e.ok if (v := figure(t)) is not None}, spread, figure.form
    )


def make_trial_linked_cell_value(
    trials: Mapping[str, float], spread: Spread, form: Callable[[float], str]
) -> CellValue:
    """Median and range of the values of these trials, by id, each with the trial nearest it."""
    nearest = {mark: min(trials, key=lambda i: abs(trials[i] - mark)) for mark in spread.marks}
    low, middle, high = (CellPart(form(mark), nearest[mark]) for mark in spread.marks)
    if spread.n == 1:
        return CellValue(middle)
    if low.text == high.text:
        return CellValue(middle, (CellPart(spread.extent(form)),))
    return CellValue(middle, (low, CellPart(" to "), high))


def make_spread_cell_value(spread: Spread | None, form: Callable[[float], str]) -> CellValue:
    """Median and range, or a dash."""
    if spread is None:
        return MISSING_VALUE
    extent = (CellPart(spread.extent(form)),) if spread.n > 1 else ()
    return CellValue(CellPart(spread.middle(form)), extent)


def make_text_cell_maker(text: Callable[[Ensemble], str | None]) -> CellMaker:
    """Words, or a dash."""
    return lambda e: CellValue(CellPart(text(e) or units.MISSING))


def make_fresh_ratio_column(setting: Setting, figure: Figure, title: str) -> TableColumn:
    """A figure over the same subject's on fresh flash."""

    def value(e: Ensemble) -> CellValue:
        both = [f for f in (e, setting.find_reference(e)) if f]
        if not e.reference and not answers.is_wear_steady_for_figure(figure, both):
            return NOT_REACHED_VALUE
        return make_spread_cell_value(
            answers.compute_ageing_ratio(setting, e.subject, e.state, figure), units.format_ratio
        )

    return title, value


def make_worst_p99_column(setting: Setting) -> TableColumn:
    """The kind of operation with the greatest p99."""

    def value(e: Ensemble) -> CellValue:
        tail = answers.find_worst_tail_latency(setting, e)
        if tail is None:
            return MISSING_VALUE
        p99 = _make_figure_value(setting.figure(f"latency.{tail.operation}.p99"), e)
        return replace(p99, middle=replace(p99.middle, text=f"{tail.operation}: {p99.middle.text}"))

    return "worst p99", value


def make_flash_state_columns(setting: Setting) -> list[TableColumn]:
    """What the flash was asked to hold, and what it held."""
    requested_columns: list[TableColumn] = [
        (f"asked: {key}", make_text_cell_maker(partial(_format_asked_share, key=key)))
        for key in ("valid", "invalid", "mix", "of")
    ]
    obtained = ("before", "valid", "invalid", "programmed")
    return [
        *requested_columns,
        *(make_figure_column(setting.figure(f"state.{key}")) for key in obtained),
    ]


def _format_asked_share(e: Ensemble, key: str) -> str:
    told = getattr(e.first.state, key)
    return told if isinstance(told, str) else units.format_percent(told)
