# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts of figures over the rows of a setting, each with its table.

A chart or panel whose data was not measured is left out, never drawn empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nandlab.analysis import answers
from nandlab.analysis.figures import CHIP_OPERATIONS, STEPS, Figure
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.spread import Spread
from nandlab.analysis.views import STEP_BY_STEP
from nandlab.base import units
from nandlab.report import layout, tables
from nandlab.report.charts import Chart
from nandlab.report.layout import Panel, Row
from nandlab.report.tables import Column, Table
from nandlab.results.record import Trial

RANGE = "Each point is a trial, the line their range, the bar across it their median (written out)."


@dataclass(frozen=True)
class Drawn:
    """A chart and the table of all that it shows."""

    chart: Chart
    table: Table


@dataclass(frozen=True)
class About:
    """The words around a chart; ``name`` also names its files."""

    name: str
    title: str
    caption: str


def drawn(
    setting: Setting,
    about: About,
    rows: Sequence[Row],
    panels: Sequence[Panel],
    columns: Sequence[Column],
) -> Drawn | None:
    """Panels over rows; None where nothing has a value."""
    if not panels:
        return None
    wide, narrow, data = layout.panels_chart(rows, panels)
    if not data["summary"]:
        return None
    name = f"{setting.slug}-{about.name}"
    caption = f"{about.caption}{_left_out(rows)}"
    chart = Chart(name, about.title, caption, data, wide, narrow)
    return Drawn(chart, tables.table(setting.ensembles, columns))


def _left_out(rows: Sequence[Row]) -> str:
    """A sentence on the points that are not drawn; empty: all are."""
    if all(len(row.ensemble.ok) <= layout.POINTS_MAX for row in rows):
        return ""
    most = layout.POINTS_MAX
    return f" Of more than {most} trials, {most} are drawn, evenly spaced by the order of values."


def capital(text: str) -> str:
    """The text with its first letter as a capital, the others unchanged."""
    return text[:1].upper() + text[1:]


def panel(
    rows: Sequence[Row], figure: Figure, *, title: str = "", part: Figure | None = None
) -> Panel:
    """A figure in the unit that fits its largest value."""
    axis = figure.quantity.axis.replace("{title}", figure.title)
    shown = Panel(figure.name, title or capital(figure.title), axis, figure, figure.form, part=part)
    values = [v for r in rows for t in r.ensemble.ok if (v := figure(t)) is not None]
    unit, name = units.unit_for(max(values, default=0), figure.quantity.sizes)
    return replace(
        shown,
        axis=axis.format(u=name),
        figure=_scaled(figure, unit),
        form=lambda v: figure.form(v * unit),
        part=_scaled(part, unit) if part else None,
    )


def _scaled(figure: Figure, unit: float) -> Figure:
    def value(trial: Trial) -> float | None:
        v = figure(trial)
        return None if v is None else v / unit

    return replace(figure, read=value)


def _there(rows: Sequence[Row], figures: Sequence[Figure]) -> list[Figure]:
    """The figures that any trial has."""
    return [f for f in figures if any(f(t) is not None for r in rows for t in r.ensemble.ok)]


def times(setting: Setting) -> Drawn | None:
    """Each phase with its sync; its table has the steps outside the load too."""
    rows = layout.rows(setting)
    phases = _there(rows, [setting.figure(f"phase.{p.name}") for p in setting.words.timed])
    syncs = {f.name: setting.figure(f"{f.name}.sync") for f in phases}
    panels = [panel(rows, f, part=syncs[f.name]) for f in phases]
    columns: list[Column] = []
    for f in phases:
        columns += [tables.figure(f, f"{f.title} + sync"), tables.figure(syncs[f.name])]
    columns += [tables.figure(setting.figure(f"step.{name}")) for name in STEPS]
    caption = f"Time of each phase with its sync; the darker end of a bar is the sync. {RANGE}"
    return drawn(setting, About("time", "Phase times", caption), rows, panels, columns)


def throughput(setting: Setting) -> Drawn | None:
    """Rates: the workload's own, and the data that it moved."""
    rows = layout.rows(setting)
    figures = _there(rows, [*_own(setting, rates=True), *_moved(setting)])
    phases = [setting.figure(f"phase.{p.name}.per_s") for p in setting.words.timed]
    columns = [tables.figure(f) for f in [*_own(setting, rates=True), *phases, *_moved(setting)]]
    caption = (
        "Per second of the board's clock, syncs included; data over the phases that move it. "
        f"{RANGE}"
    )
    panels = [panel(rows, f) for f in figures]
    return drawn(setting, About("throughput", "Throughput", caption), rows, panels, columns)


def _moved(setting: Setting) -> list[Figure]:
    """Data per second; steps of a list are too unlike for one rate of them all."""
    if STEP_BY_STEP in setting.words.at:
        return []
    return [setting.figure(f"bytes.{way}.per_s") for way in ("read", "written")]


def _own(setting: Setting, *, rates: bool) -> list[Figure]:
    """The workload's own figures: the rates, or all others."""
    own = [setting.figure(f"own.{name}") for name in setting.words.figures]
    return [f for f in own if f.quantity.name.endswith("per_s") == rates]


def own(setting: Setting) -> Drawn | None:
    """The workload's own figures that are not rates."""
    rows = layout.rows(setting)
    figures = _there(rows, _own(setting, rates=False))
    panels = [panel(rows, f) for f in figures]
    about = About("own", f"What {setting.workload} tells", RANGE)
    return drawn(setting, about, rows, panels, [tables.figure(f) for f in figures])


def flash(setting: Setting) -> Drawn | None:
    """What the chip did in each phase; of a list of steps the table of all steps tells it."""
    if STEP_BY_STEP in setting.words.at:
        return None
    rows = layout.rows(setting)
    names = [f"phase.{p.name}.{o}" for p in setting.words.timed for o in CHIP_OPERATIONS]
    figures = _there(rows, [setting.figure(n) for n in names])
    amplification = tables.figure(setting.figure("chip.amplification"))
    columns = [*(tables.figure(f) for f in figures), amplification]
    caption = (
        "What the chip did in each phase, its sync included. Every panel has its own scale. "
        f"{RANGE}"
    )
    panels = [panel(rows, f) for f in figures]
    return drawn(setting, About("flash", "Flash operations", caption), rows, panels, columns)


def states(setting: Setting) -> Drawn | None:
    """Obtained shares as points; what was asked is written in the row's value."""
    if not any(t.state.obtained for t in setting.trials if t.ok):
        return None
    rows = layout.rows(setting)
    panels = [
        replace(
            panel(rows, setting.figure(f"state.{part}"), title=f"{part.capitalize()} pages"),
            key=part,
            axis="% of the partition's pages",
            room=150,
            top=100,
        )
        for part in ("valid", "invalid")
    ]
    caption = (
        "What the chip held before the timed phases, beside what was asked. The figures belong to "
        f"the obtained state. {RANGE}"
    )
    about = About("state", "Asked and obtained state", caption)
    shown = drawn(setting, about, rows, panels, tables.states(setting))
    if shown is not None:
        by_key = {r.key: r.ensemble.first.state for r in rows}
        for item in shown.chart.datasets["summary"]:
            asked = getattr(by_key[item["row"]], item["panel"]) * 100
            item["text"] = f"{item['mid']:.1f} %, asked {asked:g} %"
    return shown


def ageing(setting: Setting) -> Drawn | None:
    """A ratio has no trials of its own; its range is what the two ensembles' ranges allow."""
    if not answers.aged_states(setting):
        return None
    aged = [r for r in layout.rows(setting) if not r.ensemble.reference]
    figures = [setting.headline, *(setting.figure(f"chip.{o}") for o in ("programs", "erases"))]
    titles = [setting.words.headline.noun, *(f.title for f in figures[1:])]
    panels = [
        Panel(
            f.name.replace(".", "-"),
            capital(title),
            "times the fresh figure",
            replace(f, read=_no_trial),
            units.ratio,
            whole=_ratio_of(setting, f),
        )
        for f, title in zip(figures, titles, strict=True)
    ]
    columns = [
        tables.against_fresh(setting, f, title) for f, title in zip(figures, titles, strict=True)
    ]
    caption = (
        "Each figure over the same file system's figure on fresh flash; 1 is no change. The line "
        "is the widest range that both ensembles allow, the bar across it the ratio of the medians."
    )
    return drawn(setting, About("ageing", "Ageing", caption), aged, panels, columns)


def _ratio_of(setting: Setting, figure: Figure) -> Callable[[Ensemble], Spread | None]:
    return lambda e: answers.ageing_ratio(setting, e.subject, e.state, figure)


def _no_trial(_: Trial) -> float | None:
    return None
