# SPDX-License-Identifier: GPL-2.0-or-later
"""Our standard deviations are those of ``statistics``, which takes longer, to the last bit."""

from __future__ import annotations

import math
import statistics
from array import array
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nandlab.analysis.figures.deviations import (
    compute_fraction_root,
    compute_population_stddev,
    compute_sample_stddev,
)

COUNTS = st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=40)
VALUES = st.lists(
    st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False),
    min_size=2,
    max_size=20,
)


@given(COUNTS)
@example([7] * 384)
@example([0])
@example([0, (1 << 63) - 1])
def test_of_counts_it_is_that_of_statistics(counts: list[int]) -> None:
    assert compute_population_stddev(array("Q", counts)) == statistics.pstdev(counts)


@given(VALUES)
@example([0.1, 0.1, 0.1])
@example([5e-324, 0.0])
@example([1e16, 1.0, 3])
@example([1e300, 1e-300])
def test_of_a_sample_it_is_that_of_statistics(values: list[float]) -> None:
    try:
        expected = statistics.stdev(values)
    except OverflowError:
        with pytest.raises(OverflowError):
            compute_sample_stddev(values)
        return
    assert compute_sample_stddev(values) == expected


@given(st.integers(0, 10**60), st.integers(1, 10**60))
@example((1 << 53) * 2 + 1, 1)
def test_no_float_is_nearer_to_the_root(above: int, below: int) -> None:
    exact, root = Fraction(above, below), compute_fraction_root(above, below)
    for other in (math.nextafter(root, 0), math.nextafter(root, math.inf)):
        middle = (Fraction(root) + Fraction(other)) / 2
        assert middle * middle >= exact if other > root else middle * middle <= exact


@pytest.mark.parametrize("values", [[], [1], [1.0, math.inf], [math.nan, 1.0]])
def test_what_has_none_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="no standard deviation"):
        compute_sample_stddev(values)
