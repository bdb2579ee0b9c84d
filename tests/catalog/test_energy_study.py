# SPDX-License-Identifier: GPL-2.0-or-later
"""The shipped study that totals joules: its board and its chip lack no power, and say what they
assume.
"""

from __future__ import annotations

from nandlab.catalog.board import POWER_FIGURES
from nandlab.plan.study import find_study_file, plan_trials, read_study_file
from nandlab.plan.trialspec import TrialSpec


def specs() -> list[TrialSpec]:
    return plan_trials(read_study_file(find_study_file("energy")))


def test_its_board_has_a_power_of_each_consumer() -> None:
    power = specs()[0].virtual.power
    assert power is not None
    assert [key for key in (*POWER_FIGURES, "flash_wait") if getattr(power, key) is None] == []
    assumed = {key for key, text in power.sources.items() if text.startswith("Assumed:")}
    assert assumed == {"ram_mw"}


def test_all_else_of_its_power_is_the_measured_boards() -> None:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.files import load_noun

    measured, whole = load_noun("boards", "omap3evm", BoardModel), specs()[0].virtual
    assert measured.power is not None and whole.power is not None
    known = measured.power.model_dump(exclude_none=True, exclude={"sources"})
    assert known == whole.power.model_dump(include=set(known))
    apart = {"name", "summary", "power"}
    assert measured.model_dump(exclude=apart) == whole.model_dump(exclude=apart)


def test_its_chip_has_every_current() -> None:
    (energy,) = {spec.chip.energy for spec in specs()}
    assert [k for k, v in energy.model_dump().items() if v is None] == []


def test_its_trials_tell_idle_time_and_have_an_ensemble() -> None:
    every = specs()
    assert all("cpu" in spec.measure for spec in every)
    members = {spec.member for spec in every}
    assert len(members) == 5
    assert len({offset for _, offset in members}) == 5
