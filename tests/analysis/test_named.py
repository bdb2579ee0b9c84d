# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures by the names that readers give: whole, ends, patterns; and the nearest of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import samples

from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.figurenames import (
    is_derived_figure_name,
    list_figure_names_of_settings,
    list_figure_names_of_trials,
    list_underived_figure_names,
    match_figure_names,
)
from nandlab.analysis.figures.figures import FIGURE_FAMILIES
from nandlab.analysis.figures.groups import group_trials_into_settings
from nandlab.base.errors import UsageError
from nandlab.catalog.instrument import load_instruments

SETTINGS = group_trials_into_settings(samples.study())
THERE = list_figure_names_of_settings(SETTINGS)


def test_every_name_is_a_figures_that_a_trial_has() -> None:
    (setting,) = SETTINGS
    assert list_figure_names_of_trials(setting.trials, setting.words) == THERE
    assert len(THERE) == len(set(THERE)) > 60
    for name in THERE:
        figure = setting.figure(name)
        assert any(figure(t) is not None for t in setting.trials if t.ok), name


def test_a_bad_catalog_is_refused_and_no_figure_is_left_out_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "catalog" / "instruments"
    folder.mkdir(parents=True)
    (folder / "counters.toml").write_text('summary = "of another project"\n')
    monkeypatch.chdir(tmp_path)
    load_instruments.cache_clear()
    (setting,) = SETTINGS
    with pytest.raises(UsageError, match="'counters' is in"):
        list_figure_names_of_trials(setting.trials, setting.words)
    monkeypatch.undo()
    assert list_figure_names_of_trials(setting.trials, setting.words) == THERE


def test_what_follows_from_others_can_be_left_out() -> None:
    (setting,) = SETTINGS
    assert list_underived_figure_names(setting.trials, setting.words) == [
        name for name in THERE if not is_derived_figure_name(name)
    ]


def test_each_family_is_asked_for_its_names() -> None:
    here = {name.partition(".")[0] for name in THERE}
    not_measured = {"image", "life", "energy", "ready", "power"}
    assert here == set(FIGURE_FAMILIES) - not_measured
    one = {"f": 1}
    trial = samples.trial().model_copy(update={"measured": {"memory": {"peak": 5}, "cpu": one}})
    told = list_figure_names_of_trials([trial], SETTINGS[0].words)
    assert {"memory.peak", "cpu.f"} <= set(told)


def test_a_part_whose_name_no_figure_can_bear_is_left_out() -> None:
    trial = samples.trial()
    dotted = trial.phases[0].model_copy(update={"name": "a.b+c"})
    odd = trial.model_copy(update={"phases": [*trial.phases, dotted]})
    assert list_figure_names_of_trials(
        [odd], workloadwords.make_workload_words_for_trials([odd])
    ) == list_figure_names_of_trials([trial], workloadwords.make_workload_words_for_trials([trial]))


def test_a_failed_trial_has_no_figure() -> None:
    lost = samples.trial().model_copy(update={"status": "board_lost"})
    assert list_figure_names_of_trials([lost], SETTINGS[0].words) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("chip.erases", ["chip.erases"]),
        ("append.p99", ["latency.append.p99"]),
        ("time", ["time"]),
        ("*.erases", [n for n in THERE if n.endswith(".erases")]),
        ("state.*", [f"state.{n}" for n in ("before", "valid", "invalid", "programmed")]),
    ],
)
def test_a_name_its_end_or_a_pattern_is_meant(asked: str, found: list[str]) -> None:
    assert match_figure_names(asked, THERE) == found


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("chip.erase", "chip.erases"),
        ("latency.apend.p99", "latency.append.p99"),
        ("apend.p99", "latency.append.p99"),
        ("phase.transaction.reads", "phase.transactions.reads"),
        ("erases", "chip.erases"),  # the end of several
    ],
)
def test_an_unknown_name_is_told_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"has a figure '{asked}'; nearest: ") as e:
        match_figure_names(asked, THERE)
    nearest = str(e.value).partition("nearest: ")[2].split(", ")
    assert near in nearest
    assert len(nearest) <= 3


@pytest.mark.parametrize("asked", ["", "qqqqqqq", "*.qqq"])
def test_what_is_like_no_name_is_told_where_names_are(asked: str) -> None:
    with pytest.raises(UsageError, match="no trial here has a figure"):
        match_figure_names(asked, THERE)


def test_rates_and_energy_follow_from_others() -> None:
    kept = [n for n in THERE if not is_derived_figure_name(n)]
    assert {"chip.erases", "time", "phase.creation", "latency.append.p99"} <= set(kept)
    for name in ("phase.creation.per_s", "energy.total", "latency.writes.p99", "bytes.read.per_s"):
        assert is_derived_figure_name(name)
