# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown of text from elsewhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.printable import make_printable

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
