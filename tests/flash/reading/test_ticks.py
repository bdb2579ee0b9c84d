# SPDX-License-Identifier: GPL-2.0-or-later
"""When the kernel's tick comes, and what it adds to a call, worked out by hand."""

from __future__ import annotations

import pytest

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.flash.layouts.layout import FilePiece, Layout
from nandlab.flash.reading import times
from nandlab.flash.reading.kernelstate import KernelState
from nandlab.flash.reading.reads import FilePieces
from nandlab.flash.reading.ticks import SET_LATE_NS, SIMULATING_INSTRUCTIONS, TICK_NS, TickTimer

PAGE_NS, COST = 62_000, 2_500
"""A tick takes 10 us at 4 ns an instruction."""


def timer(before_ns: int = 500_000) -> TickTimer:
    """Of a board on which the next tick is due so long after now, which is 4 ms less that."""
    made = TickTimer(TICK_NS - before_ns, 4, COST)
    assert made.due_ns == TICK_NS
    return made


def delay(before_ns: int, *stretches: float) -> float:
    reads = [PAGE_NS] * (len(stretches) - 1)
    return timer(before_ns).delay_ns(TICK_NS - before_ns, stretches, reads)


def test_a_tick_while_the_processor_works_takes_its_whole_length() -> None:
    assert delay(50_000, 60_000) == COST * 4
    assert delay(50_000, 49_999) == 0
    assert delay(50_000, 4_060_000) == 2 * COST * 4


def test_a_tick_while_the_chip_works_takes_what_outlasts_the_chip() -> None:
    """The chip works from 10 us to 72 us."""
    assert delay(40_000, 10_000, 20_000) == 0
    assert delay(62_000, 10_000, 20_000) == 0
    assert delay(70_000, 10_000, 20_000) == 8_000
    # due before the chip began, and late: it comes then
    assert delay(72_000, 10_000, 20_000) == COST * 4


def test_a_tick_is_late_by_the_chips_time_since_its_interrupt_was_set() -> None:
    """It is due at 80 us, and comes 53 us later, by which time a call of 92 us has ended."""
    late = PAGE_NS - SIMULATING_INSTRUCTIONS * 4
    assert delay(80_000, 10_000, 20_000) == 0
    assert delay(80_000, 10_000, 9_000 + late) == COST * 4
    assert delay(80_000, 10_000, 7_000 + late) == 0


def test_the_interrupt_is_set_again_once_it_is_too_late() -> None:
    of = timer()
    begin = TICK_NS - 500_000
    assert [of.waited(begin + n * 70_000, PAGE_NS) for n in range(2)] == [0, 0]
    assert of.late_ns == of.added_ns == SET_LATE_NS
    assert of.ran(TICK_NS + SET_LATE_NS) == 0
    assert of.ran(TICK_NS + SET_LATE_NS + 1) == 1
    assert (of.due_ns, of.late_ns) == (2 * TICK_NS, 0)


def test_a_copy_goes_on_alone() -> None:
    of = timer(50_000)
    assert of.delay_ns(TICK_NS - 50_000, [60_000], []) == COST * 4
    assert of.due_ns == TICK_NS


def test_a_calls_stretches_come_to_its_instructions() -> None:
    flash, header = 2048, 68
    pieces = [
        FilePiece(2, 0, 3000, header, 4096, 0, "", 4096),
        FilePiece(2, 3000, 1096, 40 * flash + header, 1096, 0, "", 1096),
    ]
    of = Layout("jffs2", 1 << 20, 1 << 17, flash, [], {2: "/a"}, {2: 4096}, pieces, {})
    call = KernelState(of).read(FilePieces(of, 2), 0)
    by = times.find_instruction_counts("jffs2", "6.1")
    traced = {"MTD_READ": 400.0, "FLASH_READ": 300.0, "FLASH_HIT": 20.0}
    found = times.split_call_instructions(call, by, traced)
    assert len(found) == 1 + len(call.flash) == 5
    read = times.compute_chip_page_read_times(load_noun("chips", "apf27", ChipModel))
    whole = times.compute_call_ns(call, by, read, 1) - read.compute_ns(
        len(call.flash), call.registered
    )
    assert sum(found) == pytest.approx(whole + 720)
    assert min(found) > 0
    # a node's checksum comes after its last page, and before the next node's
    assert found[3] > 4096 * by.stored > found[4] > 1096 * by.stored > max(found[:3])
