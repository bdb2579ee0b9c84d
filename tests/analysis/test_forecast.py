# SPDX-License-Identifier: GPL-2.0-or-later
"""The end of a life, foretold from rounds that were made up, and what cannot be foretold."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support import lifesamples

from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import forecast
from nandlab.analysis.verdicts.forecast import ForecastScore, WriteForecast
from nandlab.analysis.verdicts.views import find_setting_view
from nandlab.analysis.verdicts.wearsteadiness import WearSteadiness
from nandlab.results.record import Trial
from nandlab.results.recordparts import PageShares, PerBlock, Series

TURNS = {"next_block": "chance", "kept": 10, "why": "Made up.", "source": "None."}
RESERVE = {
    "next_block": "chance", "spare_per_1024": 20, "option": "reserve", "why": "-", "source": "-",
}  # fmt: skip


def worn(
    wear: dict[str, Any] | None,
    seed: int = 1,
    *,
    rounds: int = 100_000,
    dead: int = 118,
    options: dict[str, str] | None = None,
) -> Trial:
    """Rounds of 10 erases at random among the living blocks, until so many are dead."""
    rng = random.Random(seed)
    blocks = lifesamples.WORN.blocks
    stands = [rng.uniform(40, 60) for _ in range(blocks)]
    erases, gone = [0] * blocks, 0
    series: list[list[int]] = []
    while gone <= dead and len(series) < rounds:
        for _ in range(10):
            living = [b for b in range(blocks) if erases[b] <= stands[b]]
            erases[rng.choice(living)] += 1
        gone = sum(e > s for e, s in zip(erases, stands, strict=True))
        order = sorted(erases)
        deciles = [order[(blocks - 1) * i // 10] for i in range(11)]
        made = len(series) + 1
        series.append([made << 20, made * 640, made * 10, gone, *deciles])
    alive = gone <= dead
    series.append([series[-1][0], *series[-1][1:]])
    names = ("bytes_written", "programs", "erases", "dead_blocks", *forecast.WEAR_DECILE_SERIES)
    lines = [
        Series(
            name=name, unit="count", t_ns=list(range(len(series))), values=[s[i] for s in series]
        )
        for i, name in enumerate(names)
    ]
    trial = lifesamples.lifetime_trial("jffs2", seed, options=options)
    sources = {**trial.sources, "filesystem": {"title": "JFFS2", "wear": wear}}
    return trial.model_copy(
        update={
            "series": lines,
            "figures": {"rounds": len(series) - 1},
            "texts": {} if alive else {"gave_up": "no room"},
            "open_ended": alive,
            "per_block": PerBlock(reads=erases, programs=erases, erases=erases),
        }
    ).add_sources(sources)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_tenth_foretells_the_end(seed: int) -> None:
    found = forecast.score_life_forecast(worn(TURNS, seed))
    assert isinstance(found, ForecastScore)
    assert found.is_within_forecast
    assert abs(found.error) < 0.1


def test_the_reserve_decides_when_it_ends_and_an_option_may_give_it() -> None:
    # S34ML01G1's 20 blocks in 1024; the sample's chip does not say how many it has: 128.
    small, large = (worn(RESERVE, dead=2, options={"reserve": r}) for r in ("default", "80"))
    few, many = (forecast.forecast_writable_bytes_from_rounds(t, 60) for t in (small, large))
    assert isinstance(few, WriteForecast)
    assert isinstance(many, WriteForecast)
    assert few.middle < many.middle
    assert isinstance(score := forecast.score_life_forecast(small), ForecastScore)
    assert score.is_within_forecast


def test_a_life_that_goes_on_is_foretold_from_all_of_it() -> None:
    alive = worn(TURNS, rounds=100)
    assert forecast.score_life_forecast(alive) is None
    found = forecast.forecast_writable_bytes(alive)
    whole = worn(TURNS)
    assert isinstance(found, WriteForecast)
    assert found.least <= whole.series[0].values[-1] <= found.most


def test_too_few_rounds_foretell_nothing() -> None:
    found = forecast.forecast_writable_bytes(worn(TURNS, rounds=10))
    assert isinstance(found, WearSteadiness)
    assert not found.reached


def test_nothing_is_foretold_of_a_file_system_that_does_not_say_how_it_ends() -> None:
    assert forecast.forecast_writable_bytes(worn(None)) is None


def test_the_report_tells_the_scores() -> None:
    trials = [worn(TURNS, seed) for seed in (1, 2, 3)]
    (setting,) = groups.group_trials_into_settings(trials)
    (answer,) = find_setting_view(setting).answers(setting)
    (told,) = [f for f in answer.findings if f.topic == "Foretold"]
    assert "3 of 3 ends lie within" in told.text
    (setting,) = groups.group_trials_into_settings([worn(TURNS, rounds=100)])
    (answer,) = find_setting_view(setting).answers(setting)
    (told,) = [f for f in answer.findings if f.topic == "Foretold"]
    assert "still alive, its end is at " in told.text


@pytest.mark.parametrize("moves", [None, 30, 4096])
def test_data_that_stays_takes_its_blocks_out_until_it_is_moved(moves: int | None) -> None:
    trial = worn({**TURNS, "moves_static_after": moves})
    idle = trial.chip.blocks // 2
    zeros = {f"wear_{p}" for p in range(0, 50, 10)}
    obtained = PageShares(valid=0.5)
    still = trial.model_copy(
        update={
            "state": trial.state.model_copy(update={"obtained": obtained}),
            "series": [
                s.model_copy(update={"values": [0] * len(s.values)}) if s.name in zeros else s
                for s in trial.series
            ],
        }
    ).add_sources(trial.sources)
    found = forecast.forecast_writable_bytes_from_rounds(still, 60)
    assert isinstance(found, WriteForecast)
    erases = found.most / (1 << 20) * 10
    assert (erases > 60 * 1.1 * (trial.chip.blocks - idle)) == (moves == 30)
