# SPDX-License-Identifier: GPL-2.0-or-later
"""No text from elsewhere brings a control character to a terminal, whatever way it takes."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from nandlab.base import printer
from nandlab.base.console import Console, escape_rich_markup
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printable import make_lines_printable, make_printable

ANY = st.text(st.characters(exclude_categories=()), max_size=40)
HOSTILE = "a\x1b[31m\x1b]0;pwn\x07\x9b31m\nb\rc\t\x7f\u202e[red]:smile:"


@given(ANY)
def test_a_text_of_lines_keeps_its_lines_and_tabs_and_nothing_else(text: str) -> None:
    shown = make_lines_printable(text)
    assert shown.count("\n") == text.count("\n") and shown.count("\t") == text.count("\t")
    assert all(
        c.isprintable() for c in shown.replace("\r\n", "").replace("\n", "").replace("\t", "")
    )
    assert make_lines_printable(shown) == shown


def test_examples() -> None:
    assert make_lines_printable("a\tb\r\n\x1b\rc\r") == "a\tb\r\n\\x1b\\x0dc\\x0d"


def test_a_line_stays_one_on_both_streams(capsys: pytest.CaptureFixture[str]) -> None:
    printer.print_lines(HOSTILE, 7)
    printer.print_paragraphs([["a", HOSTILE], ["b"]])
    printer.print_note(HOSTILE)
    out, err = capsys.readouterr()
    line = make_printable(HOSTILE)
    assert out == f"{line}\n7\na\n{line}\n\nb\n"
    assert err == f"{line}\n"


@given(ANY)
def test_json_is_printable_and_says_the_same(text: str) -> None:
    shown = printer.format_json({text: [text]})
    assert make_lines_printable(shown) == shown and shown.isascii()
    assert json.loads(shown) == {text: [text]}


def test_what_others_write_meets_the_guard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    for _ in range(2):
        printer.guard_standard_streams()
    print(HOSTILE, file=sys.stderr)
    sys.stdout.writelines([HOSTILE, "\n"])
    assert capsys.readouterr() == (f"{make_lines_printable(HOSTILE)}\n",) * 2
    assert not hasattr(sys.stdout, "buffer") and not hasattr(sys.stderr, "detach")
    assert not isinstance(printer.find_inner_stream(sys.stdout), printer.StreamGuard)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_console_styles_what_is_escaped(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    console = Console(file=out, width=400, force_terminal=terminal, highlight=False)
    table = Table(title=escape_rich_markup(HOSTILE))
    table.add_column(escape_rich_markup(HOSTILE))
    table.add_row(HOSTILE.replace("[red]", ""))
    console.print(f"[bold]{escape_rich_markup(HOSTILE)}[/bold]")
    console.print(HOSTILE, markup=False)
    console.print(Text(HOSTILE.replace("\x07", "")), table)
    assert ("\x1b" in out.getvalue()) is terminal
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert shown.count("\\x1b[31m\\x1b]0;pwn") == 6 and shown.count(":smile:") == 6
    assert shown.count("[red]") == 5
    assert shown.count("pwn\\x07") == 5  # rich itself would leave it out
    assert make_lines_printable(shown) == shown


def test_the_lines_of_an_error_stay_as_many() -> None:
    error = UsageError("a\nb\x1b", "c")
    assert error.lines == ("a\\x0ab\\x1b", "c") and str(error) == "a\\x0ab\\x1b\nc"
    assert str(NandlabError("plain: é")) == "plain: é"
