# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown of text from elsewhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.printable import make_printable, shorten_line

ANY = st.text(st.characters(exclude_categories=()))
"""Lone surrogates too, as JSON can write them."""


@given(ANY)
def test_what_is_shown_is_printable(text: str) -> None:
    assert make_printable(text).isprintable()
    assert make_printable(text) == text or not text.isprintable()


@given(ANY, ANY)
def test_exact_tells_texts_apart(one: str, other: str) -> None:
    assert make_printable(one, exact=True).isprintable()
    escapes = make_printable(one, exact=True) == make_printable(other, exact=True)
    assert escapes == (one.encode(errors="surrogatepass") == other.encode(errors="surrogatepass"))


def test_examples() -> None:
    assert make_printable("a\x1b[31m\n\u202e\udc80\\é") == r"a\x1b[31m\x0a\xe2\x80\xae\x80\é"
    assert make_printable("\\\ud800", exact=True) == r"\x5c\xed\xa0\x80"


@given(st.text(max_size=300), st.integers(1, 50_000), st.text(max_size=300))
def test_a_long_value_in_a_message_is_short_and_what_surrounds_it_stays(
    begin: str, count: int, end: str
) -> None:
    value = "v" * count
    line = f"{begin} {value!r}: {end}"
    short = shorten_line(line)
    assert len(short) < 1700
    assert (short == line) or (count > 300 and short.startswith(begin) and short.endswith(end))


def test_a_long_line_of_short_words_keeps_its_ends() -> None:
    line = "where " + "a b " * 50_000 + "what to do"
    assert len(shorten_line(line)) < 4000
    assert shorten_line(line).startswith("where a b") and shorten_line(line).endswith("what to do")
