# SPDX-License-Identifier: GPL-2.0-or-later
"""Distributions in C and in Python: the same texts are accepted, with the same means."""

from __future__ import annotations

import math

import pytest
from filetrees import filetree, options, told
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.catalog import distributions

NUMBERS = st.one_of(
    st.integers(0, 70).map(str),
    st.integers(30, 45).map(lambda digits: "0." + "0" * digits),
    st.decimals(0, 2000, places=3).map(str),
    st.sampled_from(
        [
            "",
            "-1",
            "-0",
            "nan",
            "inf",
            "1e3",
            "+1",
            ".5",
            "5.",
            "0x1",
            "1_0",
            "1 2",
            "٣",
            "00",
            "1000000000000",
            "1000000000001",
        ]
    ),
)
BLANK = st.sampled_from(["", "", "", " ", "\t ", "\n"])
KINDS = st.sampled_from([*distributions.USAGE, "", "Norm", "norm2", "gauss", "pow"])
BINS = st.tuples(NUMBERS, st.sampled_from([":", ":", ":", "", " : ", "::"]), NUMBERS).map("".join)
ARGUMENTS = st.lists(st.one_of(NUMBERS, BINS), max_size=4).map(",".join)
SHAPED = st.tuples(
    BLANK, KINDS, BLANK, st.sampled_from(["(", "(", "(", "((", ""]), BLANK, ARGUMENTS, BLANK,
    st.sampled_from([")", ")", ")", "))", "", ")x"]), BLANK,
).map("".join)  # fmt: skip
LOOSE = st.text("0123456789.,:()- \tenormuifpw2tabl", max_size=24)


def accepted(text: str) -> bool:
    """Whether the program takes it."""
    done = filetree("make", "nowhere", *options(depth=1, files="0", size=text), "--dry-run")
    assert done.returncode in (0, 2), done.stderr
    assert (done.returncode == 2) == ("--size" in done.stderr)
    return done.returncode == 0


@settings(max_examples=400)
@example("table(" + ",".join(f"{i}:1" for i in range(1000)) + ")")
@example("table(" + ",".join(f"{i}:1" for i in range(1001)) + ")")
@example("table(1:1,1:2)")
@example("table(1:1000000001)")
@example("pow2(1,549755813888)")
@example("pow2(1,1099511627776)")
@example("lognormal(0.0,1)")
@example("lognormal(1,10.0001)")
@example("uniform(1,2.0)")
@example("norm( 4 ,\t1 ) ")
@given(st.one_of(SHAPED, LOOSE, NUMBERS))
def test_both_accept_and_refuse_the_same(text: str) -> None:
    wrong = distributions.check_distribution(text)
    assert accepted(text) == (wrong is None), wrong
    if wrong is None:
        assert distributions.parse_distribution(
            distributions.expand_distribution(text)
        ) == distributions.parse_distribution(text)
        assert accepted(distributions.expand_distribution(text))


def test_a_table_by_name_is_the_catalogs() -> None:
    text = distributions.expand_distribution(" table( irlam-1993 ) ")
    assert text.startswith("table(0:24,4:2,8:4,")
    assert accepted(text)
    assert distributions.check_distribution("table(irlam)") is not None
    with pytest.raises(UsageError, match=r"no 'irlam' in catalog/tables; .*irlam-1993"):
        distributions.parse_distribution("table(irlam)")


MEANS = [
    "17", "norm(4,1)", "norm(0.2,1.5)", "norm(2.4,0.05)", "norm(1000,64)", "uniform(3,11)",
    "lognormal(1.2,0.8)", "lognormal(1024,0.5)", "pow2(2,512)", "table(10:1,20:2,1000:1)",
]  # fmt: skip


@pytest.mark.parametrize("text", MEANS)
def test_means_and_deviations_are_those_of_many_draws(text: str) -> None:
    count = 36_000  # whole turns of pow2, whole tables
    draw = distributions.parse_distribution(text)
    found = told("make", "x", *options(depth=1, files=str(count), size=text, seed=9), "--dry-run")
    figures = found["figures"]
    error = max(draw.sd, 0.5) / math.sqrt(count)
    assert abs(figures["size_mean"] - draw.mean) < 3.5 * error
    # rounding adds a twelfth to the variance, and the cut takes some
    assert abs(figures["size_sd"] - draw.sd) < 0.05 * draw.sd + 0.6


@pytest.mark.parametrize(
    ("text", "least"),
    [("norm(4,1)", 0), ("norm(4,0)", 4), ("uniform(3,9)", 3), ("pow2(4,8)", 4), ("table(7:1)", 7)],
)
def test_the_least_draw_is_known(text: str, least: int) -> None:
    assert distributions.parse_distribution(text).at_least == least
