# SPDX-License-Identifier: GPL-2.0-or-later
"""The chart of RAM over time: only where it was measured, in one scale, with its table."""

from __future__ import annotations

from support import samples

from nandlab.analysis.figures import groups
from nandlab.analysis.figures.groups import Setting
from nandlab.report.charts import memorycurves
from nandlab.report.page import viewreports
from nandlab.results.record import Trial
from nandlab.results.recordparts import Series

MIB = 1 << 20
S = 1_000_000_000


def with_series(filesystem: str, seed: int, mib: int, *, known: bool = True) -> Trial:
    """From ``mib`` to twice as much after two seconds; half a MiB of it is reclaimable."""
    values = [mib * MIB, 2 * mib * MIB, 2 * mib * MIB]
    times = [seed * S, (seed + 2) * S, (seed + 4) * S]
    columns = {"memory.bytes": values}
    if known:
        columns["memory.reclaimable"] = [MIB // 2] * 3
    series = [
        Series(name=name, unit="bytes", t_ns=times, values=list(column))
        for name, column in columns.items()
    ]
    memory = {**samples.MEMORY, "kept_peak": mib * MIB, "peak_of.jffs2_write_dnode": 3 * MIB}
    trial = samples.trial(filesystem, seed=seed)
    told = {"series": series, "measured": {"memory": memory}}
    return trial.model_copy(update=told).add_sources(trial.sources)


def setting(*trials: Trial) -> Setting:
    (found,) = groups.group_trials_into_settings(trials)
    return found


def test_a_line_a_configuration_in_two_panels_of_one_scale() -> None:
    sizes = {"jffs2": 2, "ubifs": 4}
    trials = [with_series(fs, seed, mib) for fs, mib in sizes.items() for seed in (1, 2)]
    drawn = memorycurves.render_memory_chart(setting(*trials))
    assert drawn is not None
    moments = drawn.chart.datasets["moments"]
    assert {m["panel"] for m in moments} == {"held", "kept"}
    last = {(m["panel"], m["row"]): (m["t"], m["low"], m["mid"], m["high"]) for m in moments}
    assert sorted(last.values()) == [
        (4, 3.5, 3.5, 3.5),
        (4, 4, 4, 4),
        (4, 7.5, 7.5, 7.5),
        (4, 8, 8, 8),
    ]
    _, *panels = drawn.chart.wide["concat"]
    domains = [p["layer"][0]["encoding"]["y"]["scale"]["domain"] for p in panels]
    assert domains[0] == domains[1]
    assert "memory, kept_peak" in drawn.table.head
    words = [c.middle.text for row in drawn.table.rows for c in row.cells]
    assert "jffs2_write_dnode 3 MiB" in words
    assert drawn.chart.svg().startswith("<svg")


def test_where_it_is_not_known_what_can_be_taken_back_there_is_one_panel() -> None:
    drawn = memorycurves.render_memory_chart(setting(with_series("jffs2", 1, 2, known=False)))
    assert drawn is not None
    assert len(drawn.chart.wide["concat"]) == 2  # the key and one panel
    assert {m["panel"] for m in drawn.chart.datasets["moments"]} == {"held"}


def test_without_a_series_the_chart_is_left_out() -> None:
    without = setting(samples.trial())
    assert memorycurves.render_memory_chart(without) is None
    names = [d.chart.name for d in viewreports.render_view_charts(without)]
    assert not any(name.endswith("-memory") for name in names)


def test_the_report_has_it() -> None:
    names = [
        d.chart.name for d in viewreports.render_view_charts(setting(with_series("jffs2", 1, 2)))
    ]
    assert any(name.endswith("-memory") for name in names)
