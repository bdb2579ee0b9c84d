# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of the instrument wear: erases of the sorted blocks, and over time.

A line is a configuration's trial whose mean is in the middle: the curve of no trial would be a
median of curves that nobody measured. The table beside it has the range of all trials.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from nandlab.analysis import wear
from nandlab.analysis.groups import Setting
from nandlab.base import units
from nandlab.report import keys, layout, looks, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import NARROW, WIDE, Data
from nandlab.report.looks import Look
from nandlab.report.specs import Drawn
from nandlab.results.measures import Wear
from nandlab.results.record import Trial

AXIS_ROOM = 70
"""Px left of the panel for the axis and its title."""
MEAN = [4, 3]
"""The dash of the mean; the most erased block is a whole line."""
COLUMNS = ("erases", "mean", "sd", "max", "min", "never_share", "gini")
OWN = ("moves", "programs", "erases")
SORTED = (
    "Erases of the blocks since the load's first step, the most erased first: at 25 %, a quarter "
    "of the blocks were erased so often or more. The flatter, the more even. Where nothing was "
    "erased the line lies at 0 and tells nothing of evenness."
)
TIME = (
    "Erases of the most erased block (whole line) and of the mean block (dashed), at the end of "
    "each step since the load's first one."
)
ONE = " Each line is one trial, the one with the middle mean of its configuration."

Chosen = list[tuple[str, str, Wear]]
"""Name of the line, its file system, what it shows."""


def drawn_sorted(setting: Setting) -> Drawn | None:
    """None where no trial was measured."""
    chosen = _chosen(setting)
    points = [
        {"line": str(i), "x": share * 100, "y": erases, "order": k}
        for i, (_, _, w) in enumerate(chosen)
        for k, (share, erases) in enumerate(wear.sorted_curve(wear.load_erases(w)))
    ]
    titles = ("share of the blocks, %", "erases of a block")
    return _drawn(setting, chosen, points, ("wear-sorted", "Erases, sorted", SORTED), titles)


def drawn_over_time(setting: Setting) -> Drawn | None:
    """None where no trial was measured, or nothing was erased."""
    chosen = _chosen(setting)
    courses = [wear.over_time(w) for _, _, w in chosen]
    if not any(e.erases for course in courses for _, e in course):
        return None
    longest = max(course[-1][0] - course[0][0] for course in courses)
    unit, name = units.unit_for(longest, units.TIME_UNITS)
    points = [
        {"line": str(i), "of": what, "x": (t - course[0][0]) / unit, "y": value, "order": k}
        for i, course in enumerate(courses)
        for k, (t, e) in enumerate(course)
        for what, value in (("most", e.max), ("mean", e.mean))
    ]
    titles = (f"board time since the load's first step, {name}", "erases of a block")
    return _drawn(setting, chosen, points, ("wear-time", "Wear over time", TIME), titles)


def _chosen(setting: Setting) -> Chosen:
    found: Chosen = []
    for row in layout.rows(setting):
        measured = sorted((t for t in row.ensemble.ok if t.wear), key=_mean)
        if measured and (middle := measured[(len(measured) - 1) // 2].wear):
            found.append((row.ensemble.label, row.ensemble.first.filesystem, middle))
    return found


def _mean(trial: Trial) -> float:
    found = wear.of_load(trial)
    return found.mean if found else 0.0


def _drawn(
    setting: Setting,
    chosen: Chosen,
    points: list[dict[str, Any]],
    about: tuple[str, str, str],
    axes: tuple[str, str],
) -> Drawn | None:
    if not chosen:
        return None
    seen = looks.of([(filesystem, title) for title, filesystem, _ in chosen])
    names = [title for title, _, _ in chosen]
    bare = [{k: v for k, v in look.data.items() if k in ("colour", "dash")} for look in seen]
    data: Data = {
        "points": [{**p, **_dashed(p, seen[int(p["line"])])} for p in points],
        "key_wide": _key(names, bare, WIDE),
        "key_narrow": _key(names, bare, NARROW),
    }
    name, title, caption = about
    wide, narrow = (_spec(f"key_{form}", w, data, axes) for form, w in FORMS)
    chart = Chart(f"{setting.slug}-{name}", title, caption + ONE, data, wide, narrow)
    return Drawn(chart, table(setting))


FORMS = (("wide", WIDE), ("narrow", NARROW))


def table(setting: Setting) -> tables.Table:
    """Evenness since the load's first step, then with the formatting, and UBI's own moves."""
    figures = [f"wear.{c}" for c in COLUMNS if c != "mean"]
    figures[1:1] = ["wear.mean"]
    figures += [f"wear.all.{c}" for c in COLUMNS]
    if any("own.moves" in t.measured.get("wear", {}) for e in setting.ensembles for t in e.ok):
        figures += [f"wear.own.{c}" for c in OWN]
    return tables.table(setting.ensembles, [tables.figure(setting.figure(f)) for f in figures])


def _dashed(point: dict[str, Any], look: Look) -> dict[str, Any]:
    return {"colour": look.colour, "dash": MEAN if point.get("of") == "mean" else look.dash}


def _key(names: Sequence[str], seen: Sequence[dict[str, Any]], width: float) -> list[Any]:
    pairs = zip(names, seen, strict=True)
    lines = [line for name, look in pairs for line in _wrapped(name, look, width)]
    return [keys.entry(i, text, **look) for i, (text, look) in enumerate(lines)]


def _wrapped(name: str, look: dict[str, Any], width: float) -> list[tuple[str, dict[str, Any]]]:
    """A name's lines in the key, the first with its sample."""
    texts = textwrap.wrap(name, keys.letters(width))
    return [(text, look if i == 0 else {}) for i, text in enumerate(texts)]


def _spec(key: str, width: float, data: Data, axes: tuple[str, str]) -> Spec:
    inner = width - AXIS_ROOM - layout.EDGE
    top = max((p["y"] for p in data["points"]), default=0)
    x, y = (
        {"field": f, "type": "quantitative", "axis": {"title": t, "format": ",.3~f", **more}}
        for f, t, more in (
            ("x", axes[0], {"tickCount": max(2, int(inner / 110))}),
            ("y", axes[1], {"tickCount": 6}),
        )
    )
    panel: Spec = {
        "data": {"name": "points"},
        "width": inner,
        "height": 300 if width == WIDE else 240,
        "mark": {"type": "line", "strokeWidth": 1.8, "strokeOpacity": 0.9},
        "encoding": {
            "x": {**x, "scale": {"zero": True, "nice": False}},
            "y": {**y, "scale": {"domain": [0, max(1, top) * 1.04], "nice": False}},
            "detail": [{"field": "line"}, {"field": "of"}],
            "order": {"field": "order", "type": "quantitative"},
            "color": layout.COLOUR,
            "strokeDash": keys.DASH,
        },
    }
    views = [keys.view(key, inner, len(data[key])), panel]
    return {**layout.concat(views, 1), "bounds": "full", "spacing": 14}
