# SPDX-License-Identifier: GPL-2.0-or-later
"""How lines and marks are told apart: the colour is the file system, then shape and fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.report.charts import layout
from nandlab.report.charts.layout import OTHER_COLOURS

COLOUR_PALETTE = ("#2f7ebc", "#d9640e", "#1b9a77", "#b8639c", *OTHER_COLOURS)
"""Of lines that are all of one file system."""
MARK_SHAPES = (
    *(("circle", True), ("circle", False), ("square", True), ("triangle-up", True)),
    *(("diamond", True), ("square", False), ("triangle-up", False), ("diamond", False)),
)
"""Shape of a point, and whether it is filled, in order."""
LINE_DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3])
"""Dashes tell the configurations of one file system apart: they share its colour."""
MODEL_DASH = [4, 3]
"""The dash of what a model gives."""


@dataclass(frozen=True)
class MarkLook:
    """How one line or mark is drawn."""

    colour: str
    shape: str
    filled: bool
    dash: list[int]

    @property
    def data(self) -> dict[str, Any]:
        fill = self.colour if self.filled else "transparent"
        return {"colour": self.colour, "shape": self.shape, "fill": fill, "dash": self.dash}


def choose_mark_looks(names: Sequence[tuple[str, str]]) -> list[MarkLook]:
    """A look for each (file system, name); where all are of one file system, a colour for each."""
    alone = len({filesystem for filesystem, _ in names}) == 1
    uses_by_colour: dict[str, int] = {}
    mark_looks = []
    for i, (filesystem, _) in enumerate(names):
        colour = (
            COLOUR_PALETTE[i % len(COLOUR_PALETTE)]
            if alone
            else layout.choose_filesystem_colour(filesystem)
        )
        n = uses_by_colour.get(colour, 0)
        uses_by_colour[colour] = n + 1
        shape, filled = MARK_SHAPES[n % len(MARK_SHAPES)]
        mark_looks.append(MarkLook(colour, shape, filled, [1, 0]))
    return mark_looks


def choose_line_dashes(keys: Sequence[tuple[str, str]]) -> dict[str, list[int]]:
    """A dash for each (key, colour); the first of a colour has a solid line."""
    uses_by_colour: dict[str, int] = {}
    dashes = {}
    for key, colour in keys:
        n = uses_by_colour.get(colour, 0)
        dashes[key] = LINE_DASHES[n % len(LINE_DASHES)]
        uses_by_colour[colour] = n + 1
    return dashes
