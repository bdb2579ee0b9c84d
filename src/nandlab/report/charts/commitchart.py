# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of a series of commits: a panel a configuration, a mark a commit.

The axis of a figure does not begin at 0: one erase more of some hundred must be seen. So each panel
names its least and its greatest value, and a commit that moved the figure has a filled mark.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.base import units
from nandlab.history.series import ConfigurationSeries, SeriesFigure, SeriesRow
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.layout import LETTER_PX, NARROW, WIDE, ChartData

PANEL_PX = 120
"""Height of a panel in px."""
AXIS_ROOM = 84
"""Px left of a panel, for its values and their title."""
TICKS_MAX = 5
"""Whole values that an axis names at the most."""
NAMES_PX = 13
"""Width in px that a commit's slanted name takes."""
CAPTION = (
    "Each mark is a commit, the oldest left, at the median of the configuration's trials; the line "
    "through it is their range. A filled mark: the figure is another than at the commit before, in "
    "one trial or more. No mark: the commit could not be run. The axes do not begin at 0."
)


@dataclass(frozen=True)
class _CommitAxis:
    """The names below a chart; title: what they are of, None: they are not shown."""

    names: Sequence[str]
    title: str | None


def render_commit_series_chart(
    series: Sequence[ConfigurationSeries], axis_title: str = "commit"
) -> Chart:
    """The first figure of each configuration over the commits.

    axis_title: what a mark's name on the axis is of.
    """
    marks = [
        mark
        for number, one in enumerate(series)
        for place, row in enumerate(one.rows)
        if (mark := _make_mark(number, one, place, row)) is not None
    ]
    names = [row.commit.short for row in series[0].rows]
    data: ChartData = {"marks": marks}
    axis = _CommitAxis(names, axis_title)
    wide, narrow = (_make_spec(series, axis, data, width) for width in (WIDE, NARROW))
    return Chart("commits", "Figures over commits", CAPTION, data, wide, narrow)


def _make_mark(
    number: int, series: ConfigurationSeries, place: int, row: SeriesRow
) -> dict[str, Any] | None:
    figure = series.figures[0]
    cell = row.cells.get(figure.name)
    if cell is None or cell.spread is None:
        return None
    unit, _ = _choose_unit(series, figure)
    colour = layout.choose_filesystem_colour(series.filesystem)
    low, middle, high = (value / unit for value in cell.spread.marks)
    value = figure.quantity.exact(cell.spread.median)
    return {
        "panel": number,
        "place": place,
        "low": low,
        "mid": middle,
        "high": high,
        "colour": colour,
        "fill": colour if cell.moved else "transparent",
        "tip": f"{row.commit.title}: {figure.name} {value}",
    }


def _choose_unit(one: ConfigurationSeries, figure: SeriesFigure) -> tuple[float, str]:
    """The unit of a panel's axis, by its largest value."""
    cells = [row.cells.get(figure.name) for row in one.rows]
    largest = max((c.spread.max for c in cells if c and c.spread), default=0.0)
    return units.choose_unit(largest, figure.quantity.sizes)


def _make_spec(
    series: Sequence[ConfigurationSeries], axis: _CommitAxis, data: ChartData, width: float
) -> VegaSpec:
    inner = width - AXIS_ROOM - layout.RIGHT_EDGE
    last = len(series) - 1
    views = [
        _make_panel(one, number, axis if number == last else None, data, (inner, len(axis.names)))
        for number, one in enumerate(series)
    ]
    return {**layout.concatenate_panel_views(views, 1), "bounds": "full", "spacing": 18}


def _make_panel(
    series: ConfigurationSeries,
    number: int,
    axis: _CommitAxis | None,
    data: ChartData,
    size: tuple[float, int],
) -> VegaSpec:
    """A configuration's panel; axis: of the commits, below the last panel alone."""
    width, commits = size
    unit_name = _choose_unit(series, series.figures[0])[1]
    title = f"{series.figures[0].name}{f', {unit_name}' if unit_name else ''}"
    panel_marks = [mark for mark in data["marks"] if mark["panel"] == number]
    letters = int(width / LETTER_PX)
    domain = _compute_domain(panel_marks)
    tick_values = _list_whole_values(domain) if series.figures[0].quantity.name == "count" else None
    x: VegaSpec = {
        "field": "place",
        "type": "quantitative",
        "scale": {"domain": [-0.5, commits - 0.5], "nice": False},
        "axis": _make_commit_axis(axis or _CommitAxis((), None), width),
    }
    y: VegaSpec = {
        "type": "quantitative",
        "scale": {"domain": domain, "nice": False, "zero": False},
        "axis": {
            "title": title,
            "tickCount": 4,
            "format": ",.6~r",
            **({"values": tick_values} if tick_values else {}),
        },
    }
    line: VegaSpec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.4, "opacity": 0.6},
        "encoding": {"x": x, "y": {**y, "field": "mid"}, "color": layout.COLOUR_ENCODING},
    }
    ranges: VegaSpec = {
        "mark": {"type": "rule", "strokeWidth": 1.4, "opacity": 0.75},
        "encoding": {
            "x": x,
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": layout.COLOUR_ENCODING,
        },
    }
    marks: VegaSpec = {
        "mark": {"type": "point", "strokeWidth": 1.6, "opacity": 1, "size": 52},
        "encoding": {
            "x": x,
            "y": {**y, "field": "mid"},
            "stroke": layout.COLOUR_ENCODING,
            "fill": {"field": "fill", "type": "nominal", "scale": None, "legend": None},
            "tooltip": layout.TIP_ENCODING,
        },
    }
    return {
        "title": {"text": textwrap.wrap(series.title, letters) or [""], "fontSize": 11.5},
        "data": {"name": "marks"},
        "transform": [{"filter": f"datum.panel === {number}"}],
        "width": width,
        "height": PANEL_PX,
        "layer": [line, ranges, marks],
    }


def _make_commit_axis(axis: _CommitAxis, width: float) -> VegaSpec:
    """The commits' names, slanted, as many as there is room for."""
    names = axis.names
    step = max(1, -(-len(names) * NAMES_PX // max(1, int(width))))
    labels = ", ".join(f"'{name}'" for name in names)
    return {
        "title": axis.title,
        "values": list(range(0, len(names), step)),
        "labels": bool(names),
        "labelExpr": f"[{labels}][datum.value]",
        "labelAngle": -45,
        "labelAlign": "right",
        "grid": False,
    }


def _list_whole_values(domain: Sequence[float]) -> list[int] | None:
    """The axis's values of a count that hardly moves, which has no halves; None: as they fall."""
    low, high = math.ceil(domain[0]), math.floor(domain[1])
    return list(range(low, high + 1)) if high - low < TICKS_MAX else None


def _compute_domain(marks: Sequence[dict[str, Any]]) -> list[float]:
    """From below the least to above the greatest value; of one value alone, around it."""
    low = min((mark["low"] for mark in marks), default=0.0)
    high = max((mark["high"] for mark in marks), default=1.0)
    edge = (high - low) * 0.12 or max(abs(high) * 0.01, 0.5)
    return [low - edge, high + edge]
