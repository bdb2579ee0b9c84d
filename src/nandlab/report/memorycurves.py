# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of RAM over the time of the load: a line a configuration, a band from least to most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis import overtime
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.overtime import Line, Moment
from nandlab.base import units
from nandlab.base.units import BYTE_UNITS, TIME_UNITS
from nandlab.report import keys, layout, looks, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import NARROW, WIDE, Data, Row
from nandlab.report.specs import Drawn
from nandlab.results.record import Trial

AXIS_ROOM = 66
"""Px left of the panels for the axis and its title."""
FUNCTIONS_TOLD = 4
PANELS: dict[str, tuple[str, Callable[[Trial], Line | None]]] = {
    "held": ("All that is held", overtime.held),
    "kept": ("Of that, what the kernel cannot take back", overtime.kept),
}
"""By name: a panel's title, and the series of a trial that it draws."""
CAPTION = (
    "Bytes that the file system's modules held, from the beginning of the load on. The line is the "
    "median of the trials, the band reaches from the least to the most; both end with the shortest "
    f"of the trials. Drawn at {overtime.MOMENTS} moments: a peak between two is in the table only. "
    "What the kernel can take back are inodes and what goes with them, while no file of theirs is "
    "in use."
)


@dataclass(frozen=True)
class _Curve:
    """What a panel draws of a row."""

    panel: str
    row: Row
    moments: list[Moment]


@dataclass(frozen=True)
class _Axes:
    """Size and name of the units of both axes."""

    time: tuple[float, str]
    size: tuple[float, str]
    ends: tuple[float, float]
    """Of both axes, in these units: the panels are compared with each other."""


def drawn(setting: Setting) -> Drawn | None:
    """None when no trial has the series."""
    curves = _curves(layout.rows(setting))
    if not curves:
        return None
    rows = [c.row for c in curves if c.panel == "held"]
    dashes = looks.dashes([(r.key, r.colour) for r in rows])
    axes = _axes(curves)
    data: Data = {
        "moments": [point for c in curves for point in _points(c, dashes[c.row.key], axes)],
        "key_wide": keys.of_rows(rows, dashes, WIDE),
        "key_narrow": keys.of_rows(rows, dashes, NARROW),
    }
    panels = [name for name in PANELS if any(c.panel == name for c in curves)]
    wide, narrow = (
        _spec(key, width, data, panels, axes)
        for key, width in (("key_wide", WIDE), ("key_narrow", NARROW))
    )
    chart = Chart(f"{setting.slug}-memory", "RAM over time", CAPTION, data, wide, narrow)
    names = ("mounted", "peak", "kept_peak", "end", "reclaimable")
    columns = [tables.figure(setting.figure(f"memory.{name}")) for name in names]
    columns.append(("functions whose allocations held most", tables.text_cell(_functions)))
    return Drawn(chart, tables.table(setting.ensembles, columns))


def _curves(rows: Sequence[Row]) -> list[_Curve]:
    found = (
        _Curve(panel, row, overtime.curve(row.ensemble.ok, read))
        for panel, (_, read) in PANELS.items()
        for row in rows
    )
    return [c for c in found if c.moments]


def _axes(curves: Sequence[_Curve]) -> _Axes:
    last = max(1.0, *(c.moments[-1].t_ns for c in curves))
    most = max(1.0, *(m.spread.max for c in curves for m in c.moments))
    time, size = units.unit_for(last, TIME_UNITS), units.unit_for(most, BYTE_UNITS)
    return _Axes(time, size, (last / time[0], most / size[0]))


def _functions(e: Ensemble) -> str:
    found = overtime.largest(e.ok, FUNCTIONS_TOLD)
    return "; ".join(f"{name} {units.size(held)}" for name, held in found)


def _points(curve: _Curve, dash: list[int], axes: _Axes) -> list[dict[str, Any]]:
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


def _spec(key: str, width: float, data: Data, panels: Sequence[str], axes: _Axes) -> Spec:
    inner = width - AXIS_ROOM - layout.EDGE
    height = 240 if width == WIDE else 200
    views = [_panel(name, inner, height, axes) for name in panels]
    spec = layout.concat([keys.view(key, inner, len(data[key])), *views], 1)
    return {**spec, "bounds": "full", "spacing": 18}


def _panel(name: str, width: float, height: float, axes: _Axes) -> Spec:
    title, _ = PANELS[name]
    x: Spec = {
        "field": "t",
        "type": "quantitative",
        "scale": {"domain": [0, axes.ends[0]], "nice": False},
        "axis": {
            "title": f"board time since the load began, {axes.time[1]}",
            "tickCount": max(2, int(width / 90)),
        },
    }
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, axes.ends[1] * 1.05], "nice": False},
        "axis": {"title": f"RAM, {axes.size[1]}", "tickCount": 6},
    }
    shared: Spec = {"x": x, "detail": {"field": "row", "type": "nominal"}, "color": layout.COLOUR}
    band: Spec = {
        "mark": {"type": "area", "interpolate": "step-after", "fillOpacity": 0.2},
        "encoding": {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        "encoding": {**shared, "y": {**y, "field": "mid"}, "strokeDash": keys.DASH},
    }
    return {
        "title": title,
        "width": width,
        "height": height,
        "data": {"name": "moments"},
        "transform": [{"filter": f"datum.panel === '{name}'"}],
        "layer": [band, line],
    }
