# SPDX-License-Identifier: GPL-2.0-or-later
"""The energy chart: joules by consumer, stacked, of the load and of each durable operation.

The parts of a bar are those of one trial, the one whose sum is nearest the median: medians of parts
do not sum to the median of the whole. A consumer that is not known is named, never drawn as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis import energy
from nandlab.analysis.energy import CONSUMERS
from nandlab.analysis.figures import Figure
from nandlab.analysis.groups import Setting
from nandlab.analysis.ranking import joined
from nandlab.analysis.spread import spread
from nandlab.base import units
from nandlab.report import layout, tables
from nandlab.report.charts import Chart, Spec
from nandlab.report.layout import Axis, Data, Row
from nandlab.report.specs import Drawn
from nandlab.results.record import Trial

COLOURS = {
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
CAPTION = (
    "Energy by consumer, worked out from counts, idle time and what chip and board draw "
    "(docs/energy.md). The parts are those of the trial nearest the median; each point is a trial, "
    "the line their range."
)
ABOVE = " What the board takes when it idles is not in it: its powers are above that."
LEGEND_COLUMNS = {layout.WIDE: 4, layout.NARROW: 2}


@dataclass(frozen=True)
class Of:
    """A panel: what the energy is of, by the names of its figures."""

    key: str
    title: str
    prefix: str
    """What a consumer's name follows: energy. or energy.per.KIND."""

    def figure(self, setting: Setting, what: str) -> Figure:
        return setting.figure(f"{self.prefix}{what}")


def drawn(setting: Setting) -> Drawn | None:
    """None where no trial tells of any energy."""
    rows = layout.rows(setting)
    panels = [Of("load", "Energy of the load", "energy.")]
    panels += [
        Of(o.name, f"For each {o.title or o.name}", f"energy.per.{o.name}.")
        for o in setting.words.operations
        if o.durable
    ]
    found = [(of, own) for of in panels if (own := _data(setting, rows, of))]
    if not found:
        return None
    data: Data = {key: [row for _, d in found for row in d[key]] for key in KEYS}
    there = {part["consumer"] for part in data["parts"]}
    shown = [c for c, title in CONSUMERS.items() if title in there]

    def build(axis: Axis, width: float) -> Spec:
        per_line = 1 if width == layout.NARROW else min(2, len(found))
        each = (width - axis.room - layout.GAP * (per_line - 1) - layout.EDGE) / per_line
        views = [
            _panel(of, own, axis.at_column(i % per_line), each, _colour(shown, width))
            for i, (of, own) in enumerate(found)
        ]
        return layout.concat(views, per_line)

    wide, narrow, headers = layout.both_widths(rows, build)
    name = f"{setting.slug}-energy"
    chart = Chart(name, "Energy", _caption(setting), {**data, **headers}, wide, narrow)
    return Drawn(chart, tables.table(setting.ensembles, _columns(setting, [of for of, _ in found])))


KEYS = ("parts", "whole", "trials", "absent")


def _data(setting: Setting, rows: Sequence[Row], of: Of) -> Data | None:
    """A panel's data in its own unit; None where nothing is known."""
    figures = {c: of.figure(setting, c) for c in CONSUMERS}
    known = {r.key: [(t, _known(t, figures)) for t in r.ensemble.ok] for r in rows}
    sums = [sum(parts.values()) for row in known.values() for _, parts in row]
    top = max(sums, default=0)
    if top <= 0:
        return None
    size, unit = units.unit_for(top, units.ENERGY_UNITS)
    data: Data = {key: [] for key in KEYS}
    for row in rows:
        base = {"panel": of.key, "row": row.key, "unit": unit}
        if not any(parts for _, parts in known[row.key]):
            data["absent"].append({**base, "text": "not known"})
            continue
        _add_row(data, base, known[row.key], size)
    return data


def _known(trial: Trial, figures: dict[str, Figure]) -> dict[str, float]:
    """J of the consumers that are known."""
    return {c: j for c, f in figures.items() if (j := f(trial)) is not None}


def _add_row(
    data: Data, base: dict[str, Any], trials: Sequence[tuple[Trial, dict[str, float]]], size: float
) -> None:
    whole = spread(sum(parts.values()) for _, parts in trials)
    assert whole is not None
    _, nearest = min(trials, key=lambda t: abs(sum(t[1].values()) - whole.median))
    at = 0.0
    for consumer, joules in nearest.items():
        if not joules:
            continue
        tip = f"{CONSUMERS[consumer]}: {units.energy(joules)}"
        ends = {"from": at / size, "to": (at + joules) / size}
        data["parts"].append({**base, **ends, "consumer": CONSUMERS[consumer], "tip": tip})
        at += joules
    lost = len(nearest) < len(CONSUMERS)
    text = units.energy(whole.median) + (" known" if lost else "")
    ends = {"low": whole.min / size, "mid": whole.median / size, "high": whole.max / size}
    data["whole"].append({**base, **ends, "text": text})
    for trial, parts in trials:
        value = sum(parts.values())
        tip = f"{trial.id}: {units.energy(value)}"
        data["trials"].append({**base, "value": value / size, "tip": tip})


def _colour(shown: Sequence[str], width: float) -> Spec:
    """The consumers' colours, and a legend of those that are drawn."""
    named, colours = [CONSUMERS[c] for c in shown], [COLOURS[c] for c in shown]
    legend = {"title": None, "orient": "top", "columns": LEGEND_COLUMNS[round(width)]}
    return {
        "field": "consumer",
        "type": "nominal",
        "scale": {"domain": named, "range": colours},
        "legend": {**legend, "columnPadding": 14},
    }


def _panel(of: Of, data: Data, axis: Axis, width: float, colour: Spec) -> Spec:
    room = min(layout.VALUE_ROOM * 1.6, width / 2)
    top = max((d["high"] for d in data["whole"]), default=1) / (1 - room / width)
    x: Spec = {
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": {
            "title": next(d["unit"] for key in KEYS for d in data[key]),
            "tickCount": max(2, int(width / 90)),
            "format": ",.3~f",
        },
    }

    def layer(name: str, mark: str | Spec, **encoding: Spec) -> Spec:
        return {
            "data": {"name": name},
            "transform": [{"filter": f"datum.panel === '{of.key}'"}],
            "mark": mark,
            "encoding": {"y": axis.y(), **encoding},
        }

    bar = {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": colour}
    rule: Spec = {"type": "rule", "strokeWidth": 1.5, "color": "currentColor"}
    point: Spec = {"type": "point", "size": 26, "strokeWidth": 1.1, "stroke": "currentColor"}
    layers = [
        *axis.header_layers(),
        layer("parts", {"type": "bar", "opacity": 0.9}, **bar, tooltip=layout.TIP),
        layer("whole", rule, x={**x, "field": "low"}, x2={"field": "high"}),
        layer("trials", point, x={**x, "field": "value"}, tooltip=layout.TIP),
        layer("whole", {**layout.WORDS, "dx": 8}, x={**x, "field": "high"}, text={"field": "text"}),
        layer("absent", layout.NOTE, x={"value": 2}, text={"field": "text"}),
    ]
    return {"title": of.title, "width": width, "height": axis.height(), "layer": layers}


def _caption(setting: Setting) -> str:
    """What is drawn, whether it is above idle, and what is not known."""
    ok = [t for e in setting.ensembles for t in e.ok]
    lost = dict.fromkeys(
        title
        for t in ok
        for c, title in CONSUMERS.items()
        if (found := energy.load(t)) is None or found.joules[c] is None
    )
    above = ABOVE if any(energy.above_idle(t) for t in ok) else ""
    if not lost:
        return CAPTION + above
    lacks = dict.fromkeys(filter(None, (energy.lacks(t) for t in ok)))
    return f"{CAPTION}{above} Not known: {joined(list(lost))}; it takes {'; '.join(lacks)}."


def _columns(setting: Setting, panels: Sequence[Of]) -> list[tables.Column]:
    """Total and each consumer of the load; of operations and of data the totals and the chip."""
    columns = [tables.figure(setting.figure("energy.total"), "total")]
    columns += [tables.figure(setting.figure(f"energy.{c}"), t) for c, t in CONSUMERS.items()]
    more = [f"energy.per.{of.key}" for of in panels if of.key != "load"]
    more += ["energy.per_mib.read", "energy.per_mib.written"]
    names = [f"{name}{part}" for name in more for part in ("", ".chip")]
    names += ["energy.chip.max", "energy.profile"]
    return [*columns, *(tables.figure(setting.figure(n)) for n in names)]
