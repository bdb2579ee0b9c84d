# SPDX-License-Identifier: GPL-2.0-or-later
"""Real, simulated, ratio: tables of words, and records."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from nandlab.analysis.differences.likeness import ConfigurationLikeness, FigureLikeness
from nandlab.base import units
from nandlab.base.strings import FreeText, Line
from nandlab.report.tables.figurechanges import IN_RANGE_TEXT
from nandlab.report.tables.sheets import (
    Number,
    Sheet,
    SheetRecord,
    drop_zero_fraction,
    render_sheets,
)

TABLE_HEAD = ("figure", "real", "simulated", "ratio", "range of ratio", "in range")
TABLE_NOTE = (
    "Medians, with their ranges; the ratio is the simulated over the real one, and its range the "
    "widest that both ranges allow. In range: the two ranges touch."
)


class LikenessRecord(SheetRecord):
    """A figure of a board of one's own and of a virtual one: medians and ranges."""

    setting: FreeText
    configuration: FreeText
    figure: Line
    unit: Line
    real: Number
    real_min: Number
    real_max: Number
    simulated: Number
    simulated_min: Number
    simulated_max: Number
    ratio: Number | None = Field(description="of the medians, simulated over real; null: real is 0")
    ratio_min: Number | None = Field(description="the least that both ranges allow")
    ratio_max: Number | None
    in_range: bool = Field(description="whether both ranges touch")


def render_board_likeness(likenesses: Sequence[ConfigurationLikeness], form: str) -> str:
    """The tables as text, markdown, csv or json."""
    sheets = [
        Sheet(likeness.title, TABLE_HEAD, [_make_row(like) for like in likeness.figures])
        for likeness in likenesses
    ]
    records = [_make_record(likeness, like) for likeness in likenesses for like in likeness.figures]
    return render_sheets(form, sheets, [TABLE_NOTE], LikenessRecord, records)


def _make_record(one: ConfigurationLikeness, like: FigureLikeness) -> LikenessRecord:
    ratio = like.ratio
    return LikenessRecord(
        setting=one.setting,
        configuration=one.label,
        figure=like.name,
        unit=like.quantity.base,
        real=drop_zero_fraction(like.real.median),
        real_min=drop_zero_fraction(like.real.min),
        real_max=drop_zero_fraction(like.real.max),
        simulated=drop_zero_fraction(like.simulated.median),
        simulated_min=drop_zero_fraction(like.simulated.min),
        simulated_max=drop_zero_fraction(like.simulated.max),
        ratio=drop_zero_fraction(ratio.median) if ratio else None,
        ratio_min=drop_zero_fraction(ratio.min) if ratio else None,
        ratio_max=drop_zero_fraction(ratio.max) if ratio else None,
        in_range=like.within,
    )


def _make_row(like: FigureLikeness) -> tuple[str, ...]:
    form, ratio = like.quantity.form, like.ratio
    of = units.MISSING if ratio is None else units.format_ratio(ratio.median)
    extent = units.MISSING if ratio is None else ratio.extent(units.format_ratio)
    return (
        *(like.name, like.real.brief(form), like.simulated.brief(form)),
        *(of, extent, IN_RANGE_TEXT[like.within]),
    )
