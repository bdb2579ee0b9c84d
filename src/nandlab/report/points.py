# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload whose phases are many points: one chart and one table of them, not a panel for each.

The chart has a row a point and a mark a configuration; the table has for each configuration its
time, its page reads and the p99 of its operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.analysis import place, points
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.place import PointFigure
from nandlab.analysis.spread import Spread, spread
from nandlab.base import units
from nandlab.report import keys, layout, looks, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import LETTER, NARROW, WIDE, Data
from nandlab.report.looks import Look
from nandlab.report.specs import Drawn
from nandlab.report.tables import Table, TableRow, Value
from nandlab.results.record import Trial

ROW = 17
"""Height in px of a point's row."""
LONGEST = 200
"""Px that the points' names may take in the narrow form."""
COLUMNS = {"time": "time", "reads": "page reads", "p99": "p99"}
"""Figures of a point that the table has for each configuration."""
CAPTION = (
    "A row is a point, by the workload's name for it; a mark is the median of a configuration's "
    "trials, the line through it their range. The scale is logarithmic."
)


def drawn(setting: Setting) -> Drawn | None:
    """None where no point has a time."""
    names = points.names(setting)
    own = [e for e in setting.ensembles if e.ok]
    seen = looks.of([(e.first.filesystem, e.label) for e in own])
    marks = [
        mark
        for e, look in zip(own, seen, strict=True)
        for name in names
        if (mark := _mark(setting, name, e, look)) is not None
    ]
    if not marks:
        return None
    data: Data = {"marks": marks}
    for key, width in (("key_wide", WIDE), ("key_narrow", NARROW)):
        data[key] = keys.entries([e.label for e in own], seen, width)
    shown = [setting.words.phase(name).title for name in names]
    specs = [_spec(k, w, shown, data) for k, w in (("key_wide", WIDE), ("key_narrow", NARROW))]
    chart = Chart(f"{setting.slug}-points", "Time of each point", CAPTION, data, *specs)
    return Drawn(chart, table(setting))


def _mark(setting: Setting, name: str, e: Ensemble, look: Look) -> dict[str, Any] | None:
    found = e.spread(setting.figure(f"phase.{name}"))
    if found is None or found.min <= 0:
        return None
    title = setting.words.phase(name).title
    return {
        "point": title,
        "low": found.min / 1e6,
        "mid": found.median / 1e6,
        "high": found.max / 1e6,
        "tip": f"{title}, {e.label}: {found.text(units.time)}",
        **look.data,
    }


def _spec(key: str, width: float, names: Sequence[str], data: Data) -> Spec:
    room = max(len(name) for name in names) * LETTER + 16
    room = min(room, LONGEST) if width == NARROW else room
    inner = width - room - layout.EDGE
    rows = 1 + max(d["line"] for d in data[key])
    views = [keys.view(key, inner, rows), _panel(inner, room, names)]
    return {**layout.concat(views, 1), "bounds": "full", "spacing": 14}


def _panel(width: float, room: float, names: Sequence[str]) -> Spec:
    y: Spec = {
        "field": "point",
        "type": "nominal",
        "scale": {"type": "point", "domain": list(names), "padding": 0.5},
        "axis": {"title": None, "grid": True, "labelLimit": room},
    }
    x: Spec = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": "board time, ms", "format": ",.3~f", "tickCount": max(2, width / 110)},
    }
    rule: Spec = {
        "mark": {"type": "rule", "strokeWidth": 1.4, "opacity": 0.75},
        "encoding": {
            "y": y,
            "x": {**x, "field": "low"},
            "x2": {"field": "high"},
            "color": layout.COLOUR,
        },
    }
    marks: Spec = {
        "mark": {**keys.POINT, "size": 44},
        "encoding": {
            "y": y,
            "x": {**x, "field": "mid"},
            "stroke": layout.COLOUR,
            "fill": keys.FILL,
            "shape": keys.SHAPE,
            "tooltip": layout.TIP,
        },
    }
    return {
        "data": {"name": "marks"},
        "width": width,
        "height": ROW * len(names),
        "layer": [rule, marks],
    }


def table(setting: Setting) -> Table:
    """A row a point in a flash state; for each configuration time, page reads, p99."""
    head = [f"{s}: {title}" for s in setting.subjects for title in COLUMNS.values()]
    rows = [
        TableRow(
            setting.words.phase(name).title,
            state,
            _count(setting, state),
            [
                _cell(setting.find(subject, state), name, place.FIGURES[figure])
                for subject in setting.subjects
                for figure in COLUMNS
            ],
            [],
        )
        for name in points.names(setting)
        for state in setting.states
    ]
    known = [i for i in range(len(head)) if any(r.cells[i] is not tables.MISSING for r in rows)]
    cut = [TableRow(r.subject, r.state, r.count, [r.cells[i] for i in known], []) for r in rows]
    return Table([head[i] for i in known], cut, ("point", "state"))


def _count(setting: Setting, state: str) -> str:
    """Trials that ended well, of each configuration."""
    found = sorted({len(e.ok) for e in setting.ensembles if e.state == state})
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _cell(e: Ensemble | None, name: str, figure: PointFigure) -> Value:
    by_trial = {t.id: v for t in e.ok if (v := _read(t, name, figure)) is not None} if e else {}
    found: Spread | None = spread(by_trial.values())
    return tables.linked(by_trial, found, figure.quantity.form) if found else tables.MISSING


def _read(trial: Trial, name: str, figure: PointFigure) -> float | None:
    phase = trial.phase(name)
    return None if phase is None else figure.read(trial, phase)
