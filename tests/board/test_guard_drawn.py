# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard beside the truth, on boards drawn at random: none that is used is let pass."""

from __future__ import annotations

from collections import Counter

import pytest
from drawnboards import ERASESIZE, WANTED, draw, printed

from nandlab.board.own.guard import PartitionSpec, find_erasable_partition
from nandlab.board.own.tables import Doubt, parse_kernel_tables

BOARDS, AT_ONCE = 10_000, 2_500
AGAIN = 10
"""Each board of that many is booted again, with other numbers."""


@pytest.mark.parametrize("first", range(0, BOARDS, AT_ONCE))
def test_no_board_is_let_pass_that_is_used(first: int) -> None:
    """What passes is the partition itself, whatever number it has after a boot.

    Most of the boards that do not use it pass: a guard that refuses all would be no guard.
    """
    counts: Counter[tuple[bool, bool]] = Counter()
    for seed in range(first, first + AT_ONCE):
        board = draw(seed)
        wanted = PartitionSpec(WANTED, len(board.wanted.cells) * ERASESIZE, ERASESIZE)
        for boot in (0,) if seed % AGAIN else (0, 3):
            tables = parse_kernel_tables(printed(board, boot).text())
            try:
                number = find_erasable_partition(wanted, WANTED, tables).number
            except Doubt:
                counts[board.is_used(), False] += 1
                continue
            assert not board.is_used(), (seed, boot)
            assert number == board.wanted.number, (seed, boot)
            counts[False, True] += 1
    used, refused, passed = counts[True, False], counts[False, False], counts[False, True]
    print(f"used: {used} refused; unused: {passed} passed, {refused} refused")
    assert used > AT_ONCE / 3 and passed > AT_ONCE / 3 and refused < passed / 10
