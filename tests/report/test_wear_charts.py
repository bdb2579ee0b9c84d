# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of erases over the chip: a panel a configuration, whose columns hide no worn block."""

from __future__ import annotations

import pytest
from support import samples

from nandlab.analysis.figures import groups, wear
from nandlab.report.charts import wearcharts
from nandlab.report.charts.figurecharts import ChartWithTable
from nandlab.report.page import viewreports
from nandlab.results.record import Trial
from nandlab.results.recordparts import Wear, WearReading

BLOCKS = 600


def with_wear(filesystem: str, seed: int, erases: list[int]) -> Trial:
    """A trial whose load erased each block so often."""
    readings = [
        WearReading(after=name, t_ns=t, runs=wear.pack_erases_as_runs(counts))
        for t, (name, counts) in enumerate((("mount", [0] * len(erases)), ("load", erases)))
    ]
    made = Wear(blocks=len(erases), bad=[], before=1, readings=readings)
    trial = samples.trial(filesystem, seed=seed)
    told = {
        "wear": made,
        "per_block": None,
        "chip": trial.chip.model_copy(update={"blocks": len(erases)}),
    }
    return trial.model_copy(update=told).add_sources(trial.sources)


def render(*trials: Trial) -> ChartWithTable | None:
    (setting,) = groups.group_trials_into_settings(trials)
    return wearcharts.render_wear_distribution_chart(setting)


def test_neighbouring_blocks_share_a_column_with_their_most_and_mean() -> None:
    hot = [0] * BLOCKS
    hot[4], hot[-1] = 990, 3
    flat = [7] * BLOCKS
    drawn = render(with_wear("yaffs2", 1, hot), with_wear("jffs2", 1, flat))
    assert drawn is not None
    columns = drawn.chart.datasets["columns"]
    by_row = {row: [c for c in columns if c["row"] == row] for row in {c["row"] for c in columns}}
    assert len(by_row) == 2
    for found in by_row.values():
        assert [c["first"] for c in found] == list(range(0, BLOCKS, 3))
        assert found[-1]["end"] == BLOCKS
    worn = next(found for found in by_row.values() if found[0]["most"] == 0)
    assert [(c["first"], c["most"]) for c in worn if c["most"]] == [(3, 990), (597, 3)]
    assert worn[1]["mean"] == pytest.approx(330)
    even = next(found for found in by_row.values() if found is not worn)
    assert {(c["most"], c["mean"]) for c in even} == {(7, 7)}


def test_the_panel_is_the_trial_with_the_middle_mean() -> None:
    trials = [with_wear("jffs2", seed, [seed] * 64) for seed in (1, 2, 9)]
    drawn = render(*trials)
    assert drawn is not None
    assert {c["most"] for c in drawn.chart.datasets["columns"]} == {2}


def test_without_the_instrument_there_is_no_such_chart() -> None:
    assert render(samples.trial("jffs2")) is None
    assert wearcharts.render_wear_distribution_chart in viewreports.INSTRUMENT_CHARTS
