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

from nandlab.analysis import fits, lines
from nandlab.analysis.curves import of_study
from nandlab.analysis.lines import Axis, Line, Plot, Point
from nandlab.analysis.spread import spread
from nandlab.base import units
from nandlab.report import keys, layout, looks, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import NARROW, WIDE, Data
from nandlab.report.looks import Look
from nandlab.report.specs import Drawn, capital
from nandlab.report.tables import Part, Table, TableRow, Value
from nandlab.results.record import Trial

AXIS_ROOM = 70
"""Px left of the panel for the axis and its title."""
TICKS_MOST = 12
"""Up to so many places of x have a tick each; above, the axis has round numbers."""
SCALED = "A point is the median of its members, the line through it their range."
ALL = 99
"""Ticks, so that a logarithmic axis names every place that it is given."""
SINGLE = "Each point is a single trial, so no range is known."
FITTED = (
    "The lines are least squares, each member's by itself; drawn is the one whose slope is in the "
    "middle, and R² has the range of all."
)
FIT_POINTS = 33
"""Points that a least-squares line is drawn by."""
MODELLED = "Dashed lines with hollow points are a model's, not measured."


@dataclass(frozen=True)
class Asked:
    """A curve of the study; ``drawn`` is None where no trial has a value of it."""

    title: str
    plot: Plot
    drawn: Drawn | None


@dataclass(frozen=True)
class _Scale:
    """A direction of the chart: the unit that fits its values, and how one is written."""

    title: str
    unit: float
    form: Callable[[float], str]

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float]) -> _Scale:
        """For values in the base unit."""
        largest = max((abs(v) for v in values), default=0)
        unit, name = units.unit_for(largest, axis.quantity.sizes)
        title = capital(axis.title) + (f", {name}" if name else "")
        return cls(title, unit, axis.quantity.form)


def asked(spec: Mapping[str, Any], trials: Sequence[Trial]) -> list[Asked]:
    """Every curve of a study, in its order, with what its trials have of it."""
    found = lines.plots(of_study(spec), trials)
    return [Asked(plot.curve.title, plot, _drawn(plot)) for plot in found]


def _drawn(plot: Plot) -> Drawn | None:
    if not any(line.points for line in plot.lines):
        return None
    seen, titles = _looks(plot.lines), [_title(plot, line) for line in plot.lines]
    x, y = _scales(plot)
    data: Data = {
        "points": [
            {"line": str(i), "odd": k % 2 == 1, **_point(plot, line, p, x, y), **look.data}
            for i, (line, look) in enumerate(zip(plot.lines, seen, strict=True))
            for k, p in enumerate(line.points)
        ],
        "key_wide": keys.entries(titles, seen, WIDE),
        "key_narrow": keys.entries(titles, seen, NARROW),
    }
    if plot.curve.fit:
        data["fits"] = [
            {"line": str(i), **at, **look.data}
            for i, (line, look) in enumerate(zip(plot.lines, seen, strict=True))
            for at in _fitted(plot, line, x, y)
        ]
    wide = _spec(plot, "key_wide", WIDE, data, (x, y))
    narrow = _spec(plot, "key_narrow", NARROW, data, (x, y))
    name, caption = f"curve-{plot.curve.name}", _caption(plot)
    return Drawn(Chart(name, plot.curve.title, caption, data, wide, narrow), table(plot))


def _title(plot: Plot, line: Line) -> str:
    """A line's name in the key, with its least-squares line."""
    return f"{line.title}: {told}" if (told := fit_in_words(plot, line)) else line.title


def fit_in_words(plot: Plot, line: Line) -> str:
    """``12.3 ms + 0.51 ms each, R² 0.9991 (0.9989 to 0.9993)``; empty: there is none."""
    if not plot.curve.fit or not (found := line.fits):
        return ""
    middle = fits.middle(found).in_words(plot.y.quantity.form)
    return f"{middle}, {fits.r2_in_words(found)}"


def _fitted(plot: Plot, line: Line, x: _Scale, y: _Scale) -> Iterator[dict[str, float]]:
    """Points of the middle member's line, near enough to be straight on a logarithmic axis."""
    if not (found := line.fits):
        return
    fit, (low, high) = fits.middle(found), line.ends
    for i in range(FIT_POINTS):
        at = low + (high - low) * i / (FIT_POINTS - 1)
        if plot.curve.scale == "log" and low > 0:
            at = low * (high / low) ** (i / (FIT_POINTS - 1))
        if plot.curve.y_scale != "log" or fit.at(at) > 0:
            yield {"x": at / x.unit, "mid": fit.at(at) / y.unit}


def _caption(plot: Plot) -> str:
    """The study's own words, then what is drawn."""
    points = [p for line in plot.lines if not line.modelled for p in line.points]
    told = [plot.curve.caption.strip()]
    if plot.curve.gain:
        g = plot.curve.gain
        told.append(
            f"Saved is 1 - a / b, a with {_bare(g.by)} {g.of} and b with {g.over}, member by member"
            + ("; below 0 it costs." if any(p.y.min < 0 for p in points) else ".")
        )
    told.append(SINGLE if all(p.y.n == 1 for p in points) else SCALED)
    told += [FITTED] if any(line.fits for line in plot.lines) and plot.curve.fit else []
    told += [MODELLED] if any(line.modelled for line in plot.lines) else []
    return " ".join(filter(None, told))


def _bare(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ")


def _looks(of: Sequence[Line]) -> list[Look]:
    """A look for each line; a modelled line has the colour of the measured one of its name."""
    measured = [line for line in of if not line.modelled]
    seen = looks.of([(line.filesystem, line.title) for line in measured])
    by_key = {line.key: look for line, look in zip(measured, seen, strict=True)}
    other = Look("#7d7d7d", "circle", False, [1, 0])
    found = [by_key.get(line.key, other) for line in of]
    return [
        replace(look, shape="circle", filled=False, dash=looks.MODELLED) if line.modelled else look
        for line, look in zip(of, found, strict=True)
    ]


def _scales(plot: Plot) -> tuple[_Scale, _Scale]:
    points = [p for line in plot.lines for p in line.points]
    xs = [s.max if (s := p.over_x) else float(p.x) for p in points] if plot.numeric else []
    return _Scale.of(plot.x, xs), _Scale.of(plot.y, [p.y.max for p in points])


def _point(plot: Plot, line: Line, p: Point, x: _Scale, y: _Scale) -> dict[str, Any]:
    wide = p.over_x
    told = {
        "x": float(p.x) / x.unit if plot.numeric else str(p.x),
        "low": p.y.min / y.unit,
        "mid": p.y.median / y.unit,
        "high": p.y.max / y.unit,
        "label": p.label,
        "ranges": p.y.n > 1,
    }
    if wide:
        told |= {"left": wide.min / x.unit, "right": wide.max / x.unit}
    at = wide.text(x.form) if wide else in_words(plot, p.x)
    text = "modelled " + y.form(p.y.median) if line.modelled else p.y.text(y.form)
    label = f"{p.label}: " if p.label else ""
    return {**told, "tip": f"{line.title}, {label}{plot.x.title} {at}: {text}"}


def in_words(plot: Plot, x: object) -> str:
    """A place of x."""
    return plot.x.quantity.form(x) if isinstance(x, float) else str(x)


def _spec(plot: Plot, key: str, width: float, data: Data, scales: tuple[_Scale, _Scale]) -> Spec:
    inner = width - AXIS_ROOM - layout.EDGE
    height = 320 if width == WIDE else 260
    rows = 1 + max(d["line"] for d in data[key])
    views = [keys.view(key, inner, rows), _panel(plot, inner, height, data, scales)]
    return {**layout.concat(views, 1), "bounds": "full", "spacing": 14}


def _panel(
    plot: Plot, width: float, height: float, data: Data, scales: tuple[_Scale, _Scale]
) -> Spec:
    x, y = _x(plot, scales[0], width, data), _y(plot, scales[1], data)
    drawn: list[Spec] = []
    if plot.curve.fit:
        drawn.append({"data": {"name": "fits"}, **_line(x, y)})
    elif not plot.curve.scatter and plot.numeric:
        drawn.append(_line(x, y))
    ranges: Spec = {"transform": [{"filter": "datum.ranges"}]}
    rule: Spec = {"type": "rule", "strokeWidth": 1.4, "opacity": 0.75}
    up = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": layout.COLOUR}
    drawn.append({**ranges, "mark": rule, "encoding": _apart(plot, up)})
    if plot.curve.scatter:
        across = {
            "x": {**x, "field": "left"},
            "x2": {"field": "right"},
            "y": {**y, "field": "mid"},
            "color": layout.COLOUR,
        }
        drawn.append({**ranges, "mark": rule, "encoding": across})
    at = {
        "x": x,
        "y": {**y, "field": "mid"},
        "stroke": layout.COLOUR,
        "fill": keys.FILL,
        "shape": keys.SHAPE,
        "tooltip": layout.TIP,
    }
    drawn.append({"mark": {**keys.POINT, "size": 52}, "encoding": _apart(plot, at)})
    if plot.curve.label:
        drawn += _labels(plot, {"x": x, "y": {**y, "field": "mid"}, "text": {"field": "label"}})
    return {"data": {"name": "points"}, "width": width, "height": height, "layer": drawn}


def _line(x: Spec, y: Spec) -> Spec:
    return {
        "mark": {"type": "line", "strokeWidth": 1.6, "strokeOpacity": 0.85},
        "encoding": {
            "x": x,
            "y": {**y, "field": "mid"},
            "detail": {"field": "line", "type": "nominal"},
            "order": {"field": "x", "type": "quantitative"},
            "color": layout.COLOUR,
            "strokeDash": keys.DASH,
        },
    }


def _labels(plot: Plot, encoding: Spec) -> list[Spec]:
    """Beside each point, in turn right of it and above, left of it and below."""
    right = {**layout.WORDS, "dx": 7, "dy": -7, "fontSize": 10.5}
    left = {**right, "align": "right", "dx": -7, "dy": 8}
    return [
        {
            "transform": [{"filter": f"datum.odd === {odd}"}],
            "mark": mark,
            "encoding": _apart(plot, encoding),
        }
        for odd, mark in (("false", right), ("true", left))
    ]


def _apart(plot: Plot, encoding: Spec) -> Spec:
    """Over words, the points of one place stand side by side."""
    if plot.numeric:
        return encoding
    return {**encoding, "xOffset": {"field": "line", "type": "nominal", "axis": None}}


def _x(plot: Plot, scale: _Scale, width: float, data: Data) -> Spec:
    axis: Spec = {"title": scale.title, "labelOverlap": "greedy", "labelAngle": 0}
    if not plot.numeric:
        domain = [str(x) for x in plot.places]
        band: Spec = {"type": "band", "domain": domain, "paddingInner": 0.3, "paddingOuter": 0.15}
        return {"field": "x", "type": "nominal", "scale": band, "axis": {**axis, "grid": False}}
    values = [d["x"] for d in data["points"]]
    ends = [d[k] for d in data["points"] for k in ("left", "right") if k in d] or values
    if not plot.curve.scatter and len(set(values)) <= TICKS_MOST:
        axis |= {"values": sorted(set(values)), "tickCount": ALL}
    room = 0.12 if plot.curve.label else 0.04
    return {
        "field": "x",
        "type": "quantitative",
        "scale": _range(plot.curve.scale, ends, zero=plot.curve.scatter, room=room),
        "axis": {"format": ",.3~f", "tickCount": max(2, int(width / 110)), **axis},
    }


def _y(plot: Plot, scale: _Scale, data: Data) -> Spec:
    ends = [d[k] for d in data["points"] for k in ("low", "high")]
    return {
        "type": "quantitative",
        "scale": _range(plot.curve.y_scale, ends, zero=True),
        "axis": {"title": scale.title, "tickCount": 6, "format": ",.3~f"},
    }


def _range(kind: str, values: Sequence[float], *, zero: bool, room: float = 0.04) -> Spec:
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


def table(plot: Plot) -> Table:
    """A row a point: its line, its x, how many members, the value, and what a gain compares."""
    gain, form = plot.curve.gain, plot.y.quantity.form
    head = [plot.x.title] if plot.curve.scatter else []
    head.append(plot.y.title)
    of = plot.of
    head += [f"{of.title}, {_bare(gain.by)} {v}" for v in (gain.of, gain.over)] if gain else []
    rows = []
    for line in plot.lines:
        for p in line.points:
            cells = [_linked(p, [m.x or 0 for m in p.members], plot.x.quantity.form)]
            cells = cells if plot.curve.scatter else []
            cells.append(_linked(p, [m.y for m in p.members], form))
            cells += [tables.spread_value(s, of.quantity.form) for s in p.parts]
            if line.modelled:
                cells = [Value(Part(c.middle.text)) for c in cells]
            state = p.label if plot.curve.scatter else in_words(plot, p.x)
            count, trials = ("", []) if line.modelled else (str(len(p.members)), p.trials)
            rows.append(TableRow(line.title, state, count, cells, trials))
        if told := fit_in_words(plot, line):
            blank = [tables.MISSING] * (len(head) - 1)
            rows.append(TableRow(line.title, "line", "", [*blank, Value(Part(told))], []))
    lead = _bare(plot.curve.label) if plot.curve.scatter else plot.x.title
    return Table(head, rows, ("line", lead))


def _linked(p: Point, values: Sequence[float], form: Callable[[float], str]) -> Value:
    """Median and range; each links to its trial where a value is of one trial alone."""
    found = spread(values)
    if found is None or any(len(m.trials) != 1 for m in p.members):
        return tables.spread_value(found, form)
    by_trial = {m.trials[0]: v for m, v in zip(p.members, values, strict=True)}
    return tables.linked(by_trial, found, form)
