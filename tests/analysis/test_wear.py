# SPDX-License-Identifier: GPL-2.0-or-later
"""Evenness of wear: what the numbers must be for any erases per block; no board."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.figures import wear
from nandlab.results.recordparts import Wear, WearReading

ERASES = st.lists(st.integers(0, 10_000), min_size=1, max_size=300)
WORN = ERASES.filter(any)


def made(*steps: list[int], before: int = 1) -> Wear:
    readings = [
        WearReading(after=f"s{i}", t_ns=i, runs=wear.pack_erases_as_runs(step))
        for i, step in enumerate(steps)
    ]
    return Wear(blocks=len(steps[0]), bad=[], before=before, readings=readings)


@given(st.integers(1, 10_000), st.integers(1, 300))
def test_blocks_that_are_alike_have_a_gini_of_exactly_0(each: int, blocks: int) -> None:
    found = wear.compute_erase_evenness([each] * blocks)
    assert found is not None
    assert (found.gini, found.sd, found.never_share) == (0, 0, 0)


@given(st.integers(1, 10_000), st.integers(1, 300), st.data())
def test_one_block_with_all_erases_has_1_less_1_over_n(
    erases: int, blocks: int, data: st.DataObject
) -> None:
    where = data.draw(st.integers(0, blocks - 1))
    one = [erases if i == where else 0 for i in range(blocks)]
    assert wear.compute_gini_coefficient(one) == pytest.approx(1 - 1 / blocks)


@given(WORN, st.integers(1, 1000))
def test_gini_does_not_heed_the_scale(erases: list[int], factor: int) -> None:
    assert wear.compute_gini_coefficient([n * factor for n in erases]) == pytest.approx(
        wear.compute_gini_coefficient(erases)
    )


@given(WORN, st.randoms())
def test_the_order_of_blocks_does_not_matter(erases: list[int], random: object) -> None:
    mixed = sorted(erases, key=lambda n: hash((n, id(random))))
    assert wear.compute_erase_evenness(mixed) == wear.compute_erase_evenness(erases)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any))
def test_gini_is_half_the_mean_difference_of_two_blocks_over_the_mean(erases: list[int]) -> None:
    n, total = len(erases), sum(erases)
    pairs = sum(abs(a - b) for a in erases for b in erases)
    assert wear.compute_gini_coefficient(erases) == pytest.approx(pairs / (2 * n * total))


def test_of_nothing_erased_no_evenness_is_known() -> None:
    found = wear.compute_erase_evenness([0, 0, 0])
    assert found is not None
    assert found.gini is None
    assert found.never_share == 1
    assert wear.compute_erase_evenness([]) is None


def test_the_deviation_is_of_the_population() -> None:
    found = wear.compute_erase_evenness([1, 3])
    assert found is not None
    assert found.sd == 1  # of a sample it would be the root of 2
    assert not math.isclose(found.sd, 2**0.5)


@given(ERASES)
def test_packing_loses_nothing(erases: list[int]) -> None:
    reading = WearReading(after="s", t_ns=0, runs=wear.pack_erases_as_runs(erases))
    assert wear.unpack_erases_of_reading(reading) == erases


@given(st.integers(1, 40), st.data())
def test_steps_sum_to_the_whole_and_the_first_formatting_is_the_difference(
    blocks: int, data: st.DataObject
) -> None:
    step = st.lists(st.integers(0, 9), min_size=blocks, max_size=blocks)
    steps = data.draw(st.lists(step, min_size=1, max_size=6))
    before = data.draw(st.integers(1, len(steps)))
    told = made(*steps, before=before)
    whole = [sum(column) for column in zip(*steps, strict=True)]
    formatting = [sum(column) for column in zip(*steps[:before], strict=True)]
    assert wear.count_all_erases_per_block(told) == whole
    load = wear.count_load_erases_per_block(told)
    assert [a + b for a, b in zip(load, formatting, strict=True)] == whole
    (*_, (_, last)) = wear.list_erase_evenness_over_time(told)
    assert last == wear.compute_erase_evenness(load)
    assert len(wear.list_erase_evenness_over_time(told)) == len(steps) - before + 1


@given(ERASES)
def test_the_area_below_the_sorted_curve_is_all_erases(erases: list[int]) -> None:
    corners = wear.make_sorted_erase_curve(erases)
    area = sum((b[0] - a[0]) * a[1] for a, b in pairwise(corners))
    assert area * len(erases) == pytest.approx(sum(erases))
    assert corners[0] == (0, max(erases))
    assert corners[-1] == (1, min(erases))


@pytest.mark.parametrize("runs", [[3], [2, 1], [3, 1, 1, 0]])
def test_a_reading_of_another_number_of_blocks_is_refused(runs: list[int]) -> None:
    with pytest.raises(ValueError, match="not of 3 blocks"):
        Wear(blocks=3, bad=[], before=1, readings=[WearReading(after="s", t_ns=0, runs=runs)])
