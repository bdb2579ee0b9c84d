# SPDX-License-Identifier: GPL-2.0-or-later
"""Models whose lines a curve may have beside what was measured.

A model is a function: of the name of a curve's y and of a place it gives a value in the unit of
that figure, or None where it has none. What it gives is no measurement, and is drawn and named so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from nandlab.analysis.curves import readpoints
from nandlab.analysis.curves.curveplaces import CurvePlace
from nandlab.analysis.curves.readrules import READ_AHEAD_RULES
from nandlab.base.errors import UsageError

CurveModel = Callable[[str, CurvePlace], float | None]
CACHE_PAGES_FIGURE = "point.reads"
"""The y that a kernel's read-ahead has a model of."""


def _model_read_pages(rule: str, y: str, place: CurvePlace) -> float | None:
    """Pages of the cache that a kernel would read for a point; in a gain, the part of them saved.

    How many flash pages one of them costs is the file system's affair, so it is taken as one.
    """
    window = find_place_read_ahead_kib(place)
    if y != CACHE_PAGES_FIGURE or place.phase is None or window is None:
        return None
    return _count_modelled_pages(
        rule, tuple(sorted(place.phase.at.items())), place.trial.seed, window
    )


def find_place_read_ahead_kib(place: CurvePlace) -> int | None:
    """The read-ahead of a place's trial, as it was measured or else chosen; None: not known."""
    kib = place.trial.measured.get("read_ahead", {}).get(
        "kib", place.trial.options.get("read_ahead")
    )
    try:
        return None if kib is None else int(kib)
    except ValueError:
        return None


@cache
def _count_modelled_pages(
    rule: str, attributes: tuple[tuple[str, int | float | str], ...], seed: int, window: int
) -> int | None:
    """None where the model does not know such points."""
    try:
        return len(readpoints.model_point_reads(dict(attributes), seed, window, rule).pages)
    except (UsageError, KeyError, ValueError):
        return None


CURVE_MODELS: dict[str, CurveModel] = {
    f"linux-{rule.name}": partial(_model_read_pages, rule.name)
    for rule in READ_AHEAD_RULES.values()
}
"""By the name that a study's curve gives."""
