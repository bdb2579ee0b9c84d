# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's chip by the kernel's own SPI-NAND driver: bus, trial, and what it is refused for."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.differences.reprice import find_trial_part_latencies
from nandlab.analysis.figures.chiptime import (
    compute_bus_byte_times,
    compute_chip_operation_costs,
)
from nandlab.analysis.figures.groups import group_trials_into_settings
from nandlab.base.errors import UsageError
from nandlab.catalog.chip import ChipModel, SpiBus
from nandlab.catalog.files import load_noun
from nandlab.flash.chip.simnand import make_power_cut_command
from nandlab.plan.study import Study, plan_trials
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial.mediumsteps import make_medium_load_step, make_unmount_step, select_chip_module
from nandlab.trial.request import describe_trial_request
from nandlab.trial.runner import refuse_absent_spinand

PART = "W25N01GV"
BUILT = {"CONFIG_MTD_SPI_NAND": "m"}


def planned(spinand: dict[str, int] | None, part: str = PART, **more: Any) -> TrialSpec:
    chip = {"part": part, "partition_mib": 8}
    told = {
        "name": "spi",
        "question": "How fast?",
        "board": "apf27",
        "matrix": {
            "workloads": [{"name": "mounts"}],
            "filesystems": [{"name": "ubifs"}],
            "chips": [chip if spinand is None else {**chip, "spinand": spinand}],
            "states": [{"name": "fresh"}],
            "seeds": [1],
        },
        **more,
    }
    (spec,) = plan_trials(Study.model_validate(told), "here")
    return spec


def test_a_bus_is_the_parts_but_for_what_the_study_says() -> None:
    assert planned({}).spinand == SpiBus(lines=4, clock_mhz=104)
    asked = planned({"lines": 1, "clock_mhz": 52, "controller_ns": 9000}).spinand
    assert asked == SpiBus(lines=1, clock_mhz=52, controller_ns=9000)
    assert asked.parameters() == {"lines": 1, "clock_khz": 52000, "controller_ns": 9000}


def test_each_bus_is_another_trial_and_its_result_has_it() -> None:
    buses: list[dict[str, int] | None] = [None, {}, {"lines": 1}, {"clock_mhz": 52}]
    specs = [planned(bus) for bus in buses]
    assert len({spec.id for spec in specs}) == len({spec.title() for spec in specs}) == len(buses)
    assert planned({"lines": 4}).id == specs[1].id
    bus = SpiBus(lines=1, clock_mhz=104)
    assert describe_trial_request(specs[2], "spi")["chip"].spinand == bus
    assert describe_trial_request(specs[0], "spi")["chip"].spinand is None


def test_the_chip_is_loaded_after_the_kernels_driver() -> None:
    raw, spi = planned(None), planned({"lines": 2})
    assert make_medium_load_step(raw).command.startswith("modprobe simnand id=0xef,")
    command = make_medium_load_step(spi).command
    assert command.startswith("modprobe spinand && modprobe spi_simnand id=0xef,")
    assert {"lines=2", "clock_khz=104000", "controller_ns=0"} < set(command.split())
    assert (select_chip_module(raw), select_chip_module(spi)) == ("simnand", "spi_simnand")
    load, unmount = make_medium_load_step(spi), make_unmount_step(spi)
    assert " rmmod spi_simnand " in make_power_cut_command(load, unmount, select_chip_module(spi))


def test_a_kernel_without_the_driver_is_refused_with_the_way_to_get_it() -> None:
    with pytest.raises(UsageError, match="--source spinand=package") as error:
        refuse_absent_spinand([planned({})], {"CONFIG_MTD_SPI_NAND": "n"}, "spi")
    assert error.value.exit_code == 2
    refuse_absent_spinand([planned({})], BUILT, "spi")
    refuse_absent_spinand([planned(None)], {}, "spi")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"part": "apf27", "spinand": {}}, "spinand: apf27 is not behind SPI"),
        ({"spinand": {"lines": 3}}, "lines"),
        ({"spinand": {"clock_mhz": 0}}, "clock_mhz"),
        ({"spinand": {}, "measure": ["parts"]}, "parts: W25N01GV by spinand"),
    ],
)
def test_what_cannot_be_is_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises((UsageError, ValueError), match=said):
        planned(**words)


def test_a_bus_goes_with_its_table() -> None:
    told = load_noun("chips", PART, ChipModel).model_dump()
    for change in ({"spi": None}, {"bus": "parallel"}):
        with pytest.raises(ValueError, match="go together"):
            ChipModel.model_validate({**told, **change})
    shape = {**told["geometry"], "bus_bits": 16}
    with pytest.raises(ValueError, match="behind SPI"):
        ChipModel.model_validate({**told, "geometry": shape})


def run_on_bus(bus: SpiBus | None) -> Trial:
    """A sample's trial on the part, by this bus; None: by the raw NAND layer."""
    sample = samples.trial("ubifs", seed=1)
    chip = sample.chip.model_copy(update={"part": PART, "spinand": bus})
    told = load_noun("chips", PART, ChipModel).model_dump(mode="json")
    return sample.model_copy(update={"chip": chip}).add_sources({"chip": told})


def test_a_trials_bus_is_what_its_bytes_cost_and_is_not_repriced() -> None:
    raw = run_on_bus(None)
    one, two, four = (
        run_on_bus(SpiBus.model_validate({"lines": lines, "clock_mhz": 50})) for lines in (1, 2, 4)
    )
    times = [compute_bus_byte_times(trial) for trial in (raw, one, two, four)]
    assert times == [(19, 19), (160, 160), (80, 160), (40, 40)]
    costs = compute_chip_operation_costs(one)
    assert costs is not None
    assert (costs.read, costs.program) == (60_000 + 2112 * 160, 250_000 + 2112 * 160)
    assert one.configuration() != raw.configuration()
    find_trial_part_latencies(raw)
    with pytest.raises(UsageError, match="behind SPI"):
        find_trial_part_latencies(one)
    titles = {group.title for group in group_trials_into_settings([raw, one, four])}
    assert len(titles) == 3
    assert any("spinand, 1 line at 50 MHz" in title for title in titles)
