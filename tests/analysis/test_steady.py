# SPDX-License-Identifier: GPL-2.0-or-later
"""A load tells of wear only once its wear is steady, and then two lengths of it tell the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import lifesamples, samples

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.life import LifeTotals
from nandlab.analysis.verdicts import forecast, wearsteadiness
from nandlab.analysis.verdicts.forecast import WriteForecast
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.analysis.verdicts.wearsteadiness import (
    RATE_TOLERANCE,
    STEADY_ERASES_MIN,
    WearSteadiness,
)
from nandlab.base.paths import DEVICE
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts, PerBlock, TrialChip

CYCLES = 100_000
ROUND = 64 * 2048
"""Bytes of a block."""
Block = tuple[float, float]
"""How often it is written for each unit of the load, and when it first is, in its own cycles."""
BLOCKS = st.lists(
    st.tuples(st.floats(0.2, 3), st.floats(0, 0.999)), min_size=4, max_size=20
)  # fmt: skip


def loaded(blocks: list[Block], units: float, amplification: float = 2.0) -> Trial:
    """A trial of so long a load: a block is erased when it is written anew."""
    erases = [max(0, math.floor(pace * units - late)) for pace, late in blocks]
    programs = round(sum(pace for pace, _ in blocks) * units * 64)
    chip = TrialChip(
        part="x", partition_mib=1, pages_per_block=64, blocks=len(blocks), writesize=2048
    )  # fmt: skip
    given: dict[str, Any] = {
        "chip": chip,
        "flash": {"transactions": OperationCounts(reads=1, programs=programs, erases=sum(erases))},
        "flash_sync": None,
        "phase_ns": {"transactions": 1},
        "bytes": {"read": 1, "written": round(programs * 2048 / amplification)},
        "erases_per_block": None,
        "per_block": PerBlock(reads=erases, programs=[64] * len(erases), erases=erases),
        "provenance": {"chip": {"endurance": {"pe_cycles": CYCLES}}},
    }
    return samples.trial("jffs2", **given)


@given(BLOCKS, st.floats(0.1, 60))
def test_the_truth_is_in_the_interval_of_any_length_or_it_is_not_known(
    blocks: list[Block], units: float
) -> None:
    trial = loaded(blocks, units)
    found = forecast.forecast_writable_bytes(trial)
    if not isinstance(found, WriteForecast):
        assert isinstance(found, WearSteadiness) or not trial.bytes["written"]
        return
    written = trial.bytes["written"] / units
    worst, mean = max(p for p, _ in blocks), sum(p for p, _ in blocks) / len(blocks)
    assert found.least <= CYCLES * written / worst * 1.001
    assert found.most >= CYCLES * written / mean * 0.999


@given(BLOCKS, st.floats(0.5, 40))
def test_twice_the_load_has_an_interval_that_shares_years_with_the_first(
    blocks: list[Block], units: float
) -> None:
    one, two = (forecast.forecast_writable_bytes(loaded(blocks, n)) for n in (units, 2 * units))
    if isinstance(one, WriteForecast):
        assert isinstance(two, WriteForecast)
        assert one.least <= two.most
        assert two.least <= one.most


@given(BLOCKS, st.floats(0.1, 5))
def test_the_bytes_that_are_asked_for_are_enough(blocks: list[Block], units: float) -> None:
    trial = loaded(blocks, units)
    found = wearsteadiness.assess_wear_steadiness(trial)
    assert found is not None
    if not found.reached and found.at_least is not None:
        longer = units * found.at_least / trial.bytes["written"]
        again = wearsteadiness.assess_wear_steadiness(loaded(blocks, longer * 1.01 + 0.01))
        assert again is not None
        assert again.reached


def point(written: int, erases: int) -> LifeTotals:
    return LifeTotals(written, written, erases * 64, erases, 0)


@pytest.mark.parametrize(
    ("rates", "reached"),
    [
        ([0, 0, 2, 2, 2, 2, 2, 2], True),  # constant over the last half, above one each
        ([0, 0, 1, 1, 2, 2, 3, 3], False),  # it still grows
        ([0, 0, 0, 0, 1, 1, 1, 1], False),  # constant, but not one erase for each block
        ([9, 9, 9, 9, 1, 1, 2, 2], True),  # three for each
    ],
)
def test_a_course_is_tested_over_its_last_half(rates: list[int], reached: bool) -> None:
    trial = samples.trial(chip=lifesamples.WORN.model_copy(update={"blocks": 8}))
    course = [point((i + 1) * ROUND, sum(rates[: i + 1])) for i in range(len(rates))]
    assert wearsteadiness.assess_wear_steadiness_from_totals(course, trial).reached == reached


def test_what_is_missing_is_told() -> None:
    blocks = [(1.0, 0.0)] * 10
    still = wearsteadiness.assess_wear_steadiness(loaded(blocks, 0.5))
    assert still is not None
    assert (still.reached, still.why) == (False, "no block was erased")
    short = wearsteadiness.assess_wear_steadiness(loaded(blocks, 2.5))
    assert short is not None
    assert short.why == "2 erases for each block"
    assert short.at_least == 5 * 10 * ROUND / 2
    assert (
        wearsteadiness.assess_wear_steadiness(
            samples.trial(flash=None, erases_per_block=None, per_block=None)
        )
        is None
    )


def test_blocks_that_were_never_used_are_told_and_those_with_data_are_not() -> None:
    trial = loaded([(1.0, 0.0)] * 10, 0.5)
    per_block = PerBlock(reads=[0] * 10, programs=[64] * 3 + [0] * 7, erases=[0] * 10)
    trial = trial.model_copy(update={"per_block": per_block})
    assert wearsteadiness.count_unused_blocks(trial) == 7
    half = samples.AGED.model_copy(update={"obtained": samples.FRESH.obtained})
    assert half.obtained is not None
    obtained = half.obtained.model_copy(update={"valid": 0.5})
    aged = trial.model_copy(update={"state": half.model_copy(update={"obtained": obtained})})
    assert wearsteadiness.count_unused_blocks(aged) == 2
    found = wearsteadiness.assess_wear_steadiness(aged)
    assert found is not None
    assert found.why.split(", ") == ["no block was erased", "2 of 10 blocks never used"]


def test_wear_is_not_ranked_where_a_load_was_too_short() -> None:
    short = [
        samples.trial(fs, samples.FRESH, seed, flash=samples.erasing(n))
        for fs, n in (("jffs2", 0), ("ubifs", 47))
        for seed in (1, 2)
    ]
    enough = [
        samples.trial(fs, samples.FRESH, seed) for fs in ("yaffs2", "nftl-fat32") for seed in (1, 2)
    ]
    (setting,) = groups.group_trials_into_settings([*short, *enough])
    (fresh,) = find_setting_view(setting).answers(setting)
    told = {f.topic: f for f in fresh.findings}
    for topic in ("Wear", "Evenness"):
        assert not told[topic].firm
        assert "Not reached by JFFS2 and UBIFS" in told[topic].text
        assert "most evenly: 0" not in told[topic].text
    assert told["Wear"].text.startswith(("YAFFS2 ", "NFTL+FAT32 "))


def test_few_and_its_tolerance_are_what_the_board_has() -> None:
    source = (DEVICE / "programs" / "lifetime" / "lifetime.c").read_text().split()
    assert source[source.index("FEW") + 1] == str(STEADY_ERASES_MIN)
    assert source[source.index("RATE_TOLERANCE") + 1] == f"{RATE_TOLERANCE:.0%}".rstrip("%")
