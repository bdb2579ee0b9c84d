# SPDX-License-Identifier: GPL-2.0-or-later
"""A longer latency of the simulated chip is in the board's clock to the nanosecond."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from statistics import median_low

import pytest
from support.cases import UNLOAD, Cases, run_cases
from support.chipsteps import run
from test_simnand_time import (
    CHIPS,
    DEBUGFS,
    SYSTEM_CALL_NS,
    WITHIN_TICK_NS,
    counters,
    load,
    predicted_ns,
)

from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog import files as catalog
from nandlab.catalog.chip import ChipModel

LATENCIES = {"erase": "t_bers_ns", "program": "t_prog_ns", "read": "t_r_ns"}


MORE_NS = 1009


HIDDEN_NS = 25_000
"""Longer than simnand's own work for a page or a block."""


SLAB_NS = 36
"""What the kernel's slabs may move erases and programs by, from one loading of the module to the
next: the look-ups of a page of a buffer on its slab's first page take six instructions less.
Programs of K9GAG08U0M were nine off; why was not traced. Where one job had a chip at both latencies
in turn, each of seven programs once took three less."""


ROUNDED_NS = 1
"""The TSC's cycles at 999.999 MHz are rounded to ns wherever the clock is read: each way."""


def usual_ns(chip: ChipModel, kind: str) -> int:
    """The latency that is made longer: the chip's, if it can be seen in the clock.

    One longer than a tick would end within a tick's interrupt, or not, by chance. A chip without
    times has one that is longer than simnand's own work, which hides what is shorter.
    """
    own: int = getattr(chip.timing, LATENCIES[kind])
    return min(own or HIDDEN_NS, WITHIN_TICK_NS // 3)


def latency_work(
    board: QemuBoard, chip: ChipModel, kinds: tuple[str, ...], more_ns: int
) -> list[Step]:
    """Of each kind so many operations as end within a tick, at a latency so much longer."""
    words: dict[str, str | int] = {"warp_slice_ns": 10**9, "register_hits": 1}
    words |= {LATENCIES[kind]: usual_ns(chip, kind) + more_ns for kind in kinds}
    steps = [load(board, chip, **words)]
    for kind in kinds:
        what = "reread" if kind == "read" else kind
        steps.append(Step(kind, f"timecheck --count {operations(chip, kind)} {what}"))
    return [*steps, Step("counters", f"cat {DEBUGFS}/counters"), UNLOAD]


def operations(chip: ChipModel, kind: str) -> int:
    """How many end within less than a tick: the timer interrupt never sets in.

    Not so simple for reads, which loading does too, of all blocks' markers: after another tR the
    kernel may place the buffer of a read elsewhere in its slab, and take three instructions less
    for one on the slab's first page. A page that is in the register is read into the same buffer,
    without tR: what the others took longer is of the array alone.
    """
    usual = usual_ns(chip, kind)
    own: int = getattr(chip.timing, LATENCIES[kind])
    one_ns = predicted_ns(chip)[kind] - own + usual + SYSTEM_CALL_NS
    return max(1, min(7, WITHIN_TICK_NS // (one_ns * (1 + (kind == "read")))))


def array_ns(record: JobRecord, chip: ChipModel, kind: str) -> int:
    """What latency_work() took, less what it takes without the array, if that was timed."""
    again = operations(chip, kind) * (kind == "read")
    assert counters(record)["buffer_hits"] == again
    took = json.loads(record[kind].stdout)
    return int(took["ns"]) - int(took.get("again_ns", 0))


TIMED_TOGETHER = ("erase", "program"), ("read",)
"""Loading a chip reads, so of its latencies that of reads is longer in jobs of its own."""


@pytest.fixture(scope="module")
def works_of(board: QemuBoard) -> Callable[[tuple[str, ...]], dict[int, Cases]]:
    """Two jobs that do these kinds of operations on every chip, each job at one latency.

    So a chip's buffers lie where they lie at the other latency: the same was loaded before.
    """
    chips = {name: catalog.load_noun("chips", name, ChipModel) for name in CHIPS}

    def work(kinds: tuple[str, ...]) -> dict[int, Cases]:
        return {
            more_ns: run_cases(
                board,
                {name: latency_work(board, chip, kinds, more_ns) for name, chip in chips.items()},
            )
            for more_ns in (0, MORE_NS)
        }

    return cache(work)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=pytest.mark.xdist_group(f"latency-{kinds[0]}"))
        for kinds in TIMED_TOGETHER
        for kind in kinds
    ],
)
def longer_latencies(
    request: pytest.FixtureRequest, works_of: Callable[[tuple[str, ...]], dict[int, Cases]]
) -> tuple[str, dict[int, Cases]]:
    """The kind of operation, and the jobs that did it at both latencies."""
    return request.param, works_of(next(k for k in TIMED_TOGETHER if request.param in k))


def over_ns(works: dict[int, Cases], kind: str, name: str) -> int:
    """What the longer latency took beyond what it is longer."""
    chip = catalog.load_noun("chips", name, ChipModel)
    usual, longer = (array_ns(works[more_ns][name], chip, kind) for more_ns in (0, MORE_NS))
    return longer - usual - operations(chip, kind) * MORE_NS


@pytest.mark.parametrize("name", CHIPS)
def test_under_warp_a_latency_is_in_the_clock_to_the_ns(
    longer_latencies: tuple[str, dict[int, Cases]], name: str
) -> None:
    kind, works = longer_latencies
    limit = 3 * ROUNDED_NS if kind == "read" else SLAB_NS + ROUNDED_NS
    assert abs(over_ns(works, kind, name)) <= limit


def test_under_warp_a_latency_is_exact_but_for_the_kernel_s_slabs(
    longer_latencies: tuple[str, dict[int, Cases]],
) -> None:
    """Slabs move a latency up as often as down; what the clock lacked would move all one way."""
    kind, works = longer_latencies
    assert abs(median_low(over_ns(works, kind, name) for name in CHIPS)) <= ROUNDED_NS


FEW = ("apf27",)
"""The chips that `make test` has boards of their own for; `make test-long` has for all."""


@pytest.mark.parametrize("kind", LATENCIES)
@pytest.mark.parametrize(
    "name", [n if n in FEW else pytest.param(n, marks=pytest.mark.long) for n in CHIPS]
)
def test_under_warp_a_latency_is_exact_on_boards_of_its_own(
    board: QemuBoard, name: str, kind: str
) -> None:
    """Where the module is loaded first thing, the kernel's slabs are alike."""
    chip = catalog.load_noun("chips", name, ChipModel)
    usual, longer = (
        array_ns(run(board, *latency_work(board, chip, (kind,), more_ns)), chip, kind)
        for more_ns in (0, MORE_NS)
    )
    over = longer - usual - operations(chip, kind) * MORE_NS
    assert abs(over) <= ROUNDED_NS * (3 if kind == "read" else 1)
