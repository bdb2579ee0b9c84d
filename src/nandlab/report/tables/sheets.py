# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables to take away: words as text and Markdown, values as CSV and JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from nandlab.base.printable import make_printable
from nandlab.base.printer import format_json
from nandlab.base.registry import find_module_values
from nandlab.catalog.noun import StrictModel

SheetRow = Sequence[str]
SheetValue = str | int | float | bool | None
SheetValues = Mapping[str, SheetValue]
"""Values of a record by the names of their columns; None: not known."""
Number = int | float
"""A value of a record; a count stays whole."""
MARKDOWN_ESCAPES = str.maketrans({c: f"\\{c}" for c in "\\|*_`[]<>#~"})
"""What Markdown would take for marks, each with what makes it a letter."""

FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a formula begins with in a spreadsheet: also the wide forms."""
NUMBER_PATTERN = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """A table of words under its title, which may be empty."""

    title: str
    head: SheetRow
    rows: Sequence[SheetRow]
    word_columns: Collection[str] = ("configuration", "figure")
    """Heads of columns of words; those of numbers are set to the right."""


class SheetRecord(StrictModel):
    """A row for programs: its fields are the columns, in their order; null: not known."""


@dataclass(frozen=True)
class SheetContent:
    """What a format renders: tables of words below lines, and the same as records."""

    sheets: Sequence[Sheet]
    before: Sequence[str]
    head: Sequence[str]
    """Names of a record's values, in order."""
    records: Sequence[SheetValues]


@dataclass(frozen=True)
class SheetFormat:
    """A format of tables to take away: ``FORMAT`` of a module of report/formats/."""

    render: Callable[[SheetContent], str]
    of_records: bool = False
    """Whether it has the records, for programs, and neither the tables nor the lines."""


FORMATS_PACKAGE = "nandlab.report.formats"


def find_sheet_format(name: str) -> SheetFormat:
    """The format of this name."""
    found: SheetFormat = find_module_values(FORMATS_PACKAGE, "FORMAT")[name]
    return found


def render_text_sheets(sheets: Sequence[Sheet], before: Sequence[str] = ()) -> str:
    """Lines, then each table under its title; columns are two spaces apart."""
    parts = ["\n".join(map(make_printable, before))] if before else []
    for sheet in sheets:
        rows = [[_join_lines(cell) for cell in row] for row in (sheet.head, *sheet.rows)]
        left = {i for i, title in enumerate(sheet.head) if title in sheet.word_columns}
        title = [_join_lines(sheet.title)] if sheet.title else []
        parts.append("\n".join([*title, *align_columns(rows, left)]))
    return "\n\n".join(parts) + "\n"


def align_columns(rows: Sequence[SheetRow], left_columns: Collection[int]) -> list[str]:
    """A line for each row, however long; the columns of these numbers are set to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (c.ljust(w) if i in left_columns else c.rjust(w) for i, (c, w) in cells)
        lines.append("  ".join(padded).rstrip())
    return lines


def render_markdown_sheets(sheets: Sequence[Sheet], before: Sequence[str] = ()) -> str:
    """Paragraphs, then each table under its title as a heading; as GitHub and GitLab draw it."""
    parts = [f"{escape_markdown(line)}\n" for line in before]
    for sheet in sheets:
        rule = [":--" if title in sheet.word_columns else "--:" for title in sheet.head]
        head, *rows = ([escape_markdown(cell) for cell in row] for row in (sheet.head, *sheet.rows))
        lines = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
        parts.append(f"### {escape_markdown(sheet.title)}\n\n{lines}" if sheet.title else lines)
    return "\n".join(parts)


def escape_markdown(said: str) -> str:
    """Words within Markdown: they stay words, in one line."""
    return _join_lines(said).translate(MARKDOWN_ESCAPES)


def render_csv(head: Sequence[str], records: Sequence[SheetValues]) -> str:
    """Comma-separated values, a line a record, under one of names; what is not known is empty."""
    to = io.StringIO()
    writer = csv.DictWriter(to, head, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow(
            {k: _escape_csv_cell(v) if isinstance(v, str) else v for k, v in record.items()}
        )
    return to.getvalue()


def render_json_list(values: Iterable[object]) -> Iterator[str]:
    """A list as JSON in lines, in pieces: no two of its values need be there at a time."""
    before = "[\n "
    for value in values:
        yield before + format_json(value).rstrip("\n").replace("\n", "\n ")
        before = ",\n "
    yield "[]\n" if before.startswith("[") else "\n]\n"


def render_sheets(
    form: str,
    sheets: Sequence[Sheet],
    before: Sequence[str],
    kind: type[SheetRecord],
    records: Iterable[SheetRecord],
) -> str:
    """Tables of words below lines, or the same as records of a kind, in the format of this name."""
    values = [record.model_dump(mode="json") for record in records]
    return find_sheet_format(form).render(
        SheetContent(sheets, before, tuple(kind.model_fields), values)
    )


@overload
def drop_zero_fraction(value: float) -> float: ...
@overload
def drop_zero_fraction(value: float | None) -> float | None: ...
def drop_zero_fraction(value: float | None) -> float | None:
    """A whole number as such, without a point: a median of counts is a float."""
    return value if value is None or value != int(value) else int(value)


def _escape_csv_cell(words: str) -> str:
    """Words in a cell of CSV: one that a spreadsheet would compute begins with an apostrophe."""
    line = _join_lines(words)
    return (
        f"'{line}"
        if line.startswith(FORMULA_STARTS) and not NUMBER_PATTERN.fullmatch(line)
        else line
    )


def _join_lines(said: str) -> str:
    return make_printable(" ".join(said.split()))
