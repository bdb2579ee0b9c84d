# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a battery lasts under a daily load: what the load takes, and idling for the rest.

A day has the load as often as its bytes make up the bytes of a day, and idles for the rest: the
processor, the RAM and the chip's standby. What of this is not known makes the days not known.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from nandlab.analysis.figures import energy, powerdraw, timeparts
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.spread import compute_spread
from nandlab.base import units
from nandlab.base.errors import UsageError
from nandlab.base.strings import FreeText
from nandlab.catalog.noun import StrictModel
from nandlab.results.record import Trial

DAY_NS = 86_400e9
J_PER_WH = 3600
W_PER_MW = 1e-3


@dataclass(frozen=True)
class Battery:
    """A battery, and the bytes that a day's load writes."""

    watt_hours: float
    daily: int


@dataclass(frozen=True)
class DayEnergy:
    """J of a day."""

    load: float
    idle: float

    @property
    def joules(self) -> float:
        return self.load + self.idle


def compute_day_energy(trial: Trial, daily: int) -> DayEnergy | str:
    """A day on which so many bytes are written by the trial's load; or why it is not known."""
    found, spans = energy.compute_load_energy(trial), timeparts.list_load_spans(trial)
    joules = None if found is None else found.sum_joules("total")
    written, idle = trial.bytes.get("written"), compute_idle_mw(trial)
    if energy.is_idle_power_excluded(trial):
        return (
            "its board's powers are above its idle power, which is not known: give those of your "
            "board in a file of its own (docs/energy.md)"
        )
    if not written:
        return "the load does not tell the bytes that it wrote"
    if joules is None:
        return f"it takes {energy.format_missing_energy_inputs(trial)}"
    if isinstance(idle, str):
        return f"it takes {idle}"
    times = daily / written
    busy_ns = times * sum(span.ns for span in spans)
    if busy_ns > DAY_NS:
        return (
            f"{units.format_size(daily)} of this load take longer than a day: "
            f"{units.format_time(busy_ns)}"
        )
    return DayEnergy(times * joules, (DAY_NS - busy_ns) * idle * energy.J_PER_MW_NS)


def compute_idle_mw(trial: Trial) -> float | str:
    """Power of a board that idles, mW; or what it takes to know it."""
    power, chip = powerdraw.find_board_power(trial), powerdraw.find_chip_energy_parameters(trial)
    board = f"[power] of catalog/boards/{powerdraw.find_board_name(trial)}.toml"
    if power is None or power.cpu_idle_mw is None:
        return f"cpu_idle_mw in {board}"
    ram = power.ram_mw if power.ram_idle_mw is None else power.ram_idle_mw
    if ram is None:
        return f"ram_mw in {board}"
    if chip.supply_mv is None or chip.standby_ua is None:
        return f"supply_mv, standby_ua in [energy] of catalog/chips/{trial.chip.part}.toml"
    return power.cpu_idle_mw + ram + chip.supply_mv * chip.standby_ua * W_PER_MW * W_PER_MW


@dataclass(frozen=True)
class BatteryLife:
    """What is told of one configuration."""

    subject: FreeText
    state: FreeText
    days: tuple[float, float, float] | None
    """Least, median, greatest over the trials; None: not known."""
    text: FreeText
    """One sentence."""


class BatteryRecord(StrictModel):
    """Days on a battery, for programs."""

    setting: FreeText
    battery: Battery
    lasting: list[BatteryLife] = Field(description="days: least, median and most")


def make_battery_record(setting: Setting, battery: Battery) -> BatteryRecord:
    """How long a battery lasts, for each configuration of a setting."""
    return BatteryRecord(
        setting=setting.title, battery=battery, lasting=list_battery_lives(setting, battery)
    )


def list_battery_lives(setting: Setting, battery: Battery) -> list[BatteryLife]:
    """How long a battery lasts, for each configuration of a setting."""
    return [_compute_battery_life(setting, e, battery) for e in setting.ensembles]


def _compute_battery_life(setting: Setting, e: Ensemble, battery: Battery) -> BatteryLife:
    days = [compute_day_energy(t, battery.daily) for t in e.ok]
    unknown = [d for d in days if isinstance(d, str)]
    if unknown or not days:
        why = unknown[0] if unknown else "no trial ended well"
        return BatteryLife(
            e.subject, e.state, None, f"{e.label}: days on a battery not known: {why}."
        )
    energies = [d for d in days if isinstance(d, DayEnergy)]
    days_spread = compute_spread(battery.watt_hours * J_PER_WH / d.joules for d in energies)
    middle = sorted(energies, key=lambda d: d.joules)[len(energies) // 2]
    assert days_spread is not None
    text = (
        f"{e.label}: a battery of {battery.watt_hours:g} Wh lasts "
        f"{days_spread.text(_format_days)} if {setting.workload} writes "
        f"{units.format_size(battery.daily)} a day and the board idles for the rest: "
        f"{units.format_energy(middle.load)} a day for the load, "
        f"{units.format_energy(middle.idle)} idle."
    )
    return BatteryLife(e.subject, e.state, days_spread.marks, text)


def _format_days(value: float) -> str:
    return f"{units.format_three_figures(value)} days"


def format_battery_sentences(setting: Setting, battery: Battery) -> list[str]:
    """A sentence for each configuration; those that lack the same are told once."""
    lives = list_battery_lives(setting, battery)
    why: dict[str, list[str]] = {}
    for life in lives:
        if life.days is None:
            why.setdefault(life.text.partition(": ")[2], []).append(f"{life.subject}, {life.state}")
    gaps = [f"{'; '.join(names)}: {text}" for text, names in why.items()]
    return [life.text for life in lives if life.days is not None] + gaps


def make_battery_from_watt_hours(watt_hours: float | None, daily: int | None) -> Battery | None:
    """What a user asks for; None: nothing. UsageError: a battery without the bytes of a day."""
    if watt_hours is None:
        return None
    if daily is None:
        raise UsageError("--battery-wh needs --daily-write: the bytes that a day's load writes")
    return Battery(watt_hours, daily)
