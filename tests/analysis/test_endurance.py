# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks die by their endurance, and a course of wear that is less even ends no later."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.figures.endurance import (
    ERASES_BY_COURSE,
    BlockEndurance,
    BlockWear,
    compute_wilson_interval_of_deaths,
)

WEAR = st.lists(st.floats(0.5, 20), min_size=2, max_size=40)


def test_even_wear_of_equal_blocks_stands_all_their_erases() -> None:
    worn = BlockWear([3.0] * 10, before=1.0)
    assert worn.count_erases_until_dead(1, "even", BlockEndurance(50, 50)) == pytest.approx(10 * 49)
    assert worn.count_erases_until_dead(10, "kept", BlockEndurance(50, 50)) == pytest.approx(
        10 * 49
    )


def test_one_block_that_takes_all_ends_with_it() -> None:
    worn = BlockWear([8.0, 0, 0, 0], before=0)
    assert worn.count_erases_until_dead(1, "kept", BlockEndurance(100, 100)) == pytest.approx(100)
    assert worn.count_erases_until_dead(2, "kept", BlockEndurance(100, 100)) == pytest.approx(
        100
    )  # it strikes no other
    assert worn.count_erases_until_dead(1, "even", BlockEndurance(100, 100)) == pytest.approx(400)


def test_deaths_spread_as_the_endurance_does() -> None:
    # Of 100 blocks between 40 and 60 erases, 25 are expected to be dead after 45 each.
    found = BlockWear([1.0] * 100, before=0).count_erases_until_dead(
        25, "even", BlockEndurance(40, 60)
    )
    assert found == pytest.approx(100 * (0.75 * 45 + 0.25 * 42.5))


@given(WEAR, st.floats(0.1, 0.9), st.floats(10, 100), st.floats(0, 0.5))
def test_no_course_ends_later_than_even_wear(
    load: list[float], share: float, cycles: float, spread: float
) -> None:
    worn = BlockWear(load, before=0)
    stands = BlockEndurance(cycles * (1 - spread), cycles * (1 + spread))
    dead = max(1, math.floor(share * len(load)))
    even = worn.count_erases_until_dead(dead, "even", stands)
    assert even <= stands.most * len(load) * 1.0001
    if stands.least == stands.most:
        assert worn.count_erases_until_dead(dead, "kept", stands) <= even * 1.0001
        assert worn.count_erases_until_dead(dead, "chance", stands) <= even * 1.0001


@given(WEAR, st.integers(1, 10))
def test_more_deaths_take_more_erases(load: list[float], dead: int) -> None:
    worn, stands = BlockWear(load, before=0.5), BlockEndurance(40, 60)
    dead = min(dead, len(load) - 1)
    for course in ERASES_BY_COURSE:
        fewer, more = (worn.count_erases_until_dead(n, course, stands) for n in (dead, dead + 1))
        assert fewer <= more * 1.0001


def test_the_interval_of_deaths_is_wilsons() -> None:
    low, high = compute_wilson_interval_of_deaths(3, 256)
    assert (low, high) == pytest.approx((1.0, 8.8), abs=0.05)
    assert compute_wilson_interval_of_deaths(10, 10)[1] == pytest.approx(10)


def test_blocks_under_data_that_stays_take_no_erases() -> None:
    worn, stands = BlockWear([0.0, 0.2, 4.0, 4.0], before=0), BlockEndurance(50, 50)
    assert worn.exclude_static_blocks(1).count_erases_until_dead(
        2, "even", stands
    ) < worn.count_erases_until_dead(2, "even", stands)
    assert worn.exclude_static_blocks(2).count_erases_until_dead(
        2, "even", stands
    ) == pytest.approx(100)
    assert worn.exclude_static_blocks(4).load == [
        4.0,
        4.0,
    ]  # erased by the load: no data that stays is there
