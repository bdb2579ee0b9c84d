# SPDX-License-Identifier: GPL-2.0-or-later
"""How much can be written to a chip: an interval, and whether it held.

Two kinds of trial tell of it.

*A load on a chip that lives* says how often a block is erased for a byte. The chip's endurance over
that is bytes: least if the most erased block goes on as it did (its count e may stand for e + 2,
see ``steady``), most if all erases were spread evenly. :func:`forecast_writable_bytes_from_load`.

*Rounds* tell their course. The end is when more blocks are dead than the file system can spare; the
catalog says how many these are, and how it chooses the next block to write, which decides between
the courses of ``endurance``. The two ends of the interval are that course and even wear, each with
the errors of what was counted: of the erases for a byte (the third and the last quarter of the
course), of the number of deaths (Wilson), and of the mean endurance of this chip's blocks. The end
foretold is their middle as ratios go, sqrt(least x most), since nothing tells more.
:func:`forecast_writable_bytes_from_rounds`.

A chip that was worn to its end gives a score: from the first tenth of its bytes, the end is
foretold and compared with the end that came. :func:`score_life_forecast`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import ValidationError

from nandlab.analysis.figures import life
from nandlab.analysis.figures.endurance import (
    Z_95,
    BlockEndurance,
    BlockWear,
    compute_wilson_interval_of_deaths,
)
from nandlab.analysis.figures.totals import find_erase_spread
from nandlab.analysis.verdicts import wearsteadiness
from nandlab.analysis.verdicts.wearsteadiness import WearSteadiness
from nandlab.catalog.wearout import Wear
from nandlab.results.record import Trial

FORECAST_SHARE = 0.1
"""Share of a life's bytes that its end is foretold from."""
WEAR_DECILE_SERIES = tuple(f"wear_{percent}" for percent in range(0, 101, 10))
"""Series of a life: erases that so many percent of the blocks have at most."""


@dataclass(frozen=True)
class WriteForecast:
    """Bytes that a load can write until the chip's end."""

    least: float
    most: float

    @property
    def middle(self) -> float:
        """As far from the one as from the other, as ratios go."""
        return math.sqrt(self.least * self.most)


@dataclass(frozen=True)
class ForecastScore:
    """A forecast from the first tenth of a life, and how the life ended."""

    forecast: WriteForecast
    written: float

    @property
    def error(self) -> float:
        """Foretold / written - 1."""
        return self.forecast.middle / self.written - 1

    @property
    def is_within_forecast(self) -> bool:
        """Whether the end lay within the interval."""
        return self.forecast.least <= self.written <= self.forecast.most


def forecast_writable_bytes(trial: Trial) -> WriteForecast | WearSteadiness | None:
    """Of a trial; Steadiness: it was too short, and that says why; None: it does not count erases,
    or nothing tells the endurance."""
    if life.list_totals_of_whole_rounds(trial):
        return forecast_writable_bytes_from_rounds(
            trial, len(life.list_totals_of_whole_rounds(trial))
        )
    return forecast_writable_bytes_from_load(trial)


def forecast_writable_bytes_from_load(trial: Trial) -> WriteForecast | WearSteadiness | None:
    """Of a load on a chip that lives: until the first block reaches the promised endurance."""
    stands, written, wear = (
        find_block_endurance(trial),
        trial.bytes.get("written"),
        find_erase_spread(trial),
    )
    steadiness = wearsteadiness.assess_wear_steadiness(trial)
    if stands is None or not written or wear is None or steadiness is None:
        return None
    if not steadiness.reached:
        return steadiness
    bytes_stood = stands.least * written
    return WriteForecast(
        bytes_stood / (wear.max + wearsteadiness.ERASES_DUE), bytes_stood / wear.mean
    )


def forecast_writable_bytes_from_rounds(
    trial: Trial, rounds: int
) -> WriteForecast | WearSteadiness | None:
    """Of a life by its first rounds: bytes until more blocks are dead than can be spared."""
    stands, course = find_block_endurance(trial), life.list_totals_of_whole_rounds(trial)[:rounds]
    wear, block_wear = _find_filesystem_wear(trial), _reconstruct_block_wear(trial, rounds)
    if stands is None or not course or wear is None or block_wear is None:
        return None
    steadiness = wearsteadiness.assess_wear_steadiness_from_totals(course, trial)
    pace = wearsteadiness.compute_erase_pace_from_totals(course)
    if not steadiness.reached or pace is None or not min(pace.before, pace.after):
        return steadiness
    now, blocks = course[-1], trial.chip.blocks
    fewest, most = compute_wilson_interval_of_deaths(
        min(blocks, _count_spare_blocks(trial, wear) + 1), blocks
    )
    off = Z_95 * stands.error / math.sqrt(blocks)
    busy = block_wear.exclude_static_blocks(_count_static_blocks(trial))
    moved = wear.moves_static_after is not None and stands.least >= wear.moves_static_after
    least = busy.count_erases_until_dead(fewest, wear.next_block, stands) * (1 - off)
    even = (block_wear if moved else busy).count_erases_until_dead(most, "even", stands) * (1 + off)

    def forecast_bytes(erases: float, rate: float) -> float:
        return now.bytes_written + max(0.0, erases - now.erases) / rate

    fast, slow = max(pace.before, pace.after), min(pace.before, pace.after)
    return WriteForecast(forecast_bytes(least, fast), forecast_bytes(even, slow))


def score_life_forecast(trial: Trial) -> ForecastScore | WearSteadiness | None:
    """Of a life that came to its end: foretold from its first tenth."""
    course = life.list_totals_of_whole_rounds(trial)
    if not course or trial.open_ended:
        return None
    rounds = sum(p.bytes_written <= FORECAST_SHARE * course[-1].bytes_written for p in course)
    found = forecast_writable_bytes_from_rounds(trial, rounds)
    return (
        ForecastScore(found, course[-1].bytes_written)
        if isinstance(found, WriteForecast)
        else found
    )


def find_block_endurance(trial: Trial) -> BlockEndurance | None:
    """What the chip's faults say, or else what its data sheet promises for every block."""
    faults = trial.chip.faults
    if cycles := faults.get("endurance"):
        reach = cycles * faults.get("endurance_spread", 0) // 100
        return BlockEndurance(cycles - reach, cycles + reach)
    promised = find_promised_erase_cycles(trial)
    return BlockEndurance(promised, promised) if promised else None


def find_promised_erase_cycles(trial: Trial) -> int | None:
    """The endurance that the chip's catalog file promises."""
    cycles = (trial.find_source("chip").get("endurance") or {}).get("pe_cycles")
    return None if cycles is None else int(cycles)


def _find_filesystem_wear(trial: Trial) -> Wear | None:
    """What the file system's catalog file says of its end, as the run keeps it."""
    try:
        return Wear.model_validate(trial.find_source("filesystem").get("wear"))
    except ValidationError:
        return None


def _count_static_blocks(trial: Trial) -> int:
    """Blocks that the data which stays takes at least."""
    held = trial.state.obtained.valid if trial.state.obtained else None
    return math.ceil((held or 0.0) * trial.chip.blocks)


def _count_spare_blocks(trial: Trial, wear: Wear) -> int:
    """Blocks that may die before the file system gives up."""
    chip = (trial.find_source("chip").get("geometry") or {}).get("blocks", trial.chip.blocks)
    return wear.count_spare_blocks(
        trial.options, trial.chip.blocks, int(chip), _count_static_blocks(trial)
    )


def _reconstruct_block_wear(trial: Trial, rounds: int) -> BlockWear | None:
    """Erases of each block after so many rounds; None: the trial does not tell them."""
    lines = [trial.line(name) for name in WEAR_DECILE_SERIES]
    deciles = [line.values for line in lines if line is not None]
    last = life.find_life_end_totals(trial)
    if len(deciles) < len(lines) or not rounds or trial.per_block is None or last is None:
        return None
    blocks, erases = trial.chip.blocks, life.list_life_round_totals(trial)[rounds - 1].erases
    before = max(0.0, (sum(trial.per_block.erases) - last.erases) / blocks)
    block_erases = [
        max(0.0, e - before) for e in _interpolate_deciles([v[rounds - 1] for v in deciles], blocks)
    ]
    total = sum(block_erases)
    return (
        BlockWear([e * erases / total for e in block_erases], before) if total and erases else None
    )


def _interpolate_deciles(deciles: list[float], blocks: int) -> list[float]:
    """A value for each block, straight lines between the deciles."""
    values = []
    for block in range(blocks):
        at = block / max(1, blocks - 1) * (len(deciles) - 1)
        below = min(int(at), len(deciles) - 2)
        values.append(deciles[below] + (at - below) * (deciles[below + 1] - deciles[below]))
    return values
