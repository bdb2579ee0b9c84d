# SPDX-License-Identifier: GPL-2.0-or-later
"""Spreads and their quotients, by their laws."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.figures.spread import (
    Spread,
    compute_spread,
    compute_spread_with_lower_bounds,
    divide_spreads,
)

VALUES = st.lists(st.floats(min_value=0, max_value=1e15), min_size=1, max_size=12)
POSITIVE = st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=1, max_size=8)


def known(values: list[float]) -> Spread:
    found = compute_spread(values)
    assert found is not None
    return found


@given(VALUES)
def test_a_spread_is_ordered_and_counts_what_is_there(values: list[float]) -> None:
    found = known([*values])
    assert found.n == len(values)
    assert min(values) == found.min <= found.median <= found.max == max(values)
    assert (found.mean is None) == (len(values) < 5)
    assert compute_spread([None, *values, None]) == found


def test_a_spread_of_nothing_is_none() -> None:
    assert compute_spread([]) is None
    assert compute_spread([None, None]) is None


@given(VALUES, VALUES)
def test_overlap_and_telling_apart_are_symmetric_and_exclude_each_other(
    a: list[float], b: list[float]
) -> None:
    x, y = known(a), known(b)
    assert x.overlaps(y) == y.overlaps(x)
    assert x.is_distinct_from(y) == y.is_distinct_from(x)
    assert not (x.overlaps(y) and x.is_distinct_from(y))
    assert x.overlaps(x)


def test_ranges_that_touch_in_one_point_overlap() -> None:
    assert known([1, 2]).overlaps(known([2, 3]))
    assert known([1, 2]).is_distinct_from(known([2.001, 3]))


@given(POSITIVE, POSITIVE)
def test_every_pair_lies_within_the_range_of_a_quotient(a: list[float], b: list[float]) -> None:
    found = divide_spreads(known(a), known(b))
    assert found is not None
    assert all(found.min <= x / y <= found.max for x in a for y in b)


def test_no_quotient_over_zero_or_nothing() -> None:
    assert divide_spreads(known([1, 2]), known([0, 1])) is None
    assert divide_spreads(None, known([1])) is None


@given(st.lists(st.tuples(st.integers(1, 10**9), st.booleans()), min_size=1, max_size=9))
def test_a_life_longer_than_seen_stays_within_its_range(values: list[tuple[int, bool]]) -> None:
    found = compute_spread_with_lower_bounds(values)
    assert found is not None
    whole = known([v * 1000 if alive else v for v, alive in values])
    assert found.min <= whole.min
    assert whole.max <= found.top
    assert found.median <= whole.median
    assert found.is_median_lower_bound or found.median == whole.median
