# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page shows of each kind of result: its overview and its charts with their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nandlab.analysis import answers, lifetime
from nandlab.analysis.groups import Setting
from nandlab.analysis.views import view
from nandlab.report import (
    deaths,
    joules,
    latency,
    memorycurves,
    partbars,
    points,
    specs,
    surface,
    tables,
    wear,
    wearcurves,
)
from nandlab.report.specs import Drawn
from nandlab.report.tables import Column, Table


@dataclass(frozen=True)
class Reading:
    """For a view: the columns that decide, and the functions that draw its charts."""

    overview: Callable[[Setting], list[Column]]
    charts: tuple[Callable[[Setting], Drawn | None], ...]


def overview(setting: Setting) -> Table:
    """The columns that decide, for each configuration."""
    return tables.table(setting.ensembles, READINGS[view(setting).name].overview(setting))


def drawn(setting: Setting) -> list[Drawn]:
    """The charts that the trials of this setting have data for, in the order of the report."""
    made = (build(setting) for build in READINGS[view(setting).name].charts)
    return [d for d in made if d is not None]


def _phases(setting: Setting) -> list[Column]:
    """Headline, wear, evenness, tail, mount, memory and ageing."""
    names = ["chip.erases", "wear.spread"]
    columns = [tables.figure(setting.headline)]
    columns += [tables.figure(setting.figure(name)) for name in names]
    columns.append(tables.worst_tail(setting))
    more = ("step.mount", "memory.mounted", "memory.peak")
    columns += [tables.figure(setting.figure(name)) for name in more]
    if answers.aged_states(setting):
        noun = "time" if setting.headline.quantity.name == "time" else setting.headline.title
        columns.append(tables.against_fresh(setting, setting.headline, f"{noun} against fresh"))
    return columns


def _lives(setting: Setting) -> list[Column]:
    """How long each lived, what died, and with what wear."""
    names = ("written", "first_death", "dead_blocks", "amplification", "wear_used")
    columns = [tables.figure(setting.figure(f"life.{name}")) for name in names]
    return [*columns, ("gave up", tables.text_cell(lifetime.ended))]


def _points(setting: Setting) -> list[Column]:
    """Headline, all flash reads, mount and memory."""
    names = ("chip.reads", "step.mount", "memory.mounted", "memory.peak")
    columns = [tables.figure(setting.headline)]
    return [*columns, *(tables.figure(setting.figure(name)) for name in names)]


MEASURED = (
    *(partbars.drawn, wearcurves.drawn_sorted, wearcurves.drawn_over_time),
    memorycurves.drawn,
)
"""Of trials with the instruments parts, wear, memory-series."""
READINGS = {
    "phases": Reading(
        _phases,
        (
            *(specs.times, specs.own, specs.throughput, specs.flash, joules.drawn, latency.drawn),
            *(wear.drawn_map, wear.drawn_histogram, *MEASURED),
            *(specs.ageing, specs.states),
        ),
    ),
    "points": Reading(_points, (points.drawn, joules.drawn, *MEASURED, specs.states)),
    "sweep": Reading(_phases, (surface.drawn, *MEASURED)),
    "lifetime": Reading(
        _lives, (deaths.drawn, wear.drawn_map, wear.drawn_histogram, memorycurves.drawn)
    ),
}
"""By the view's name."""
