# SPDX-License-Identifier: GPL-2.0-or-later
"""The latency chart: percentiles of each kind of operation, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.analysis.figures.groups import Setting
from nandlab.base import units
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable, capitalize_first
from nandlab.report.charts.layout import ChartData, ChartRow, RowAxis
from nandlab.report.tables import steptable, tables

PERCENTILE_NAMES = {"median": "median", "p95": "p95", "p99": "p99", "p99_9": "p99.9", "max": "max"}
PERCENTILE_SHAPES = {
    "median": "M0,-1.1V1.1",
    "p95": "circle",
    "p99": "square",
    "p99.9": "diamond",
    "max": "triangle-left",
}
TIME_LABEL_EXPRESSION = (
    "datum.value >= 1e9 ? datum.value / 1e9 + ' s' : datum.value >= 1e6 ? datum.value / 1e6 + ' ms'"
    " : datum.value >= 1e3 ? datum.value / 1e3 + ' µs' : datum.value + ' ns'"
)
SHAPE_ENCODING: VegaSpec = {
    "field": "percentile",
    "type": "nominal",
    "scale": {"domain": list(PERCENTILE_SHAPES), "range": list(PERCENTILE_SHAPES.values())},
    "legend": {
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "symbolStrokeColor": "currentColor",
        "symbolFillColor": "transparent",
        "columnPadding": 14,
    },
}
LATENCY_CAPTION = (
    "Latency of single operations, logarithmic. A mark is the median over the trials of that "
    "percentile; the thick line through it is the range over the trials, the thin line leads from "
    "the median operation to the slowest."
)


def render_latency_chart(setting: Setting) -> ChartWithTable | None:
    """One panel per kind of operation that any trial recorded."""
    rows = layout.make_chart_rows(setting)
    kinds = steptable.list_latency_operations_to_draw(setting)
    data = _make_data(setting, rows, [o.name for o in kinds])
    if not data["summary"]:
        return None
    measured = {d["panel"] for d in data["summary"]}
    operations = [o for o in kinds if o.name in measured]

    def build(axis: RowAxis, width: float) -> VegaSpec:
        per_line = 1 if width == layout.NARROW else min(2, len(operations))
        panel_width = (
            width - axis.room - layout.PANEL_GAP * (per_line - 1) - layout.RIGHT_EDGE
        ) / per_line
        views = [
            _make_panel(
                o.name,
                o.title or o.name,
                axis.at_column(i % per_line),
                panel_width,
                data["summary"],
            )
            for i, o in enumerate(operations)
        ]
        return layout.concatenate_panel_views(views, per_line)

    wide, narrow, headers = layout.make_specs_in_both_widths(rows, build)
    name = f"{setting.slug}-latency"
    chart = Chart(name, "Latency", LATENCY_CAPTION, {**data, **headers}, wide, narrow)
    columns = [
        tables.make_figure_column(setting.figure(f"latency.{o.name}.{p}"))
        for o in operations
        for p in PERCENTILE_NAMES
    ]
    return ChartWithTable(chart, tables.make_ensemble_table(setting.ensembles, columns))


def _make_data(setting: Setting, rows: Sequence[ChartRow], operations: Sequence[str]) -> ChartData:
    """``summary``: a percentile of an operation in a row; ``whole``: from median to max."""
    data: ChartData = {"summary": [], "whole": []}
    for row in rows:
        for operation in operations:
            base = {"panel": operation, **row.looks()}
            middles = []
            for percentile, name in PERCENTILE_NAMES.items():
                figure = setting.figure(f"latency.{operation}.{percentile}")
                spread = row.ensemble.spread(figure)
                if spread is None:
                    continue
                middles.append(spread.median)
                ends = {"low": spread.min, "mid": spread.median, "high": spread.max}
                tip = f"{row.ensemble.label}: {operation} {name} {spread.text(units.format_time)}"
                data["summary"].append({**base, **ends, "percentile": name, "tip": tip})
            if middles:
                data["whole"].append({**base, "low": min(middles), "high": max(middles)})
    return data


def _make_panel(
    operation: str, title: str, axis: RowAxis, width: float, summary: list[dict[str, Any]]
) -> VegaSpec:
    own = [d for d in summary if d["panel"] == operation]
    low, high = (f(d[end] for d in own) for f, end in ((min, "low"), (max, "high")))
    domain = [max(1, low) * 0.8, max(1, high) * 1.25]
    scale = {"type": "log", "domain": domain, "nice": False}
    ticks = {"values": list_log_ticks(*domain), "labelExpr": TIME_LABEL_EXPRESSION, "title": None}
    x: VegaSpec = {"type": "quantitative", "scale": scale, "axis": ticks}
    y = axis.y()
    ends: VegaSpec = {
        "x": {**x, "field": "low"},
        "x2": {"field": "high"},
        "y": y,
        "color": layout.COLOUR_ENCODING,
    }
    marks: VegaSpec = {
        "x": {**x, "field": "mid"},
        "y": y,
        "stroke": layout.COLOUR_ENCODING,
        "fill": layout.COLOUR_ENCODING,
        "fillOpacity": layout.SHADE_ENCODING,
        "shape": SHAPE_ENCODING,
        "tooltip": layout.TIP_ENCODING,
    }
    only = [{"filter": f"datum.panel === '{operation}'"}]
    summary_data: VegaSpec = {"data": {"name": "summary"}, "transform": only}
    thin: VegaSpec = {"type": "rule", "strokeWidth": 1, "opacity": 0.5}
    thick: VegaSpec = {"type": "rule", "strokeWidth": 3.5, "opacity": 0.5}
    point: VegaSpec = {"type": "point", "size": 48, "strokeWidth": 1.4}
    layers: list[VegaSpec] = [
        *axis.header_layers(),
        {"data": {"name": "whole"}, "transform": only, "mark": thin, "encoding": ends},
        {**summary_data, "mark": thick, "encoding": ends},
        {**summary_data, "mark": point, "encoding": marks},
    ]
    return {
        "title": capitalize_first(title),
        "width": width,
        "height": axis.height(),
        "layer": layers,
    }


def list_log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between the ends; where these are fewer than two, multiples of them too."""
    powers = [10.0**e for e in range(13)]
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
        found = [p * m for p in powers for m in steps if low <= p * m <= high]
        if len(found) > 1:
            return found
    return [low, high]
