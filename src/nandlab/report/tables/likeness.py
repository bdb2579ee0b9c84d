# SPDX-License-Identifier: GPL-2.0-or-later
"""Real, simulated, ratio: tables of words, and records."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis.differences.likeness import ConfigurationLikeness, FigureLikeness
from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.report.tables.figurechanges import IN_RANGE_TEXT
from nandlab.report.tables.sheets import Sheet, SheetRecord, drop_zero_fraction, render_sheets

TABLE_HEAD = ("figure", "real", "simulated", "ratio", "range of ratio", "in range")
VALUE_SIDES = ("real", "simulated", "ratio")
RECORD_COLUMNS = (
    *("setting", "configuration", "figure", "unit"),
    *(f"{side}{end}" for side in VALUE_SIDES for end in ("", "_min", "_max")),
    "in_range",
)
"""Names of a record's values; real and simulated are medians in ``unit``."""
TABLE_NOTE = (
    "Medians, with their ranges; the ratio is the simulated over the real one, and its range the "
    "widest that both ranges allow. In range: the two ranges touch."
)


def render_board_likeness(found: Sequence[ConfigurationLikeness], form: str) -> str:
    """The tables as text, markdown, csv or json."""
    sheets = [
        Sheet(one.title, TABLE_HEAD, [_make_row(like) for like in one.figures]) for one in found
    ]
    return render_sheets(form, sheets, [TABLE_NOTE], RECORD_COLUMNS, list_likeness_records(found))


def list_likeness_records(found: Sequence[ConfigurationLikeness]) -> list[SheetRecord]:
    """A record for each figure, with exactly :data:`RECORD_COLUMNS`."""
    return [_make_record(one, like) for one in found for like in one.figures]


def _make_record(one: ConfigurationLikeness, like: FigureLikeness) -> SheetRecord:
    sides = (like.real, like.simulated, like.ratio)
    values = (value for side in sides for value in _list_marks(side))
    told = (one.setting, one.label, like.name, like.quantity.base, *values, like.within)
    return dict(zip(RECORD_COLUMNS, told, strict=True))


def _list_marks(side: Spread | None) -> tuple[float | None, float | None, float | None]:
    if side is None:
        return None, None, None
    return (
        drop_zero_fraction(side.median),
        drop_zero_fraction(side.min),
        drop_zero_fraction(side.max),
    )


def _make_row(like: FigureLikeness) -> tuple[str, ...]:
    form, ratio = like.quantity.form, like.ratio
    of = units.MISSING if ratio is None else units.format_ratio(ratio.median)
    extent = units.MISSING if ratio is None else ratio.extent(units.format_ratio)
    return (
        *(like.name, like.real.brief(form), like.simulated.brief(form)),
        *(of, extent, IN_RANGE_TEXT[like.within]),
    )
