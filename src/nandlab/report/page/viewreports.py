# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page shows of each kind of result: its overview and its charts with their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.verdicts import answers, lifetime
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.report.charts import (
    deathchart,
    energychart,
    figurecharts,
    latencychart,
    memorycurves,
    partbars,
    pointcharts,
    surface,
    wearcharts,
    wearcurves,
)
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.tables import tables
from nandlab.report.tables.tables import ReportTable, TableColumn


@dataclass(frozen=True)
class ViewReport:
    """For a view: the columns that decide, and the functions that draw its charts."""

    overview: Callable[[Setting], list[TableColumn]]
    charts: tuple[Callable[[Setting], ChartWithTable | None], ...]


def render_setting_overview(setting: Setting) -> ReportTable:
    """The columns that decide, for each configuration."""
    return tables.make_ensemble_table(
        setting.ensembles, VIEW_REPORTS[find_setting_view(setting).name].overview(setting)
    )


def render_view_charts(setting: Setting) -> list[ChartWithTable]:
    """The charts that the trials of this setting have data for, in the order of the report."""
    made = (build(setting) for build in VIEW_REPORTS[find_setting_view(setting).name].charts)
    return [d for d in made if d is not None]


def _list_phase_columns(setting: Setting) -> list[TableColumn]:
    """Headline, wear, evenness, tail, mount, memory and ageing."""
    names = ["chip.erases", "wear.spread"]
    columns = [tables.make_figure_column(setting.headline)]
    columns += [tables.make_figure_column(setting.figure(name)) for name in names]
    columns.append(tables.make_worst_p99_column(setting))
    more = ("step.mount", "memory.mounted", "memory.peak")
    columns += [tables.make_figure_column(setting.figure(name)) for name in more]
    if answers.list_aged_states(setting):
        noun = "time" if setting.headline.quantity.name == "time" else setting.headline.title
        columns.append(
            tables.make_fresh_ratio_column(setting, setting.headline, f"{noun} against fresh")
        )
    return columns


def _list_life_columns(setting: Setting) -> list[TableColumn]:
    """How long each lived, what died, and with what wear."""
    names = ("written", "first_death", "dead_blocks", "amplification", "wear_used")
    columns = [tables.make_figure_column(setting.figure(f"life.{name}")) for name in names]
    return [*columns, ("gave up", tables.make_text_cell_maker(lifetime.format_given_up_count))]


def _list_point_columns(setting: Setting) -> list[TableColumn]:
    """Headline, all flash reads, mount and memory."""
    names = ("chip.reads", "step.mount", "memory.mounted", "memory.peak")
    columns = [tables.make_figure_column(setting.headline)]
    return [*columns, *(tables.make_figure_column(setting.figure(name)) for name in names)]


INSTRUMENT_CHARTS = (
    *(
        partbars.render_time_parts_chart,
        wearcurves.render_sorted_wear_chart,
        wearcurves.render_wear_over_time_chart,
        wearcharts.render_wear_distribution_chart,
    ),
    memorycurves.render_memory_chart,
)
"""Of trials with the instruments parts, wear, memory-series."""
VIEW_REPORTS = {
    "phases": ViewReport(
        _list_phase_columns,
        (
            *(
                figurecharts.render_phase_times_chart,
                figurecharts.render_workload_figures_chart,
                figurecharts.render_throughput_chart,
                figurecharts.render_flash_operations_chart,
                energychart.render_energy_chart,
                latencychart.render_latency_chart,
            ),
            *(
                wearcharts.render_wear_map_chart,
                wearcharts.render_wear_histogram_chart,
                *INSTRUMENT_CHARTS,
            ),
            *(figurecharts.render_ageing_chart, figurecharts.render_flash_states_chart),
        ),
    ),
    "points": ViewReport(
        _list_point_columns,
        (
            pointcharts.render_point_times_chart,
            energychart.render_energy_chart,
            *INSTRUMENT_CHARTS,
            figurecharts.render_flash_states_chart,
        ),
    ),
    "sweep": ViewReport(_list_phase_columns, (surface.render_surface_chart, *INSTRUMENT_CHARTS)),
    "lifetime": ViewReport(
        _list_life_columns,
        (
            deathchart.render_block_deaths_chart,
            wearcharts.render_wear_map_chart,
            wearcharts.render_wear_histogram_chart,
            memorycurves.render_memory_chart,
        ),
    ),
}
"""By the view's name."""
