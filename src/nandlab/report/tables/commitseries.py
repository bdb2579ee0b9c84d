# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures over commits: a table of words for each configuration, and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.history.series import ConfigurationSeries, SeriesFigure, SeriesRow
from nandlab.report.tables.figurechanges import format_signed_change
from nandlab.report.tables.sheets import (
    Sheet,
    SheetRecord,
    SheetRow,
    drop_zero_fraction,
    render_sheets,
)

RECORD_COLUMNS = (
    *("setting", "configuration", "commit", "subject", "figure", "unit"),
    *("median", "min", "max", "change", "figure_moved", "figures_moved", "note"),
)
"""Names of a record's values; change is that of the median since the commit before."""
MOVED_TEXT = "by trial"
"""Of a figure whose median is the same, though it moved in a trial."""


def render_commit_series(series: Sequence[ConfigurationSeries], form: str) -> str:
    """The series as text, markdown, csv or json."""
    sheets = [_make_sheet(one) for one in series]
    records = [record for one in series for record in _list_records(one)]
    return render_sheets(form, sheets, [format_series_summary(series)], RECORD_COLUMNS, records)


def format_series_summary(series: Sequence[ConfigurationSeries]) -> str:
    """A sentence: at how many commits a figure moved."""
    rows = [row for one in series for row in one.rows]
    commits = len(dict.fromkeys(row.commit.sha for row in rows))
    moved = list(dict.fromkeys(row.commit.short for row in rows if row.moved))
    what = f"Figures moved at {len(moved)} of {commits} commits"
    unbuilt = len({row.commit.sha for row in rows if not row.cells})
    aside = f"; {unbuilt} could not be run" if unbuilt else ""
    return f"{what}{': ' if moved else ''}{', '.join(moved)}{aside}."


def _make_sheet(one: ConfigurationSeries) -> Sheet:
    named = [title for figure in one.figures for title in (figure.name, "change")]
    head = ["commit", "subject", *named, "moved", "note"]
    rows = [_make_row(one, row, before) for row, before in _pair_rows(one.rows)]
    if not any(row.note for row in one.rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Sheet(one.title, head, rows, ("commit", "subject", "note"))


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


def _list_records(one: ConfigurationSeries) -> Iterator[SheetRecord]:
    for row, before in _pair_rows(one.rows):
        for figure in one.figures:
            spread, cell = _find_spread(figure, row), row.cells.get(figure.name)
            marks = [drop_zero_fraction(mark) for mark in (spread.marks if spread else ())]
            low, middle, high = marks or (None, None, None)
            values = (
                *(one.setting, one.label, row.commit.sha, row.commit.subject),
                *(figure.name, figure.quantity.base, middle, low, high),
                drop_zero_fraction(_compute_change(figure, row, before)),
                *(cell.moved if cell else None, row.moved, row.note),
            )
            yield dict(zip(RECORD_COLUMNS, values, strict=True))
