# SPDX-License-Identifier: GPL-2.0-or-later
"""The response surface of a sweep over flash states: figures against live and dead data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nandlab.analysis import figures, sweep
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.base import units
from nandlab.report import layout
from nandlab.report.charts import Chart, Spec
from nandlab.results.record import Trial

CELL = 24
"""Height of a cell in px."""
WIDER = 28
"""Px left of the labels, for a reader's font that is wider than the one they were measured in."""


@dataclass(frozen=True)
class Surface:
    """One figure over the states."""

    key: str
    title: str
    figure: Callable[[Trial], float | None]
    form: units.Form


def _short(value: float) -> str:
    """Four letters at most, for a cell."""
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


SURFACES = (
    Surface(
        "time",
        "Transaction time, s",
        partial(figures.total_ns, phase="transactions"),
        lambda ns: _short(ns / 1e9),
    ),
    Surface(
        "erases",
        "Block erases",
        partial(figures.chip_total, operation="erases"),
        _short,
    ),
    Surface("amplification", "Write amplification", figures.write_amplification, _short),
    Surface("spread", "Wear spread, erases", figures.wear_spread, _short),
)


def chart(setting: Setting) -> Chart | None:
    """A panel a figure; None if the states are no sweep or nothing was measured."""
    if not sweep.is_sweep(setting):
        return None
    rows = [
        (subject, of, f"{subject}, {sweep.in_words(of)}")
        for subject in setting.subjects
        for of in sweep.lines(setting, subject)
    ]
    cells = [
        item
        for surface in SURFACES
        for subject, of, label in rows
        for e in sweep.lines(setting, subject)[of]
        for item in [_cell(surface, e, label)]
    ]
    if not any(c["value"] is not None for c in cells):
        return None
    labels = [label for _, _, label in rows]
    caption = (
        "Across, the share of the partition's pages that hold live data, in percent, as asked; a "
        "line each for a file system and for what dead data lies beside it, in blocks of its own "
        "(apart) or within the same blocks (mixed). A number is the median over the trials, the "
        "colour its logarithm; a star stands where some trials did not end well and are not in it, "
        "a cross where none did. The table has the state that each obtained."
    )
    return Chart(
        f"{setting.slug}-surface",
        "Response to the state of the flash",
        caption,
        {"cells": cells},
        _spec(labels, layout.WIDE),
        _spec(labels, layout.NARROW),
    )


def _cell(surface: Surface, e: Ensemble, label: str) -> dict[str, Any]:
    found = e.spread(surface.figure)
    failed = len(e.trials) - len(e.ok)
    if found is None:
        text = "?" if e.ok else "\u00d7"
        told = "no trial ended well"
    else:
        text = surface.form(found.median) + ("*" if failed else "")
        told = found.text(units.count)
        told += f", {failed} of {len(e.trials)} trials failed" if failed else ""
    return {
        "panel": surface.key,
        "row": label,
        "valid": f"{sweep.valid(e) * 100:g}",
        "value": None if found is None else found.median,
        "colour": None if found is None else max(found.median, 1e-9) + (surface.key == "spread"),
        "text": text,
        "tip": f"{e.label}: {surface.title} {told}",
    }


def _spec(labels: list[str], width: float) -> Spec:
    """Panels below one another; in the narrow form the labels stand above their cells."""
    room = max(len(label) for label in labels) * layout.LETTER + 12
    narrow = width == layout.NARROW
    views = [_panel(s, labels, width - (150 if narrow else room) - 30, narrow) for s in SURFACES]
    return {
        "$schema": layout.SCHEMA,
        "config": layout.CONFIG,
        "vconcat": views,
        "spacing": 30,
        "padding": {"left": 5 if narrow else WIDER, "top": 5, "right": 5, "bottom": 5},
        "background": "transparent",
        "resolve": {"scale": {"color": "independent"}},
    }


def _panel(surface: Surface, labels: list[str], width: float, narrow: bool) -> Spec:
    y: Spec = {
        "field": "row",
        "type": "nominal",
        "sort": labels,
        "axis": {"title": None, "labelLimit": 150 if narrow else 0, "grid": False},
    }
    x: Spec = {
        "field": "valid",
        "type": "ordinal",
        "sort": {"op": "min", "field": "order"},
        "axis": {"title": "valid pages, %", "labelAngle": 0, "grid": False},
    }
    shown = {"field": "colour", "type": "quantitative", "legend": None}
    colour = {**shown, "scale": {"type": "log", "range": ["#fdf1c9", "#f6b26b", "#e9765b"]}}
    return {
        "title": surface.title,
        "width": width,
        "height": CELL * len(labels),
        "data": {"name": "cells"},
        "transform": [
            {"filter": f"datum.panel === '{surface.key}'"},
            {"calculate": "toNumber(datum.valid)", "as": "order"},
        ],
        "encoding": {"x": x, "y": y, "tooltip": {"field": "tip", "type": "nominal"}},
        "layer": [
            {
                "transform": [{"filter": "datum.value !== null"}],
                "mark": {"type": "rect"},
                "encoding": {"color": colour},
            },
            {
                "transform": [{"filter": "datum.value !== null"}],
                "mark": {"type": "text", "fontSize": 8 if narrow else 11, "color": "#1d2125"},
                "encoding": {"text": {"field": "text"}},
            },
            {
                "transform": [{"filter": "datum.value === null"}],
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }
