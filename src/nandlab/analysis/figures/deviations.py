# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard deviations, exact: by whole numbers up to one root, which is rounded once.

A figure of thousands of trials has millions of counts, and ``statistics`` takes a fraction for each
of them. The values here are the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

ROOT_BITS = 64
"""Bits of a root before it is rounded to the 53 of a float: with one that tells whether anything
was cut off, these are enough to round as the whole root would."""


def compute_population_stddev(values: Sequence[float]) -> float:
    """Of values that are all there are: the root of the squares' sum over n; ValueError if there is
    none, or one that is not finite.
    """
    return _compute_root_of_squares(values, len(values))


def compute_sample_stddev(values: Sequence[float]) -> float:
    """Of values that are a sample: over n - 1; ValueError if there are not two, or one is not
    finite.
    """
    return _compute_root_of_squares(values, len(values) - 1)


def _compute_root_of_squares(values: Sequence[float], over: int) -> float:
    """The root of the squares of all distances to the mean, summed and divided."""
    n = len(values)
    if over < 1:
        raise ValueError(f"no standard deviation of {n} values")
    whole, scale = _scale_to_integers(values)
    total = sum(whole)
    squares = sum(map(mul, whole, whole))
    return compute_fraction_root(n * squares - total * total, n * over * scale * scale)


def _scale_to_integers(values: Sequence[float]) -> tuple[Sequence[int], int]:
    """The values times a whole number that makes all of them whole, and that number."""
    if all(issubclass(kind, int) for kind in {*map(type, values)}):
        return values, 1  # type: ignore[return-value]  # each is an int
    try:
        ratios = [value.as_integer_ratio() for value in values]
    except (OverflowError, ValueError):  # infinite, or none
        raise ValueError("no standard deviation of what is not finite") from None
    scale = max(below for _, below in ratios)  # a power of two, as all of them are
    return [above * (scale // below) for above, below in ratios], scale


def compute_fraction_root(above: int, below: int) -> float:
    """The float next to the root of a fraction, which is 0 or more."""
    short = 2 * ROOT_BITS - (above.bit_length() - below.bit_length())
    places = max(0, (short + 1) // 2)
    shifted = above << 2 * places
    root = math.isqrt(shifted // below)
    if root * root * below != shifted:
        root |= 1  # something was cut off: no tie for the one rounding
    return root / (1 << places)
