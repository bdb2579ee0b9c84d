# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a load went on long enough for its wear to tell what would come after.

A chip that begins erased takes the first writes into blocks that were never used: nothing is
erased, and nothing collected. So the first erases of a load are fewer than those that come, and a
count of one or two says when the load ended rather than how the file system wears its blocks.

The wear of a load is *steady*

- when it erased :data:`STEADY_ERASES_MIN` blocks for each block of the partition, or
- when it erased one for each, and over the last half of its bytes the erases for a byte did not
  change: those of the two halves of that half differ by :data:`RATE_TOLERANCE` at most. Only a load
  that tells its course, as rounds do, can be tested so.

Why three: a block that is written c times over is erased less often than that, by less than
:data:`ERASES_DUE`. Its first content needs no erase and may come as late as that of the last block
of all,
and its next erase may be just due. On average over blocks that take turns it is one less. So three
erases a block stand for four, and the worst block's count e for at most e + 2; a longer load has a
smaller error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nandlab.analysis.figures import life
from nandlab.analysis.figures.life import LifeTotals
from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.analysis.figures.totals import (
    compute_write_amplification,
    count_chip_operations,
    find_erase_spread,
)
from nandlab.base import units
from nandlab.results.record import Trial

STEADY_ERASES_MIN = 3
"""Erases for each block of the partition after which wear is steady."""
ERASES_DUE = 2
"""Erases by which the count of a block is at most too small for what was written to it."""
RATE_TOLERANCE = 0.10
"""Share by which the erases for a byte may change while they are constant."""


@dataclass(frozen=True)
class WearSteadiness:
    """Whether the wear of a trial is steady, and if not, why and what to do."""

    reached: bool
    why: str = ""
    """What is missing, in a clause; empty: nothing."""
    at_least: int | None = None
    """Bytes that the load should write; None: reached, or not known."""

    @property
    def advice(self) -> str:
        """``the load is too short (its ...); write at least 1.2 GiB``."""
        more = f"; write at least {units.format_size(self.at_least)}" if self.at_least else ""
        return f"the load is too short ({self.why}){more}"


@dataclass(frozen=True)
class ErasePace:
    """Erases for a byte written in the third and in the last quarter of a course."""

    before: float
    after: float

    @property
    def constant(self) -> bool:
        """Whether they differ by :data:`RATE_TOLERANCE` of their mean at most."""
        return abs(self.after - self.before) <= RATE_TOLERANCE * (self.after + self.before) / 2


@memoize_by_trial
def assess_wear_steadiness(trial: Trial) -> WearSteadiness | None:
    """Of a trial's load; None where erases were not counted."""
    course = life.list_totals_of_whole_rounds(trial)
    if course:
        return assess_wear_steadiness_from_totals(course, trial)
    erases = count_load_block_erases(trial)
    if erases is None:
        return None
    if erases >= STEADY_ERASES_MIN * trial.chip.blocks:
        return WearSteadiness(reached=True)
    return WearSteadiness(
        False,
        _explain_unsteady(erases, trial),
        compute_bytes_until_wear_steady(trial, compute_write_amplification(trial)),
    )


def find_least_steady_wear(trials: Iterable[Trial]) -> WearSteadiness | None:
    """Of the trials whose wear is not steady the one that asks for most; None: all are steady."""
    found = [s for t in trials if (s := assess_wear_steadiness(t)) is not None and not s.reached]
    return max(found, key=lambda s: s.at_least or 0, default=None)


def is_wear_figure_name(figure: str) -> bool:
    """Whether a figure of this name is a count that only a steady load gives a meaning to."""
    family, _, what = figure.partition(".")
    return family == "wear" or (family, what) == ("chip", "erases")


def assess_wear_steadiness_from_totals(
    course: Sequence[LifeTotals], trial: Trial
) -> WearSteadiness:
    """Of a load by its totals after each round."""
    last, blocks = course[-1], trial.chip.blocks
    if last.erases >= STEADY_ERASES_MIN * blocks:
        return WearSteadiness(reached=True)
    speed = compute_erase_pace_from_totals(course)
    if last.erases >= blocks and speed is not None and speed.constant:
        return WearSteadiness(reached=True)
    ratio = last.programs * trial.chip.writesize / last.bytes_written if last.bytes_written else 0
    return WearSteadiness(
        False, _explain_unsteady(last.erases, trial), compute_bytes_until_wear_steady(trial, ratio)
    )


def compute_erase_pace_from_totals(course: Sequence[LifeTotals]) -> ErasePace | None:
    """Of the last half; None where a quarter has no round or wrote nothing."""
    if not course:
        return None
    written = course[-1].bytes_written
    half, later = (_find_point_by_bytes(course, written * share) for share in (1 / 2, 3 / 4))
    rates = [_compute_erase_rate(half, later), _compute_erase_rate(later, course[-1])]
    known = [r for r in rates if r is not None]
    return ErasePace(*known) if len(known) == len(rates) else None


def compute_bytes_until_wear_steady(trial: Trial, amplification: float | None) -> int | None:
    """Bytes after which :data:`STEADY_ERASES_MIN` erases a block are certain if what a byte
    programs stays.

    (STEADY_ERASES_MIN + ERASES_DUE) x the partition / write amplification: no block is erased with
    more pages programmed than it has.
    """
    chip = trial.chip
    partition = chip.blocks * chip.pages_per_block * chip.writesize
    return (
        round((STEADY_ERASES_MIN + ERASES_DUE) * partition / amplification)
        if amplification
        else None
    )


def count_load_block_erases(trial: Trial) -> int | None:
    """Blocks that the load erased: the chip's count, or else the sum over the blocks."""
    counted = count_chip_operations(trial, "erases")
    if counted is not None:
        return counted
    wear = find_erase_spread(trial)
    return None if wear is None else round(wear.mean * trial.chip.blocks)


def count_unused_blocks(trial: Trial) -> int | None:
    """Blocks that were neither programmed nor erased and do not hold the state's valid data."""
    if trial.per_block is None or len(trial.per_block.programs) != len(trial.per_block.erases):
        return None
    both = zip(trial.per_block.programs, trial.per_block.erases, strict=True)
    idle = sum(not programs and not erases for programs, erases in both)
    held = trial.state.obtained.valid if trial.state.obtained else None
    return max(0, idle - round((held or 0.0) * trial.chip.blocks))


def _explain_unsteady(erases: int, trial: Trial) -> str:
    """Why wear is not steady: no collection, blocks that were never used, or few erases."""
    blocks, left = trial.chip.blocks, count_unused_blocks(trial)
    over = f", {left} of {blocks} blocks never used" if left else ""
    if not erases:
        return f"no block was erased{over}"
    each = units.format_three_figures(erases / blocks)
    return f"{each} erases for each block{over}"


def _find_point_by_bytes(course: Sequence[LifeTotals], written: float) -> LifeTotals:
    """The last point by which so many bytes were written; else the first."""
    return next((p for p in reversed(course) if p.bytes_written <= written), course[0])


def _compute_erase_rate(a: LifeTotals, b: LifeTotals) -> float | None:
    """Erases for a byte between two points."""
    wrote = b.bytes_written - a.bytes_written
    return (b.erases - a.erases) / wrote if wrote else None
