# SPDX-License-Identifier: GPL-2.0-or-later
"""The response surface of a sweep over flash states: figures against live and dead data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.verdicts import sweep
from nandlab.base import units
from nandlab.report.charts import figurecharts, layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.tables import tables

CELL_PX = 24
"""Height of a cell in px."""
WIDE_CELL_PX = 28
"""Px left of the labels, for a reader's font that is wider than the one they were measured in."""


@dataclass(frozen=True)
class FigureSurface:
    """One figure over the states."""

    key: str
    title: str
    figure: Figure
    unit: float
    """Size of the unit of the cells' numbers."""
    shift: int = 0
    """Added to a value for its colour, on a logarithmic scale: 1 where a figure is often 0."""

    def form(self, value: float) -> str:
        return _format_short(value / self.unit)


def _format_short(value: float) -> str:
    """Four letters at most, for a cell."""
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    if value >= 1000:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _list_surfaces(setting: Setting) -> list[FigureSurface]:
    """The headline in one unit, then what the chip did."""
    headline = setting.headline
    medians = [s.median for e in setting.ensembles if (s := e.spread(headline)) is not None]
    unit, name = units.choose_unit(max(medians, default=0), headline.quantity.sizes)
    title = figurecharts.capitalize_first(setting.words.headline.noun) + (
        f", {name}" if name else ""
    )
    chip_figures = {
        "chip.erases": "Block erases",
        "chip.amplification": "Write amplification",
        "wear.spread": "Wear spread, erases",
    }
    chip_surfaces = [
        FigureSurface(k.replace(".", "-"), t, setting.figure(k), 1, int(k == "wear.spread"))
        for k, t in chip_figures.items()
    ]
    return [FigureSurface("headline", title, headline, unit), *chip_surfaces]


def render_surface_chart(setting: Setting) -> ChartWithTable | None:
    """A panel a figure; None if nothing was measured."""
    surfaces = _list_surfaces(setting)
    rows = [
        (subject, line, f"{subject}, {sweep.format_sweep_line(line)}")
        for subject in setting.subjects
        for line in sweep.group_ensembles_by_sweep_line(setting, subject)
    ]
    cells = [
        item
        for surface in surfaces
        for subject, line, label in rows
        for e in sweep.group_ensembles_by_sweep_line(setting, subject)[line]
        for item in [_make_cell(surface, e, label)]
    ]
    if not any(c["value"] is not None for c in cells):
        return None
    labels = [label for _, _, label in rows]
    caption = (
        "Across: the share of the partition's pages that hold live data, in percent, as asked. A "
        "line is a file system with a share of dead data, which lies in blocks of its own (apart) "
        "or within the same blocks (mixed). A number is the median over the trials, the "
        "colour its logarithm; a star stands where some trials did not end well and are not in it, "
        "a cross where none did. The table has the state that each obtained."
    )
    chart = Chart(
        f"{setting.slug}-surface",
        "Response to the state of the flash",
        caption,
        {"cells": cells},
        _make_spec(surfaces, labels, layout.WIDE),
        _make_spec(surfaces, labels, layout.NARROW),
    )
    names = ("chip.erases", "wear.spread", "chip.amplification")
    figures = [setting.headline, *(setting.figure(name) for name in names)]
    columns = [
        *(tables.make_figure_column(f) for f in figures),
        *tables.make_flash_state_columns(setting),
    ]
    return ChartWithTable(chart, tables.make_ensemble_table(setting.ensembles, columns))


def _make_cell(surface: FigureSurface, e: Ensemble, label: str) -> dict[str, Any]:
    spread = e.spread(surface.figure)
    failed = len(e.trials) - len(e.ok)
    if spread is None:
        text = "?" if e.ok else "\u00d7"
        value_text = "no trial ended well"
    else:
        text = surface.form(spread.median) + ("*" if failed else "")
        value_text = spread.text(units.format_count)
        value_text += f", {failed} of {len(e.trials)} trials failed" if failed else ""
    return {
        "panel": surface.key,
        "row": label,
        "valid": f"{sweep.find_requested_valid_share(e) * 100:g}",
        "value": None if spread is None else spread.median,
        "colour": None if spread is None else max(spread.median, 1e-9) + surface.shift,
        "text": text,
        "tip": f"{e.label}: {surface.title} {value_text}",
    }


def _make_spec(surfaces: Sequence[FigureSurface], labels: list[str], width: float) -> VegaSpec:
    """Panels below one another; in the narrow form the labels stand above their cells."""
    room = max(len(label) for label in labels) * layout.LETTER_PX + 12
    narrow = width == layout.NARROW
    views = [
        _make_panel(s, labels, width - (150 if narrow else room) - 30, narrow) for s in surfaces
    ]
    return {
        "$schema": layout.VEGA_LITE_SCHEMA,
        "config": layout.VEGA_CONFIG,
        "vconcat": views,
        "spacing": 30,
        "padding": {"left": 5 if narrow else WIDE_CELL_PX, "top": 5, "right": 5, "bottom": 5},
        "background": "transparent",
        "resolve": {"scale": {"color": "independent"}},
    }


def _make_panel(surface: FigureSurface, labels: list[str], width: float, narrow: bool) -> VegaSpec:
    y: VegaSpec = {
        "field": "row",
        "type": "nominal",
        "sort": labels,
        "axis": {"title": None, "labelLimit": 150 if narrow else 0, "grid": False},
    }
    x: VegaSpec = {
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
        "height": CELL_PX * len(labels),
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
