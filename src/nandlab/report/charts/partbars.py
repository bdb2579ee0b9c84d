# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of time in parts: a stacked bar a configuration, of the load and of each phase.

The parts of a bar are those of one trial, the one whose time is nearest the median: medians of
parts do not sum to the median of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.spread import compute_spread
from nandlab.base import units
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import ChartData, ChartRow, RowAxis
from nandlab.report.tables import tables
from nandlab.results.record import Trial

PART_LOOKS = {
    "application": ("application", "#8fb3d9"),
    "file_system_in_calls": ("file system in calls", "#1f6fb2"),
    "collector_in_calls": ("collector in calls", "#c2410c"),
    "collector_in_threads": ("collector in threads", "#f0a35e"),
    "other_threads": ("other threads", "#8a63b5"),
    "mtd": ("MTD", "#a3922b"),
    "chip": ("chip", "#1b9a77"),
    "idle": ("idle", "#b5b5b5"),
}
"""Title and colour of each, in the order of the bars."""
TIME_PARTS_CAPTION = (
    "The time of the load, and of its phases, in parts that add up to it (docs/tracing.md). Chip "
    "is what was waited for, whoever asked; the table has the collector's share. The parts are "
    "those of the trial nearest the median; the number is the time that passed, tracing included."
)
LEGEND_COLUMNS = {layout.WIDE: 4, layout.NARROW: 2}
CHIP_OPERATION_KEYS = ("reads", "programs", "erases")
COLLECTOR_PARTS = ("collector_in_calls", "collector_in_threads")


@dataclass(frozen=True)
class _PartsPanel:
    """A panel: its name, its title, and what the keys of its figures begin with."""

    name: str
    title: str
    prefix: str

    def find_value(self, trial: Trial, key: str) -> int | float | None:
        return trial.measured.get("parts", {}).get(f"{self.prefix}.{key}")


def render_time_parts_chart(setting: Setting) -> ChartWithTable | None:
    """None where no trial tells parts."""
    rows = layout.make_chart_rows(setting)
    panels = [_PartsPanel("whole", "The whole load", "whole")]
    panels += [
        _PartsPanel(p.name, p.title or p.name, f"phase.{p.name}") for p in setting.words.phases
    ]
    panel_datasets = [
        (panel, panel_data) for panel in panels if (panel_data := _make_panel_data(rows, panel))
    ]
    if not panel_datasets:
        return None
    data: ChartData = {
        key: [row for _, d in panel_datasets for row in d[key]] for key in ("parts", "whole")
    }

    def build(axis: RowAxis, width: float) -> VegaSpec:
        per_line = 1 if width == layout.NARROW else min(2, len(panel_datasets))
        panel_width = (
            width - axis.room - layout.PANEL_GAP * (per_line - 1) - layout.RIGHT_EDGE
        ) / per_line
        views = [
            _make_panel(panel, panel_data, axis.at_column(i % per_line), panel_width, width)
            for i, (panel, panel_data) in enumerate(panel_datasets)
        ]
        return layout.concatenate_panel_views(views, per_line)

    wide, narrow, headers = layout.make_specs_in_both_widths(rows, build)
    chart = Chart(
        f"{setting.slug}-parts",
        "Time in parts",
        TIME_PARTS_CAPTION,
        {**data, **headers},
        wide,
        narrow,
    )
    return ChartWithTable(
        chart, tables.make_ensemble_table(setting.ensembles, _list_columns(setting))
    )


def _make_panel_data(rows: Sequence[ChartRow], panel: _PartsPanel) -> ChartData | None:
    """A panel's bars in its own unit; None where nothing is known."""
    times_by_row = {
        row.key: [
            (t, ns)
            for t in row.ensemble.ok
            if (ns := panel.find_value(t, "elapsed_ns")) is not None
        ]
        for row in rows
    }
    top = max((ns for row in times_by_row.values() for _, ns in row), default=0)
    if top <= 0:
        return None
    size, unit = units.choose_unit(top, units.TIME_UNITS)
    data: ChartData = {"parts": [], "whole": []}
    for row in rows:
        if times_by_row[row.key]:
            _add_row_data(
                data,
                panel,
                {"panel": panel.name, "row": row.key, "unit": unit},
                times_by_row[row.key],
                size,
            )
    return data


def _add_row_data(
    data: ChartData,
    panel: _PartsPanel,
    base: dict[str, Any],
    trials: Sequence[tuple[Trial, int | float]],
    size: float,
) -> None:
    spread = compute_spread(ns for _, ns in trials)
    assert spread is not None
    nearest, elapsed = min(trials, key=lambda t: abs(t[1] - spread.median))
    start = 0.0
    for key, (title, _) in PART_LOOKS.items():
        ns = panel.find_value(nearest, f"{key}_ns") or 0
        if ns:
            tip = f"{title}: {units.format_time(ns)}, {ns / elapsed:.1%}"
            ends = {"from": start / size, "to": (start + ns) / size}
            data["parts"].append({**base, **ends, "part": title, "tip": tip})
        start += ns
    data["whole"].append({**base, "high": elapsed / size, "text": units.format_time(elapsed)})


def _make_panel(
    panel: _PartsPanel, data: ChartData, axis: RowAxis, width: float, page: float
) -> VegaSpec:
    room = min(layout.VALUE_ROOM * 1.6, width / 2)
    top = max(d["high"] for d in data["whole"]) / (1 - room / width)
    x: VegaSpec = {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {
            "title": data["whole"][0]["unit"],
            "tickCount": max(2, int(width / 90)),
            "format": ",.3~f",
        },
    }
    titles, colours = zip(*PART_LOOKS.values(), strict=True)
    legend = {"title": None, "orient": "top", "columns": LEGEND_COLUMNS[round(page)]}
    colour: VegaSpec = {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": list(titles), "range": list(colours)},
        "legend": {**legend, "columnPadding": 14},
    }

    def layer(name: str, mark: str | VegaSpec, **encoding: VegaSpec) -> VegaSpec:
        return {
            "data": {"name": name},
            "transform": [{"filter": f"datum.panel === '{panel.name}'"}],
            "mark": mark,
            "encoding": {"y": axis.y(), **encoding},
        }

    bar = {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": colour}
    text = {"x": {**x, "field": "high"}, "text": {"field": "text"}}
    layers = [
        *axis.header_layers(),
        layer("parts", {"type": "bar", "opacity": 0.95}, **bar, tooltip=layout.TIP_ENCODING),
        layer("whole", {**layout.TEXT_MARK, "dx": 8}, **text),
    ]
    return {"title": panel.title, "width": width, "height": axis.height(), "layer": layers}


def _list_columns(setting: Setting) -> list[tables.TableColumn]:
    """Of the whole load: its time, each part, and what the collector asked of the chip."""
    titles = {
        "elapsed_ns": "together",
        **{f"{key}_ns": title for key, (title, _) in PART_LOOKS.items()},
    }
    for part in COLLECTOR_PARTS:
        titles[f"{part}.chip_ns"] = f"chip, for {PART_LOOKS[part][0]}"
    for operation in CHIP_OPERATION_KEYS:
        titles |= {
            f"{part}.{operation}": f"{operation} by {PART_LOOKS[part][0]}"
            for part in COLLECTOR_PARTS
        }
    figures = {key: setting.figure(f"parts.whole.{key}") for key in titles}
    return [tables.make_figure_column(figures[key], title) for key, title in titles.items()]
