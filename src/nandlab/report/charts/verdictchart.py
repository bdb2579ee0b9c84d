# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart beside a run's verdicts: how much of each limit is used; without limits the headline.

A bar is a file system with its options. Under limits it ends at the trial that comes nearest, the
line is the limit, and who is beyond it breaks it. Without limits it is the worst median.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nandlab.analysis.verdicts.criteria import Criterion, VerdictCell
from nandlab.analysis.verdicts.verdict import Verdict, VerdictRow
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart, VegaSpec
from nandlab.report.tables.verdicttext import format_marked_verdict_cell

CHART_NAME = "verdict"
SETTINGS_MAX = 4
"""Verdicts that are drawn, one below the other."""
USED_MAX = 2.0
"""Share of a limit at which a bar ends, however far beyond it is; its number is written out."""
STEP_WIDE, STEP_NARROW = 19, 16
"""Height of a row in px: on a phone the chart is to stand on the first screen."""
LETTERS_WIDE, LETTERS_NARROW = 24, 14
"""Letters of a name and of a number beside the bars."""
BarItem = dict[str, Any]


def render_verdict_chart(verdicts: Sequence[Verdict]) -> Chart | None:
    """The chart of a run; None where no row has a number."""
    judged = [v for v in verdicts if v.rows][:SETTINGS_MAX]
    limited = any(cell.used is not None for v in judged for row in v.rows for cell in row.cells)
    items = [
        item
        for v in judged
        for item in (_list_limit_bars(v) if limited else _list_headline_bars(v))
    ]
    if not items:
        return None
    title = "How much of each limit is used" if limited else "The headline, where it is worst"
    caption = (
        "The trial that comes nearest to each limit, as a share of it; the line is the limit. "
        f"Bars end at {USED_MAX:.0%}."
        if limited
        else "Medians in the flash state where each is worst; the table above names the criteria."
    )
    wide, narrow = (
        _make_spec(items, width, limited=limited) for width in (layout.WIDE, layout.NARROW)
    )
    return Chart(CHART_NAME, title, caption, {"bars": items}, wide, narrow)


def _list_limit_bars(verdict: Verdict) -> Iterator[BarItem]:
    """A bar for each limit that has a measure, and each row of which it is known."""
    for i, criterion in enumerate(verdict.criteria):
        for row in verdict.rows:
            cell = row.cells[i]
            if criterion.limit and cell.used is not None:
                head = f"{verdict.short}: " if verdict.short else ""
                title = f"{head}{criterion.title} {criterion.limit}"
                yield _make_bar(title, row, cell, min(cell.used, USED_MAX))


def _list_headline_bars(verdict: Verdict) -> Iterator[BarItem]:
    """A bar for each row's headline, which is the first criterion that has values."""
    index = next((i for i, _ in enumerate(verdict.criteria) if _has_value(verdict, i)), None)
    for row in verdict.rows if index is not None else ():
        cell = row.cells[index or 0]
        if cell.value is not None:
            yield _make_bar(
                _format_panel_title(verdict, verdict.criteria[index or 0]), row, cell, cell.value
            )


def _format_panel_title(verdict: Verdict, criterion: Criterion) -> str:
    return f"{verdict.short}: {criterion.title}" if verdict.short else criterion.title


def _has_value(verdict: Verdict, i: int) -> bool:
    return any(row.cells[i].value is not None for row in verdict.rows)


def _make_bar(panel: str, row: VerdictRow, cell: VerdictCell, at: float) -> BarItem:
    return {
        "panel": panel,
        "name": row.name,
        "at": at,
        "text": format_marked_verdict_cell(cell),
        "colour": layout.choose_filesystem_colour(row.filesystem),
        "shade": 0.35 if row.call == "avoid" else 0.9,
    }


def _make_spec(items: Sequence[BarItem], width: float, *, limited: bool) -> VegaSpec:
    """A panel below the other, each with its rows in the order of the table."""
    panels = list(dict.fromkeys(str(item["panel"]) for item in items))
    narrow = width == layout.NARROW
    letters, step = (LETTERS_NARROW, STEP_NARROW) if narrow else (LETTERS_WIDE, STEP_WIDE)
    room = 2 * letters * layout.LETTER_PX
    views = [
        _make_panel(items, panel, width - room, limited=limited) | {"height": {"step": step}}
        for panel in panels
    ]
    return {
        "$schema": layout.VEGA_LITE_SCHEMA,
        "config": layout.VEGA_CONFIG,
        "vconcat": views,
        "spacing": 4 if narrow else 8,
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": letters * layout.LETTER_PX},
        "background": "transparent",
    }


def _make_panel(items: Sequence[BarItem], panel: str, width: float, *, limited: bool) -> VegaSpec:
    """The bars of a criterion under its title, their numbers at their ends."""
    own = [item for item in items if item["panel"] == panel]
    top = USED_MAX if any(item["at"] > 1 for item in own) else 1.0
    scale = {"domain": [0, top if limited else max(1e-9, *(item["at"] for item in own))]}
    x = {"field": "at", "type": "quantitative", "axis": None, "scale": scale}
    names = list(dict.fromkeys(item["name"] for item in own))
    axis = {"labelLimit": layout.WIDE, "title": None, "grid": False}
    y = {"field": "name", "type": "nominal", "sort": names, "axis": axis}
    bar = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "color": {"field": "colour", "type": "nominal", "scale": None},
            "opacity": {"field": "shade", "type": "quantitative", "scale": None},
        },
    }
    number = {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"text": {"field": "text"}},
    }
    rule = {
        "data": {"values": [{"limit": 1}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": "currentColor"},
        "encoding": {"x": {"field": "limit", "type": "quantitative", "scale": scale}},
    }
    return {
        "title": {"text": panel, "fontSize": 12, "anchor": "start", "frame": "group"},
        "data": {"name": "bars"},
        "transform": [{"filter": {"field": "panel", "equal": panel}}],
        "width": width,
        "layer": [
            {"encoding": {"x": x, "y": y}, "layer": [bar, number]},
            *([rule] if limited else []),
        ],
    }
