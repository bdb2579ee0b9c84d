# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from elsewhere, made safe to show: in a line of a terminal or of an error message."""

from __future__ import annotations

import re

LINE_CHARACTERS = {ord("\t"): None, ord("\n"): None}
"""What a text of lines keeps."""
LONG_WORD = re.compile(r"\S{401,}")
WORD_ENDS = (160, 80)
"""Characters that are kept of the begin and the end of a word of more than 400."""
LINE_MAX = 6000
LINE_ENDS = (2000, 1000)
"""The same of a line that is longer; a message ends with what to do."""


def make_printable(text: str, exact: bool = False) -> str:
    r"""The text in one line without control characters, each of which becomes ``\xNN``.

    What Python calls not printable is escaped, byte by byte of its UTF-8: line ends, ESC, marks
    that turn the direction of writing, and bytes of file names that are no UTF-8. ``exact`` escapes
    the backslash too, so that two texts that differ never look the same.
    """
    if text.isprintable() and not exact:
        return text
    return "".join(
        c if c.isprintable() and not (exact and c == "\\") else _escape_character(c) for c in text
    )


def shorten_line(line: str) -> str:
    """A line of a message without the middle of a word, or of the line, that is too long to read.

    A wrong value is quoted in it, of whatever length; what it begins and ends with tells it apart.
    """
    short = LONG_WORD.sub(lambda word: _cut_middle(word[0], WORD_ENDS), line)
    return short if len(short) <= LINE_MAX else _cut_middle(short, LINE_ENDS)


def _cut_middle(text: str, ends: tuple[int, int]) -> str:
    begin, end = ends
    return f"{text[:begin]}[... {len(text) - begin - end:,} characters ...]{text[-end:]}"


def make_lines_printable(text: str) -> str:
    r"""The same of a text of lines: tabs and line ends stay, also those of ``\r\n``."""
    if text.translate(LINE_CHARACTERS).isprintable():  # the quick way of long texts
        return text
    *lines, last = text.split("\n")
    return "".join(f"{_escape_line(line)}\n" for line in lines) + _escape_cells(last)


def _escape_line(line: str) -> str:
    return _escape_cells(line.removesuffix("\r")) + ("\r" if line.endswith("\r") else "")


def _escape_cells(line: str) -> str:
    return "\t".join(map(make_printable, line.split("\t")))


def _escape_character(character: str) -> str:
    byte = "\udc80" <= character <= "\udcff"
    content = character.encode(errors="surrogateescape" if byte else "surrogatepass")
    return "".join(f"\\x{b:02x}" for b in content)
