# SPDX-License-Identifier: GPL-2.0-or-later
"""The energy chart: joules by consumer, stacked, of the load and of each durable operation.

The parts of a bar are those of one trial, the one whose sum is nearest the median: medians of parts
do not sum to the median of the whole. A consumer that is not known is named, never drawn as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures import energy
from nandlab.analysis.figures.energy import CONSUMER_TITLES
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.figures.spread import compute_spread
from nandlab.base import units
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import ChartData, ChartRow, RowAxis
from nandlab.report.tables import tables
from nandlab.results.record import Trial

CONSUMER_COLOURS = {
    "cpu": "#d9640e",
    "waiting": "#e9b384",
    "idle": "#8d8d8d",
    "ram": "#a3922b",
    "chip.read": "#2f7ebc",
    "chip.program": "#1b9a77",
    "chip.erase": "#b8639c",
    "chip.standby": "#6f74c9",
}
"""One for each consumer, in the order of the bars."""
ENERGY_CAPTION = (
    "Energy by consumer, worked out from counts, idle time and what chip and board draw "
    "(docs/energy.md). The parts are those of the trial nearest the median; each point is a trial, "
    "the line their range."
)
ABOVE_IDLE_NOTE = " What the board takes when it idles is not in it: its powers are above that."
LEGEND_COLUMNS = {layout.WIDE: 4, layout.NARROW: 2}


@dataclass(frozen=True)
class EnergyPanel:
    """A panel: what the energy is of, by the names of its figures."""

    key: str
    title: str
    prefix: str
    """What a consumer's name follows: energy. or energy.per.KIND."""

    def figure(self, setting: Setting, what: str) -> Figure:
        return setting.figure(f"{self.prefix}{what}")


def render_energy_chart(setting: Setting) -> ChartWithTable | None:
    """None where no trial tells of any energy."""
    rows = layout.make_chart_rows(setting)
    panels = [EnergyPanel("load", "Energy of the load", "energy.")]
    panels += [
        EnergyPanel(o.name, f"For each {o.title or o.name}", f"energy.per.{o.name}.")
        for o in setting.words.operations
        if o.durable
    ]
    panel_datasets = [
        (panel, panel_data)
        for panel in panels
        if (panel_data := _make_panel_data(setting, rows, panel))
    ]
    if not panel_datasets:
        return None
    data: ChartData = {
        key: [row for _, d in panel_datasets for row in d[key]] for key in DATASET_NAMES
    }
    drawn_titles = {part["consumer"] for part in data["parts"]}
    consumers = [c for c, title in CONSUMER_TITLES.items() if title in drawn_titles]

    def build(axis: RowAxis, width: float) -> VegaSpec:
        per_line = 1 if width == layout.NARROW else min(2, len(panel_datasets))
        panel_width = (
            width - axis.room - layout.PANEL_GAP * (per_line - 1) - layout.RIGHT_EDGE
        ) / per_line
        views = [
            _make_panel(
                panel,
                panel_data,
                axis.at_column(i % per_line),
                panel_width,
                _make_colour_encoding(consumers, width),
            )
            for i, (panel, panel_data) in enumerate(panel_datasets)
        ]
        return layout.concatenate_panel_views(views, per_line)

    wide, narrow, headers = layout.make_specs_in_both_widths(rows, build)
    name = f"{setting.slug}-energy"
    chart = Chart(name, "Energy", _make_caption(setting), {**data, **headers}, wide, narrow)
    return ChartWithTable(
        chart,
        tables.make_ensemble_table(
            setting.ensembles, _list_columns(setting, [panel for panel, _ in panel_datasets])
        ),
    )


DATASET_NAMES = ("parts", "whole", "trials", "absent")


def _make_panel_data(
    setting: Setting, rows: Sequence[ChartRow], panel: EnergyPanel
) -> ChartData | None:
    """A panel's data in its own unit; None where nothing is known."""
    figures = {c: panel.figure(setting, c) for c in CONSUMER_TITLES}
    joules_by_row = {
        r.key: [(t, _find_known_joules(t, figures)) for t in r.ensemble.ok] for r in rows
    }
    sums = [sum(parts.values()) for row in joules_by_row.values() for _, parts in row]
    top = max(sums, default=0)
    if top <= 0:
        return None
    size, unit = units.choose_unit(top, units.ENERGY_UNITS)
    data: ChartData = {key: [] for key in DATASET_NAMES}
    for row in rows:
        base = {"panel": panel.key, "row": row.key, "unit": unit}
        if not any(parts for _, parts in joules_by_row[row.key]):
            data["absent"].append({**base, "text": "not known"})
            continue
        _add_row_data(data, base, joules_by_row[row.key], size)
    return data


def _find_known_joules(trial: Trial, figures: dict[str, Figure]) -> dict[str, float]:
    """J of the consumers that are known."""
    return {c: j for c, f in figures.items() if (j := f(trial)) is not None}


def _add_row_data(
    data: ChartData,
    base: dict[str, Any],
    trials: Sequence[tuple[Trial, dict[str, float]]],
    size: float,
) -> None:
    spread = compute_spread(sum(parts.values()) for _, parts in trials)
    assert spread is not None
    _, nearest = min(trials, key=lambda t: abs(sum(t[1].values()) - spread.median))
    start = 0.0
    for consumer, joules in nearest.items():
        if not joules:
            continue
        tip = f"{CONSUMER_TITLES[consumer]}: {units.format_energy(joules)}"
        ends = {"from": start / size, "to": (start + joules) / size}
        data["parts"].append({**base, **ends, "consumer": CONSUMER_TITLES[consumer], "tip": tip})
        start += joules
    lost = len(nearest) < len(CONSUMER_TITLES)
    text = units.format_energy(spread.median) + (" known" if lost else "")
    ends = {"low": spread.min / size, "mid": spread.median / size, "high": spread.max / size}
    data["whole"].append({**base, **ends, "text": text})
    for trial, parts in trials:
        value = sum(parts.values())
        tip = f"{trial.id}: {units.format_energy(value)}"
        data["trials"].append({**base, "value": value / size, "tip": tip})


def _make_colour_encoding(consumers: Sequence[str], width: float) -> VegaSpec:
    """The consumers' colours, and a legend of those that are drawn."""
    titles, colours = (
        [CONSUMER_TITLES[c] for c in consumers],
        [CONSUMER_COLOURS[c] for c in consumers],
    )
    legend = {"title": None, "orient": "top", "columns": LEGEND_COLUMNS[round(width)]}
    return {
        "field": "consumer",
        "type": "nominal",
        "scale": {"domain": titles, "range": colours},
        "legend": {**legend, "columnPadding": 14},
    }


def _make_panel(
    panel: EnergyPanel, data: ChartData, axis: RowAxis, width: float, colour: VegaSpec
) -> VegaSpec:
    room = min(layout.VALUE_ROOM * 1.6, width / 2)
    top = max((d["high"] for d in data["whole"]), default=1) / (1 - room / width)
    x: VegaSpec = {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {
            "title": next(d["unit"] for key in DATASET_NAMES for d in data[key]),
            "tickCount": max(2, int(width / 90)),
            "format": ",.3~f",
        },
    }

    def layer(name: str, mark: str | VegaSpec, **encoding: VegaSpec) -> VegaSpec:
        return {
            "data": {"name": name},
            "transform": [{"filter": f"datum.panel === '{panel.key}'"}],
            "mark": mark,
            "encoding": {"y": axis.y(), **encoding},
        }

    bar = {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": colour}
    rule: VegaSpec = {"type": "rule", "strokeWidth": 1.5, "color": "currentColor"}
    point: VegaSpec = {"type": "point", "size": 26, "strokeWidth": 1.1, "stroke": "currentColor"}
    layers = [
        *axis.header_layers(),
        layer("parts", {"type": "bar", "opacity": 0.9}, **bar, tooltip=layout.TIP_ENCODING),
        layer("whole", rule, x={**x, "field": "low"}, x2={"field": "high"}),
        layer("trials", point, x={**x, "field": "value"}, tooltip=layout.TIP_ENCODING),
        layer(
            "whole", {**layout.TEXT_MARK, "dx": 8}, x={**x, "field": "high"}, text={"field": "text"}
        ),
        layer("absent", layout.NOTE_MARK, x={"value": 2}, text={"field": "text"}),
    ]
    return {"title": panel.title, "width": width, "height": axis.height(), "layer": layers}


def _make_caption(setting: Setting) -> str:
    """What is drawn, whether it is above idle, and what is not known."""
    ok = [t for e in setting.ensembles for t in e.ok]
    lost = dict.fromkeys(
        title
        for t in ok
        for c, title in CONSUMER_TITLES.items()
        if (found := energy.compute_load_energy(t)) is None or found.joules[c] is None
    )
    above = ABOVE_IDLE_NOTE if any(energy.is_idle_power_excluded(t) for t in ok) else ""
    if not lost:
        return ENERGY_CAPTION + above
    lacks = dict.fromkeys(filter(None, (energy.format_missing_energy_inputs(t) for t in ok)))
    return (
        f"{ENERGY_CAPTION}{above} Not known: {format_name_list(list(lost))}; it takes "
        f"{'; '.join(lacks)}."
    )


def _list_columns(setting: Setting, panels: Sequence[EnergyPanel]) -> list[tables.TableColumn]:
    """Total and each consumer of the load; of operations and of data the totals and the chip."""
    columns = [tables.make_figure_column(setting.figure("energy.total"), "total")]
    columns += [
        tables.make_figure_column(setting.figure(f"energy.{c}"), t)
        for c, t in CONSUMER_TITLES.items()
    ]
    more = [f"energy.per.{of.key}" for of in panels if of.key != "load"]
    more += ["energy.per_mib.read", "energy.per_mib.written"]
    names = [f"{name}{part}" for name in more for part in ("", ".chip")]
    names += ["energy.chip.max", "energy.profile"]
    return [*columns, *(tables.make_figure_column(setting.figure(n)) for n in names)]
