# SPDX-License-Identifier: GPL-2.0-or-later
"""A chip's life as a trial tells it: totals after each round of a load, until it gave up.

The totals are series of the trial: ``bytes_written``, ``programs``, ``erases``, ``dead_blocks``.
Their last point is the end, with the round that failed; the trial's own figure ``rounds`` says how
many before it were whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandlab.analysis.memo import once
from nandlab.results.record import Trial

TOTALS = ("bytes_written", "programs", "erases", "dead_blocks")


@dataclass(frozen=True)
class Point:
    """Totals since the life began."""

    t_ns: int
    bytes_written: int
    programs: int
    erases: int
    dead_blocks: int


@once
def points(trial: Trial) -> Sequence[Point]:
    """Totals after each round, last the one that failed; empty: the trial has no life."""
    lines = [trial.line(name) for name in TOTALS]
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return []
    values = zip(*(line.values for line in known), strict=True)
    return [Point(t, *(int(v) for v in at)) for t, at in zip(known[0].t_ns, values, strict=True)]


def lived(trial: Trial) -> bool:
    """Whether the trial has a life."""
    return all(trial.line(name) is not None for name in TOTALS)


def gave_up(trial: Trial) -> str | None:
    """What the last round failed with; None: it still lives, or there is no life."""
    return trial.texts.get("gave_up")


def was_steady(trial: Trial) -> bool:
    """Whether its rounds were to end as soon as wear was steady, and did."""
    return trial.open_ended and "ended" in trial.texts


def whole(trial: Trial) -> Sequence[Point]:
    """Totals after each whole round."""
    return points(trial)[: int(trial.figures.get("rounds", 0))]


def end(trial: Trial) -> Point | None:
    """The totals at its end: the round that failed counts, except its bytes."""
    return next(iter(points(trial)[-1:]), None)


def _written(trial: Trial) -> float | None:
    """Bytes that the load wrote; 0 when it failed before a round was whole."""
    if not lived(trial):
        return None
    rounds = whole(trial)
    return rounds[-1].bytes_written if rounds else 0


def _first_death(trial: Trial) -> float | None:
    """Bytes written by the end of the round in which the first block died; None if none did."""
    return next((p.bytes_written for p in points(trial) if p.dead_blocks), None)


def _amplification(trial: Trial) -> float | None:
    """Pages programmed in the whole rounds x writesize / bytes that the load wrote in them."""
    rounds = whole(trial)
    if not rounds or not rounds[-1].bytes_written:
        return None
    return rounds[-1].programs * trial.chip.writesize / rounds[-1].bytes_written


def _wear_used(trial: Trial) -> float | None:
    """Erases in the life / (blocks x endurance); None where the chip has no endurance."""
    last, endurance = end(trial), trial.chip.faults.get("endurance")
    return last.erases / (trial.chip.blocks * endurance) if last and endurance else None


def _total(name: str) -> Callable[[Trial], float | None]:
    def read(trial: Trial) -> float | None:
        last = end(trial)
        return None if last is None else int(getattr(last, name))

    return read


def _rounds(trial: Trial) -> float | None:
    return trial.figures.get("rounds") if lived(trial) else None


@dataclass(frozen=True)
class Told:
    """A figure of a life."""

    title: str
    quantity: str
    better: str
    read: Callable[[Trial], float | None]
    open_ended: bool = False
    """Whether a life that was not over when the load ended gives a lower bound."""
    short: str = ""


FIGURES = {
    "written": Told("data written", "bytes", "more", _written, open_ended=True, short="written"),
    "first_death": Told(
        "first block dead after", "bytes", "more", _first_death, short="first death"
    ),
    "dead_blocks": Told("dead blocks", "count", "", _total("dead_blocks"), short="dead"),
    "amplification": Told("write amplification", "ratio", "less", _amplification),
    "wear_used": Told("wear used", "share", "more", _wear_used, open_ended=True),
    "rounds": Told("whole rounds", "count", "", _rounds),
    "t_ns": Told("board time", "time", "", _total("t_ns")),
    "programs": Told("page programs", "count", "", _total("programs")),
    "erases": Told("block erases", "count", "", _total("erases"), short="erases"),
}
"""By name; elsewhere each is life.NAME."""
