# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts read from a trial: times, operations and bytes of its phases, and of those that count.

An amount is None where it, or a part of it, was not measured.
"""

from __future__ import annotations

import statistics

from nandlab.analysis import wear, words
from nandlab.analysis.memo import once
from nandlab.results.measures import EraseSpread
from nandlab.results.record import Trial


def total_ns(trial: Trial, phase: str) -> int | None:
    """Phase and its sync, in ns of the board's clock: the time until its data is on the flash."""
    found = trial.phase(phase)
    if found is None or found.ns is None:
        return None
    return found.ns + (found.sync_ns or 0)


def sync_ns(trial: Trial, phase: str) -> int | None:
    """Time of the sync that ends the phase, in ns; None when the phase has no sync."""
    found = trial.phase(phase)
    return None if found is None else found.sync_ns


def operations(trial: Trial, phase: str) -> int | None:
    """Operations made in the phase, of all kinds."""
    found = trial.phase(phase)
    return sum(found.operations.values()) if found is not None and found.operations else None


@once
def timed(trial: Trial) -> tuple[str, ...]:
    """The names of the trial's phases that count: those that do not only prepare."""
    of = words.of([trial])
    return tuple(p.name for p in trial.phases if of.phase(p.name).timed)


def chip_operations(trial: Trial, phase: str, operation: str) -> int | None:
    """Page reads, page programs or block erases of the chip in the phase, its sync included."""
    found = trial.phase(phase)
    return None if found is None or found.chip is None else int(getattr(found.chip, operation))


def chip_total(trial: Trial, operation: str) -> int | None:
    """Operations of the chip over the phases that count; None when none was counted."""
    parts = [chip_operations(trial, name, operation) for name in timed(trial)]
    known = [p for p in parts if p is not None]
    return sum(known) if known else None


def write_amplification(trial: Trial) -> float | None:
    """Pages programmed in the phases that count x writesize / bytes written by the workload."""
    programs, written = chip_total(trial, "programs"), trial.bytes.get("written")
    return programs * trial.chip.writesize / written if programs is not None and written else None


def bytes_per_s(trial: Trial, direction: str) -> float | None:
    """Bytes ``read`` or ``written`` / the phases that move data, their syncs included."""
    of = words.of([trial])
    parts = [total_ns(trial, n) for n in timed(trial) if of.phase(n).moves_data]
    known = [p for p in parts if p is not None]
    whole = sum(known) if len(known) == len(parts) else None
    return per_s(trial.bytes.get(direction), whole)


@once
def erases_per_block(trial: Trial) -> EraseSpread | None:
    """The spread that the workload tells, or else one made from its counts of each block, or else
    what the instrument wear read."""
    if trial.erases_per_block:
        return trial.erases_per_block
    if trial.per_block is None:
        return wear.spread_of_load(trial)
    erases = trial.per_block.erases
    return EraseSpread(
        mean=statistics.fmean(erases),
        stddev=statistics.pstdev(erases),
        min=min(erases),
        max=max(erases),
    )


def host_memory(trial: Trial, share: float) -> int | None:
    """Bytes of host memory that the board held after this share (0..1) of its host time."""
    held = trial.host.memory if trial.host else []
    return held[round(share * (len(held) - 1))] if held else None


def per_s(amount: float | None, ns: float | None) -> float | None:
    """An amount in so many ns, per second."""
    return amount * 1e9 / ns if amount is not None and ns else None


def moved_per_s(trial: Trial, phase: str, way: str) -> float | None:
    """Bytes read or written in a phase, per second of it and its sync."""
    found = trial.phase(phase)
    return per_s(found.bytes.get(way), total_ns(trial, phase)) if found else None
