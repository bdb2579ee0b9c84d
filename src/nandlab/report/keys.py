# SPDX-License-Identifier: GPL-2.0-or-later
"""The key of a chart of lines, above it: a sample and a name for each line, wrapped."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from nandlab.report import layout
from nandlab.report.charts import Spec
from nandlab.report.layout import LETTER, STEP, Row
from nandlab.report.looks import Look

SAMPLE = 26
"""Length in px of the sample line."""
MANY = 4
"""More names than these stand beside each other."""
DASH: Spec = {"field": "dash", "type": "nominal", "scale": None, "legend": None}
SHAPE: Spec = {"field": "shape", "type": "nominal", "scale": None, "legend": None}
FILL: Spec = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
POINT: Spec = {"type": "point", "strokeWidth": 1.6, "opacity": 1}


def letters(width: float) -> int:
    """How many letters of a name fit into a line of the key."""
    return int((width - SAMPLE - layout.EDGE - 20) / (LETTER * 1.08))


def entry(line: int, text: str, left: float = 0, **looks: Any) -> dict[str, Any]:
    """A name in a line of the key, ``left`` px from its edge; ``looks``: its sample or mark."""
    sample = {"from": left, "to": left + SAMPLE - 6} if "dash" in looks else {}
    middle, words = left + (SAMPLE - 6) / 2, left + SAMPLE
    return {"line": line, "text": text, "middle": middle, "words": words, **sample, **looks}


def entries(titles: Sequence[str], seen: Sequence[Look], width: float) -> list[dict[str, Any]]:
    """A name a line; in the wide form two beside each other, where there are many and all short."""
    half = width / 2 - SAMPLE
    short = width == layout.WIDE and all(len(t) <= letters(half) for t in titles)
    if short and len(titles) > MANY:
        rows = -(-len(titles) // 2)
        return [
            entry(i % rows, title, half * (i // rows), **look.data)
            for i, (title, look) in enumerate(zip(titles, seen, strict=True))
        ]
    found: list[dict[str, Any]] = []
    for title, look in zip(titles, seen, strict=True):
        for i, text in enumerate(textwrap.wrap(title, letters(width))):
            found.append(entry(len(found), text, **(look.data if i == 0 else {})))
    return found


def of_rows(
    rows: Sequence[Row], dashes: Mapping[str, list[int]], width: float
) -> list[dict[str, Any]]:
    """A line a configuration, with how many trials it has; its dash is by the row's key."""
    found: list[dict[str, Any]] = []
    for row in rows:
        text = f"{row.ensemble.label}, n={len(row.ensemble.ok)}"
        for i, part in enumerate(textwrap.wrap(text, letters(width))):
            drawn: dict[str, Any] = {"colour": row.colour, "dash": dashes[row.key]}
            found.append(entry(len(found), part, **(drawn if i == 0 else {})))
    return found


def view(key: str, width: float, lines: int) -> Spec:
    """The key's lines, each an :func:`entry` of a dataset.

    A sample has ``colour`` and ``dash``, a point on it ``shape`` and ``fill``; a ``mark`` is text.
    """
    x: Spec = {"type": "quantitative", "scale": {"domain": [0, width], "nice": False}, "axis": None}
    y: Spec = {
        "field": "line",
        "type": "quantitative",
        "scale": {"domain": [-0.5, lines - 0.5], "reverse": True, "nice": False},
        "axis": None,
    }
    sample: Spec = {
        "transform": [{"filter": "isValid(datum.to)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {
            "x": {**x, "field": "from"},
            "x2": {"field": "to"},
            "y": y,
            "color": layout.COLOUR,
            "strokeDash": DASH,
        },
    }
    points: Spec = {
        "transform": [{"filter": "isValid(datum.shape)"}],
        "mark": {**POINT, "size": 44},
        "encoding": {
            "x": {**x, "field": "middle"},
            "y": y,
            "stroke": layout.COLOUR,
            "fill": FILL,
            "shape": SHAPE,
        },
    }
    words: Spec = {
        "mark": layout.WORDS,
        "encoding": {"x": {**x, "field": "words"}, "y": y, "text": {"field": "text"}},
    }
    marks: Spec = {
        "transform": [{"filter": "isValid(datum.mark)"}],
        "mark": {"type": "text", "align": "center"},
        "encoding": {"x": {**x, "field": "middle"}, "y": y, "text": {"field": "mark"}},
    }
    return {
        "data": {"name": key},
        "width": width,
        "height": STEP * lines,
        "layer": [sample, points, marks, words],
    }
