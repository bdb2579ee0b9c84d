# SPDX-License-Identifier: GPL-2.0-or-later
"""Curves in the page: each drawn with its table and files, once for the whole run."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import curvesamples as made
from support import samples

from nandlab import report
from nandlab.analysis.curves import curvemodels, curvevalues
from nandlab.analysis.curves.curveplaces import CurvePlace
from nandlab.analysis.curves.curves import make_curves_from_spec
from nandlab.analysis.figures import groups
from nandlab.base.console import Console
from nandlab.report.charts import curvecharts, curvetables, pointcharts
from nandlab.report.page import terminal
from nandlab.results.folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("curves") / "run"
    trials = [*made.readers(), *made.databases()]
    nothing = {**made.READS, "name": "nothing", "title": "Of none", "where": {"at.size": 512}}
    return samples.folder(folder, trials, spec={"curves": [*made.CURVES, nothing]})


def shapes(svg: Path) -> int:
    """Points of the data in an exported chart, those of the key not counted."""
    root = ElementTree.parse(svg).getroot()
    groups_ = [g for g in root.iter() if "mark-symbol" in (g.get("class") or "")]
    return max(len(list(g)) for g in groups_)


def test_every_curve_is_in_the_page_with_its_table_and_files(run: RunFolder) -> None:
    page = report.write_run_report(run)
    text = page.read_text()
    counts = {"gain-over-share": 32, "reads-over-count": 32, "commits-against-p99": 9}
    for name, n in {**counts, "programs-by-journal": 9}.items():
        assert text.count(f'<figure class="chart" id="curve-{name}">') == 1
        assert shapes(page.parent / f"curve-{name}.svg") == n
        assert (page.parent / f"curve-{name}.png").stat().st_size > 10_000
    assert "Of none: no finished trial has" in text
    section = text[text.index('id="curves"') : text.index('aria-label="Answer:')]
    assert re.search(r"<td>JFFS2, sequential</td><td [^>]*>0.6 %</td><td [^>]*>3</td>", section)
    assert "46.7 %" in section
    assert "time, read ahead 128" in section
    assert "Reads of 4 KiB in a file" in section and "5 MiB. Saved is 1 - a / b" in section


def test_a_page_without_curves_has_no_section_of_them(tmp_path: Path) -> None:
    page = report.write_run_report(samples.folder(tmp_path / "run", made.readers(1)))
    assert 'id="curves"' not in page.read_text()


def test_forty_points_have_one_chart_and_one_table(run: RunFolder) -> None:
    setting = next(
        s for s in groups.group_trials_into_settings(made.readers()) if s.workload == "reader"
    )
    drawn = pointcharts.render_point_times_chart(setting)
    assert drawn is not None
    assert len(drawn.chart.datasets["marks"]) == 8 * 6
    assert [r.subject for r in drawn.table.rows][:2] == ["sequential 8", "sequential 64"]
    assert drawn.table.head[:3] == [
        f"JFFS2 read_ahead=0: {what}" for what in ("time", "page reads", "p99")
    ]
    first = drawn.table.rows[0].cells
    assert [c.middle.text for c in first[:3]] == ["8.02 ms", "16", "2.00 ms"]
    page = report.write_run_report(run).read_text()
    assert page.count('id="reader-points"') == 1
    assert 'id="reader-time"' not in page


def test_a_model_is_dashed_and_named_in_key_table_and_caption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def more(y: str, at: CurvePlace) -> float | None:
        return 14 + (curvevalues.compute_figure_at_place(y, at) or 0)

    monkeypatch.setitem(curvemodels.CURVE_MODELS, "more", more)
    trials = [made.reader("ubifs", a, s) for a in (0, 128) for s in (1, 2)]
    told = {**made.GAIN, "y": "point.reads", "modelled": "more"}
    (asked,) = curvecharts.render_study_curves({"curves": [told]}, trials)
    assert asked.drawing is not None
    data = asked.drawing.chart.datasets
    given = [d for d in data["points"] if d["dash"] != [1, 0]]
    assert len(given) == 8
    assert given[0]["mid"] == pytest.approx(100 * (1 - 30 / 44))
    assert {d["fill"] for d in given} == {"transparent"}
    assert any("modelled: more" in d["text"] for d in data["key_wide"])
    assert curvecharts.MODEL_NOTE in asked.drawing.chart.caption
    row = asked.drawing.table.rows[-1]
    assert (row.count, row.trials, row.cells[0].middle.trial) == ("", [], None)


FITTED = {
    "name": "reads-fitted",
    "title": "Flash reads along requests",
    "x": "at.count",
    "y": "point.reads",
    "where": {"at.pattern": "sequential", "option.read_ahead": "128", "filesystem": "jffs2"},
    "lines": ["filesystem"],
    "scale": "log",
    "fit": True,
}


def test_a_least_squares_line_is_drawn_and_told_with_its_r2(tmp_path: Path) -> None:
    """Reads are 2 x (requests + 7) by the samples: a line that is known."""
    trials = made.readers()
    page = report.write_run_report(
        samples.folder(tmp_path / "run", trials, spec={"curves": [FITTED]})
    )
    told = "14 + 2 each, R² 1.0000 (each 1.0000)"
    assert f"JFFS2: {told}" in (page.parent / "curve-reads-fitted.svg").read_text()
    text = page.read_text()
    assert re.search(r">line</td><td [^>]*></td>", text)
    assert f">{told}<" in text
    assert "whose slope is in the middle" in text
    out = io.StringIO()
    console = Console(file=out, width=100)
    for part in curvetables.render_terminal_curve_tables({"curves": [FITTED]}, trials, 100):
        console.print(part)
    assert f"JFFS2: {told}" in out.getvalue()


def test_a_line_is_laid_through_configurations_over_a_figure_too() -> None:
    over = {**made.SCATTER, "fit": True}
    (plot,) = curvevalues.make_curve_plots(
        make_curves_from_spec({"curves": [over]}), made.databases()
    )
    assert [len(line.fits) for line in plot.lines] == [3, 3, 3]
    drawn = curvecharts.render_study_curves({"curves": [over]}, made.databases())[0].drawing
    assert drawn is not None
    assert len(drawn.chart.datasets["fits"]) == 3 * curvecharts.FIT_POINTS


def test_a_figure_that_counts_is_a_number_on_the_axis() -> None:
    """Whole numbers, as files in a tree are: places of the axis, and not words."""
    over = {**made.SCATTER, "x": "chip.programs", "fit": True}
    (plot,) = curvevalues.make_curve_plots(
        make_curves_from_spec({"curves": [over]}), made.databases(1)
    )
    assert plot.numeric
    assert [len(line.fits) for line in plot.lines] == [1, 1, 1]


def test_a_logarithm_that_must_show_0_is_symmetric_about_it() -> None:
    phases = [
        made.point(8, "random", 0, 1.0, pause_us=us).model_copy(update={"name": f"p{us}"})
        for us in (0, 100, 1000)
    ]
    told = {**made.READS, "x": "at.pause_us", "y": "point.mean", "where": {}}
    (asked,) = curvecharts.render_study_curves({"curves": [told]}, [made.reader(phases=phases)])
    assert asked.drawing is not None
    scale = asked.drawing.chart.wide["concat"][1]["layer"][0]["encoding"]["x"]["scale"]
    assert scale["type"] == "symlog"
    assert scale["domain"][0] <= 0
    assert "single trial" in asked.drawing.chart.caption
    assert asked.drawing.chart.svg().startswith("<svg")


def test_the_terminal_has_each_curve_within_its_width(run: RunFolder) -> None:
    out = io.StringIO()
    terminal.print_run_results(run, Console(file=out, width=80), full=True)
    text = out.getvalue()
    assert max(map(len, text.splitlines()[:-1])) <= 80
    rows = [" ".join(row.split()) for row in text.splitlines()]
    assert "Time saved by turning read-ahead off" in rows
    assert "0.6 % 46.7 % 11.1 % 46.7 % 11.1 %" in rows
    assert "JFFS2, wal 368 5.97 ms" in rows
    assert any(row.startswith("No finished trial has") for row in rows)
