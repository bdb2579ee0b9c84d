# SPDX-License-Identifier: GPL-2.0-or-later
"""Quoted strings and arguments, as strace prints them and as a recorded load has them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.catalog.from_strace.words import (
    parse_call_arguments,
    parse_string_argument,
    quote_load_word,
    unescape_string_body,
)


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        (r'"plain"', b"plain"),
        (r'"a\nb\tc\\d\"e"', b'a\nb\tc\\d"e'),
        (r'"\0\1\12\123x\x7f\xff"', b"\0\1\n\x53x\x7f\xff"),
        (r'"\303\251"', "é".encode()),
        (r'"\0001"', b"\x001"),
        ('""', b""),
    ],
)
def test_strings_are_the_bytes_that_strace_means(printed: str, meant: bytes) -> None:
    assert parse_string_argument(printed) == meant


@pytest.mark.parametrize("printed", ['"cut"...', "0x7ffc", "NULL", '"open', "3"])
def test_what_is_no_whole_string_is_none(printed: str) -> None:
    assert parse_string_argument(printed) is None


SHORT = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r"}


def printed(data: bytes, way: str) -> str:
    """The same bytes in one of the ways in which strace may print them."""
    ways = {
        "octal": lambda b: f"\\{b:03o}",
        "hex": lambda b: f"\\x{b:02x}",
        "short": lambda b: (
            f"\\{SHORT[b]}"
            if b in SHORT
            else (f"\\{b:03o}" if not 32 <= b < 127 else f"\\{chr(b)}" if b in b'"\\' else chr(b))
        ),
    }
    return f'"{"".join(map(ways[way], data))}"'


@given(st.binary(max_size=40), st.sampled_from(["octal", "hex", "short"]))
def test_every_way_to_print_bytes_is_read_back(data: bytes, way: str) -> None:
    assert parse_string_argument(printed(data, way)) == data


@given(st.binary(max_size=40))
def test_words_of_a_load_are_read_back_and_no_template(data: bytes) -> None:
    word = quote_load_word(data)
    assert not re.search(r"[{}'\x00-\x1f\x7f-\xff]", word)
    assert word.format() == word
    assert (unescape_string_body(word[1:-1]) if word.startswith('"') else word.encode()) == data
    assert word.startswith('"') or " " not in word


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ('3, "a, b)", 4) = 4', ["3", '"a, b)"', "4"]),
        ("", None),
        (") = 0", []),
        ('3</data/a, (b)>, [{iov_base="x", iov_len=1}, {iov_len=2}], 2) = 3', None),
        ("3</dev/tty<char 5:0>>, {st_mode=S_IFREG|0644, st_size=5, ...}) = 0", None),
    ],
)
def test_arguments_are_split_between_commas(text: str, split: list[str] | None) -> None:
    found = parse_call_arguments(text)
    if split is not None or not text:
        assert (found[0] if found else None) == split
    else:
        assert found is not None
        assert text[found[1] :].startswith(") = ")
        assert len(found[0]) == (3 if "iov" in text else 2)
