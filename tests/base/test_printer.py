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
from nandlab.base.console import Console, escape
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printable import printable, printable_lines

ANY = st.text(st.characters(exclude_categories=()), max_size=40)
HOSTILE = "a\x1b[31m\x1b]0;pwn\x07\x9b31m\nb\rc\t\x7f\u202e[red]:smile:"


@given(ANY)
def test_a_text_of_lines_keeps_its_lines_and_tabs_and_nothing_else(text: str) -> None:
    shown = printable_lines(text)
    assert shown.count("\n") == text.count("\n") and shown.count("\t") == text.count("\t")
    assert all(
        c.isprintable() for c in shown.replace("\r\n", "").replace("\n", "").replace("\t", "")
    )
    assert printable_lines(shown) == shown


def test_examples() -> None:
    assert printable_lines("a\tb\r\n\x1b\rc\r") == "a\tb\r\n\\x1b\\x0dc\\x0d"


def test_a_line_stays_one_on_both_streams(capsys: pytest.CaptureFixture[str]) -> None:
    printer.write_lines(HOSTILE, 7)
    printer.write_paragraphs([["a", HOSTILE], ["b"]])
    printer.note(HOSTILE)
    out, err = capsys.readouterr()
    line = printable(HOSTILE)
    assert out == f"{line}\n7\na\n{line}\n\nb\n"
    assert err == f"{line}\n"


@given(ANY)
def test_json_is_printable_and_says_the_same(text: str) -> None:
    shown = printer.json_text({text: [text]})
    assert printable_lines(shown) == shown and shown.isascii()
    assert json.loads(shown) == {text: [text]}


def test_what_others_write_meets_the_guard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    for _ in range(2):
        printer.guard()
    print(HOSTILE, file=sys.stderr)
    sys.stdout.writelines([HOSTILE, "\n"])
    assert capsys.readouterr() == (f"{printable_lines(HOSTILE)}\n",) * 2
    assert not hasattr(sys.stdout, "buffer") and not hasattr(sys.stderr, "detach")
    assert not isinstance(printer.behind(sys.stdout), printer.Guard)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_console_styles_what_is_escaped(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    console = Console(file=out, width=400, force_terminal=terminal, highlight=False)
    table = Table(title=escape(HOSTILE))
    table.add_column(escape(HOSTILE))
    table.add_row(HOSTILE.replace("[red]", ""))
    console.print(f"[bold]{escape(HOSTILE)}[/bold]")
    console.print(HOSTILE, markup=False)
    console.print(Text(HOSTILE.replace("\x07", "")), table)
    assert ("\x1b" in out.getvalue()) is terminal
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert shown.count("\\x1b[31m\\x1b]0;pwn") == 6 and shown.count(":smile:") == 6
    assert shown.count("[red]") == 5
    assert shown.count("pwn\\x07") == 5  # rich itself would leave it out
    assert printable_lines(shown) == shown


def test_the_lines_of_an_error_stay_as_many() -> None:
    error = UsageError("a\nb\x1b", "c")
    assert error.lines == ("a\\x0ab\\x1b", "c") and str(error) == "a\\x0ab\\x1b\nc"
    assert str(NandlabError("plain: é")) == "plain: é"
