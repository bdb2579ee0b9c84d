# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of RAM over the time of the load: a line a configuration, a band from least to most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.curves import memoryseries
from nandlab.analysis.curves.memoryseries import MemoryMoment, MemorySeries
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.base import units
from nandlab.base.units import BYTE_UNITS, TIME_UNITS
from nandlab.report.charts import chartkeys, layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import NARROW, WIDE, ChartData, ChartRow
from nandlab.report.tables import tables
from nandlab.results.record import Trial

AXIS_ROOM = 66
"""Px left of the panels for the axis and its title."""
FUNCTIONS_TOLD_MAX = 4
MEMORY_PANELS: dict[str, tuple[str, Callable[[Trial], MemorySeries | None]]] = {
    "held": ("All that is held", memoryseries.make_filesystem_memory_series),
    "kept": (
        "Of that, what the kernel cannot take back",
        memoryseries.make_unreclaimable_filesystem_memory_series,
    ),
}
"""By name: a panel's title, and the series of a trial that it draws."""
MEMORY_CAPTION = (
    "Bytes that the file system's modules held, from the beginning of the load on. The line is the "
    "median of the trials, the band reaches from the least to the most; both end with the shortest "
    f"of the trials. Drawn at {memoryseries.MOMENTS_MAX} moments: a peak between two is in the "
    f"table only. "
    "What the kernel can take back are inodes and what goes with them, while no file of theirs is "
    "in use."
)


@dataclass(frozen=True)
class _PanelCurve:
    """What a panel draws of a row."""

    panel: str
    row: ChartRow
    moments: list[MemoryMoment]


@dataclass(frozen=True)
class _AxisUnits:
    """Size and name of the units of both axes."""

    time: tuple[float, str]
    size: tuple[float, str]
    ends: tuple[float, float]
    """Of both axes, in these units: the panels are compared with each other."""


def render_memory_chart(setting: Setting) -> ChartWithTable | None:
    """None when no trial has the series."""
    curves = _list_curves(layout.make_chart_rows(setting))
    if not curves:
        return None
    rows = [c.row for c in curves if c.panel == "held"]
    dashes = looks.choose_line_dashes([(r.key, r.colour) for r in rows])
    axes = _choose_axis_units(curves)
    data: ChartData = {
        "moments": [point for c in curves for point in _list_points(c, dashes[c.row.key], axes)],
        "key_wide": chartkeys.make_legend_entries_of_rows(rows, dashes, WIDE),
        "key_narrow": chartkeys.make_legend_entries_of_rows(rows, dashes, NARROW),
    }
    panels = [name for name in MEMORY_PANELS if any(c.panel == name for c in curves)]
    wide, narrow = (
        _make_spec(key, width, data, panels, axes)
        for key, width in (("key_wide", WIDE), ("key_narrow", NARROW))
    )
    chart = Chart(f"{setting.slug}-memory", "RAM over time", MEMORY_CAPTION, data, wide, narrow)
    names = ("mounted", "peak", "kept_peak", "end", "reclaimable")
    columns = [tables.make_figure_column(setting.figure(f"memory.{name}")) for name in names]
    columns.append(
        (
            "functions whose allocations held most",
            tables.make_text_cell_maker(_format_largest_functions),
        )
    )
    return ChartWithTable(chart, tables.make_ensemble_table(setting.ensembles, columns))


def _list_curves(rows: Sequence[ChartRow]) -> list[_PanelCurve]:
    curves = (
        _PanelCurve(panel, row, memoryseries.make_memory_curve_of_trials(row.ensemble.ok, read))
        for panel, (_, read) in MEMORY_PANELS.items()
        for row in rows
    )
    return [c for c in curves if c.moments]


def _choose_axis_units(curves: Sequence[_PanelCurve]) -> _AxisUnits:
    last = max(1.0, *(c.moments[-1].t_ns for c in curves))
    most = max(1.0, *(m.spread.max for c in curves for m in c.moments))
    time, size = units.choose_unit(last, TIME_UNITS), units.choose_unit(most, BYTE_UNITS)
    return _AxisUnits(time, size, (last / time[0], most / size[0]))


def _format_largest_functions(e: Ensemble) -> str:
    found = memoryseries.list_largest_allocating_functions(e.ok, FUNCTIONS_TOLD_MAX)
    return "; ".join(f"{name} {units.format_size(held)}" for name, held in found)


def _list_points(curve: _PanelCurve, dash: list[int], axes: _AxisUnits) -> list[dict[str, Any]]:
    (span, _), (size, _) = axes.time, axes.size
    base = {**curve.row.looks(), "panel": curve.panel, "dash": dash}
    return [
        {
            **base,
            "t": m.t_ns / span,
            "low": m.spread.min / size,
            "mid": m.spread.median / size,
            "high": m.spread.max / size,
        }
        for m in curve.moments
    ]


def _make_spec(
    key: str, width: float, data: ChartData, panels: Sequence[str], axes: _AxisUnits
) -> VegaSpec:
    inner = width - AXIS_ROOM - layout.RIGHT_EDGE
    height = 240 if width == WIDE else 200
    views = [_make_panel(name, inner, height, axes) for name in panels]
    spec = layout.concatenate_panel_views(
        [chartkeys.make_legend_view(key, inner, len(data[key])), *views], 1
    )
    return {**spec, "bounds": "full", "spacing": 18}


def _make_panel(name: str, width: float, height: float, axes: _AxisUnits) -> VegaSpec:
    title, _ = MEMORY_PANELS[name]
    x: VegaSpec = {
        "field": "t",
        "type": "quantitative",
        "scale": {"domain": [0, axes.ends[0]], "nice": False},
        "axis": {
            "title": f"board time since the load began, {axes.time[1]}",
            "tickCount": max(2, int(width / 90)),
        },
    }
    y: VegaSpec = {
        "type": "quantitative",
        "scale": {"domain": [0, axes.ends[1] * 1.05], "nice": False},
        "axis": {"title": f"RAM, {axes.size[1]}", "tickCount": 6},
    }
    shared: VegaSpec = {
        "x": x,
        "detail": {"field": "row", "type": "nominal"},
        "color": layout.COLOUR_ENCODING,
    }
    band: VegaSpec = {
        "mark": {"type": "area", "interpolate": "step-after", "fillOpacity": 0.2},
        "encoding": {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    line: VegaSpec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        "encoding": {**shared, "y": {**y, "field": "mid"}, "strokeDash": chartkeys.DASH_ENCODING},
    }
    return {
        "title": title,
        "width": width,
        "height": height,
        "data": {"name": "moments"},
        "transform": [{"filter": f"datum.panel === '{name}'"}],
        "layer": [band, line],
    }
