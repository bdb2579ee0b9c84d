# SPDX-License-Identifier: GPL-2.0-or-later
"""A verdict in a terminal, as a table to take away, and as the chart of the first screen."""

from __future__ import annotations

from dataclasses import replace

from support import samples

from nandlab.analysis.verdicts import verdictmaker
from nandlab.analysis.verdicts.limits import Limits, parse_command_line_limits
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.base import units
from nandlab.report.charts import verdictchart
from nandlab.report.tables import verdicttext
from nandlab.report.tables.sheets import render_markdown_sheets


def judged(*limits: str) -> Verdict:
    under = parse_command_line_limits(limits) if limits else Limits()
    (found,) = verdictmaker.make_run_verdicts_from_trials(
        {}, samples.study(2), samples.NAMING, under
    )
    return found


def test_columns_that_do_not_fit_go_on_below_and_none_is_lost() -> None:
    found = judged("append.p99 < 50ms", "power = no synced data lost")
    for width in (60, 160):
        text = verdicttext.render_verdict(found, width)
        assert max(map(len, text)) <= width
        assert all(f"{c.text}" in "\n".join(text) for row in found.rows for c in row.cells)
        named = sum(line.startswith("avoid UBIFS") for line in text)
        assert named == (2 if width == 60 else 1)


def test_a_mark_follows_what_was_asked() -> None:
    found = judged("append.p99 < 50ms", "ram < 1M")
    marks = {
        verdicttext.format_marked_verdict_cell(cell)[-1] for row in found.rows for cell in row.cells
    }
    assert marks >= {"✓", "?"}
    assert "✗" in "".join(
        map(verdicttext.format_marked_verdict_cell, judged("append.p99 < 1ns").rows[0].cells)
    )


def test_a_long_name_goes_on_in_a_second_line() -> None:
    found = judged()
    long = replace(found.rows[0], name="UBIFS compr=lzo, bulk_read=yes, chk_data_crc=no")
    text = verdicttext.render_verdict(replace(found, rows=(long, *found.rows[1:])))
    assert max(map(len, text)) <= 80
    assert any(line.strip().endswith("chk_data_crc=no") for line in text)


def test_the_legend_has_the_marks_and_calls_that_are_there() -> None:
    free = verdicttext.format_verdict_legend([judged()])
    assert "✓" not in free
    assert "meets every limit" not in free
    assert free.startswith("? not known yet; take: best by transact. in its worst state")
    assert "✓ met" in verdicttext.format_verdict_legend([judged("append.p99 < 50s")])


def test_columns_are_told_once_below_all_tables() -> None:
    found = judged()
    criteria = (replace(found.criteria[0], note="what it is"), *found.criteria[1:])
    noted = replace(found, criteria=criteria)
    lines = verdicttext.render_verdicts([noted, noted])
    notes = [line for line in lines if "what it is" in line]
    assert len(notes) == 1
    assert notes[0].startswith(f"{found.criteria[0].title}: what it is")
    assert lines.index(notes[0]) < lines.index(verdicttext.GAPS_TITLE)


def test_a_limit_on_a_percentile_tells_the_rarest_operations_too() -> None:
    found = judged("append.p99 < 50s")
    appends = [t.latency_ns["append"] for t in samples.study(2) if t.ok]
    rare = [latency.p99_9 for latency in appends if latency]
    assert "append p99.9, " in found.sentence
    assert "(n = 7,500 a run)" in found.sentence
    assert any(units.format_time(ns) in found.sentence for ns in rare)
    both = judged("append.p99 < 50s", "append.p99_9 < 60s")
    assert "append p99.9, " not in both.sentence


def test_a_gap_of_all_is_told_so_once() -> None:
    told = verdicttext.format_verdict_gap_lines([judged("ram < 1M")])
    assert [line for line in told if line.startswith("RAM ")] == [
        'RAM (JFFS2): in mine.toml: measure = ["memory"]'
    ]
    told = verdicttext.format_verdict_gap_lines([judged(), judged()])
    assert sum(line.startswith("power cuts (") for line in told) == 1


def test_the_sheet_has_a_row_for_each_and_markdown_draws_it() -> None:
    found = judged("append.p99 < 50ms")
    sheet = verdicttext.make_verdict_sheet(found)
    assert [row[1] for row in sheet.rows] == [row.name for row in found.rows]
    assert "append p99 \\< 50ms" in render_markdown_sheets([sheet])


def test_the_chart_has_how_much_of_each_limit_is_used() -> None:
    found = judged("append.p99 < 50ms", "create.p99 < 5ms")
    chart = verdictchart.render_verdict_chart([found])
    assert chart is not None
    bars = {(b["panel"], b["name"]): b["at"] for b in chart.datasets["bars"]}
    for i, criterion in enumerate(found.criteria):
        for row in found.rows if criterion.limit.endswith("ms") else ():
            used = row.cells[i].used
            assert used is not None
            told = bars[f"{criterion.title} {criterion.limit}", row.name]
            assert told == min(used, verdictchart.USED_MAX)
    assert chart.svg().startswith("<svg")
    assert "<rect" in chart.inline(narrow=True) or "<path" in chart.inline(narrow=True)
    assert 'fill="white"/>' not in chart.inline()
    assert "aria-" not in chart.inline()


def test_without_limits_it_has_the_headline() -> None:
    chart = verdictchart.render_verdict_chart([judged()])
    assert chart is not None
    assert [b["name"] for b in chart.datasets["bars"]] == ["JFFS2", "UBIFS", "YAFFS2"]
    assert verdictchart.render_verdict_chart([]) is None
