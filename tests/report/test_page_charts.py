# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of a page, as values: lines, dashes, colours, and rows without figures."""

from __future__ import annotations

from pathlib import Path

from support import lifesamples, samples

from nandlab import report
from nandlab.analysis.figures import groups, life
from nandlab.report.charts import layout
from nandlab.report.charts.charts import Chart
from nandlab.report.page import html, viewreports


def charts(setting: groups.Setting) -> list[Chart]:
    return [drawn.chart for drawn in viewreports.render_view_charts(setting)]


def test_a_line_of_deaths_keeps_every_bend_and_its_end() -> None:
    """Rounds left out of the line are those that a step line draws anyway."""
    trials = lifesamples.lifetime_study()
    (setting,) = groups.group_trials_into_settings(trials)
    (chart,) = [c for c in charts(setting) if c.name == "lifetime-deaths"]
    for trial in trials:
        points = [d for d in chart.datasets["trials"] if d["trial"] == trial.id]
        for r in life.list_life_round_totals(trial):
            at = [p["dead"] for p in points if p["written"] <= r.bytes_written / 2**20]
            assert at[-1] == r.dead_blocks
        assert points[-1]["written"] == life.list_life_round_totals(trial)[-1].bytes_written / 2**20
        assert len({p["colour"] for p in points}) == 1
    shades = [d["shade"] for d in chart.datasets["ends"]]
    assert shades == [1, 1, 1, 1, 0, 1]


def test_configurations_of_one_file_system_differ_by_their_dash() -> None:
    options = [{"compr": "none"}, {"compr": "lzo"}]
    (setting,) = groups.group_trials_into_settings(
        [lifesamples.lifetime_trial("ubifs", options=o) for o in options]
    )
    (chart,) = [c for c in charts(setting) if c.name == "lifetime-deaths"]
    looks = {(d["colour"], str(d["dash"])) for d in chart.datasets["trials"]}
    assert len(looks) == 2


def test_a_life_without_a_whole_round_has_no_line() -> None:
    none = {"rounds": [], "gave_up": "no room"}
    (setting,) = groups.group_trials_into_settings(
        [lifesamples.lifetime_trial(lifetime=none, per_block=None)]
    )
    assert charts(setting) == []


def test_what_was_not_measured_has_no_chart(tmp_path: Path) -> None:
    bare = samples.failed()
    run = samples.folder(tmp_path / "run", [bare])
    text = report.write_run_report(run).read_text()
    assert "<figure" not in text
    assert "No transaction time was measured." in text


def test_a_row_without_figures_says_so_in_the_chart() -> None:
    (setting,) = groups.group_trials_into_settings([samples.trial(), samples.failed("ubifs")])
    chart = charts(setting)[0]
    assert {d["text"] for d in chart.datasets["absent"]} == {"no trial ended well"}


def test_the_median_never_stands_without_range_and_trials() -> None:
    (setting,) = groups.group_trials_into_settings(samples.study(seeds=3))
    for chart in charts(setting):
        for item in chart.datasets.get("summary", []):
            assert item["low"] <= item["mid"] <= item["high"]
    chart = charts(setting)[0]
    assert len(chart.datasets["trials"]) == 3 * 6 * 3


def test_a_file_system_keeps_its_colour_whatever_else_is_measured() -> None:
    known = [
        layout.choose_filesystem_colour(n)
        for n in ("jffs2", "ubifs", "yaffs2", "nftl-fat32", "logfs")
    ]
    assert len(set(known)) == len(known)
    assert layout.choose_filesystem_colour("logfs") == layout.choose_filesystem_colour("logfs")


def test_flat_names_every_leaf() -> None:
    nested = {"a": {"b": 1, "c": None}, "d": [1, 2], "e": {}}
    assert dict(html.flatten_values(nested)) == {
        "a.b": "1",
        "a.c": "null",
        "d": "[1, 2]",
        "e": "{}",
    }
