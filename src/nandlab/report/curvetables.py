# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's curves in the terminal: a table each, a row for each x and a column for each line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from nandlab.analysis import lines
from nandlab.analysis.curves import of_study
from nandlab.analysis.lines import Line, Plot, Point
from nandlab.base import units
from nandlab.base.console import escape
from nandlab.report.curves import fit_in_words, in_words
from nandlab.results.record import Trial

FIRST, COLUMN = 14, 16
"""Widths in letters: the column of x, and at the least that of a line."""


def tables_of(
    spec: Mapping[str, Any], trials: Sequence[Trial], width: int
) -> Iterator[RenderableType]:
    """Medians alone: the report has the ranges, and says which trials each is of."""
    for plot in lines.plots(of_study(spec), trials):
        yield f"\n[bold]{escape(plot.curve.title)}[/bold]"
        if not plot.lines:
            yield "No finished trial has a value of it."
            continue
        yield f"[dim]{escape(_note(plot))}[/dim]"
        if plot.curve.scatter:
            yield _points(plot)
            yield from _fits(plot)
            continue
        most = max(1, (width - FIRST) // COLUMN)
        each = -(-len(plot.lines) // -(-len(plot.lines) // most))
        for i in range(0, len(plot.lines), each):
            yield _table(plot, plot.lines[i : i + each], width)
        yield from _fits(plot)


def _fits(plot: Plot) -> Iterator[RenderableType]:
    """Each line's least-squares line, where the curve asks for it."""
    for line in plot.lines:
        if told := fit_in_words(plot, line):
            yield f"  [dim]{escape(f'{line.title}: {told}')}[/dim]"


def _note(plot: Plot) -> str:
    if plot.curve.scatter:
        return f"Medians of {plot.x.title} and {plot.y.title}."
    return f"Median of {plot.y.title}, by {plot.x.title}."


def _empty(width: int) -> Table:
    table = Table(box=None, padding=(0, 0), header_style="dim")
    table.add_column("", width=width, overflow="fold")
    return table


def _table(plot: Plot, shown: Sequence[Line], width: int) -> Table:
    table = _empty(FIRST)
    column = min(26, (width - FIRST) // len(shown))
    for line in shown:
        title = "\n".join(map(escape, textwrap.wrap(line.title, column - 1)))
        table.add_column(title, width=column, justify="right", overflow="fold")
    by_x = [{p.x: p for p in line.points} for line in shown]
    for x in plot.places:
        if any(x in points for points in by_x):
            cells = (_cell(plot, points.get(x)) for points in by_x)
            table.add_row(f"  {escape(in_words(plot, x))}", *cells)
    return table


def _cell(plot: Plot, point: Point | None) -> str:
    return units.MISSING if point is None else plot.y.quantity.form(point.y.median)


def _points(plot: Plot) -> Table:
    """A row a configuration, where x is a figure too."""
    table = _empty(44)
    for axis in (plot.x, plot.y):
        table.add_column(escape(axis.title), width=18, justify="right", overflow="fold")
    for line in plot.lines:
        for p in line.points:
            name = ", ".join(filter(None, (line.title, p.label)))
            x = plot.x.quantity.form(float(p.x))
            table.add_row(f"  {escape(name)}", x, plot.y.quantity.form(p.y.median))
    return table
