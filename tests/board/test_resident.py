# SPDX-License-Identifier: GPL-2.0-or-later
"""The curve of a process's memory keeps its length and its shape."""

from __future__ import annotations

import mmap
import os

from hypothesis import given
from hypothesis import strategies as st

from nandlab.board.virtual.hostmemory import SAMPLES_MAX, MemoryCurve, read_resident_bytes


@given(st.integers(0, 5000))
def test_a_curve_is_short_and_even(n: int) -> None:
    curve = MemoryCurve()
    for i in range(n):
        curve.add(i)
    assert len(curve.samples) <= SAMPLES_MAX
    assert n < SAMPLES_MAX or len(curve.samples) >= SAMPLES_MAX // 2
    steps = {b - a for a, b in zip(curve.samples, curve.samples[1:], strict=False)}
    assert len(steps) <= 1
    assert not n or curve.samples[0] == 0
    assert n - 1 - (curve.samples or [-1])[-1] < max(steps, default=1)


def test_memory_that_is_taken_is_seen() -> None:
    """Of pages of their own: a large process may have that much free in its heap."""
    before = read_resident_bytes(os.getpid())
    with mmap.mmap(-1, 64 << 20) as taken:
        for page in range(0, len(taken), mmap.PAGESIZE):
            taken[page] = 1
        after = read_resident_bytes(os.getpid())
        assert before and after
        assert abs(after - before - len(taken)) < 4 << 20


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert read_resident_bytes(2**22 + 1) is None
    curve = MemoryCurve()
    curve.add(None)
    assert curve.samples == []
