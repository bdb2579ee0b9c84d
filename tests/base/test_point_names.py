# SPDX-License-Identifier: GPL-2.0-or-later
"""The name of a campaign's point, as text and as a value."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.strings import Point, PointName, does_text_fit_type, parse_cut_point_name

U32, U64 = (1 << 32) - 1, (1 << 64) - 1
NAMES = st.builds(
    PointName,
    operation=st.integers(0, U32),
    variant=st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20),
    seed=st.integers(0, U64),
    recovery=st.lists(st.integers(0, U32), max_size=2).map(tuple),
)


@given(name=NAMES)
def test_a_name_is_the_same_after_its_text_is_parsed(name: PointName) -> None:
    assert parse_cut_point_name(str(name)) == name
    assert does_text_fit_type(Point, str(name))


@given(text=st.from_regex(r"[0-9]{1,3}:[a-z]{1,4}:[0-9]{1,3}( recovery [0-9]{1,2}(, [0-9])?)?\s?"))
def test_a_text_is_refused_or_is_the_same_again(text: str) -> None:
    if does_text_fit_type(Point, text):
        assert str(parse_cut_point_name(text)) == text
    else:
        with pytest.raises(ValueError, match="no point"):
            parse_cut_point_name(text)


def test_what_a_name_is_of() -> None:
    name = parse_cut_point_name("5:subset:7 recovery 3, 17")
    assert name == PointName(5, "subset", 7, (3, 17))
    assert name.without_recovery == replace(name, recovery=()) == parse_cut_point_name("5:subset:7")
