# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial's board and chip draw, by their catalog files.

Powers change no time, so they may be given after a run: today's catalog comes first. Where it has
no such entry, or no figures of it, the run's own copy of the entry counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.analysis.memo import once
from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel, Power
from nandlab.catalog.chip import ChipModel, Energy
from nandlab.catalog.files import load, names, place
from nandlab.catalog.noun import Noun
from nandlab.catalog.profile import EnergyProfile
from nandlab.results.record import Trial

N = TypeVar("N", bound=Noun)
M = TypeVar("M", bound=BaseModel)
PROFILES = "energy-profiles"

_read: dict[tuple[Path, int], Noun] = {}
"""By file and its time: many trials share one entry."""


def board_name(trial: Trial) -> str:
    """The board that the trial ran on; empty: not known."""
    told = trial.about("board").get("board")
    return str(told.get("name", "")) if isinstance(told, dict) else ""


@once
def power(trial: Trial) -> Power | None:
    """What the board draws; None: not known."""
    entry = _entry("boards", board_name(trial), BoardModel)
    if entry is not None and entry.power is not None:
        return entry.power
    return _copy(trial.about("power"), Power)


@once
def energy(trial: Trial) -> Energy:
    """What the chip draws; figures that are not known are null."""
    entry = _entry("chips", trial.chip.part, ChipModel)
    if entry is not None and entry.energy.given():
        return entry.energy
    return _copy(trial.about("chip").get("energy") or {}, Energy) or Energy()


@once
def profile(trial: Trial) -> EnergyProfile | None:
    """The powers that were measured under such a load on such a board; None: there are none."""
    board = board_name(trial)
    for name in names(PROFILES):
        found = _entry(PROFILES, name, EnergyProfile)
        if found and board in found.boards and found.load_of(trial.workload):
            return found
    return None


def _entry(kind: str, name: str, model: type[N]) -> N | None:
    """Today's entry of the catalog; None: it has none, or one in two places."""
    try:
        path = place(kind, name)
        key = path, path.stat().st_mtime_ns
    except (UsageError, OSError):
        return None
    if key not in _read:
        _read[key] = load(kind, name, model)
    found = _read[key]
    return found if isinstance(found, model) else None


def _copy(told: object, model: type[M]) -> M | None:
    """A part of an entry as the run keeps it; None where it is not there or of an older form."""
    if not told:
        return None
    try:
        return model.model_validate(told)
    except ValidationError:
        return None
