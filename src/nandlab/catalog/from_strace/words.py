# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of a trace and of a recorded load: quoted strings, and arguments between commas."""

from __future__ import annotations

import re

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?$')
"""A string as strace prints it; the dots say that it was cut."""
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPE_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27}
PART = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|(?<=[0-9D])<(?:[^<>]|<[^<>]*>)*>"
    r"|/\*.*?\*/"
    r"|[,()\[\]{}]"
)
"""What may hold a comma or a bracket, or is one: strings, the paths of -y, comments."""
OPENS, CLOSES = "([{", ")]}"
PLAIN_WORD = re.compile(r"[A-Za-z0-9._/@%:~^*?!$&;,-][A-Za-z0-9._/@%:~^*?!$&;,=+#-]*")
"""A word that a recorded load has without quotes."""


def unescape_string_body(body: str) -> bytes:
    """The bytes between the quotes of a string; each character of ``body`` is a byte."""
    return _ESCAPE.sub(_unescape_character, body).encode("latin-1", errors="replace")


def _unescape_character(found: re.Match[str]) -> str:
    word = found[1]
    if word[0] == "x" and len(word) > 1:
        return chr(int(word[1:], 16))
    if word[0] in "01234567":
        return chr(int(word, 8) & 0xFF)
    return chr(_ESCAPE_LETTERS[word]) if word in _ESCAPE_LETTERS else word


def parse_string_argument(argument: str) -> bytes | None:
    """An argument as the string that it is; None if it is none, or was cut."""
    found = STRING.match(argument)
    return None if found is None or found[2] else unescape_string_body(found[1])


def quote_load_word(word: bytes) -> str:
    """A word of a recorded load, in quotes where it needs them; without braces, for templates."""
    text = word.decode("latin-1")
    if PLAIN_WORD.fullmatch(text):
        return text
    return f'"{"".join(_escape_character(c) for c in text)}"'


def _escape_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    plain = " " <= character <= "~" and character not in "'{}"
    return character if plain else f"\\x{ord(character):02x}"


def parse_call_arguments(text: str) -> tuple[list[str], int] | None:
    """The arguments before the bracket that closes a call, and where that is; None: none does."""
    arguments: list[str] = []
    depth = begin = 0
    for part in PART.finditer(text):
        is_ = part[0]
        if is_ == "," and not depth:
            arguments.append(text[begin : part.start()].strip())
            begin = part.end()
        elif is_ in OPENS:
            depth += 1
        elif is_ in CLOSES:
            depth -= 1
            if depth < 0:
                last = text[begin : part.start()].strip()
                return [*arguments, *([last] if last or arguments else [])], part.start()
    return None
