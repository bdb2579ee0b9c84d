# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables to take away: whatever their cells say, a row stays a row and a cell a cell."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.analysis.differences.figurechanges import STATUS_ROW, ConfigurationChange, FigureChange
from nandlab.analysis.figures.spread import compute_spread
from nandlab.base.printable import make_lines_printable, make_printable
from nandlab.base.printer import format_json
from nandlab.base.units import QUANTITIES
from nandlab.report.tables import figurechanges, sheets
from nandlab.report.tables.sheets import FORMULA_STARTS, NUMBER_PATTERN, Sheet, render_json_list

SAID = st.text(max_size=20) | st.sampled_from(["=1+1", "-a", "+", "@"])
TABLES = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(SAID, min_size=n, max_size=n), min_size=1, max_size=4)
)


@given(TABLES, SAID)
def test_markdown_has_a_line_a_row_and_a_bar_a_cell(rows: list[list[str]], title: str) -> None:
    table = sheets.render_markdown_sheets(
        [Sheet(title, [f"h{i}" for i in range(len(rows[0]))], rows)]
    )
    lines = [line for line in table.split("\n") if line.startswith("|")]
    assert len(lines) == len(rows) + 2
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == len(rows[0]) + 1


@given(TABLES)
def test_csv_is_read_back_with_its_words_in_a_line(rows: list[list[str]]) -> None:
    head = [f"h{i}" for i in range(len(rows[0]))]
    records = [dict(zip(head, row, strict=True)) for row in rows]
    text = sheets.render_csv(head, records)
    in_lines = [
        {k: make_printable(" ".join(v.split())) for k, v in record.items()} for record in records
    ]
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    for record, words in zip(found, in_lines, strict=True):
        assert {k: v.removeprefix("'") for k, v in record.items()} == {
            k: v.removeprefix("'") for k, v in words.items()
        }
        assert not [
            v
            for v in record.values()
            if v.startswith(FORMULA_STARTS) and not NUMBER_PATTERN.fullmatch(v)
        ]
    assert text.count("\n") == len(rows) + 1 and make_lines_printable(text) == text


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        (" \t=1+1", "'=1+1"),
        ("\r@SUM(1)", "'@SUM(1)"),
        ("-1+1", "'-1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-", "'-"),
        ("\uff1d1", "'\uff1d1"),
        ("a=1", "a=1"),
        ("-1", "-1"),
        ("+0.5e-3", "+0.5e-3"),
        (-1, "-1"),
        (-0.25, "-0.25"),
        (None, ""),
        ("", ""),
    ],
)
def test_no_cell_of_csv_is_a_formula_and_numbers_stay_numbers(
    value: str | float | None, cell: str
) -> None:
    (record,) = csv.DictReader(io.StringIO(sheets.render_csv(["n", "h"], [{"n": 1, "h": value}])))
    assert record == {"n": "1", "h": cell}


@given(SAID, SAID, SAID)
def test_junit_is_xml_whatever_a_trial_said(setting: str, label: str, error: str) -> None:
    held = [
        ConfigurationChange(
            setting, label, ("t",), (FigureChange(STATUS_ROW, "ok", error, ("t",)),)
        )
    ]
    (case,) = ET.fromstring(figurechanges.render_figure_changes_junit(held)).iter("testcase")
    failure = case.find("failure")
    assert failure is not None and (failure.text or "").split()[-3:] == ["1", "of", "1"]


def test_text_is_aligned_and_has_no_tail() -> None:
    table = Sheet("Title", ("figure", "n"), [("a", "12,345"), ("longer", "6")])
    assert sheets.render_text_sheets([table], ["Before."]) == (
        "Before.\n\nTitle\nfigure       n\na       12,345\nlonger       6\n"
    )


@pytest.mark.parametrize(
    ("before", "now", "said", "within"),
    [
        ([412, 412], [413, 413], ("412", "413", "+1 (+0.243 %)", "each +1"), False),
        ([412, 420], [413, 419], ("416", "416", "0", "-1 to +1"), True),
        ([4, 4], [1, 2], ("4", "1.5", "-2.5 (-62.5 %)", "-3 to -2"), False),
        ([0], [3], ("0", "3", "+3", "—"), None),
        ([10**12 + 1], [10**12], ("1,000,000,000,001", "1,000,000,000,000"), None),
        ([None], [3], ("—", "3", "—"), None),
    ],
)
def test_a_change_is_told_to_the_last_digit_and_against_the_ensemble(
    before: list[float | None], now: list[float], said: tuple[str, ...], within: bool | None
) -> None:
    grown = compute_spread(n - b for b, n in zip(before, now, strict=True) if b is not None)
    moved = FigureChange(
        "f", compute_spread(before), compute_spread(now), ("t",), QUANTITIES["count"], grown
    )
    assert moved.within is within
    held = [ConfigurationChange("setting", "UBIFS", ("t",), (moved,))]
    row = figurechanges.render_figure_changes(held, "markdown").splitlines()[-1].split(" | ")
    assert tuple(row[1 : 1 + len(said)]) == said
    (record,) = figurechanges.list_figure_change_records(held)
    assert record.in_range is within


def test_a_list_in_pieces_is_the_list() -> None:
    lists: list[list[object]] = [[], [{}], [{"a": [1, 2], "b": "x\ny"}, None, 3]]
    for told in lists:
        assert "".join(render_json_list(told)) == format_json(told)
