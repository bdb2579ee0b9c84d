# SPDX-License-Identifier: GPL-2.0-or-later
"""When the kernel's tick comes on a board whose clock is simnand's, and what it adds to a call.

The tick is due at multiples of 4 ms of the board's clock. Due while the chip works, it is handled
then, and delays the call only by what of it outlasts the chip. Else it takes its whole length. Its
interrupt is late by the time that simnand has added to the clock since it last set it, and simnand
sets it anew once that is ``warp_slice_ns`` (docs/time.md, How warp works). So it is known, of each
call that began at a known time, whether a tick comes in it.

Source: device/modules/simnand/warp.c, ``warp_towards()``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

TICK_NS = 4_000_000
"""Debian's kernels have 250 ticks a second."""
SLICE_NS = 100_000
"""simnand's default of ``warp_slice_ns``."""
SET_LATE_NS = 3_000
"""By how much the interrupt is late once it has been set within a wait for the chip."""
SIMULATING_INSTRUCTIONS = 2_250
"""Instructions of a page's read in which the simulated chip hands the page over, before it waits:
1,500 to 3,200 give the same ticks on traces of apf27."""


class TickTimer:
    """The interrupt of the tick, gone through a trace from an instant on."""

    def __init__(self, now_ns: int, instruction_ns: int, tick: float) -> None:
        """tick: instructions that one takes."""
        self.tick_ns = tick * instruction_ns
        self.due_ns = (now_ns // TICK_NS + 1) * TICK_NS
        self.late_ns = 0.0
        """Of the interrupt as it is set."""
        self.added_ns = 0.0
        """Since simnand last set it."""
        self.simulating_ns = SIMULATING_INSTRUCTIONS * instruction_ns

    def ran(self, until_ns: float) -> int:
        """The processor ran until then; how often the tick came."""
        came = 0
        while self.due_ns + self.late_ns < until_ns:
            self.due_ns += TICK_NS
            self.late_ns, came = 0.0, came + 1
        return came

    def waited(self, begin_ns: float, chip_ns: float) -> float:
        """The chip worked from then on for so long; by how much a tick outlasts it, ns."""
        end, now = begin_ns + chip_ns, begin_ns + self.simulating_ns
        came = self.due_ns <= end
        while self.due_ns <= end:
            now = max(now, self.due_ns) + self.tick_ns
            self.due_ns += TICK_NS
            self.late_ns = self.added_ns = 0.0
        if now >= end:
            return now - end if came else 0.0
        self.late_ns += end - now
        self.added_ns += end - now
        if self.added_ns >= SLICE_NS:
            self.late_ns = self.added_ns = SET_LATE_NS
        return 0.0

    def delay_ns(
        self, begin_ns: float, stretches: Sequence[float], reads_ns: Sequence[float]
    ) -> float:
        """What ticks add to a call that begins then.

        stretches: ns that the processor needs before each page that the chip reads, and after the
        last; reads_ns: of these pages, one less than stretches.
        """
        timer, now = copy.copy(self), begin_ns
        for stretch, read_ns in zip(stretches, (0.0, *reads_ns), strict=True):
            if read_ns:
                now += read_ns + timer.waited(now, read_ns)
            now += stretch
            now += self.tick_ns * timer.ran(now)
        return now - begin_ns - sum(stretches) - sum(reads_ns)
