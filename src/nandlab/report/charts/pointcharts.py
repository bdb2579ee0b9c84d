# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload whose phases are many points: one chart and one table of them, not a panel for each.

The chart has a row a point and a mark a configuration; the table has for each configuration its
time, its page reads and the p99 of its operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.analysis.curves import curveplaces
from nandlab.analysis.curves.curveplaces import PhaseFigure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.verdicts import pointanswers
from nandlab.base import units
from nandlab.report.charts import chartkeys, layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import LETTER_PX, NARROW, WIDE, ChartData
from nandlab.report.charts.looks import MarkLook
from nandlab.report.tables import tables
from nandlab.report.tables.tables import CellValue, ReportTable, TableRow
from nandlab.results.record import Trial

ROW_PX = 17
"""Height in px of a point's row."""
POINTS_DRAWN_MAX = 200
"""Px that the points' names may take in the narrow form."""
TABLE_COLUMNS = {"time": "time", "reads": "page reads", "p99": "p99"}
"""Figures of a point that the table has for each configuration."""
POINTS_CAPTION = (
    "A row is a point, by the workload's name for it; a mark is the median of a configuration's "
    "trials, the line through it their range. The scale is logarithmic."
)


def render_point_times_chart(setting: Setting) -> ChartWithTable | None:
    """None where no point has a time."""
    names = pointanswers.list_point_phase_names(setting)
    ensembles = [e for e in setting.ensembles if e.ok]
    mark_looks = looks.choose_mark_looks([(e.first.filesystem, e.label) for e in ensembles])
    marks = [
        mark
        for e, look in zip(ensembles, mark_looks, strict=True)
        for name in names
        if (mark := _make_mark(setting, name, e, look)) is not None
    ]
    if not marks:
        return None
    data: ChartData = {"marks": marks}
    for key, width in (("key_wide", WIDE), ("key_narrow", NARROW)):
        data[key] = chartkeys.make_legend_entries([e.label for e in ensembles], mark_looks, width)
    titles = [setting.words.phase(name).title for name in names]
    specs = [
        _make_spec(k, w, titles, data) for k, w in (("key_wide", WIDE), ("key_narrow", NARROW))
    ]
    chart = Chart(f"{setting.slug}-points", "Time of each point", POINTS_CAPTION, data, *specs)
    return ChartWithTable(chart, render_point_times_table(setting))


def _make_mark(setting: Setting, name: str, e: Ensemble, look: MarkLook) -> dict[str, Any] | None:
    spread = e.spread(setting.figure(f"phase.{name}"))
    if spread is None or spread.min <= 0:
        return None
    title = setting.words.phase(name).title
    return {
        "point": title,
        "low": spread.min / 1e6,
        "mid": spread.median / 1e6,
        "high": spread.max / 1e6,
        "tip": f"{title}, {e.label}: {spread.text(units.format_time)}",
        **look.data,
    }


def _make_spec(key: str, width: float, names: Sequence[str], data: ChartData) -> VegaSpec:
    room = max(len(name) for name in names) * LETTER_PX + 16
    room = min(room, POINTS_DRAWN_MAX) if width == NARROW else room
    inner = width - room - layout.RIGHT_EDGE
    rows = 1 + max(d["line"] for d in data[key])
    views = [chartkeys.make_legend_view(key, inner, rows), _make_panel(inner, room, names)]
    return {**layout.concatenate_panel_views(views, 1), "bounds": "full", "spacing": 14}


def _make_panel(width: float, room: float, names: Sequence[str]) -> VegaSpec:
    y: VegaSpec = {
        "field": "point",
        "type": "nominal",
        "scale": {"type": "point", "domain": list(names), "padding": 0.5},
        "axis": {"title": None, "grid": True, "labelLimit": room},
    }
    x: VegaSpec = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": "board time, ms", "format": ",.3~f", "tickCount": max(2, width / 110)},
    }
    rule: VegaSpec = {
        "mark": {"type": "rule", "strokeWidth": 1.4, "opacity": 0.75},
        "encoding": {
            "y": y,
            "x": {**x, "field": "low"},
            "x2": {"field": "high"},
            "color": layout.COLOUR_ENCODING,
        },
    }
    marks: VegaSpec = {
        "mark": {**chartkeys.POINT_MARK, "size": 44},
        "encoding": {
            "y": y,
            "x": {**x, "field": "mid"},
            "stroke": layout.COLOUR_ENCODING,
            "fill": chartkeys.FILL_ENCODING,
            "shape": chartkeys.SHAPE_ENCODING,
            "tooltip": layout.TIP_ENCODING,
        },
    }
    return {
        "data": {"name": "marks"},
        "width": width,
        "height": ROW_PX * len(names),
        "layer": [rule, marks],
    }


def render_point_times_table(setting: Setting) -> ReportTable:
    """A row a point in a flash state; for each configuration time, page reads, p99."""
    head = [f"{s}: {title}" for s in setting.subjects for title in TABLE_COLUMNS.values()]
    rows = [
        TableRow(
            setting.words.phase(name).title,
            state,
            _format_trial_count(setting, state),
            [
                _make_cell(setting.find(subject, state), name, curveplaces.PHASE_FIGURES[figure])
                for subject in setting.subjects
                for figure in TABLE_COLUMNS
            ],
            [],
        )
        for name in pointanswers.list_point_phase_names(setting)
        for state in setting.states
    ]
    known = [
        i for i in range(len(head)) if any(r.cells[i] is not tables.MISSING_VALUE for r in rows)
    ]
    cut = [TableRow(r.subject, r.state, r.count, [r.cells[i] for i in known], []) for r in rows]
    return ReportTable([head[i] for i in known], cut, ("point", "state"))


def _format_trial_count(setting: Setting, state: str) -> str:
    """Trials that ended well, of each configuration."""
    found = sorted({len(e.ok) for e in setting.ensembles if e.state == state})
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _make_cell(e: Ensemble | None, name: str, figure: PhaseFigure) -> CellValue:
    by_trial = (
        {t.id: v for t in e.ok if (v := _find_figure_value(t, name, figure)) is not None}
        if e
        else {}
    )
    found: Spread | None = compute_spread(by_trial.values())
    return (
        tables.make_trial_linked_cell_value(by_trial, found, figure.quantity.form)
        if found
        else tables.MISSING_VALUE
    )


def _find_figure_value(trial: Trial, name: str, figure: PhaseFigure) -> float | None:
    phase = trial.phase(name)
    return None if phase is None else figure.compute(trial, phase)
