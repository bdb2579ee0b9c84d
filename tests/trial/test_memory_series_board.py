# SPDX-License-Identifier: GPL-2.0-or-later
"""RAM over time on the real board: it repeats, agrees with the other figures, and costs little."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from support.smalltrial import WRITABLE, spec

from nandlab.board.virtual.qemu import QemuBoard
from nandlab.plan.medium import MOUNTPOINT
from nandlab.plan.trialspec import MemorySeries, TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution

pytestmark = pytest.mark.board

INTERVAL_NS = 10_000_000
ASKED = MemorySeries(interval_ms=10)
HUNGRY = """awk 'BEGIN {{ text = sprintf("%1000s", "x"); while (1) held[n++] = text n }}'"""
"""Takes memory, a thousand bytes at a time, until it is killed."""
SERIES = {"measure": ["memory-series"], "memory_series": ASKED}


def run(board: QemuBoard, made: TrialSpec) -> Trial:
    return asyncio.run(execution.run_trial(made, board, "test"))


@pytest.mark.parametrize("name", WRITABLE)
def test_the_series_agrees_with_what_is_told_of_the_whole(board: QemuBoard, name: str) -> None:
    made = spec(board, name).model_copy(update=SERIES)
    trial = run(board, made)
    assert (trial.error, trial.kernel_log) == (None, [])
    assert [w.code for w in trial.warnings if w.code.startswith("memory")] == ["memory_measured"]
    told = trial.measured["memory"]
    held, given = trial.series
    assert all((t - held.t_ns[0]) % INTERVAL_NS == 0 for t in held.t_ns)
    assert all(a < b for a, b in pairwise(held.t_ns))
    assert held.values[0] == told["mounted"]  # nothing was filled between the two
    assert max(held.values) <= told["peak"]
    kept = [a - b for a, b in zip(held.values, given.values, strict=True)]
    assert 0 < min(kept) <= max(kept) <= told["kept_peak"] <= told["peak"]
    # one is read just after the other, and a collector's thread may do something in between
    of_all = sum(n for key, n in told.items() if key.startswith("of."))
    assert of_all == pytest.approx(told["end"], abs=4096)
    # from its first sample to its last it spans the load, but for less than an interval
    load_ns = next(s.ns for s in trial.steps if s.name == "workload")
    assert load_ns - INTERVAL_NS < held.t_ns[-1] - held.t_ns[0] < load_ns + 2 * INTERVAL_NS


def test_it_repeats_to_the_byte_and_to_the_nanosecond(board: QemuBoard) -> None:
    made = spec(board, "jffs2").model_copy(update=SERIES)
    first, second = run(board, made), run(board, made)
    assert first.series == second.series
    assert first.measured == second.measured
    assert len(first.series[0].t_ns) > 20


def test_a_ring_that_is_too_small_says_what_it_lost(board: QemuBoard) -> None:
    asked = {**SERIES, "memory_series": MemorySeries(interval_ms=10, samples=5)}
    trial = run(board, spec(board, "jffs2").model_copy(update=asked))
    assert trial.error is None
    (doubt,) = [w for w in trial.warnings if w.code == "memory_series_lost"]
    assert doubt.text.startswith("the first ")
    assert len(trial.series[0].t_ns) <= 6


def test_a_load_that_is_killed_for_want_of_memory_fails_and_the_board_goes_on(
    board: QemuBoard,
) -> None:
    made = spec(board, "jffs2").model_copy(update=SERIES)
    hungry = made.workload.model_copy(update={"command": HUNGRY})
    trial = run(board, made.model_copy(update={"workload": hungry}))
    assert trial.status == "trial_failed"
    assert trial.error is not None
    assert "the board ran out of memory" in trial.error
    assert run(board, made).ok


def test_the_series_costs_little_beside_the_rest(board: QemuBoard) -> None:
    """Most of the cost is that each allocation is looked at, which measuring memory costs too.

    A load of next to nothing but allocations, and no flash operation whose time could move.
    """
    made = spec(board, "jffs2")
    names = "touch $(seq -f /mnt/%g 300) && rm $(seq -f /mnt/%g 300)"
    load = made.workload.model_copy(update={"command": names.replace("/mnt", MOUNTPOINT)})
    made = made.model_copy(update={"workload": load})
    told = {}
    asked_for: dict[str, dict[str, object]] = {
        "none": {},
        "memory": {"measure": ["memory"]},
        "series": {"measure": ["memory-series"], "memory_series": MemorySeries(interval_ms=1)},
    }
    for name, asked in asked_for.items():
        trial = run(board, made.model_copy(update=asked))
        told[name] = next(s.ns for s in trial.steps if s.name == "workload")
    assert told["none"] < told["memory"]
    assert abs(told["series"] / told["memory"] - 1) < 0.05, told
