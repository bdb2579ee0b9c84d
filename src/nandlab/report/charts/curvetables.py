# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's curves in the terminal: a table each, a row for each x and a column for each line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from nandlab.analysis.curves import curvevalues
from nandlab.analysis.curves.curves import make_curves_from_spec
from nandlab.analysis.curves.curvevalues import CurvePlot, PlotLine, PlotPoint
from nandlab.base import units
from nandlab.base.console import escape_rich_markup
from nandlab.report.charts.curvecharts import format_plot_line_fit, format_x
from nandlab.results.record import Trial

FIRST_COLUMN_LETTERS, COLUMN_LETTERS = 14, 16
"""Widths in letters: the column of x, and at the least that of a line."""


def render_terminal_curve_tables(
    spec: Mapping[str, Any], trials: Sequence[Trial], width: int
) -> Iterator[RenderableType]:
    """Medians alone: the report has the ranges, and says which trials each is of."""
    for plot in curvevalues.make_curve_plots(make_curves_from_spec(spec), trials):
        yield f"\n[bold]{escape_rich_markup(plot.curve.title)}[/bold]"
        if not plot.lines:
            yield "No finished trial has a value of it."
            continue
        yield f"[dim]{escape_rich_markup(_make_note(plot))}[/dim]"
        if plot.curve.scatter:
            yield _make_points_table(plot)
            yield from _list_fit_lines(plot)
            continue
        most = max(1, (width - FIRST_COLUMN_LETTERS) // COLUMN_LETTERS)
        each = -(-len(plot.lines) // -(-len(plot.lines) // most))
        for i in range(0, len(plot.lines), each):
            yield _make_table(plot, plot.lines[i : i + each], width)
        yield from _list_fit_lines(plot)


def _list_fit_lines(plot: CurvePlot) -> Iterator[RenderableType]:
    """Each line's least-squares line, where the curve asks for it."""
    for line in plot.lines:
        if told := format_plot_line_fit(plot, line):
            yield f"  [dim]{escape_rich_markup(f'{line.title}: {told}')}[/dim]"


def _make_note(plot: CurvePlot) -> str:
    if plot.curve.scatter:
        return f"Medians of {plot.x.title} and {plot.y.title}."
    return f"Median of {plot.y.title}, by {plot.x.title}."


def _make_empty_table(width: int) -> Table:
    table = Table(box=None, padding=(0, 0), header_style="dim")
    table.add_column("", width=width, overflow="fold")
    return table


def _make_table(plot: CurvePlot, lines: Sequence[PlotLine], width: int) -> Table:
    table = _make_empty_table(FIRST_COLUMN_LETTERS)
    column = min(26, (width - FIRST_COLUMN_LETTERS) // len(lines))
    for line in lines:
        title = "\n".join(map(escape_rich_markup, textwrap.wrap(line.title, column - 1)))
        table.add_column(title, width=column, justify="right", overflow="fold")
    by_x = [{p.x: p for p in line.points} for line in lines]
    for x in plot.places:
        if any(x in points for points in by_x):
            cells = (_format_cell(plot, points.get(x)) for points in by_x)
            table.add_row(f"  {escape_rich_markup(format_x(plot, x))}", *cells)
    return table


def _format_cell(plot: CurvePlot, point: PlotPoint | None) -> str:
    return units.MISSING if point is None else plot.y.quantity.form(point.y.median)


def _make_points_table(plot: CurvePlot) -> Table:
    """A row a configuration, where x is a figure too."""
    table = _make_empty_table(44)
    for axis in (plot.x, plot.y):
        table.add_column(escape_rich_markup(axis.title), width=18, justify="right", overflow="fold")
    for line in plot.lines:
        for p in line.points:
            name = ", ".join(filter(None, (line.title, p.label)))
            x = plot.x.quantity.form(float(p.x))
            table.add_row(f"  {escape_rich_markup(name)}", x, plot.y.quantity.form(p.y.median))
    return table
