# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts of figures over the rows of a setting, each with its table.

A chart or panel whose data was not measured is left out, never drawn empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nandlab.analysis.figures.chipfigures import CHIP_OPERATION_TITLES
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.figures import FILESYSTEM_STEPS
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import Spread
from nandlab.analysis.verdicts import answers
from nandlab.analysis.verdicts.views import STEP_LIST_ATTRIBUTE
from nandlab.base import units
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart
from nandlab.report.charts.layout import ChartRow, FigurePanel
from nandlab.report.tables import tables
from nandlab.report.tables.tables import ReportTable, TableColumn
from nandlab.results.record import Trial

RANGE_NOTE = (
    "Each point is a trial, the line their range, the bar across it their median (written out)."
)


@dataclass(frozen=True)
class ChartWithTable:
    """A chart and the table of all that it shows."""

    chart: Chart
    table: ReportTable


@dataclass(frozen=True)
class ChartText:
    """The words around a chart; ``name`` also names its files."""

    name: str
    title: str
    caption: str


def render_panels_chart(
    setting: Setting,
    about: ChartText,
    rows: Sequence[ChartRow],
    panels: Sequence[FigurePanel],
    columns: Sequence[TableColumn],
) -> ChartWithTable | None:
    """Panels over rows; None where nothing has a value."""
    if not panels:
        return None
    wide, narrow, data = layout.make_panels_specs(rows, panels)
    if not data["summary"]:
        return None
    name = f"{setting.slug}-{about.name}"
    caption = f"{about.caption}{_format_points_left_out(rows)}"
    chart = Chart(name, about.title, caption, data, wide, narrow)
    return ChartWithTable(chart, tables.make_ensemble_table(setting.ensembles, columns))


def _format_points_left_out(rows: Sequence[ChartRow]) -> str:
    """A sentence on the points that are not drawn; empty: all are."""
    if all(len(row.ensemble.ok) <= layout.POINTS_MAX for row in rows):
        return ""
    most = layout.POINTS_MAX
    return f" Of more than {most} trials, {most} are drawn, evenly spaced by the order of values."


def capitalize_first(text: str) -> str:
    """The text with its first letter as a capital, the others unchanged."""
    return text[:1].upper() + text[1:]


def make_figure_panel(
    rows: Sequence[ChartRow], figure: Figure, *, title: str = "", part: Figure | None = None
) -> FigurePanel:
    """A figure in the unit that fits its largest value."""
    axis = figure.quantity.axis.replace("{title}", figure.title)
    panel = FigurePanel(
        figure.name, title or capitalize_first(figure.title), axis, figure, figure.form, part=part
    )
    values = [v for r in rows for t in r.ensemble.ok if (v := figure(t)) is not None]
    unit, name = units.choose_unit(max(values, default=0), figure.quantity.sizes)
    return replace(
        panel,
        axis=axis.format(u=name),
        figure=_scale_figure(figure, unit),
        form=lambda v: figure.form(v * unit),
        part=_scale_figure(part, unit) if part else None,
    )


def _scale_figure(figure: Figure, unit: float) -> Figure:
    def value(trial: Trial) -> float | None:
        v = figure(trial)
        return None if v is None else v / unit

    return replace(figure, compute=value)


def _select_measured_figures(rows: Sequence[ChartRow], figures: Sequence[Figure]) -> list[Figure]:
    """The figures that any trial has."""
    return [f for f in figures if any(f(t) is not None for r in rows for t in r.ensemble.ok)]


def render_phase_times_chart(setting: Setting) -> ChartWithTable | None:
    """Each phase with its sync; its table has the steps outside the load too."""
    rows = layout.make_chart_rows(setting)
    phases = _select_measured_figures(
        rows, [setting.figure(f"phase.{p.name}") for p in setting.words.timed]
    )
    syncs = {f.name: setting.figure(f"{f.name}.sync") for f in phases}
    panels = [make_figure_panel(rows, f, part=syncs[f.name]) for f in phases]
    columns: list[TableColumn] = []
    for f in phases:
        columns += [
            tables.make_figure_column(f, f"{f.title} + sync"),
            tables.make_figure_column(syncs[f.name]),
        ]
    columns += [
        tables.make_figure_column(setting.figure(f"step.{name}")) for name in FILESYSTEM_STEPS
    ]
    caption = f"Time of each phase with its sync; the darker end of a bar is the sync. {RANGE_NOTE}"
    return render_panels_chart(
        setting, ChartText("time", "Phase times", caption), rows, panels, columns
    )


def render_throughput_chart(setting: Setting) -> ChartWithTable | None:
    """Rates: the workload's own, and the data that it moved."""
    rows = layout.make_chart_rows(setting)
    figures = _select_measured_figures(
        rows, [*_list_own_figures(setting, rates=True), *_list_byte_rate_figures(setting)]
    )
    phases = [setting.figure(f"phase.{p.name}.per_s") for p in setting.words.timed]
    columns = [
        tables.make_figure_column(f)
        for f in [
            *_list_own_figures(setting, rates=True),
            *phases,
            *_list_byte_rate_figures(setting),
        ]
    ]
    caption = (
        "Per second of the board's clock, syncs included; data over the phases that move it. "
        f"{RANGE_NOTE}"
    )
    panels = [make_figure_panel(rows, f) for f in figures]
    return render_panels_chart(
        setting, ChartText("throughput", "Throughput", caption), rows, panels, columns
    )


def _list_byte_rate_figures(setting: Setting) -> list[Figure]:
    """Data per second; steps of a list are too unlike for one rate of them all."""
    if STEP_LIST_ATTRIBUTE in setting.words.attributes:
        return []
    return [setting.figure(f"bytes.{way}.per_s") for way in ("read", "written")]


def _list_own_figures(setting: Setting, *, rates: bool) -> list[Figure]:
    """The workload's own figures: the rates, or all others."""
    own = [setting.figure(f"own.{name}") for name in setting.words.figures]
    return [f for f in own if f.quantity.name.endswith("per_s") == rates]


def render_workload_figures_chart(setting: Setting) -> ChartWithTable | None:
    """The workload's own figures that are not rates."""
    rows = layout.make_chart_rows(setting)
    figures = _select_measured_figures(rows, _list_own_figures(setting, rates=False))
    panels = [make_figure_panel(rows, f) for f in figures]
    about = ChartText("own", f"What {setting.workload} tells", RANGE_NOTE)
    return render_panels_chart(
        setting, about, rows, panels, [tables.make_figure_column(f) for f in figures]
    )


def render_flash_operations_chart(setting: Setting) -> ChartWithTable | None:
    """What the chip did in each phase; of a list of steps the table of all steps tells it."""
    if STEP_LIST_ATTRIBUTE in setting.words.attributes:
        return None
    rows = layout.make_chart_rows(setting)
    names = [f"phase.{p.name}.{o}" for p in setting.words.timed for o in CHIP_OPERATION_TITLES]
    figures = _select_measured_figures(rows, [setting.figure(n) for n in names])
    amplification = tables.make_figure_column(setting.figure("chip.amplification"))
    columns = [*(tables.make_figure_column(f) for f in figures), amplification]
    caption = (
        "What the chip did in each phase, its sync included. Every panel has its own scale. "
        f"{RANGE_NOTE}"
    )
    panels = [make_figure_panel(rows, f) for f in figures]
    return render_panels_chart(
        setting, ChartText("flash", "Flash operations", caption), rows, panels, columns
    )


def render_flash_states_chart(setting: Setting) -> ChartWithTable | None:
    """Obtained shares as points; what was asked is written in the row's value."""
    if not any(t.state.obtained for t in setting.trials if t.ok):
        return None
    rows = layout.make_chart_rows(setting)
    panels = [
        replace(
            make_figure_panel(
                rows, setting.figure(f"state.{part}"), title=f"{part.capitalize()} pages"
            ),
            key=part,
            axis="% of the partition's pages",
            room=150,
            top=100,
        )
        for part in ("valid", "invalid")
    ]
    caption = (
        "What the chip held before the timed phases, beside what was asked. The figures belong to "
        f"the obtained state. {RANGE_NOTE}"
    )
    about = ChartText("state", "Asked and obtained state", caption)
    chart_with_table = render_panels_chart(
        setting, about, rows, panels, tables.make_flash_state_columns(setting)
    )
    if chart_with_table is not None:
        by_key = {r.key: r.ensemble.first.state for r in rows}
        for item in chart_with_table.chart.datasets["summary"]:
            requested_percent = getattr(by_key[item["row"]], item["panel"]) * 100
            item["text"] = f"{item['mid']:.1f} %, asked {requested_percent:g} %"
    return chart_with_table


def render_ageing_chart(setting: Setting) -> ChartWithTable | None:
    """A ratio has no trials of its own; its range is what the two ensembles' ranges allow."""
    if not answers.list_aged_states(setting):
        return None
    aged = [r for r in layout.make_chart_rows(setting) if not r.ensemble.reference]
    figures = [setting.headline, *(setting.figure(f"chip.{o}") for o in ("programs", "erases"))]
    titles = [setting.words.headline.noun, *(f.title for f in figures[1:])]
    panels = [
        FigurePanel(
            f.name.replace(".", "-"),
            capitalize_first(title),
            "times the fresh figure",
            replace(f, compute=_find_no_value),
            units.format_ratio,
            ensemble_spread=_make_ratio_reader(setting, f),
        )
        for f, title in zip(figures, titles, strict=True)
    ]
    columns = [
        tables.make_fresh_ratio_column(setting, f, title)
        for f, title in zip(figures, titles, strict=True)
    ]
    caption = (
        "Each figure over the same file system's figure on fresh flash; 1 is no change. The line "
        "is the widest range that both ensembles allow, the bar across it the ratio of the medians."
    )
    return render_panels_chart(
        setting, ChartText("ageing", "Ageing", caption), aged, panels, columns
    )


def _make_ratio_reader(setting: Setting, figure: Figure) -> Callable[[Ensemble], Spread | None]:
    return lambda e: answers.compute_ageing_ratio(setting, e.subject, e.state, figure)


def _find_no_value(_: Trial) -> float | None:
    return None
