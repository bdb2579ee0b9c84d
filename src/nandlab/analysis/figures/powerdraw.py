# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial's board and chip draw, by their catalog files.

Powers change no time, so they may be given after a run: today's catalog comes first. Where it has
no such entry, or no figures of it, the run's own copy of the entry counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.analysis.figures.memo import memoize_by_trial
from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel, Power
from nandlab.catalog.chip import ChipModel, Energy
from nandlab.catalog.files import find_noun_file, list_noun_names, load_noun
from nandlab.catalog.noun import Noun
from nandlab.catalog.profile import EnergyProfile
from nandlab.results.record import Trial

N = TypeVar("N", bound=Noun)
M = TypeVar("M", bound=BaseModel)
PROFILES_KIND = "energy-profiles"

_ENTRY_CACHE: dict[tuple[Path, int], Noun] = {}
"""By file and its time: many trials share one entry."""


def find_board_name(trial: Trial) -> str:
    """The board that the trial ran on; empty: not known."""
    told = trial.find_source("board").get("board")
    return str(told.get("name", "")) if isinstance(told, dict) else ""


@memoize_by_trial
def find_board_power(trial: Trial) -> Power | None:
    """What the board draws; None: not known."""
    entry = _load_catalog_entry("boards", find_board_name(trial), BoardModel)
    if entry is not None and entry.power is not None:
        return entry.power
    return _parse_kept_entry(trial.find_source("power"), Power)


@memoize_by_trial
def find_chip_energy_parameters(trial: Trial) -> Energy:
    """What the chip draws; figures that are not known are null."""
    entry = _load_catalog_entry("chips", trial.chip.part, ChipModel)
    if entry is not None and entry.energy.list_known_figures():
        return entry.energy
    return _parse_kept_entry(trial.find_source("chip").get("energy") or {}, Energy) or Energy()


@memoize_by_trial
def find_energy_profile(trial: Trial) -> EnergyProfile | None:
    """The powers that were measured under such a load on such a board; None: there are none."""
    board = find_board_name(trial)
    for name in list_noun_names(PROFILES_KIND):
        found = _load_catalog_entry(PROFILES_KIND, name, EnergyProfile)
        if found and board in found.boards and found.find_load_kind(trial.workload):
            return found
    return None


def _load_catalog_entry(kind: str, name: str, model: type[N]) -> N | None:
    """Today's entry of the catalog; None: it has none, or one in two places."""
    try:
        path = find_noun_file(kind, name)
        key = path, path.stat().st_mtime_ns
    except (UsageError, OSError):
        return None
    if key not in _ENTRY_CACHE:
        _ENTRY_CACHE[key] = load_noun(kind, name, model)
    found = _ENTRY_CACHE[key]
    return found if isinstance(found, model) else None


def _parse_kept_entry(entry: object, model: type[M]) -> M | None:
    """A part of an entry as the run keeps it; None where it is not there or of an older form."""
    if not entry:
        return None
    try:
        return model.model_validate(entry)
    except ValidationError:
        return None
