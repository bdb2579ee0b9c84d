# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a campaign's folder: its head, and a file for each piece that is done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_json
from nandlab.base.strings import FreeText, Line, Point, Word
from nandlab.catalog.files import validate_data

HEAD = "powercut.json"
PIECES = "[0-9]*.json"
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
SEEDS_MAX = 1 << 20


class _FolderModel(BaseModel):
    """What is read; a campaign of another version may have more."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class RequestedPoints(_FolderModel):
    """The points that are read of those asked for (job.Points)."""

    variants: list[Line] = []
    seed: Count = 1
    seeds: int = Field(default=1, ge=0, le=SEEDS_MAX)
    repeat: Count = 1
    bad: list[Count] = []


class CampaignHead(_FolderModel):
    """Which campaign it is."""

    identity: Line
    filesystem: Word
    changed: dict[Word, Line]
    options: dict[Word, Line] = {}
    chip: Word
    forbids: dict[Line, Line] = {}
    nop: int | None = None
    partition_mib: float = Field(gt=0)
    board: Line
    kernel: Line
    load: Line
    program: Line = ""
    points: RequestedPoints = RequestedPoints()
    pieces: Count


class Finding(_FolderModel):
    """A class of finding in a load."""

    name: Line = Field(alias="class")
    count: Count
    first: Point = Field(description="operation:variant:seed, and what follows")
    what: FreeText


class LoadReport(_FolderModel):
    """What a board said of a load."""

    load: Line
    refused: FreeText = Field(default="", description="why the file system does not take it")
    points: Count = 0
    recovery_points: Count = 0
    second_points: Count = 0
    held: Count = 0
    findings: list[Finding] = []
    operations: Count = Field(default=0, description="absent: the board was lost")
    kinds: Line = ""
    recording: Line = ""
    outcomes: dict[Line, Line] = Field(default={}, description="a letter an operation, by variant")

    @model_validator(mode="after")
    def _has_a_letter_for_each(self) -> LoadReport:
        if any(len(letters) < self.operations for letters in self.outcomes.values()):
            raise ValueError("outcomes have fewer letters than the load has operations")
        return self


class Piece(_FolderModel):
    """A piece that is done."""

    loads: list[LoadReport]
    cpu_s: float = Field(ge=0)


def read_campaign_head(out: Path) -> dict[str, Any]:
    """The head of a campaign's folder; UsageError if it is none."""
    path = out / HEAD
    if not path.exists():
        raise UsageError(f"{out}: no campaign's folder: it has no {HEAD}")
    return _read_model(path, CampaignHead)


def read_pieces(out: Path) -> list[dict[str, Any]]:
    """The pieces that are done, in order."""
    return [_read_model(path, Piece) for path in sorted(out.glob(PIECES))]


def _read_model(path: Path, model: type[BaseModel]) -> dict[str, Any]:
    """What a file has, by the names in it."""
    found = validate_data(read_json(path), model, str(path))
    return found.model_dump(by_alias=True, exclude_unset=True)
