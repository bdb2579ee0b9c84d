# SPDX-License-Identifier: GPL-2.0-or-later
"""Models whose lines a curve may have beside what was measured.

A model is a function: of the name of a curve's y and of a place it gives a value in the unit of
that figure, or None where it has none. What it gives is no measurement, and is drawn and named so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from nandlab.analysis import readpoints
from nandlab.analysis.place import Place
from nandlab.analysis.readrules import RULES
from nandlab.base.errors import UsageError

Model = Callable[[str, Place], float | None]
CACHE_PAGES = "point.reads"
"""The y that a kernel's read-ahead has a model of."""


def _read_ahead(rule: str, y: str, at: Place) -> float | None:
    """Pages of the cache that a kernel would read for a point; in a gain, the part of them saved.

    How many flash pages one of them costs is the file system's affair, so it is taken as one.
    """
    window = window_kib(at)
    if y != CACHE_PAGES or at.phase is None or window is None:
        return None
    return _pages(rule, tuple(sorted(at.phase.at.items())), at.trial.seed, window)


def window_kib(at: Place) -> int | None:
    """The read-ahead of a place's trial, as it was measured or else chosen; None: not known."""
    told = at.trial.measured.get("read_ahead", {}).get("kib", at.trial.options.get("read_ahead"))
    try:
        return None if told is None else int(told)
    except ValueError:
        return None


@cache
def _pages(
    rule: str, at: tuple[tuple[str, int | float | str], ...], seed: int, window: int
) -> int | None:
    """None where the model does not know such points."""
    try:
        return len(readpoints.expected(dict(at), seed, window, rule).pages)
    except (UsageError, KeyError, ValueError):
        return None


MODELS: dict[str, Model] = {
    f"linux-{rule.name}": partial(_read_ahead, rule.name) for rule in RULES.values()
}
"""By the name that a study's curve gives."""
