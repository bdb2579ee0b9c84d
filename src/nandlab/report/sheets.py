# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables to take away: words as text and Markdown, values as CSV and JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nandlab.base.printable import printable
from nandlab.base.printer import json_text

Row = Sequence[str]
Value = str | int | float | bool | None
Record = Mapping[str, Value]
"""A row for programs: values by the names of their columns; None: not known."""
MARKS = str.maketrans({c: f"\\{c}" for c in "\\|*_`[]<>#~"})
"""What Markdown would take for marks, each with what makes it a letter."""

FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula begins with in a spreadsheet: also the wide forms."""
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """A table of words under its title, which may be empty."""

    title: str
    head: Row
    rows: Sequence[Row]
    left: Collection[str] = ("configuration", "figure")
    """Heads of columns of words; those of numbers are set to the right."""


def text(sheets: Sequence[Sheet], before: Sequence[str] = ()) -> str:
    """Lines, then each table under its title; columns are two spaces apart."""
    parts = ["\n".join(map(printable, before))] if before else []
    for sheet in sheets:
        rows = [[_one_line(cell) for cell in row] for row in (sheet.head, *sheet.rows)]
        left = {i for i, title in enumerate(sheet.head) if title in sheet.left}
        title = [_one_line(sheet.title)] if sheet.title else []
        parts.append("\n".join([*title, *aligned(rows, left)]))
    return "\n\n".join(parts) + "\n"


def aligned(rows: Sequence[Row], left: Collection[int]) -> list[str]:
    """A line for each row, however long; the columns of these numbers are set to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    said = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        set_ = (c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in cells)
        said.append("  ".join(set_).rstrip())
    return said


def markdown(sheets: Sequence[Sheet], before: Sequence[str] = ()) -> str:
    """Paragraphs, then each table under its title as a heading; as GitHub and GitLab draw it."""
    parts = [f"{words(line)}\n" for line in before]
    for sheet in sheets:
        rule = [":--" if title in sheet.left else "--:" for title in sheet.head]
        head, *rows = ([words(cell) for cell in row] for row in (sheet.head, *sheet.rows))
        lines = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
        parts.append(f"### {words(sheet.title)}\n\n{lines}" if sheet.title else lines)
    return "\n".join(parts)


def words(said: str) -> str:
    """Words within Markdown: they stay words, in one line."""
    return _one_line(said).translate(MARKS)


def csv_text(head: Sequence[str], records: Sequence[Record]) -> str:
    """Comma-separated values, a line a record, under one of names; what is not known is empty."""
    to = io.StringIO()
    writer = csv.DictWriter(to, head, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: _cell(v) if isinstance(v, str) else v for k, v in record.items()})
    return to.getvalue()


def json_list(values: Iterable[object]) -> Iterator[str]:
    """A list as JSON in lines, in pieces: no two of its values need be there at a time."""
    before = "[\n "
    for value in values:
        yield before + json_text(value).rstrip("\n").replace("\n", "\n ")
        before = ",\n "
    yield "[]\n" if before.startswith("[") else "\n]\n"


def values(form: str, head: Sequence[str], records: Sequence[Record]) -> str:
    """Records as csv or json."""
    return csv_text(head, records) if form == "csv" else json_text(list(records))


def rendered(
    form: str,
    sheets: Sequence[Sheet],
    before: Sequence[str],
    head: Sequence[str],
    records: Sequence[Record],
) -> str:
    """The same as text or markdown, tables of words below lines, or as csv or json, records."""
    if form == "text":
        return text(sheets, before)
    return markdown(sheets, before) if form == "markdown" else values(form, head, records)


def plain(value: float | None) -> float | None:
    """A whole number as such, without a point: a median of counts is a float."""
    return value if value is None or value != int(value) else int(value)


def _cell(words: str) -> str:
    """Words in a cell of CSV: one that a spreadsheet would compute begins with an apostrophe."""
    line = _one_line(words)
    return f"'{line}" if line.startswith(FORMULAS) and not NUMBER.fullmatch(line) else line


def _one_line(said: str) -> str:
    return printable(" ".join(said.split()))
