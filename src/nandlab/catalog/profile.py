# SPDX-License-Identifier: GPL-2.0-or-later
"""Energy profiles of the catalog: powers that were measured on a board under a kind of load.

A profile is not what a part draws in a state, as a board's [power] is, but what whole rails drew
while a load went on. So it holds for such loads alone: E = t (P_cpu + P_memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Lines, Word
from nandlab.catalog.noun import Noun, StrictModel

Pattern = Literal["sequential", "random"]
LoadKind = Literal["reads", "selects"]
"""reads: a file is read by read(2). selects: SQLite selects rows."""


class ProfileRow(StrictModel):
    """Mean powers under one load with one file system."""

    load: LoadKind
    filesystem: Word = Field(description="its name in the catalog")
    read_ahead: bool = Field(description="whether read-ahead was on")
    pattern: Pattern | None = Field(
        default=None, description="sequential or random; null: not told apart"
    )
    cpu_w: float = Field(gt=0, description="the processor's rail, W")
    memory_w: float = Field(gt=0, description="the rail of RAM and flash, W")
    source: Lines = Field(min_length=1, description="where in the document")

    @property
    def watts(self) -> float:
        """Both rails together."""
        return self.cpu_w + self.memory_w


class EnergyProfile(Noun):
    """Powers measured on a board under a kind of load."""

    document: Lines = Field(min_length=1, description="where all of it is from")
    boards: list[Word] = Field(min_length=1, description="boards that stand for the measured one")
    above_idle: bool = Field(description="whether the board's idle power was subtracted")
    differs: Lines = Field(default="", description="what in the document does not fit its own rows")
    workloads: dict[LoadKind, list[Word]] = Field(description="workloads that are such a load")
    patterns: dict[Pattern, list[Word]] = Field(
        default={}, description="workloads' names of patterns that are one of these"
    )
    rows: list[ProfileRow] = Field(min_length=1)

    def row(
        self, load: LoadKind, filesystem: str, read_ahead: bool, pattern: str | None
    ) -> ProfileRow | None:
        """The row of a load; None: it was not measured."""
        alike = (p for p, names in self.patterns.items() if pattern in names)
        pattern = next(alike, pattern)
        here = (load, filesystem, read_ahead)
        rows = [r for r in self.rows if (r.load, r.filesystem, r.read_ahead) == here]
        return next((r for r in rows if r.pattern in (None, pattern)), None)

    def find_load_kind(self, workload: str) -> LoadKind | None:
        """What kind of load a workload is; None: none that was measured."""
        return next((load for load, names in self.workloads.items() if workload in names), None)

    @model_validator(mode="after")
    def _each_row_is_there_once(self) -> EnergyProfile:
        keys = [(r.load, r.filesystem, r.read_ahead, r.pattern) for r in self.rows]
        if twice := _find_duplicates(keys):
            raise ValueError(f"rows: the same load twice: {twice[0]}")
        return self


def _find_duplicates(keys: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [key for i, key in enumerate(keys) if key in keys[:i]]


def compute_energy_saving_share(on: ProfileRow, off: ProfileRow, time: float) -> float:
    """The share of energy saved by turning read-ahead off, for a share of time saved."""
    return 1 - off.watts / on.watts * (1 - time)
