# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of the instrument wear: erases of the sorted blocks, and over time.

A line is a configuration's trial whose mean is in the middle: the curve of no trial would be a
median of curves that nobody measured. The table beside it has the range of all trials.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from nandlab.analysis.figures import wear
from nandlab.analysis.figures.groups import Setting
from nandlab.base import units
from nandlab.report.charts import chartkeys, layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import NARROW, WIDE, ChartData
from nandlab.report.charts.looks import MarkLook
from nandlab.report.tables import tables
from nandlab.results.record import Trial
from nandlab.results.recordparts import Wear

AXIS_ROOM = 70
"""Px left of the panel for the axis and its title."""
MEAN_DASH = [4, 3]
"""The dash of the mean; the most erased block is a whole line."""
EVENNESS_COLUMNS = ("erases", "mean", "sd", "max", "min", "never_share", "gini")
UBI_COLUMNS = ("moves", "programs", "erases")
SORTED_CAPTION = (
    "Erases of the blocks since the load's first step, the most erased first: at 25 %, a quarter "
    "of the blocks were erased so often or more. The flatter, the more even. Where nothing was "
    "erased the line lies at 0 and tells nothing of evenness."
)
TIME_CAPTION = (
    "Erases of the most erased block (whole line) and of the mean block (dashed), at the end of "
    "each step since the load's first one."
)
ONE_TRIAL_NOTE = " Each line is one trial, the one with the middle mean of its configuration."

MiddleTrials = list[tuple[str, str, Wear]]
"""Name of the line, its file system, what it shows."""


def render_sorted_wear_chart(setting: Setting) -> ChartWithTable | None:
    """None where no trial was measured."""
    chosen = _select_middle_trials(setting)
    points = [
        {"line": str(i), "x": share * 100, "y": erases, "order": k}
        for i, (_, _, w) in enumerate(chosen)
        for k, (share, erases) in enumerate(
            wear.make_sorted_erase_curve(wear.count_load_erases_per_block(w))
        )
    ]
    titles = ("share of the blocks, %", "erases of a block")
    return _render_wear_chart(
        setting, chosen, points, ("wear-sorted", "Erases, sorted", SORTED_CAPTION), titles
    )


def render_wear_over_time_chart(setting: Setting) -> ChartWithTable | None:
    """None where no trial was measured, or nothing was erased."""
    chosen = _select_middle_trials(setting)
    courses = [wear.list_erase_evenness_over_time(w) for _, _, w in chosen]
    if not any(e.erases for course in courses for _, e in course):
        return None
    longest = max(course[-1][0] - course[0][0] for course in courses)
    unit, name = units.choose_unit(longest, units.TIME_UNITS)
    points = [
        {"line": str(i), "of": what, "x": (t - course[0][0]) / unit, "y": value, "order": k}
        for i, course in enumerate(courses)
        for k, (t, e) in enumerate(course)
        for what, value in (("most", e.max), ("mean", e.mean))
    ]
    titles = (f"board time since the load's first step, {name}", "erases of a block")
    return _render_wear_chart(
        setting, chosen, points, ("wear-time", "Wear over time", TIME_CAPTION), titles
    )


def _select_middle_trials(setting: Setting) -> MiddleTrials:
    middle_trials: MiddleTrials = []
    for row in layout.make_chart_rows(setting):
        wear_trials = sorted((t for t in row.ensemble.ok if t.wear), key=_compute_mean_erases)
        if wear_trials and (middle := wear_trials[(len(wear_trials) - 1) // 2].wear):
            middle_trials.append((row.ensemble.label, row.ensemble.first.filesystem, middle))
    return middle_trials


def _compute_mean_erases(trial: Trial) -> float:
    found = wear.compute_load_erase_evenness(trial)
    return found.mean if found else 0.0


def _render_wear_chart(
    setting: Setting,
    chosen: MiddleTrials,
    points: list[dict[str, Any]],
    about: tuple[str, str, str],
    axes: tuple[str, str],
) -> ChartWithTable | None:
    if not chosen:
        return None
    seen = looks.choose_mark_looks([(filesystem, title) for title, filesystem, _ in chosen])
    names = [title for title, _, _ in chosen]
    bare = [{k: v for k, v in look.data.items() if k in ("colour", "dash")} for look in seen]
    data: ChartData = {
        "points": [{**p, **_make_dashed_point(p, seen[int(p["line"])])} for p in points],
        "key_wide": _make_key(names, bare, WIDE),
        "key_narrow": _make_key(names, bare, NARROW),
    }
    name, title, caption = about
    wide, narrow = (_make_spec(f"key_{form}", w, data, axes) for form, w in CHART_WIDTHS)
    chart = Chart(f"{setting.slug}-{name}", title, caption + ONE_TRIAL_NOTE, data, wide, narrow)
    return ChartWithTable(chart, render_evenness_table(setting))


CHART_WIDTHS = (("wide", WIDE), ("narrow", NARROW))


def render_evenness_table(setting: Setting) -> tables.ReportTable:
    """Evenness since the load's first step, then with the formatting, and UBI's own moves."""
    figures = [f"wear.{c}" for c in EVENNESS_COLUMNS if c != "mean"]
    figures[1:1] = ["wear.mean"]
    figures += [f"wear.all.{c}" for c in EVENNESS_COLUMNS]
    if any("own.moves" in t.measured.get("wear", {}) for e in setting.ensembles for t in e.ok):
        figures += [f"wear.own.{c}" for c in UBI_COLUMNS]
    return tables.make_ensemble_table(
        setting.ensembles, [tables.make_figure_column(setting.figure(f)) for f in figures]
    )


def _make_dashed_point(point: dict[str, Any], look: MarkLook) -> dict[str, Any]:
    return {"colour": look.colour, "dash": MEAN_DASH if point.get("of") == "mean" else look.dash}


def _make_key(names: Sequence[str], seen: Sequence[dict[str, Any]], width: float) -> list[Any]:
    pairs = zip(names, seen, strict=True)
    lines = [line for name, look in pairs for line in _wrap_key_name(name, look, width)]
    return [chartkeys.make_legend_entry(i, text, **look) for i, (text, look) in enumerate(lines)]


def _wrap_key_name(
    name: str, look: dict[str, Any], width: float
) -> list[tuple[str, dict[str, Any]]]:
    """A name's lines in the key, the first with its sample."""
    texts = textwrap.wrap(name, chartkeys.compute_legend_letters_per_line(width))
    return [(text, look if i == 0 else {}) for i, text in enumerate(texts)]


def _make_spec(key: str, width: float, data: ChartData, axes: tuple[str, str]) -> VegaSpec:
    inner = width - AXIS_ROOM - layout.RIGHT_EDGE
    top = max((p["y"] for p in data["points"]), default=0)
    x, y = (
        {"field": f, "type": "quantitative", "axis": {"title": t, "format": ",.3~f", **more}}
        for f, t, more in (
            ("x", axes[0], {"tickCount": max(2, int(inner / 110))}),
            ("y", axes[1], {"tickCount": 6}),
        )
    )
    panel: VegaSpec = {
        "data": {"name": "points"},
        "width": inner,
        "height": 300 if width == WIDE else 240,
        "mark": {"type": "line", "strokeWidth": 1.8, "strokeOpacity": 0.9},
        "encoding": {
            "x": {**x, "scale": {"zero": True, "nice": False}},
            "y": {**y, "scale": {"domain": [0, max(1, top) * 1.04], "nice": False}},
            "detail": [{"field": "line"}, {"field": "of"}],
            "order": {"field": "order", "type": "quantitative"},
            "color": layout.COLOUR_ENCODING,
            "strokeDash": chartkeys.DASH_ENCODING,
        },
    }
    views = [chartkeys.make_legend_view(key, inner, len(data[key])), panel]
    return {**layout.concatenate_panel_views(views, 1), "bounds": "full", "spacing": 14}
