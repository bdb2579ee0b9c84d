# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of one trial. Each returns None when what it needs was not measured."""

from __future__ import annotations

from nandlab.results import OPERATIONS, Trial

TIMED = ("creation", "transactions", "deletion")
"""The phases that count; ``fill`` only prepares the flash."""
CHIP_OPERATIONS = ("reads", "programs", "erases")
PERCENTILES = ("median", "p95", "p99", "p99_9", "max")


def sync_ns(trial: Trial, phase: str) -> int | None:
    """Time of the sync that ends the phase, in ns; None when the phase has no sync."""
    return (trial.sync_ns or {}).get(phase)


def total_ns(trial: Trial, phase: str) -> int | None:
    """Phase and its sync, in ns of the board's clock: the time until its data is on the flash."""
    phase_ns = (trial.phase_ns or {}).get(phase)
    return None if phase_ns is None else phase_ns + (sync_ns(trial, phase) or 0)


def operations(trial: Trial, phase: str, kinds: tuple[str, ...] = OPERATIONS) -> int | None:
    """File operations of these kinds made in the phase.

    A kind that is counted in total and by no phase (reads, appends) belongs to the transactions.
    """
    if trial.ops is None:
        return None
    return sum(_in_phase(trial.ops.get(kind, {}), phase) for kind in kinds)


def _in_phase(counts: dict[str, int], phase: str) -> int:
    if phase == "transactions" and set(counts) == {"total"}:
        return counts["total"]
    return counts.get(phase, 0)


def operations_per_s(trial: Trial, phase: str) -> float | None:
    """File operations of the phase / (phase + sync), per virtual second."""
    return _per_s(operations(trial, phase), total_ns(trial, phase))


def transactions_per_s(trial: Trial) -> float | None:
    """Transactions / (transactions phase + sync), per virtual second.

    Their number is the workload's parameter ``transactions``; without one, the reads and appends
    of that phase, since a transaction makes one of the two.
    """
    asked = trial.parameters.get("transactions")
    if isinstance(asked, int | str) and str(asked).isdecimal():
        done: int | None = int(asked)
    else:
        done = operations(trial, "transactions", ("read", "append"))
    return _per_s(done, total_ns(trial, "transactions"))


def bytes_per_s(trial: Trial, direction: str) -> float | None:
    """Bytes ``read`` or ``written`` by the workload / (creation + transactions, syncs included)."""
    moved = (trial.bytes or {}).get(direction)
    parts = [total_ns(trial, p) for p in ("creation", "transactions")]
    known = [p for p in parts if p is not None]
    return _per_s(moved, sum(known) if len(known) == len(parts) else None)


def chip_operations(trial: Trial, phase: str, operation: str) -> int | None:
    """Page reads, page programs or block erases of the chip in the phase, its sync included."""
    counts = (trial.flash or {}).get(phase)
    return None if counts is None else int(getattr(counts, operation))


def chip_total(trial: Trial, operation: str) -> int | None:
    """The same over creation, transactions and deletion; None when none of them was counted."""
    parts = [chip_operations(trial, p, operation) for p in TIMED]
    known = [p for p in parts if p is not None]
    return sum(known) if known else None


def write_amplification(trial: Trial) -> float | None:
    """Pages programmed in the timed phases x writesize / bytes written by the workload."""
    programs, written = chip_total(trial, "programs"), (trial.bytes or {}).get("written")
    return programs * trial.chip.writesize / written if programs is not None and written else None


def wear_spread(trial: Trial) -> int | None:
    """Erases of the most erased block - erases of the least erased block, timed phases only."""
    wear = trial.erases_per_block
    return None if wear is None else wear.max - wear.min


def latency_ns(trial: Trial, operation: str, percentile: str) -> int | None:
    """A latency percentile of one kind of operation, in ns."""
    latency = (trial.latency_ns or {}).get(operation)
    return None if latency is None else int(getattr(latency, percentile))


def _per_s(amount: float | None, ns: float | None) -> float | None:
    return amount * 1e9 / ns if amount is not None and ns else None
