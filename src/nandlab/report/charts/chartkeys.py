# SPDX-License-Identifier: GPL-2.0-or-later
"""The key of a chart of lines, above it: a sample and a name for each line, wrapped."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from nandlab.report.charts import layout
from nandlab.report.charts.charts import VegaSpec
from nandlab.report.charts.layout import LETTER_PX, ROW_PX, ChartRow
from nandlab.report.charts.looks import MarkLook

SAMPLE_PX = 26
"""Length in px of the sample line."""
ONE_COLUMN_MAX = 4
"""More names than these stand beside each other."""
DASH_ENCODING: VegaSpec = {"field": "dash", "type": "nominal", "scale": None, "legend": None}
SHAPE_ENCODING: VegaSpec = {"field": "shape", "type": "nominal", "scale": None, "legend": None}
FILL_ENCODING: VegaSpec = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
POINT_MARK: VegaSpec = {"type": "point", "strokeWidth": 1.6, "opacity": 1}


def compute_legend_letters_per_line(width: float) -> int:
    """How many letters of a name fit into a line of the key."""
    return int((width - SAMPLE_PX - layout.RIGHT_EDGE - 20) / (LETTER_PX * 1.08))


def make_legend_entry(line: int, text: str, left: float = 0, **looks: Any) -> dict[str, Any]:
    """A name in a line of the key, ``left`` px from its edge; ``looks``: its sample or mark."""
    sample = {"from": left, "to": left + SAMPLE_PX - 6} if "dash" in looks else {}
    middle, words = left + (SAMPLE_PX - 6) / 2, left + SAMPLE_PX
    return {"line": line, "text": text, "middle": middle, "words": words, **sample, **looks}


def make_legend_entries(
    titles: Sequence[str], mark_looks: Sequence[MarkLook], width: float
) -> list[dict[str, Any]]:
    """A name a line; in the wide form two beside each other, where there are many and all short."""
    half = width / 2 - SAMPLE_PX
    short = width == layout.WIDE and all(
        len(t) <= compute_legend_letters_per_line(half) for t in titles
    )
    if short and len(titles) > ONE_COLUMN_MAX:
        rows = -(-len(titles) // 2)
        return [
            make_legend_entry(i % rows, title, half * (i // rows), **look.data)
            for i, (title, look) in enumerate(zip(titles, mark_looks, strict=True))
        ]
    entries: list[dict[str, Any]] = []
    for title, look in zip(titles, mark_looks, strict=True):
        for i, text in enumerate(textwrap.wrap(title, compute_legend_letters_per_line(width))):
            entries.append(make_legend_entry(len(entries), text, **(look.data if i == 0 else {})))
    return entries


def make_legend_entries_of_rows(
    rows: Sequence[ChartRow], dashes: Mapping[str, list[int]], width: float
) -> list[dict[str, Any]]:
    """A line a configuration, with how many trials it has; its dash is by the row's key."""
    entries: list[dict[str, Any]] = []
    for row in rows:
        text = f"{row.ensemble.label}, n={len(row.ensemble.ok)}"
        for i, part in enumerate(textwrap.wrap(text, compute_legend_letters_per_line(width))):
            look: dict[str, Any] = {"colour": row.colour, "dash": dashes[row.key]}
            entries.append(make_legend_entry(len(entries), part, **(look if i == 0 else {})))
    return entries


def make_legend_view(key: str, width: float, lines: int) -> VegaSpec:
    """The key's lines, each an :func:`make_legend_entry` of a dataset.

    A sample has ``colour`` and ``dash``, a point on it ``shape`` and ``fill``; a ``mark`` is text.
    """
    x: VegaSpec = {
        "type": "quantitative",
        "scale": {"domain": [0, width], "nice": False},
        "axis": None,
    }
    y: VegaSpec = {
        "field": "line",
        "type": "quantitative",
        "scale": {"domain": [-0.5, lines - 0.5], "reverse": True, "nice": False},
        "axis": None,
    }
    sample: VegaSpec = {
        "transform": [{"filter": "isValid(datum.to)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {
            "x": {**x, "field": "from"},
            "x2": {"field": "to"},
            "y": y,
            "color": layout.COLOUR_ENCODING,
            "strokeDash": DASH_ENCODING,
        },
    }
    points: VegaSpec = {
        "transform": [{"filter": "isValid(datum.shape)"}],
        "mark": {**POINT_MARK, "size": 44},
        "encoding": {
            "x": {**x, "field": "middle"},
            "y": y,
            "stroke": layout.COLOUR_ENCODING,
            "fill": FILL_ENCODING,
            "shape": SHAPE_ENCODING,
        },
    }
    words: VegaSpec = {
        "mark": layout.TEXT_MARK,
        "encoding": {"x": {**x, "field": "words"}, "y": y, "text": {"field": "text"}},
    }
    marks: VegaSpec = {
        "transform": [{"filter": "isValid(datum.mark)"}],
        "mark": {"type": "text", "align": "center"},
        "encoding": {"x": {**x, "field": "middle"}, "y": y, "text": {"field": "mark"}},
    }
    return {
        "data": {"name": key},
        "width": width,
        "height": ROW_PX * lines,
        "layer": [sample, points, marks, words],
    }
