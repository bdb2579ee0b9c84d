# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a phase's time went, by the chip's counts and its latencies.

Each counted operation costs its array time and, for pages, the bus cycles of a whole page with its
OOB; what is left is the processor's. A page that was read or programmed in part took fewer cycles,
so the chip's part is an upper bound, by less than a page's transfer each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nandlab.analysis import figures
from nandlab.results.record import Trial


@dataclass(frozen=True)
class Accounts:
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


def accounts(trial: Trial, phase: str) -> Accounts | None:
    """None where the phase, its counts or the chip's latencies are not in the trial."""
    total, found = figures.total_ns(trial, phase), trial.phase(phase)
    counts = found.chip if found else None
    chip: dict[str, Any] = trial.about("chip")
    if total is None or counts is None or "timing" not in chip:
        return None
    g, t = chip["geometry"], chip["timing"]
    longest = "_max_ns" if trial.chip.latency == "maximum" else "_ns"
    cycles = (g["writesize"] + g["oobsize"]) * 8 // g["bus_bits"]
    return Accounts(
        total,
        counts.reads * (t["t_r" + longest] + cycles * t["t_rc_ns"]),
        counts.programs * (t["t_prog" + longest] + cycles * t["t_wc_ns"]),
        counts.erases * t["t_bers" + longest],
    )
