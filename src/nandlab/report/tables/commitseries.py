# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over commits: a table of words for each configuration, and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.base.strings import Digest, FreeText, Line
from nandlab.history.series import ConfigurationSeries, SeriesFigure, SeriesRow
from nandlab.report.tables.figurechanges import format_signed_change
from nandlab.report.tables.sheets import (
    Number,
    Sheet,
    SheetRecord,
    SheetRow,
    drop_zero_fraction,
    render_sheets,
)

MOVED_TEXT = "by trial"
"""Of a figure whose median is the same, though it moved in a trial."""


class CommitFigureRecord(SheetRecord):
    """A figure of a configuration at a commit."""

    setting: FreeText
    configuration: FreeText
    commit: Digest
    subject: FreeText
    figure: Line
    unit: Line = Field(description="of median, min, max and change; empty: a plain number")
    median: Number | None
    min: Number | None
    max: Number | None
    change: Number | None = Field(description="of the median since the commit before")
    figure_moved: bool | None = Field(description="whether it is another in a trial")
    figures_moved: int | None = Field(description="of all figures; null: nothing to compare with")
    note: FreeText = Field(description="why there is no run, or how trials failed")


def render_commit_series(series: Sequence[ConfigurationSeries], form: str) -> str:
    """The series as text, markdown, csv or json."""
    sheets = [_make_sheet(one) for one in series]
    records = [record for one in series for record in _list_records(one)]
    return render_sheets(form, sheets, [format_series_summary(series)], CommitFigureRecord, records)


def format_series_summary(series: Sequence[ConfigurationSeries]) -> str:
    """A sentence: at how many commits a figure moved."""
    rows = [row for one in series for row in one.rows]
    commits = len(dict.fromkeys(row.commit.sha for row in rows))
    moved = list(dict.fromkeys(row.commit.short for row in rows if row.moved))
    what = f"Figures moved at {len(moved)} of {commits} commits"
    unbuilt = len({row.commit.sha for row in rows if not row.cells})
    aside = f"; {unbuilt} could not be run" if unbuilt else ""
    return f"{what}{': ' if moved else ''}{', '.join(moved)}{aside}."


def _make_sheet(series: ConfigurationSeries) -> Sheet:
    figure_heads = [title for figure in series.figures for title in (figure.name, "change")]
    head = ["commit", "subject", *figure_heads, "moved", "note"]
    rows = [_make_row(series, row, before) for row, before in _pair_rows(series.rows)]
    if not any(row.note for row in series.rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Sheet(series.title, head, rows, ("commit", "subject", "note"))


def _pair_rows(rows: Sequence[SeriesRow]) -> Iterator[tuple[SeriesRow, SeriesRow | None]]:
    """Each row with the one before it that has figures."""
    before: SeriesRow | None = None
    for row in rows:
        yield row, before
        before = row if row.cells else before


def _make_row(one: ConfigurationSeries, row: SeriesRow, before: SeriesRow | None) -> SheetRow:
    cells = [text for figure in one.figures for text in _format_cell(figure, row, before)]
    moved = units.MISSING if row.moved is None else f"{row.moved}"
    return [row.commit.short, row.commit.subject, *cells, moved, row.note]


def _format_cell(figure: SeriesFigure, row: SeriesRow, before: SeriesRow | None) -> tuple[str, str]:
    """The median to its last digit, and by how much it grew; empty where nothing moved."""
    spread = _find_spread(figure, row)
    if spread is None:
        return units.MISSING, ""
    change = _compute_change(figure, row, before)
    moved = row.cells[figure.name].moved
    grown = format_signed_change(change) if change else MOVED_TEXT if moved else ""
    return figure.quantity.exact(spread.median), grown


def _find_spread(figure: SeriesFigure, row: SeriesRow | None) -> Spread | None:
    cell = row.cells.get(figure.name) if row else None
    return cell.spread if cell else None


def _compute_change(figure: SeriesFigure, row: SeriesRow, before: SeriesRow | None) -> float | None:
    sides = _find_spread(figure, before), _find_spread(figure, row)
    return sides[1].median - sides[0].median if sides[0] and sides[1] else None


def _list_records(series: ConfigurationSeries) -> Iterator[CommitFigureRecord]:
    for row, before in _pair_rows(series.rows):
        for figure in series.figures:
            spread, cell = _find_spread(figure, row), row.cells.get(figure.name)
            low, middle, high = spread.marks if spread else (None, None, None)
            yield CommitFigureRecord(
                setting=series.setting,
                configuration=series.label,
                commit=row.commit.sha,
                subject=row.commit.subject,
                figure=figure.name,
                unit=figure.quantity.base,
                median=drop_zero_fraction(middle),
                min=drop_zero_fraction(low),
                max=drop_zero_fraction(high),
                change=drop_zero_fraction(_compute_change(figure, row, before)),
                figure_moved=cell.moved if cell else None,
                figures_moved=row.moved,
                note=row.note,
            )
