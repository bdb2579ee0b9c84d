# SPDX-License-Identifier: GPL-2.0-or-later
"""Amounts read from a trial: times, operations and bytes of its phases, and of those that count.

An amount is None where it, or a part of it, was not measured.
"""

from __future__ import annotations

import statistics

from nandlab.analysis.figures import wear, workloadwords
from nandlab.analysis.figures.deviations import compute_population_stddev
from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.results.record import Trial
from nandlab.results.recordparts import EraseSpread


def compute_phase_ns(trial: Trial, phase: str) -> int | None:
    """Phase and its sync, in ns of the board's clock: the time until its data is on the flash."""
    found = trial.phase(phase)
    if found is None or found.ns is None:
        return None
    return found.ns + (found.sync_ns or 0)


def find_phase_sync_ns(trial: Trial, phase: str) -> int | None:
    """Time of the sync that ends the phase, in ns; None when the phase has no sync."""
    found = trial.phase(phase)
    return None if found is None else found.sync_ns


def count_phase_operations(trial: Trial, phase: str) -> int | None:
    """Operations made in the phase, of all kinds."""
    found = trial.phase(phase)
    return sum(found.operations.values()) if found is not None and found.operations else None


@memoize_by_trial
def list_measured_phase_names(trial: Trial) -> tuple[str, ...]:
    """The names of the trial's phases that count: those that do not only prepare."""
    of = workloadwords.make_workload_words_for_trials([trial])
    return tuple(p.name for p in trial.phases if of.phase(p.name).timed)


def count_phase_chip_operations(trial: Trial, phase: str, operation: str) -> int | None:
    """Page reads, page programs or block erases of the chip in the phase, its sync included."""
    found = trial.phase(phase)
    return None if found is None or found.chip is None else int(getattr(found.chip, operation))


def count_chip_operations(trial: Trial, operation: str) -> int | None:
    """Operations of the chip over the phases that count; None when none was counted."""
    parts = [
        count_phase_chip_operations(trial, name, operation)
        for name in list_measured_phase_names(trial)
    ]
    known = [p for p in parts if p is not None]
    return sum(known) if known else None


def compute_write_amplification(trial: Trial) -> float | None:
    """Pages programmed in the phases that count x writesize / bytes written by the workload."""
    programs, written = count_chip_operations(trial, "programs"), trial.bytes.get("written")
    return programs * trial.chip.writesize / written if programs is not None and written else None


@memoize_by_trial
def compute_moving_ns(trial: Trial) -> int | None:
    """The phases that count and move data, their syncs included; None: one was not measured."""
    of = workloadwords.make_workload_words_for_trials([trial])
    parts = [
        compute_phase_ns(trial, n)
        for n in list_measured_phase_names(trial)
        if of.phase(n).moves_data
    ]
    known = [p for p in parts if p is not None]
    return sum(known) if len(known) == len(parts) else None


def compute_load_bytes_per_s(trial: Trial, direction: str) -> float | None:
    """Bytes ``read`` or ``written`` / the phases that move data, their syncs included."""
    return compute_rate_per_s(trial.bytes.get(direction), compute_moving_ns(trial))


@memoize_by_trial
def find_erase_spread(trial: Trial) -> EraseSpread | None:
    """The spread that the workload tells, or else one made from its counts of each block, or else
    what the instrument wear read."""
    if trial.erases_per_block:
        return trial.erases_per_block
    if trial.per_block is None:
        return wear.compute_load_erase_spread(trial)
    erases = trial.per_block.erases
    return EraseSpread(
        mean=statistics.fmean(erases),
        stddev=compute_population_stddev(erases),
        min=min(erases),
        max=max(erases),
    )


def count_operations_of_blocks(trial: Trial, operation: str) -> int | None:
    """Of all blocks together; erases by a block's mean where no more is kept, as in a figures
    file."""
    if trial.per_block is not None:
        return int(sum(getattr(trial.per_block, operation)))
    if operation != "erases" or trial.erases_per_block is None:
        return None
    return round(trial.erases_per_block.mean * trial.chip.blocks)


def find_host_memory_bytes(trial: Trial, share: float) -> int | None:
    """Bytes of host memory that the board held after this share (0..1) of its host time."""
    held = trial.host.memory if trial.host else []
    return held[round(share * (len(held) - 1))] if held else None


def compute_rate_per_s(amount: float | None, ns: float | None) -> float | None:
    """An amount in so many ns, per second."""
    return amount * 1e9 / ns if amount is not None and ns else None


def compute_phase_bytes_per_s(trial: Trial, phase: str, way: str) -> float | None:
    """Bytes read or written in a phase, per second of it and its sync."""
    found = trial.phase(phase)
    return (
        compute_rate_per_s(found.bytes.get(way), compute_phase_ns(trial, phase)) if found else None
    )
