# SPDX-License-Identifier: GPL-2.0-or-later
"""Real, simulated, ratio: tables of words, and records."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis.likeness import Both, Like
from nandlab.analysis.spread import Spread
from nandlab.base import units
from nandlab.report.moves import IN_RANGE
from nandlab.report.sheets import Record, Sheet, plain, rendered

HEAD = ("figure", "real", "simulated", "ratio", "range of ratio", "in range")
SIDES = ("real", "simulated", "ratio")
COLUMNS = (
    *("setting", "configuration", "figure", "unit"),
    *(f"{side}{end}" for side in SIDES for end in ("", "_min", "_max")),
    "in_range",
)
"""Names of a record's values; real and simulated are medians in ``unit``."""
SAYS = (
    "Medians, with their ranges; the ratio is the simulated over the real one, and its range the "
    "widest that both ranges allow. In range: the two ranges touch."
)


def told(found: Sequence[Both], form: str) -> str:
    """The tables as text, markdown, csv or json."""
    sheets = [Sheet(one.title, HEAD, [_row(like) for like in one.figures]) for one in found]
    return rendered(form, sheets, [SAYS], COLUMNS, records(found))


def records(found: Sequence[Both]) -> list[Record]:
    """A record for each figure, with exactly :data:`COLUMNS`."""
    return [_record(one, like) for one in found for like in one.figures]


def _record(one: Both, like: Like) -> Record:
    sides = (like.real, like.simulated, like.ratio)
    values = (value for side in sides for value in _values(side))
    told = (one.setting, one.label, like.name, like.quantity.base, *values, like.within)
    return dict(zip(COLUMNS, told, strict=True))


def _values(side: Spread | None) -> tuple[float | None, float | None, float | None]:
    if side is None:
        return None, None, None
    return plain(side.median), plain(side.min), plain(side.max)


def _row(like: Like) -> tuple[str, ...]:
    form, ratio = like.quantity.form, like.ratio
    of = units.MISSING if ratio is None else units.ratio(ratio.median)
    extent = units.MISSING if ratio is None else ratio.extent(units.ratio)
    return (
        *(like.name, like.real.brief(form), like.simulated.brief(form)),
        *(of, extent, IN_RANGE[like.within]),
    )
