# SPDX-License-Identifier: GPL-2.0-or-later
"""The figures of one trial. Each returns None when what it needs was not measured."""

from __future__ import annotations

import statistics

from nandlab.results.record import OPERATIONS, EraseSpread, Round, Trial

TIMED = ("creation", "transactions", "deletion")
"""The phases that count; ``fill`` only prepares the flash."""
CHIP_OPERATIONS = ("reads", "programs", "erases")
STEPS = ("format", "mount", "settle", "unmount")
"""What else a file system takes time for, in order."""
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


def erases_per_block(trial: Trial) -> EraseSpread | None:
    """As the trial has it; of a lifetime, from the counts of each block."""
    if trial.erases_per_block or trial.lifetime is None or trial.per_block is None:
        return trial.erases_per_block
    erases = trial.per_block.erases
    return EraseSpread(
        mean=statistics.fmean(erases),
        stddev=statistics.pstdev(erases),
        min=min(erases),
        max=max(erases),
    )


def wear_spread(trial: Trial) -> int | None:
    """Erases of the most erased block - erases of the least erased block.

    Over the timed phases; of a lifetime, over the life.
    """
    wear = erases_per_block(trial)
    return None if wear is None else wear.max - wear.min


def mean_erases(trial: Trial) -> float | None:
    """Erases per block of the partition, over the timed phases; of a lifetime, over the life."""
    wear = erases_per_block(trial)
    return None if wear is None else wear.mean


def step_ns(trial: Trial, step: str) -> int | None:
    """A step of the job outside the workload: ``format``, ``mount``, ``settle``, ``unmount``."""
    return trial.step_ns.get(step)


def memory(trial: Trial, key: str) -> int | None:
    """Bytes that the file system's modules held: ``mounted``, ``peak``, ``end``, ..."""
    return None if trial.memory is None else int(getattr(trial.memory, key))


def latency_ns(trial: Trial, operation: str, percentile: str) -> int | None:
    """A latency percentile of one kind of operation, in ns."""
    latency = (trial.latency_ns or {}).get(operation)
    return None if latency is None else int(getattr(latency, percentile))


def still_lives(trial: Trial) -> bool:
    """A lifetime trial whose rounds ended before its file system gave up."""
    return trial.lifetime is not None and trial.lifetime.gave_up is None


def life_end(trial: Trial) -> Round | None:
    """The totals of a life at its end: the round that failed counts, but for its bytes."""
    if trial.lifetime is None:
        return None
    return trial.lifetime.end or last_round(trial)


def last_round(trial: Trial) -> Round | None:
    """The totals of a life after its last whole round."""
    return trial.lifetime.rounds[-1] if trial.lifetime and trial.lifetime.rounds else None


def host_memory(trial: Trial, share: float) -> int | None:
    """Bytes of the host's memory that the board held when so much of its time had passed, 0..1."""
    held = trial.host.memory if trial.host else []
    return held[round(share * (len(held) - 1))] if held else None


def rounds(trial: Trial) -> int | None:
    """Rounds of the load that were whole."""
    return None if trial.lifetime is None else len(trial.lifetime.rounds)


def life_written(trial: Trial) -> int | None:
    """Bytes that the load wrote in its life; 0 when it failed before a round was whole."""
    if trial.lifetime is None:
        return None
    last = last_round(trial)
    return 0 if last is None else last.bytes_written


def life_total(trial: Trial, total: str) -> int | None:
    """``t_ns``, ``programs``, ``erases`` or ``dead_blocks`` at the end of a life."""
    end = life_end(trial)
    return None if end is None else int(getattr(end, total))


def first_death(trial: Trial) -> int | None:
    """Bytes written by the end of the round in which the first block died; None if none did."""
    end = life_end(trial)
    lived = [*trial.lifetime.rounds, *([end] if end else [])] if trial.lifetime else []
    return next((r.bytes_written for r in lived if r.dead_blocks), None)


def life_amplification(trial: Trial) -> float | None:
    """Pages programmed in the whole rounds x writesize / bytes that the load wrote in them."""
    last = last_round(trial)
    if last is None or not last.bytes_written:
        return None
    return last.programs * trial.chip.writesize / last.bytes_written


def wear_used(trial: Trial) -> float | None:
    """Erases in the life / (blocks x endurance); None where the chip has no endurance."""
    erases, endurance = life_total(trial, "erases"), trial.chip.faults.get("endurance")
    return erases / (trial.chip.blocks * endurance) if erases is not None and endurance else None


def _per_s(amount: float | None, ns: float | None) -> float | None:
    return amount * 1e9 / ns if amount is not None and ns else None
