# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of block deaths: how many blocks are dead after how much data, a line a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nandlab.analysis.figures import figures, life
from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.life import LifeTotals
from nandlab.analysis.verdicts import lifetime
from nandlab.analysis.verdicts.lifetime import shorten_text
from nandlab.base import units
from nandlab.report.charts import chartkeys, layout, looks
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.charts.layout import NARROW, WIDE, ChartData, ChartRow
from nandlab.report.tables import tables
from nandlab.results.record import Trial

MIB = 2.0**20
AXIS_ROOM = 52
"""Px left of the panel for the axis of dead blocks and its title."""
END_MARKS = (("●", "gave up", False), ("○", "still lived when the rounds ended", True))
"""For the key: the mark at a line's end, what it means, and whether the trial still lived."""
DEATHS_CAPTION = (
    "Each line is a trial. It climbs at the end of the round in which blocks died; the round that "
    "failed ends it, at the data written until then: filled where the file system gave up, hollow "
    "where it still lived."
)


def render_block_deaths_chart(setting: Setting) -> ChartWithTable | None:
    """None when no trial has a round to draw."""
    rows = layout.make_chart_rows(setting)
    lives = [(r, t) for r in rows for t in r.ensemble.ok if life.find_life_end_totals(t)]
    if not lives:
        return None
    dashes = looks.choose_line_dashes([(r.key, r.colour) for r in rows])
    data: ChartData = {
        "trials": [point for r, t in lives for point in _make_line_data(r, t, dashes[r.key])],
        "ends": [_make_end_mark(r, t) for r, t in lives],
        "key_wide": _make_key(rows, lives, dashes, WIDE),
        "key_narrow": _make_key(rows, lives, dashes, NARROW),
    }
    wide, narrow = _make_spec("key_wide", WIDE, data), _make_spec("key_narrow", NARROW, data)
    chart = Chart(f"{setting.slug}-deaths", "Block deaths", DEATHS_CAPTION, data, wide, narrow)
    names = ("written", "first_death", "dead_blocks", "amplification", "wear_used", "rounds")
    totals = ("t_ns", "programs", "erases")
    columns = [
        *(tables.make_figure_column(setting.figure(f"life.{name}")) for name in (*names, *totals)),
        *(
            tables.make_figure_column(
                figures.make_host_memory_figure(share, f"host memory, {when}")
            )
            for when, share in (("halfway", 0.5), ("at the end", 1.0))
        ),
        ("gave up", tables.make_text_cell_maker(lifetime.format_given_up_count)),
        (
            "how it ended",
            tables.make_text_cell_maker(lambda e: "; ".join(lifetime.format_life_endings(e))),
        ),
    ]
    return ChartWithTable(chart, tables.make_ensemble_table(setting.ensembles, columns))


def _make_line_data(row: ChartRow, trial: Trial, dash: list[int]) -> list[dict[str, Any]]:
    """A line from nothing written; it has points where blocks died and at the last round."""
    points = [(0.0, 0)]
    points += [(r.bytes_written / MIB, r.dead_blocks) for r in _list_bends(trial)]
    base = {"trial": trial.id, "colour": row.colour, "dash": dash}
    return [{**base, "at": i, "written": x, "dead": y} for i, (x, y) in enumerate(points)]


def _list_bends(trial: Trial) -> list[LifeTotals]:
    points = life.list_life_round_totals(trial)
    before = [0, *(p.dead_blocks for p in points)]
    last = len(points) - 1
    return [p for i, p in enumerate(points) if i == last or p.dead_blocks != before[i]]


def _make_end_mark(row: ChartRow, trial: Trial) -> dict[str, Any]:
    last, gave_up = life.find_life_end_totals(trial), life.find_give_up_error(trial)
    assert last is not None
    how = "still lived" if gave_up is None else f"gave up with “{shorten_text(gave_up)}”"
    dead = f"{last.dead_blocks} dead block{'' if last.dead_blocks == 1 else 's'}"
    return {
        "written": last.bytes_written / MIB,
        "dead": last.dead_blocks,
        "colour": row.colour,
        "shade": 0.0 if gave_up is None else 1.0,
        "tip": f"{trial.id}: {units.format_size(last.bytes_written)}, {dead}, {how}",
    }


def _make_key(
    rows: Sequence[ChartRow],
    lives: Sequence[tuple[ChartRow, Trial]],
    dashes: dict[str, list[int]],
    width: float,
) -> list[dict[str, Any]]:
    """The lines of the key: a sample and a name for each row, then what the marks mean."""
    lines = chartkeys.make_legend_entries_of_rows(
        [r for r in rows if any(r is d for d, _ in lives)], dashes, width
    )
    for mark, words, alive in END_MARKS:
        if any(t.open_ended is alive for _, t in lives):
            lines.append(chartkeys.make_legend_entry(len(lines), words, mark=mark))
    return lines


def _make_spec(key: str, width: float, data: ChartData) -> VegaSpec:
    inner = width - AXIS_ROOM - layout.RIGHT_EDGE
    height = 300 if width == WIDE else 240
    spec = layout.concatenate_panel_views(
        [chartkeys.make_legend_view(key, inner, len(data[key])), _make_plot(inner, height, data)], 1
    )
    return {**spec, "bounds": "full", "spacing": 14}


def _make_plot(width: float, height: float, data: ChartData) -> VegaSpec:
    ends = data["ends"]
    most = max(1 / 1024, *(d["written"] for d in ends))
    dead = max(1, *(d["dead"] for d in ends))
    x: VegaSpec = {
        "field": "written",
        "type": "quantitative",
        "scale": {"domain": [0, most * 1.03], "nice": False},
        "axis": {
            "title": "data written by the load, MiB",
            "tickCount": max(2, int(width / 90)),
            "format": ",.3~f" if most < 1 else ",.5~r",
        },
    }
    y: VegaSpec = {
        "field": "dead",
        "type": "quantitative",
        "scale": {"domain": [0, dead * 1.05], "nice": False},
        "axis": {"title": "dead blocks", "tickCount": 6, "tickMinStep": 1, "format": ",d"},
    }
    lines: VegaSpec = {
        "data": {"name": "trials"},
        "mark": {
            "type": "line",
            "interpolate": "step-after",
            "strokeWidth": 1.6,
            "strokeOpacity": 0.8,
        },
        "encoding": {
            "x": x,
            "y": y,
            "detail": {"field": "trial", "type": "nominal"},
            "order": {"field": "at", "type": "quantitative"},
            "color": layout.COLOUR_ENCODING,
            "strokeDash": chartkeys.DASH_ENCODING,
        },
    }
    marks: VegaSpec = {
        "data": {"name": "ends"},
        "mark": {"type": "point", "size": 70, "strokeWidth": 2, "opacity": 1},
        "encoding": {
            "x": x,
            "y": y,
            "stroke": layout.COLOUR_ENCODING,
            "fill": layout.COLOUR_ENCODING,
            "fillOpacity": layout.SHADE_ENCODING,
            "tooltip": layout.TIP_ENCODING,
        },
    }
    return {"width": width, "height": height, "layer": [lines, marks]}
