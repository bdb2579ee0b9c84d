# SPDX-License-Identifier: GPL-2.0-or-later
"""The energy chart: the bars' parts are one trial's, they sum to it, what is unknown is named."""

from __future__ import annotations

from typing import Any

import pytest
from support import samples

from nandlab.analysis.figures import energy, groups
from nandlab.analysis.figures.energy import CONSUMER_TITLES
from nandlab.report.charts import energychart
from nandlab.report.charts.charts import convert_svg_to_png
from nandlab.results.record import Trial
from nandlab.results.recordparts import ChipUsage, OperationCounts, Phase

MS = 1_000_000
CHIP = {
    "geometry": {"writesize": 2048, "oobsize": 64, "erasesize": 131072, "bus_bits": 8},
    "timing": {"t_r_ns": 25_000, "t_prog_ns": 200_000, "t_bers_ns": 2 * MS}
    | {"t_rc_ns": 25, "t_wc_ns": 50},
    "energy": {"supply_mv": 3000, "read_ma": 10, "program_ma": 20, "erase_ma": 30}
    | {"standby_ua": 50},
}
POWER = {"cpu_active_mw": 200, "cpu_idle_mw": 10, "ram_mw": 30, "flash_wait": "polling"}
WORKLOAD = {
    "phases": [{"name": "logging", "title": "logging"}],
    "operations": [{"name": "commit", "writes": True, "durable": True}],
}


def logged(filesystem: str, seed: int, ms: int, **power: object) -> Trial:
    """A trial of 20 commits that took so many ms, a tenth of them the chip's."""
    usage = ChipUsage(idle_ns=0, busy_ns=ms * MS // 10, warped_ns=ms * MS // 10)
    counts = OperationCounts(reads=10, programs=10, erases=1)
    phase = Phase(name="logging", ns=ms * MS, operations={"commit": 20}, chip=counts, usage=usage)
    made = samples.trial(filesystem, samples.FRESH, seed)
    told = {"phases": [phase], "steps": [], "operations": {"commit": 20}, "latency_ns": {}}
    drawn = {**POWER, **power}
    power_ = {**drawn, "sources": {k: "Measured." for k, v in drawn.items() if v is not None}}
    board = {"board": {"name": "no-such-board"}}
    about: dict[str, dict[str, Any]]
    about = {"workload": WORKLOAD, "board": board, "chip": CHIP, "power": power_}
    return made.model_copy(update=told).add_sources(made.sources | about)


def setting(**power: object) -> groups.Setting:
    times = {"jffs2": (100, 120, 140), "ubifs": (50, 55, 80)}
    trials = [
        logged(fs, seed, ms, **power) for fs, all_ in times.items() for seed, ms in enumerate(all_)
    ]
    (found,) = groups.group_trials_into_settings(trials)
    return found


def test_the_parts_of_a_bar_are_the_middle_trial_s_and_sum_to_it() -> None:
    here = setting()
    drawn = energychart.render_energy_chart(here)
    assert drawn is not None
    for e, row in zip(here.ensembles, ("r0", "r1"), strict=True):
        middle = energy.compute_load_energy(e.trials[1])
        assert middle is not None
        parts = [
            d for d in drawn.chart.datasets["parts"] if (d["panel"], d["row"]) == ("load", row)
        ]
        assert parts[0]["from"] == 0
        assert [a["to"] for a in parts[:-1]] == [b["from"] for b in parts[1:]]
        assert parts[-1]["to"] == pytest.approx((middle.sum_joules("total") or 0) * 1e3)
        assert {p["consumer"] for p in parts} <= set(CONSUMER_TITLES.values())
    panels = {d["panel"] for d in drawn.chart.datasets["whole"]}
    assert panels == {"load", "commit"}
    assert "Not known" not in drawn.chart.caption


def test_its_table_has_the_total_and_each_consumer() -> None:
    drawn = energychart.render_energy_chart(setting())
    assert drawn is not None
    assert drawn.table.head[0] == "total"
    assert {"processor", "chip, erasing", "energy for each commit"} <= set(drawn.table.head)


def test_what_is_not_known_is_named_and_not_drawn() -> None:
    drawn = energychart.render_energy_chart(setting(ram_mw=None))
    assert drawn is not None
    assert "RAM; it takes ram_mw in [power]" in drawn.chart.caption
    assert "RAM" not in {d["consumer"] for d in drawn.chart.datasets["parts"]}
    assert all(d["text"].endswith(" known") for d in drawn.chart.datasets["whole"])
    assert "total" not in drawn.table.head


def test_energies_above_idle_are_told_as_such() -> None:
    drawn = energychart.render_energy_chart(setting(above_idle=True))
    assert drawn is not None
    assert "its powers are above that" in drawn.chart.caption


def test_where_nothing_is_known_nothing_is_drawn() -> None:
    (bare,) = groups.group_trials_into_settings([samples.trial(), samples.trial(seed=2)])
    assert energychart.render_energy_chart(bare) is None


@pytest.mark.parametrize("narrow", [False, True])
def test_it_can_be_drawn_in_both_widths(narrow: bool) -> None:
    drawn = energychart.render_energy_chart(setting())
    assert drawn is not None
    assert drawn.chart.spec(narrow=narrow)["columns"] == (1 if narrow else 2)
    assert len(convert_svg_to_png(drawn.chart.svg())) > 5000
