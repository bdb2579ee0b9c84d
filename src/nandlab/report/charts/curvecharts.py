# SPDX-License-Identifier: GPL-2.0-or-later
"""The curves that a study asks for: each a chart of lines with its key, and its table.

A colour is a file system; where all lines are of one, each line has its own. Lines of one colour
are told apart by their points. A point is the median of its members, the rule through it their
range. What a model gives is dashed, has hollow points, and says so in the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nandlab.analysis.curves import curvevalues, fits
from nandlab.analysis.curves.curves import make_curves_from_spec
from nandlab.analysis.curves.curvevalues import CurvePlot, PlotAxis, PlotLine, PlotPoint
from nandlab.analysis.figures.spread import compute_spread
from nandlab.base import units
from nandlab.report.charts import chartkeys, layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable, capitalize_first
from nandlab.report.charts.layout import NARROW, WIDE, ChartData
from nandlab.report.charts.looks import MarkLook
from nandlab.report.tables import tables
from nandlab.report.tables.tables import CellPart, CellValue, ReportTable, TableRow
from nandlab.results.record import Trial

AXIS_ROOM = 70
"""Px left of the panel for the axis and its title."""
TICKS_MAX = 12
"""Up to so many places of x have a tick each; above, the axis has round numbers."""
RANGE_NOTE = "A point is the median of its members, the line through it their range."
ALL_TICKS = 99
"""Ticks, so that a logarithmic axis names every place that it is given."""
SINGLE_TRIAL_NOTE = "Each point is a single trial, so no range is known."
FIT_NOTE = (
    "The lines are least squares, each member's by itself; drawn is the one whose slope is in the "
    "middle, and R² has the range of all."
)
FIT_POINTS = 33
"""Points that a least-squares line is drawn by."""
MODEL_NOTE = "Dashed lines with hollow points are a model's, not measured."


@dataclass(frozen=True)
class StudyCurve:
    """A curve of the study; ``drawing`` is None where no trial has a value of it."""

    title: str
    plot: CurvePlot
    drawing: ChartWithTable | None


@dataclass(frozen=True)
class _AxisScale:
    """A direction of the chart: the unit that fits its values, and how one is written."""

    title: str
    unit: float
    form: Callable[[float], str]

    @classmethod
    def from_axis(cls, axis: PlotAxis, values: Sequence[float]) -> _AxisScale:
        """For values in the base unit."""
        largest = max((abs(v) for v in values), default=0)
        unit, name = units.choose_unit(largest, axis.quantity.sizes)
        title = capitalize_first(axis.title) + (f", {name}" if name else "")
        return cls(title, unit, axis.quantity.form)


def render_study_curves(spec: Mapping[str, Any], trials: Sequence[Trial]) -> list[StudyCurve]:
    """Every curve of a study, in its order, with what its trials have of it."""
    found = curvevalues.make_curve_plots(make_curves_from_spec(spec), trials)
    return [StudyCurve(plot.curve.title, plot, _render_curve(plot)) for plot in found]


def _render_curve(plot: CurvePlot) -> ChartWithTable | None:
    if not any(line.points for line in plot.lines):
        return None
    mark_looks, titles = (
        _choose_looks(plot.lines),
        [_format_line_title(plot, line) for line in plot.lines],
    )
    x, y = _make_scales(plot)
    data: ChartData = {
        "points": [
            {"line": str(i), "odd": k % 2 == 1, **_make_point(plot, line, p, x, y), **look.data}
            for i, (line, look) in enumerate(zip(plot.lines, mark_looks, strict=True))
            for k, p in enumerate(line.points)
        ],
        "key_wide": chartkeys.make_legend_entries(titles, mark_looks, WIDE),
        "key_narrow": chartkeys.make_legend_entries(titles, mark_looks, NARROW),
    }
    if plot.curve.fit:
        data["fits"] = [
            {"line": str(i), **point, **look.data}
            for i, (line, look) in enumerate(zip(plot.lines, mark_looks, strict=True))
            for point in _list_fit_points(plot, line, x, y)
        ]
    wide = _make_spec(plot, "key_wide", WIDE, data, (x, y))
    narrow = _make_spec(plot, "key_narrow", NARROW, data, (x, y))
    name, caption = f"curve-{plot.curve.name}", _make_caption(plot)
    return ChartWithTable(
        Chart(name, plot.curve.title, caption, data, wide, narrow), render_curve_table(plot)
    )


def _format_line_title(plot: CurvePlot, line: PlotLine) -> str:
    """A line's name in the key, with its least-squares line."""
    return f"{line.title}: {told}" if (told := format_plot_line_fit(plot, line)) else line.title


def format_plot_line_fit(plot: CurvePlot, line: PlotLine) -> str:
    """``12.3 ms + 0.51 ms each, R² 0.9991 (0.9989 to 0.9993)``; empty: there is none."""
    if not plot.curve.fit or not (found := line.fits):
        return ""
    middle = fits.find_median_slope_fit(found).format_equation(plot.y.quantity.form)
    return f"{middle}, {fits.format_r2_range_of_fits(found)}"


def _list_fit_points(
    plot: CurvePlot, line: PlotLine, x: _AxisScale, y: _AxisScale
) -> Iterator[dict[str, float]]:
    """Points of the middle member's line, near enough to be straight on a logarithmic axis."""
    if not (found := line.fits):
        return
    fit, (low, high) = fits.find_median_slope_fit(found), line.ends
    for i in range(FIT_POINTS):
        at = low + (high - low) * i / (FIT_POINTS - 1)
        if plot.curve.scale == "log" and low > 0:
            at = low * (high / low) ** (i / (FIT_POINTS - 1))
        if plot.curve.y_scale != "log" or fit.compute_y(at) > 0:
            yield {"x": at / x.unit, "mid": fit.compute_y(at) / y.unit}


def _make_caption(plot: CurvePlot) -> str:
    """The study's own words, then what is drawn."""
    points = [p for line in plot.lines if not line.modelled for p in line.points]
    sentences = [plot.curve.caption.strip()]
    if plot.curve.gain:
        g = plot.curve.gain
        sentences.append(
            f"Saved is 1 - a / b, a with {_format_bare_name(g.by)} {g.of} and b with {g.over}, "
            f"member by member"
            + ("; below 0 it costs." if any(p.y.min < 0 for p in points) else ".")
        )
    sentences.append(SINGLE_TRIAL_NOTE if all(p.y.n == 1 for p in points) else RANGE_NOTE)
    sentences += [FIT_NOTE] if any(line.fits for line in plot.lines) and plot.curve.fit else []
    sentences += [MODEL_NOTE] if any(line.modelled for line in plot.lines) else []
    return " ".join(filter(None, sentences))


def _format_bare_name(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ")


def _choose_looks(lines: Sequence[PlotLine]) -> list[MarkLook]:
    """A look for each line; a modelled line has the colour of the measured one of its name."""
    measured = [line for line in lines if not line.modelled]
    measured_looks = looks.choose_mark_looks([(line.filesystem, line.title) for line in measured])
    by_key = {line.key: look for line, look in zip(measured, measured_looks, strict=True)}
    default_look = MarkLook("#7d7d7d", "circle", False, [1, 0])
    mark_looks = [by_key.get(line.key, default_look) for line in lines]
    return [
        replace(look, shape="circle", filled=False, dash=looks.MODEL_DASH)
        if line.modelled
        else look
        for line, look in zip(lines, mark_looks, strict=True)
    ]


def _make_scales(plot: CurvePlot) -> tuple[_AxisScale, _AxisScale]:
    points = [p for line in plot.lines for p in line.points]
    xs = [s.max if (s := p.x_spread) else float(p.x) for p in points] if plot.numeric else []
    return _AxisScale.from_axis(plot.x, xs), _AxisScale.from_axis(plot.y, [p.y.max for p in points])


def _make_point(
    plot: CurvePlot, line: PlotLine, p: PlotPoint, x: _AxisScale, y: _AxisScale
) -> dict[str, Any]:
    wide = p.x_spread
    values = {
        "x": float(p.x) / x.unit if plot.numeric else str(p.x),
        "low": p.y.min / y.unit,
        "mid": p.y.median / y.unit,
        "high": p.y.max / y.unit,
        "label": p.label,
        "ranges": p.y.n > 1,
    }
    if wide:
        values |= {"left": wide.min / x.unit, "right": wide.max / x.unit}
    x_text = wide.text(x.form) if wide else format_x(plot, p.x)
    text = "modelled " + y.form(p.y.median) if line.modelled else p.y.text(y.form)
    label = f"{p.label}: " if p.label else ""
    return {**values, "tip": f"{line.title}, {label}{plot.x.title} {x_text}: {text}"}


def format_x(plot: CurvePlot, x: object) -> str:
    """A place of x."""
    return plot.x.quantity.form(x) if isinstance(x, float) else str(x)


def _make_spec(
    plot: CurvePlot, key: str, width: float, data: ChartData, scales: tuple[_AxisScale, _AxisScale]
) -> VegaSpec:
    inner = width - AXIS_ROOM - layout.RIGHT_EDGE
    height = 320 if width == WIDE else 260
    rows = 1 + max(d["line"] for d in data[key])
    views = [
        chartkeys.make_legend_view(key, inner, rows),
        _make_panel(plot, inner, height, data, scales),
    ]
    return {**layout.concatenate_panel_views(views, 1), "bounds": "full", "spacing": 14}


def _make_panel(
    plot: CurvePlot,
    width: float,
    height: float,
    data: ChartData,
    scales: tuple[_AxisScale, _AxisScale],
) -> VegaSpec:
    x, y = _make_x_encoding(plot, scales[0], width, data), _make_y_encoding(plot, scales[1], data)
    layers: list[VegaSpec] = []
    if plot.curve.fit:
        layers.append({"data": {"name": "fits"}, **_make_line_layer(x, y)})
    elif not plot.curve.scatter and plot.numeric:
        layers.append(_make_line_layer(x, y))
    ranges: VegaSpec = {"transform": [{"filter": "datum.ranges"}]}
    rule: VegaSpec = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.75}
    up = {
        "x": x,
        "y": {**y, "field": "low"},
        "y2": {"field": "high"},
        "color": layout.COLOUR_ENCODING,
    }
    layers.append({**ranges, "mark": rule, "encoding": _offset_over_words(plot, up)})
    if plot.curve.scatter:
        across = {
            "x": {**x, "field": "left"},
            "x2": {"field": "right"},
            "y": {**y, "field": "mid"},
            "color": layout.COLOUR_ENCODING,
        }
        layers.append({**ranges, "mark": rule, "encoding": across})
    encoding = {
        "x": x,
        "y": {**y, "field": "mid"},
        "stroke": layout.COLOUR_ENCODING,
        "fill": chartkeys.FILL_ENCODING,
        "shape": chartkeys.SHAPE_ENCODING,
        "tooltip": layout.TIP_ENCODING,
    }
    layers.append(
        {
            "mark": {**chartkeys.POINT_MARK, "size": 52},
            "encoding": _offset_over_words(plot, encoding),
        }
    )
    if plot.curve.label:
        layers += _make_label_layers(
            plot, {"x": x, "y": {**y, "field": "mid"}, "text": {"field": "label"}}
        )
    return {"data": {"name": "points"}, "width": width, "height": height, "layer": layers}


def _make_line_layer(x: VegaSpec, y: VegaSpec) -> VegaSpec:
    return {
        "mark": {"type": "line", "strokeWidth": 1.6, "strokeOpacity": 0.85},
        "encoding": {
            "x": x,
            "y": {**y, "field": "mid"},
            "detail": {"field": "line", "type": "nominal"},
            "order": {"field": "x", "type": "quantitative"},
            "color": layout.COLOUR_ENCODING,
            "strokeDash": chartkeys.DASH_ENCODING,
        },
    }


def _make_label_layers(plot: CurvePlot, encoding: VegaSpec) -> list[VegaSpec]:
    """Beside each point, in turn right of it and above, left of it and below."""
    right_mark = {**layout.TEXT_MARK, "dx": 7, "dy": -7, "fontSize": 10.5}
    left_mark = {**right_mark, "align": "right", "dx": -7, "dy": 8}
    return [
        {
            "transform": [{"filter": f"datum.odd === {odd}"}],
            "mark": mark,
            "encoding": _offset_over_words(plot, encoding),
        }
        for odd, mark in (("false", right_mark), ("true", left_mark))
    ]


def _offset_over_words(plot: CurvePlot, encoding: VegaSpec) -> VegaSpec:
    """Over words, the points of one place stand side by side."""
    if plot.numeric:
        return encoding
    return {**encoding, "xOffset": {"field": "line", "type": "nominal", "axis": None}}


def _make_x_encoding(plot: CurvePlot, scale: _AxisScale, width: float, data: ChartData) -> VegaSpec:
    axis: VegaSpec = {"title": scale.title, "labelOverlap": "greedy", "labelAngle": 0}
    if not plot.numeric:
        domain = [str(x) for x in plot.places]
        band: VegaSpec = {
            "type": "band",
            "domain": domain,
            "paddingInner": 0.3,
            "paddingOuter": 0.15,
        }
        return {"field": "x", "type": "nominal", "scale": band, "axis": {**axis, "grid": False}}
    values = [d["x"] for d in data["points"]]
    ends = [d[k] for d in data["points"] for k in ("left", "right") if k in d] or values
    if not plot.curve.scatter and len(set(values)) <= TICKS_MAX:
        axis |= {"values": sorted(set(values)), "tickCount": ALL_TICKS}
    room = 0.12 if plot.curve.label else 0.04
    return {
        "field": "x",
        "type": "quantitative",
        "scale": _make_axis_range(plot.curve.scale, ends, zero=plot.curve.scatter, room=room),
        "axis": {"format": ",.3~f", "tickCount": max(2, int(width / 110)), **axis},
    }


def _make_y_encoding(plot: CurvePlot, scale: _AxisScale, data: ChartData) -> VegaSpec:
    ends = [d[k] for d in data["points"] for k in ("low", "high")]
    return {
        "type": "quantitative",
        "scale": _make_axis_range(plot.curve.y_scale, ends, zero=True),
        "axis": {"title": scale.title, "tickCount": 6, "format": ",.3~f"},
    }


def _make_axis_range(
    kind: str, values: Sequence[float], *, zero: bool, room: float = 0.04
) -> VegaSpec:
    """The scale over these values; a logarithm that has to show 0 or less is symmetric about it."""
    low, high = min(values), max(values)
    if kind == "log" and low > 0:
        return {
            "type": "log",
            "domain": [low / (1 + 3 * room), high * (1 + 3 * room)],
            "nice": False,
        }
    if zero:
        low, high = min(0.0, low), max(0.0, high)
    room *= high - low or abs(high) or 1
    domain = [low - (room if low else 0), high + (room if high else 0)]
    if kind != "log":
        return {"type": "linear", "domain": domain, "nice": False, "zero": False}
    least = min((abs(v) for v in values if v), default=1.0)
    return {"type": "symlog", "constant": least, "domain": domain, "nice": False}


def render_curve_table(plot: CurvePlot) -> ReportTable:
    """A row a point: its line, its x, how many members, the value, and what a gain compares."""
    gain, form = plot.curve.gain, plot.y.quantity.form
    head = [plot.x.title] if plot.curve.scatter else []
    head.append(plot.y.title)
    axis = plot.measured_axis
    head += (
        [f"{axis.title}, {_format_bare_name(gain.by)} {v}" for v in (gain.of, gain.over)]
        if gain
        else []
    )
    rows = []
    for line in plot.lines:
        for p in line.points:
            cells = [_make_linked_value(p, [m.x or 0 for m in p.members], plot.x.quantity.form)]
            cells = cells if plot.curve.scatter else []
            cells.append(_make_linked_value(p, [m.y for m in p.members], form))
            cells += [tables.make_spread_cell_value(s, axis.quantity.form) for s in p.parts]
            if line.modelled:
                cells = [CellValue(CellPart(c.middle.text)) for c in cells]
            state = p.label if plot.curve.scatter else format_x(plot, p.x)
            count, trials = ("", []) if line.modelled else (str(len(p.members)), p.trials)
            rows.append(TableRow(line.title, state, count, cells, trials))
        if fit_text := format_plot_line_fit(plot, line):
            blank = [tables.MISSING_VALUE] * (len(head) - 1)
            rows.append(
                TableRow(line.title, "line", "", [*blank, CellValue(CellPart(fit_text))], [])
            )
    lead = _format_bare_name(plot.curve.label) if plot.curve.scatter else plot.x.title
    return ReportTable(head, rows, ("line", lead))


def _make_linked_value(
    p: PlotPoint, values: Sequence[float], form: Callable[[float], str]
) -> CellValue:
    """Median and range; each links to its trial where a value is of one trial alone."""
    found = compute_spread(values)
    if found is None or any(len(m.trials) != 1 for m in p.members):
        return tables.make_spread_cell_value(found, form)
    by_trial = {m.trials[0]: v for m, v in zip(p.members, values, strict=True)}
    return tables.make_trial_linked_cell_value(by_trial, found, form)
