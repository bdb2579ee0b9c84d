# SPDX-License-Identifier: GPL-2.0-or-later
"""A verdict as text for a terminal and as a table to take away.

In a terminal the columns that do not fit a line go on in a second table below the first. A mark
follows a number that was asked for: ✓ met, ✗ broken, ? open.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

from nandlab.analysis.figures.ranking import format_name_list
from nandlab.analysis.verdicts.criteria import (
    POWER_CUTS_TITLE,
    UNTRIED_TEXT,
    Criterion,
    VerdictCell,
)
from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.promises import CAMPAIGNS_PAGE
from nandlab.analysis.verdicts.verdict import (
    Verdict,
    VerdictRow,
    format_run_answer,
    format_verdict_conditions,
    format_verdict_title,
    list_call_meanings,
    list_criterion_notes,
    list_first_write_lines,
    list_gaps_of_verdicts,
    list_unknown_changes,
    list_wholly_unmeasured_criteria,
    list_wholly_untested_conditions,
)
from nandlab.report.tables.sheets import Sheet

STATE_MARKS = {"met": "✓", "broken": "✗", "open": "?", "not asked": ""}
MARK_MEANINGS = {"met": "met", "broken": "broken", "open": "not known yet"}
GAPS_TITLE = "? not known yet, and what closes it:"
WIDTH_DEFAULT = 80
HEAD_LETTERS, CELL, NAME_LETTERS = 10, 16, 22
"""Letters of a line of a column's head, of a cell, and of a file system's name with its options."""
COLUMN_GAP = 2


def format_verdict_legend(verdicts: Sequence[Verdict]) -> str:
    """What the marks and calls mean that are there."""
    states = {cell.state for v in verdicts for row in v.rows for cell in row.cells}
    marks = [f"{STATE_MARKS[state]} {MARK_MEANINGS[state]}" for state in MARK_MEANINGS]
    shown = [text for state, text in zip(MARK_MEANINGS, marks, strict=True) if state in states]
    return "; ".join([*shown, *list_call_meanings(verdicts)])


def format_marked_verdict_cell(cell: VerdictCell) -> str:
    """The cell's words with its mark."""
    return f"{cell.text} {STATE_MARKS[cell.state]}".rstrip()


def render_verdicts(
    verdicts: Sequence[Verdict], *, full: bool = False, width: int = WIDTH_DEFAULT
) -> list[str]:
    """All verdicts of a run: tables and sentences, what is open, and last the answer in a line.

    full: with why of each cell, and what each file system promises after a power cut.
    """
    lines: list[str] = []
    before: Verdict | None = None
    for verdict in verdicts:
        lines += [*render_verdict(verdict, width, before), ""]
        before = verdict
        if full:
            texts = [*verdict.notes[1:], *format_verdict_details(verdict)]
            lines += [line for text in texts for line in _wrap_hanging(text, width)] + [""] * bool(
                texts
            )
    if notes := list_criterion_notes(verdicts):
        lines += textwrap.wrap("; ".join(notes), width)
    for text in list_first_write_lines(verdicts, brief=not full):
        lines += _wrap_hanging(f"! {text}", width)
    gaps = format_verdict_gap_lines(verdicts)
    lines += [GAPS_TITLE] * bool(gaps)
    for text in gaps:
        lines += _wrap_hanging(f"? {text}", width)
    return [*lines, format_run_answer(verdicts)]


def render_verdict(
    verdict: Verdict, width: int = WIDTH_DEFAULT, before: Verdict | None = None
) -> list[str]:
    """Title, conditions, table and sentence. before: the verdict above, of which nothing that
    holds of both is told again."""
    lines = textwrap.wrap(format_verdict_title(verdict, before), width)
    conditions = format_verdict_conditions(verdict)
    if before is None or conditions != format_verdict_conditions(before):
        lines += textwrap.wrap("; ".join(conditions), width)
    text = " ".join([verdict.sentence, *verdict.absent, *format_possible_change_lines(verdict)])
    return [*lines, *_render_table(verdict, width), *textwrap.wrap(text, width)]


def format_possible_change_lines(verdict: Verdict) -> list[str]:
    """What would change the answer, a sentence each, and in one what would not."""
    turning = [f"With {c.what}: {c.then}." for c in verdict.changes if c.turns]
    kept = [c.what for c in verdict.changes if c.turns is False]
    return [
        *turning,
        *([f"The answer stays the same with {format_name_list(kept)}."] if kept else []),
    ]


def make_possible_changes_sheet(verdict: Verdict) -> Sheet:
    """All that could be otherwise, in a small table."""
    rows = [(c.what, c.then, c.do) for c in verdict.changes]
    head = ("what could be otherwise", "then", "to know it")
    return Sheet("What would change it", head, rows, head)


def format_verdict_gap_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What is open, each once with the edit that closes it; last what was not measured at all."""
    names = {row.name for v in verdicts for row in v.rows if row.call != "avoid"}
    lines = [
        f"{gap.what} ({_format_names(names, gap.who)}): {gap.do}{_point_to_campaigns(gap)}"
        for gap in list_gaps_of_verdicts(verdicts)
    ]
    if unmeasured := list_wholly_unmeasured_criteria(verdicts):
        lines.append(f"not measured: {_with_edits(unmeasured)}")
    if unknown := [*list_wholly_untested_conditions(verdicts), *list_unknown_changes(verdicts)]:
        lines.append(f"not tried: {_with_edits(unknown)}")
    return lines


def _point_to_campaigns(gap: VerdictGap) -> str:
    """Where an untried power cut is told of in other loads; empty: the gap is another."""
    untried = gap.what == POWER_CUTS_TITLE and gap.why == UNTRIED_TEXT
    return f"; seen in other loads: {CAMPAIGNS_PAGE}" if untried else ""


def _with_edits(pairs: Sequence[tuple[str, str]]) -> str:
    """What there is, each edit once behind all that it is of."""
    edits = dict.fromkeys(do for _, do in pairs)
    named = [(", ".join(what for what, do in pairs if do == edit), edit) for edit in edits]
    return ", ".join(f"{names} ({edit})" for names, edit in named)


def _format_names(names: Collection[str], who: Sequence[str]) -> str:
    """Names, or all."""
    return "all" if len(names) > 1 and set(who) == set(names) else format_name_list(who)


def format_verdict_details(verdict: Verdict) -> list[str]:
    """Why each file system is judged so: what is against it, and what is open in full words."""
    lines = []
    for row in verdict.rows:
        reasons = [f"against: {text}" for text in row.against]
        reasons += [
            f"{criterion.title}: {cell.state}: {cell.why}"
            for criterion, cell in zip(verdict.criteria, row.cells, strict=True)
            if cell.why
        ]
        lines += [f"{row.name}: {text}" for text in reasons]
    return lines


def _wrap_hanging(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ")


def _render_table(verdict: Verdict, width: int) -> list[str]:
    """The table, in as many parts as the width takes."""
    if not verdict.rows:
        return []
    names = [textwrap.wrap(f"{row.call:5} {row.name}", NAME_LETTERS) for row in verdict.rows]
    name_width = max(len(part) for name in names for part in name)
    columns = [_make_column(verdict.rows, i, c) for i, c in enumerate(verdict.criteria)]
    lines: list[str] = []
    part: list[list[str]] = []
    for column in columns:
        if part and _compute_width([*part, column], name_width) > width:
            lines += _render_table_part(names, part, name_width)
            part = []
        part.append(column)
    return [*lines, *_render_table_part(names, part, name_width)] if part else lines


def _make_column(rows: Sequence[VerdictRow], i: int, criterion: Criterion) -> list[str]:
    """A column: its head, then its cells, each in some lines as one text."""
    head = [
        part
        for text in (criterion.title, criterion.limit)
        for part in _wrap_head(text, HEAD_LETTERS)
    ]
    cells = (_lines(format_marked_verdict_cell(row.cells[i])) for row in rows)
    return ["\n".join(lines) for lines in (head, *cells)]


def _lines(text: str) -> list[str]:
    """A cell's lines: a long one goes on after a comma."""
    if len(text) <= CELL:
        return [text]
    parts = text.replace(", ", ",\n").split("\n")
    return [line for part in parts for line in _wrap_head(part, CELL)]


def _wrap_head(text: str, letters: int) -> list[str]:
    return textwrap.wrap(text, letters, break_long_words=False)


def _count_letters(column: Sequence[str]) -> int:
    return max(len(line) for text in column for line in text.split("\n"))


def _compute_width(columns: Sequence[Sequence[str]], named: int) -> int:
    return named + sum(COLUMN_GAP + _count_letters(c) for c in columns)


def _render_table_part(
    names: Sequence[Sequence[str]], columns: Sequence[Sequence[str]], name_width: int
) -> list[str]:
    """A table of some columns: heads at the bottom of their lines, then a row each."""
    heads = [column[0].split("\n") for column in columns]
    deep = max(map(len, heads))
    high = [[""] * (deep - len(head)) + head for head in heads]
    rows = [("", [head[i] for head in high]) for i in range(deep)]
    for row_index, name in enumerate(names, 1):
        cells = [column[row_index].split("\n") for column in columns]
        for i in range(max(len(name), *map(len, cells))):
            lead = name[i] if not i else f"      {name[i]}" if i < len(name) else ""
            rows.append((lead, [cell[i] if i < len(cell) else "" for cell in cells]))
    widths = [_count_letters(column) + COLUMN_GAP for column in columns]
    return [
        (name.ljust(name_width) + "".join(map(str.rjust, cells, widths))).rstrip()
        for name, cells in rows
    ]


def make_verdict_sheet(verdict: Verdict) -> Sheet:
    """The table to take away."""
    heads = [f"{c.title} {c.limit}".strip() for c in verdict.criteria]
    optional = any(row.options for row in verdict.rows)
    lead = ("verdict", "configuration", *(["options"] if optional else []))
    rows = [
        (
            row.call,
            row.name,
            *([row.options] if optional else []),
            *map(format_marked_verdict_cell, row.cells),
        )
        for row in verdict.rows
    ]
    return Sheet(format_verdict_title(verdict), (*lead, *heads), rows, lead)
