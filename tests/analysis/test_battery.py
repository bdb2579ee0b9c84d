# SPDX-License-Identifier: GPL-2.0-or-later
"""Days on a battery: by hand, and refused where a figure lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import samples
from support.commandline import Ended, run_command
from support.fitting import fits
from test_energy import BY_HAND, CHIP, POWER, S, trial

from nandlab.analysis.figures import groups
from nandlab.analysis.verdicts import battery
from nandlab.analysis.verdicts.battery import Battery, DayEnergy

MIB = 1 << 20
TOTAL = sum(BY_HAND.values())
IDLE_MW = 10 + 3 + 3 * 0.05
"""Processor and RAM idle, standby of 50 uA at 3 V."""


def test_a_day_is_the_load_as_often_as_its_bytes_and_idle_for_the_rest() -> None:
    """2 MiB are written in a second: 20 MiB are ten loads, ten seconds."""
    found = battery.compute_day_energy(trial(), 20 * MIB)
    assert isinstance(found, DayEnergy)
    assert found.load == pytest.approx(10 * TOTAL)
    assert found.idle == pytest.approx((86_400 - 10) * IDLE_MW * 1e-3)


def test_one_sentence_tells_the_days() -> None:
    (setting,) = groups.group_trials_into_settings([trial()])
    (told,) = battery.list_battery_lives(setting, Battery(5, 20 * MIB))
    days = 5 * 3600 / (10 * TOTAL + (86_400 - 10) * IDLE_MW * 1e-3)
    assert told.days == pytest.approx((days, days, days))
    assert f"5 Wh lasts {days:.1f} days (n = 1) " in told.text
    assert "ffsmark writes 20 MiB a day" in told.text
    assert battery.format_battery_sentences(setting, Battery(5, 20 * MIB)) == [told.text]


@pytest.mark.parametrize(
    ("power", "said"),
    [
        ({"cpu_idle_mw": None}, "cpu_idle_mw in [power] of catalog/boards/no-such-board.toml"),
        ({"above_idle": True}, "above its idle power, which is not known"),
        ({"flash_wait": None}, "it takes flash_wait in [power]"),
    ],
)
def test_what_is_not_known_is_told_and_not_guessed(power: dict[str, object], said: str) -> None:
    known = {k: v for k, v in {**POWER, **power}.items() if v is not None}
    found = battery.compute_day_energy(trial(power=known), 20 * MIB)
    assert isinstance(found, str)
    assert said in found
    (setting,) = groups.group_trials_into_settings([trial(power=known)])
    (told,) = battery.list_battery_lives(setting, Battery(5, 20 * MIB))
    assert told.days is None
    assert "days on a battery not known" in told.text


def test_a_load_that_takes_more_than_a_day_is_told() -> None:
    found = battery.compute_day_energy(trial(), 86_401 * 2 * MIB)
    assert isinstance(found, str)
    assert "take longer than a day" in found


def test_a_load_that_tells_no_bytes_has_no_day() -> None:
    silent = trial().model_copy(update={"bytes": {}}).add_sources(trial().sources)
    assert "does not tell the bytes" in str(battery.compute_day_energy(silent, MIB))


def advised(folder: Path, *more: str) -> Ended:
    return run_command("advise", folder, *more)


def test_advise_tells_the_days(tmp_path: Path) -> None:
    folder = samples.folder(tmp_path / "run", [trial()]).path
    done = advised(folder, "--battery-wh", "5", "--daily-write", "20M")
    assert "a battery of 5 Wh lasts" in done.stdout, done.stderr
    told = fits("advice", advised(folder, "--battery-wh=5", "--daily-write=20M", "--json").stdout)
    assert told[-1]["battery"] == {"watt_hours": 5.0, "daily": 20 * MIB}
    assert told[-1]["lasting"][0]["days"][0] > 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--battery-wh", "5"], "--battery-wh needs --daily-write"),
        (["--daily-write", "5M"], "--daily-write needs --lifetime-years or --battery-wh"),
        (["--lifetime-years", "5"], "--lifetime-years and --daily-write go together"),
    ],
)
def test_half_a_question_is_refused(tmp_path: Path, more: list[str], said: str) -> None:
    done = advised(samples.folder(tmp_path / "run", [trial()]).path, *more)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_trial_is_one_of_the_known() -> None:
    assert (CHIP["energy"]["standby_ua"], S) == (50, 10**9)
