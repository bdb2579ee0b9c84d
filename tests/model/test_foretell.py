# SPDX-License-Identifier: GPL-2.0-or-later
"""What is foretold of a file, in which order, and what is told to be unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandlab.base.errors import UsageError
from nandlab.model import cost, foretell, score
from nandlab.model.cost import Rates
from nandlab.onflash.jffs2 import Dropped
from nandlab.onflash.layout import Layout, Piece

FLASH, HEADER, PAGE = 2048, 68, 4096
PRICES = {**dict.fromkeys(cost.KINDS, 0.0), "call": 5.0, "paper": 50.0, "open_node": 2.0}
RATES = Rates(1000, 2, PRICES)


def file(pages: int) -> Layout:
    """A file written in order, each page in a node of its own, 8 KiB apart."""
    pieces = [Piece(2, i * PAGE, PAGE, i * 8192 + HEADER, PAGE, 0, "", PAGE) for i in range(pages)]
    nodes = {2: [i * 8192 for i in reversed(range(pages))]}
    return Layout(
        "jffs2", 1 << 20, 1 << 17, FLASH, [], {2: "/a"}, {2: pages * PAGE}, pieces, {}, nodes
    )


def test_the_open_comes_first_and_then_each_page() -> None:
    opened, *calls = foretell.calls(file(2), [], 2, [1, 0], RATES)
    assert (opened.page, opened.flash, opened.nodes) == (None, [4, 0, 4], 2)
    assert opened.ns == 3 * 1000 + 2 * (2 * 2.0)
    assert [(c.page, c.flash) for c in calls] == [(1, [5, 6]), (0, [0, 1, 2])]
    assert [c.ns for c in calls] == [2 * 1000 + 10, 3 * 1000 + 10]


def test_the_papers_formula_has_one_overhead_and_no_open() -> None:
    opened, call = foretell.calls(file(1), [], 2, [0], RATES, "paper")
    assert opened.ns is None and opened.flash
    assert call.ns == len(call.flash) * 1000 + 2 * 50


def test_a_page_that_a_lost_node_may_touch_is_not_known() -> None:
    lost = [Dropped(0, 100, "torn", 2, PAGE, 10)]
    opened, first, second = foretell.calls(file(2), lost, 2, [0, 1], RATES)
    assert [c.known for c in (opened, first, second)] == [False, True, False]
    assert (opened.ns, second.ns) == (None, None)
    assert not any(
        c.known for c in foretell.calls(file(2), [Dropped(0, 9, "torn", 0, 0, 0)], 2, [0], RATES)
    )
    other = [Dropped(0, 100, "torn", 3, 0, PAGE)]
    assert all(c.known for c in foretell.calls(file(2), other, 2, [0, 1], RATES))


@given(st.integers(0, 99), st.integers(0, 300))
def test_a_random_order_has_every_page_once_and_is_its_seeds(seed: int, pages: int) -> None:
    order = foretell.order_of(f"random:{seed}", pages, "/a")
    assert sorted(order) == list(range(pages))
    assert order == foretell.order_of(f"random:{seed}", pages, "/a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("random", "give a seed, a number: random:1"),
        ("random:x", "give a seed, a number: random:1"),
        ("backwards", "must be sequential, random:SEED or a trace's folder"),
    ],
)
def test_an_order_that_is_none_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        foretell.order_of(text, 3, "/a")


def test_a_folder_that_is_no_trace_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a trace's folder"):
        foretell.order_of(str(tmp_path), 3, "/a")


def test_errors_are_nearest_ranks_of_shares() -> None:
    told = score.errors([100.0] * 100, [100.0 + i for i in range(100)])
    assert told == score.Errors(100, pytest.approx(0.495), *map(pytest.approx, (0.49, 0.98, 0.99)))
    one = score.errors([200.0], [100.0])
    assert one == score.Errors(1, -0.5, 0.5, 0.5, 0.5)
