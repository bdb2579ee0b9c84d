# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's life as a trial tells it: totals after each round of a load, until it gave up.

The totals are series of the trial: ``bytes_written``, ``programs``, ``erases``, ``dead_blocks``.
Their last point is the end, with the round that failed; the trial's own figure ``rounds`` says how
many before it were whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.results.record import Trial

TOTAL_SERIES = ("bytes_written", "programs", "erases", "dead_blocks")


@dataclass(frozen=True)
class LifeTotals:
    """Totals since the life began."""

    t_ns: int
    bytes_written: int
    programs: int
    erases: int
    dead_blocks: int


@memoize_by_trial
def list_life_round_totals(trial: Trial) -> Sequence[LifeTotals]:
    """Totals after each round, last the one that failed; empty: the trial has no life."""
    lines = [trial.line(name) for name in TOTAL_SERIES]
    measured_lines = [line for line in lines if line is not None]
    if len(measured_lines) < len(lines):
        return []
    values = zip(*(line.values for line in measured_lines), strict=True)
    return [
        LifeTotals(t, *(int(v) for v in round_values))
        for t, round_values in zip(measured_lines[0].t_ns, values, strict=True)
    ]


def has_life_rounds(trial: Trial) -> bool:
    """Whether the trial has a life."""
    return all(trial.line(name) is not None for name in TOTAL_SERIES)


def find_give_up_error(trial: Trial) -> str | None:
    """What the last round failed with; None: it still lives, or there is no life."""
    return trial.texts.get("gave_up")


def has_ended_at_steady_wear(trial: Trial) -> bool:
    """Whether its rounds were to end as soon as wear was steady, and did."""
    return trial.open_ended and "ended" in trial.texts


def list_totals_of_whole_rounds(trial: Trial) -> Sequence[LifeTotals]:
    """Totals after each whole round."""
    return list_life_round_totals(trial)[: int(trial.figures.get("rounds", 0))]


def find_life_end_totals(trial: Trial) -> LifeTotals | None:
    """The totals at its end: the round that failed counts, except its bytes."""
    return next(iter(list_life_round_totals(trial)[-1:]), None)


def _find_written_bytes(trial: Trial) -> float | None:
    """Bytes that the load wrote; 0 when it failed before a round was whole."""
    if not has_life_rounds(trial):
        return None
    rounds = list_totals_of_whole_rounds(trial)
    return rounds[-1].bytes_written if rounds else 0


def _find_first_death_bytes(trial: Trial) -> float | None:
    """Bytes written by the end of the round in which the first block died; None if none did."""
    return next((p.bytes_written for p in list_life_round_totals(trial) if p.dead_blocks), None)


def _compute_amplification(trial: Trial) -> float | None:
    """Pages programmed in the whole rounds x writesize / bytes that the load wrote in them."""
    rounds = list_totals_of_whole_rounds(trial)
    if not rounds or not rounds[-1].bytes_written:
        return None
    return rounds[-1].programs * trial.chip.writesize / rounds[-1].bytes_written


def _compute_wear_used(trial: Trial) -> float | None:
    """Erases in the life / (blocks x endurance); None where the chip has no endurance."""
    last, endurance = find_life_end_totals(trial), trial.chip.faults.get("endurance")
    return last.erases / (trial.chip.blocks * endurance) if last and endurance else None


def _make_total_reader(name: str) -> Callable[[Trial], float | None]:
    def read(trial: Trial) -> float | None:
        last = find_life_end_totals(trial)
        return None if last is None else int(getattr(last, name))

    return read


def _count_whole_rounds(trial: Trial) -> float | None:
    return trial.figures.get("rounds") if has_life_rounds(trial) else None


@dataclass(frozen=True)
class LifeFigure:
    """A figure of a life."""

    title: str
    quantity: str
    better: str
    compute: Callable[[Trial], float | None]
    open_ended: bool = False
    """Whether a life that was not over when the load ended gives a lower bound."""
    short: str = ""


LIFE_FIGURES = {
    "written": LifeFigure(
        "data written", "bytes", "more", _find_written_bytes, open_ended=True, short="written"
    ),
    "first_death": LifeFigure(
        "first block dead after", "bytes", "more", _find_first_death_bytes, short="first death"
    ),
    "dead_blocks": LifeFigure(
        "dead blocks", "count", "", _make_total_reader("dead_blocks"), short="dead"
    ),
    "amplification": LifeFigure("write amplification", "ratio", "less", _compute_amplification),
    "wear_used": LifeFigure("wear used", "share", "more", _compute_wear_used, open_ended=True),
    "rounds": LifeFigure("whole rounds", "count", "", _count_whole_rounds),
    "t_ns": LifeFigure("board time", "time", "", _make_total_reader("t_ns")),
    "programs": LifeFigure("page programs", "count", "", _make_total_reader("programs")),
    "erases": LifeFigure("block erases", "count", "", _make_total_reader("erases"), short="erases"),
}
"""By name; elsewhere each is life.NAME."""
