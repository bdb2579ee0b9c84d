# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a phase's time went, by the chip's counts and its latencies.

Each counted operation costs its array time and, for pages, the bus cycles of a whole page with its
OOB; what is left is the processor's. A page that was read or programmed in part took fewer cycles,
so the chip's part is an upper bound, by less than a page's transfer each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures import totals
from nandlab.results.record import Trial
from nandlab.results.recordparts import OperationCounts


@dataclass(frozen=True)
class OperationCosts:
    """What the simulated chip takes for an operation on a whole page or block, ns."""

    read: float
    program: float
    erase: float
    t_r: float
    """The array's part of a read."""

    def compute_ns(self, counts: OperationCounts) -> float:
        """The flash time of these operations."""
        return (
            counts.reads * self.read + counts.programs * self.program + counts.erases * self.erase
        )


def compute_bus_byte_times(trial: Trial) -> tuple[float, float]:
    """What a byte takes out of a trial's chip and into it, ns; its chip's file is in the trial."""
    bus = trial.chip.spinand
    if bus:
        # a page is loaded over four lines or one
        line_ns = 8 * 1_000 / bus.clock_mhz
        return line_ns / bus.lines, line_ns / (4 if bus.lines == 4 else 1)
    chip: dict[str, Any] = trial.find_source("chip")
    cycles = 8 / chip["geometry"]["bus_bits"]
    return cycles * chip["timing"]["t_rc_ns"], cycles * chip["timing"]["t_wc_ns"]


def compute_chip_operation_costs(trial: Trial) -> OperationCosts | None:
    """By the chip's file as the run keeps it; None where it is not in the trial."""
    chip: dict[str, Any] = trial.find_source("chip")
    if "timing" not in chip:
        return None
    g, t = chip["geometry"], chip["timing"]
    longest = "_max_ns" if trial.chip.latency == "maximum" else "_ns"
    page = g["writesize"] + g["oobsize"]
    out_ns, into_ns = compute_bus_byte_times(trial)
    t_r = t["t_r" + longest]
    return OperationCosts(
        t_r + page * out_ns,
        t["t_prog" + longest] + page * into_ns,
        t["t_bers" + longest],
        t_r,
    )


@dataclass(frozen=True)
class PhaseTimeSplit:
    """A phase with its sync, in ns of the board's clock."""

    total_ns: float
    reads_ns: float
    programs_ns: float
    erases_ns: float

    @property
    def rest_ns(self) -> float:
        """Processor and waiting; never below 0, though the chip's part is an upper bound."""
        chip = self.reads_ns + self.programs_ns + self.erases_ns
        return max(0.0, self.total_ns - chip)


def split_phase_time(trial: Trial, phase: str) -> PhaseTimeSplit | None:
    """None where the phase, its counts or the chip's latencies are not in the trial."""
    phase_record, total = trial.phase(phase), totals.compute_phase_ns(trial, phase)
    counts = phase_record.chip if phase_record else None
    operation_costs = compute_chip_operation_costs(trial)
    if total is None or counts is None or operation_costs is None:
        return None
    return PhaseTimeSplit(
        total,
        counts.reads * operation_costs.read,
        counts.programs * operation_costs.program,
        counts.erases * operation_costs.erase,
    )
