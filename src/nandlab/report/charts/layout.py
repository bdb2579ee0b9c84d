# SPDX-License-Identifier: GPL-2.0-or-later
"""How every chart of the report is laid out: one row a configuration, one panel a figure.

The file system has the colour; the state is named at the row and shades its marks (hollow is
fresh). A median never stands alone: the range and every trial are drawn with it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.report.charts.charts import VegaSpec

WIDE, NARROW = 940, 340
"""Widths in px of the two forms; the page shows the narrow one where the wide does not fit."""
ROW_PX = 19
"""Height of a row in px."""
BAND_PADDING = 0.18
"""Share of a row that lies between two bands."""
PANEL_GAP = 26
RIGHT_EDGE = 20
"""Px at the right edge, for the half of an axis label that stands beyond its panel."""
PANEL_LINE_GAP = 84
"""Px between two lines of panels: the axis of the upper, the title of the lower."""
LETTER_PX = 6.3
"""Mean width in px of a letter at 11.5 px; layout only, nothing is cut by it."""
VALUE_ROOM = 66
"""Room in px for the value written right of a range."""

POINTS_MAX = 50
"""The most points that a row of a panel has."""

OTHER_COLOURS = ("#8a7a1f", "#6f74c9", "#7d7d7d", "#a5584a")
"""Of file systems whose own file names none. These and the catalog's are steady from report to
report; after Okabe and Ito, each 3:1 or more on white and on black."""

VEGA_CONFIG: VegaSpec = {
    "font": "'Liberation Sans', Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 6,
        "domain": False,
        "ticks": False,
        "gridColor": "currentColor",
        "gridOpacity": 0.14,
        "labelPadding": 8,
        "labelLimit": 0,
        "labelFlush": False,
        "titleLimit": 0,
    },
    "title": {
        "color": "currentColor",
        "fontSize": 13,
        "fontWeight": 600,
        "anchor": "start",
        "frame": "bounds",
        "offset": 8,
        "limit": 0,
    },
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "titleLimit": 0,
    },
    "text": {"color": "currentColor", "fontSize": 11.5},
}
ChartData = dict[str, list[dict[str, Any]]]
"""Datasets of a chart by name."""
VEGA_LITE_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class ChartRow:
    """A configuration's row: its key in the data, and how its marks look."""

    key: str
    ensemble: Ensemble
    colour: str
    shade: float
    """Opacity of its fill: 0.08 for the emptiest state, 1 for the fullest."""

    def looks(self) -> dict[str, Any]:
        return {"row": self.key, "colour": self.colour, "shade": self.shade}


@dataclass(frozen=True)
class FigurePanel:
    """One figure over all rows. ``figure`` gives a trial's value in the unit of ``axis``."""

    key: str
    title: str
    axis: str
    figure: Figure
    form: Callable[[float], str]
    """How a value in the unit of ``axis`` is written."""
    part: Figure | None = None
    """A part of the figure (a phase's sync), drawn darker at the end of a bar from 0."""
    ensemble_spread: Callable[[Ensemble], Spread | None] | None = None
    """Where a figure belongs to no single trial (a ratio): its spread, and no points."""
    room: float = VALUE_ROOM
    top: float | None = None
    """The least value at which the axis may end; by default it ends at the largest value."""


def make_chart_rows(setting: Setting) -> list[ChartRow]:
    shades = _choose_shades(setting.states)
    return [
        ChartRow(f"r{i}", e, choose_filesystem_colour(e.first.filesystem), shades[e.state])
        for i, e in enumerate(setting.ensembles)
    ]


def choose_filesystem_colour(filesystem: str) -> str:
    """The file system's own colour; one not listed gets one by its name, always the same."""
    name = filesystem.lower()
    named = map_filesystem_colours().get(name)
    return named or OTHER_COLOURS[sum(name.encode()) % len(OTHER_COLOURS)]


@cache
def map_filesystem_colours() -> dict[str, str]:
    """The colours that files of the catalog name, by file system."""
    colours = {}
    for name in list_noun_names("filesystems"):
        colour = load_noun("filesystems", name, FilesystemModel).colour
        if colour:
            colours[name] = colour
    return colours


def _choose_shades(states: Sequence[str]) -> dict[str, float]:
    last = max(1, len(states) - 1)
    return {s: 0.08 + 0.92 * i / last for i, s in enumerate(states)}


@dataclass(frozen=True)
class RowAxis:
    """The rows from top to bottom in one width: header lines of the subjects, then their states."""

    domain: list[str]
    headers: list[dict[str, Any]]
    labels: dict[str, str]
    room: float
    """Px left of the panel for the labels."""
    dataset: str
    """Where the chart keeps ``headers``."""
    labelled: bool = True
    """Whether the panel shows the rows' names; those right of another do not."""

    @classmethod
    def from_rows(cls, rows: Sequence[ChartRow], dataset: str, width: float) -> RowAxis:
        """``width``: px that a header may fill before it goes on in a line of its own."""
        chars = int(width / (LETTER_PX * 1.08))
        domain: list[str] = []
        headers: list[dict[str, Any]] = []
        for i, row in enumerate(rows):
            if i == 0 or row.ensemble.subject != rows[i - 1].ensemble.subject:
                for k, line in enumerate(textwrap.wrap(row.ensemble.subject, chars)):
                    domain.append(f"h{i}.{k}")
                    headers.append({"row": domain[-1], "text": line})
            domain.append(row.key)
        labels = {r.key: f"{r.ensemble.state}, n={len(r.ensemble.ok)}" for r in rows}
        room = max(len(text) for text in labels.values()) * LETTER_PX + 12
        return cls(domain, headers, labels, room, dataset)

    def at_column(self, column: int) -> RowAxis:
        """The same rows for the panel in this column of a line."""
        return replace(self, labelled=column == 0)

    def height(self, step: float = ROW_PX) -> float:
        return step * len(self.domain)

    def band(self, step: float = ROW_PX) -> float:
        """Height in px of a row's band, as Vega's band scale makes it from :data:`BAND_PADDING`."""
        lines = len(self.domain)
        return step * lines / (lines + BAND_PADDING) * (1 - BAND_PADDING)

    def y(self) -> VegaSpec:
        expression = f"({json.dumps(self.labels)})[datum.value] || ''"
        return {
            "field": "row",
            "type": "nominal",
            "scale": {"type": "band", "domain": self.domain, "padding": BAND_PADDING},
            "axis": {"labelExpr": expression, "title": None, "grid": False}
            if self.labelled
            else None,
        }

    def header_layers(self) -> list[VegaSpec]:
        """The subjects' names, from the left edge of the labels on over the panels."""
        layer: VegaSpec = {
            "data": {"name": self.dataset},
            "mark": {"type": "text", "align": "left", "fontWeight": 600},
            "encoding": {
                "y": self.y(),
                "x": {"value": -self.room},
                "text": {"field": "text"},
            },
        }
        return [layer] if self.labelled else []


def compute_panel_columns(count: int, width: float, room: float) -> tuple[int, float]:
    """Panels side by side (one in the narrow form) and the width in px of each."""
    n = 1 if width == NARROW else min(count, 3)
    return n, (width - room - PANEL_GAP * (n - 1) - RIGHT_EDGE) / n


def concatenate_panel_views(views: Sequence[VegaSpec], per_line: int) -> VegaSpec:
    """Panels in lines of ``per_line``.

    Flush: a long header may run over the empty header rows of the panels right of its own, so
    the room for axes and titles is set here and not taken from what is drawn.
    """
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "config": VEGA_CONFIG,
        "concat": list(views),
        "columns": per_line,
        "bounds": "flush",
        "spacing": {"column": PANEL_GAP, "row": PANEL_LINE_GAP},
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": RIGHT_EDGE},
        "background": "transparent",
    }


def make_specs_in_both_widths(
    rows: Sequence[ChartRow], build: Callable[[RowAxis, float], VegaSpec]
) -> tuple[VegaSpec, VegaSpec, ChartData]:
    """``build(axis, width)`` for both widths, and the two header datasets."""
    wide = RowAxis.from_rows(rows, "headers_wide", WIDE - 20)
    narrow = RowAxis.from_rows(rows, "headers_narrow", NARROW - 20)
    headers = {axis.dataset: axis.headers for axis in (wide, narrow)}
    return build(wide, WIDE), build(narrow, NARROW), headers


def make_panel_datasets(rows: Sequence[ChartRow], panels: Sequence[FigurePanel]) -> ChartData:
    """``trials``: every value; ``summary``: median and range a row; ``absent``: rows without."""
    data: ChartData = {"trials": [], "summary": [], "absent": []}
    for panel in panels:
        for row in rows:
            base = {"panel": panel.key, **row.looks()}
            spread = (panel.ensemble_spread or partial(_compute_figure_spread, panel))(row.ensemble)
            if spread is None:
                why = "not measured" if row.ensemble.ok else "no trial ended well"
                data["absent"].append({**base, "text": why})
                continue
            part = row.ensemble.spread(panel.part) if panel.part else None
            data["summary"].append(
                {
                    **base,
                    "zero": 0,
                    "low": spread.min,
                    "mid": spread.median,
                    "high": spread.max,
                    "text": panel.form(spread.median),
                    "rest": spread.median - part.median if part else spread.median,
                }
            )
            data["trials"] += _list_trial_points(base, row.ensemble, panel)
    return data


def _compute_figure_spread(panel: FigurePanel, ensemble: Ensemble) -> Spread | None:
    return ensemble.spread(panel.figure)


def _list_trial_points(
    base: dict[str, Any], ensemble: Ensemble, panel: FigurePanel
) -> list[dict[str, Any]]:
    values = [(t.id, v) for t in ensemble.ok if (v := panel.figure(t)) is not None]
    return [
        {**base, "value": v, "tip": f"{name}: {panel.form(v)}"}
        for name, v in thin_out_points(values)
    ]


def thin_out_points(values: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """POINTS_MAX of the values at the most, evenly spaced in their order, the extremes included."""
    if len(values) <= POINTS_MAX:
        return values
    ordered = sorted(values, key=lambda named: named[1])
    step = (len(ordered) - 1) / (POINTS_MAX - 1)
    return [ordered[round(i * step)] for i in range(POINTS_MAX)]


COLOUR_ENCODING: VegaSpec = {"field": "colour", "type": "nominal", "scale": None, "legend": None}
SHADE_ENCODING: VegaSpec = {"field": "shade", "type": "quantitative", "scale": None, "legend": None}
TIP_ENCODING: VegaSpec = {"field": "tip", "type": "nominal"}
TEXT_MARK: VegaSpec = {"type": "text", "align": "left"}
NOTE_MARK: VegaSpec = {**TEXT_MARK, "fontStyle": "italic", "opacity": 0.7}


def make_panel_view(panel: FigurePanel, axis: RowAxis, width: float, top: float) -> VegaSpec:
    """Bar (with a part), range, median, every trial, and the median's value in words."""
    y = axis.y()
    x = _make_x_encoding(panel, width, top)

    def layer(data: str, mark: str | VegaSpec, **encoding: VegaSpec) -> VegaSpec:
        return {
            "data": {"name": data},
            "transform": [{"filter": f"datum.panel === '{panel.key}'"}],
            "mark": mark,
            "encoding": {"y": y, **encoding},
        }

    low, mid, high, value, zero, part_start = (
        {**x, "field": f} for f in ("low", "mid", "high", "value", "zero", "rest")
    )
    bars = [
        layer(
            "summary",
            {"type": "bar", "opacity": 0.2},
            x=zero,
            x2={"field": "rest"},
            color=COLOUR_ENCODING,
        ),
        layer(
            "summary",
            {"type": "bar", "opacity": 0.6},
            x=part_start,
            x2={"field": "mid"},
            color=COLOUR_ENCODING,
        ),
    ]
    rule = {"type": "rule", "strokeWidth": 1.5}
    tick = {"type": "tick", "thickness": 2.5, "height": 13}
    point = {"type": "point", "size": 26, "strokeWidth": 1.1}
    marks = [
        layer("summary", rule, x=low, x2={"field": "high"}, color=COLOUR_ENCODING),
        layer("summary", tick, x=mid, color=COLOUR_ENCODING),
        layer(
            "trials",
            point,
            x=value,
            stroke=COLOUR_ENCODING,
            fill=COLOUR_ENCODING,
            fillOpacity=SHADE_ENCODING,
            tooltip=TIP_ENCODING,
        ),
        layer("summary", {**TEXT_MARK, "dx": 8}, x=high, text={"field": "text"}),
        layer("absent", NOTE_MARK, x={"value": 2}, text={"field": "text"}),
    ]
    layers = [*axis.header_layers(), *(bars if panel.part else []), *marks]
    return {"title": panel.title, "width": width, "height": axis.height(), "layer": layers}


def _make_x_encoding(panel: FigurePanel, width: float, top: float) -> VegaSpec:
    """From 0, with room for the value right of the largest."""
    room = min(panel.room, width / 2)
    largest = max((top or 1) / (1 - room / width), panel.top or 0)
    return {
        "type": "quantitative",
        "scale": {"domain": [0, largest], "nice": False},
        "axis": {
            "title": panel.axis,
            "tickCount": max(2, int(width / 90)),
            "format": ",.3~f",
        },
    }


def make_panels_specs(
    rows: Sequence[ChartRow], panels: Sequence[FigurePanel]
) -> tuple[VegaSpec, VegaSpec, ChartData]:
    """Panels over the same rows in both widths, and their data."""
    data = make_panel_datasets(rows, panels)
    tops = {
        p.key: max((d["high"] for d in data["summary"] if d["panel"] == p.key), default=0)
        for p in panels
    }

    def build(axis: RowAxis, width: float) -> VegaSpec:
        per_line, each = compute_panel_columns(len(panels), width, axis.room)
        views = [
            make_panel_view(p, axis.at_column(i % per_line), each, tops[p.key])
            for i, p in enumerate(panels)
        ]
        return concatenate_panel_views(views, per_line)

    wide, narrow, headers = make_specs_in_both_widths(rows, build)
    return wide, narrow, {**data, **headers}


def wrap_title(text: str, width: float) -> list[str]:
    """Lines of a title that fit ``width`` px."""
    return textwrap.wrap(text, max(12, int(width / (LETTER_PX * 1.08))))
