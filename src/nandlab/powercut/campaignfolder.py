# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a campaign's folder: its head, and a file for each piece that is done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_json
from nandlab.base.strings import Empty, FreeText, Line, Point, PointName, Word, parse_cut_point_name
from nandlab.catalog.files import validate_data
from nandlab.catalog.mistakes import list_validation_mistakes

HEAD = "powercut.json"
PIECES = "[0-9]*.json"
FORMAT = 1
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
SEEDS_MAX = 1 << 20
UNSTABLE_MOUNTS = 4
"""How often a point with unstable cells is mounted where nobody says: cutcheck's own number."""


class _FolderModel(BaseModel):
    """What is read; a campaign of another version may have more."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class RequestedPoints(_FolderModel):
    """Which points of which loads are tried (job.CutPoints)."""

    first_load: Count = 0
    last_load: Count | None = Field(default=None, description="null: the last one")
    first: Count = Field(default=0, description="flash operations before the first cut")
    last: Count | None = Field(default=None, description="null: after all of a load")
    every: Count = Field(default=1, description="one of so many operations is cut")
    variants: list[Line] = Field(default=[], description="ways to tear, or faults")
    seed: Count = Field(default=1, description="the first seed")
    seeds: int = Field(default=1, ge=0, le=SEEDS_MAX)
    repeat: Count = Field(default=1, description="times that each point is judged")
    mounts: Count = Field(default=2, description="of a point with unstable cells")
    recovery: bool = Field(default=False, description="whether the recovery is cut too")
    second: Count = Field(default=0, description="of a cut recovery, one of so many is cut")
    bad: list[Count] = Field(default=[], description="blocks that the maker marked bad")
    leave: bool = Field(default=False, description="whether the chip is left for the host")
    plant: list[FreeText] = Field(default=[], description="options that plant a fault")


class CampaignHead(_FolderModel):
    """Which campaign it is."""

    format: Count = FORMAT
    identity: Line = Field(description="a hash of all that decides its outcome")
    filesystem: Word
    core: Line | Empty = Field(default="", description="which YAFFS2 it is; empty: not YAFFS2")
    sources: list[Line] = Field(
        default=[],
        description="parts of the kernel from another source, as words of --source; a folder's "
        "place is not kept",
    )
    patched: bool = Field(default=False, description="whether a patch was applied to any of them")
    changed: dict[Word, Line] = Field(description="options that are not as usual")
    options: dict[Word, Line] = {}
    chip: Word
    forbids: dict[Line, Line] = Field(default={}, description="by the chip's data sheet")
    nop: int | None = Field(default=None, description="programs of a page between two erases")
    partition_mib: float = Field(gt=0)
    board: Line
    kernel: Line
    load: Line
    program: Line = Field(default="", description="the board's program that tries the points")
    points: RequestedPoints = RequestedPoints()
    pieces: Count


class Finding(_FolderModel):
    """A class of finding in a load."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    name: Line = Field(validation_alias="class", serialization_alias="class")
    count: Count = Field(description="points")
    first: Point = Field(description="operation:variant:seed, and what is cut of the recovery")
    what: FreeText = Field(description="at the first point")
    console: list[FreeText] = Field(default=[], description="the kernel's, where it died")

    @property
    def point(self) -> PointName:
        """The first one."""
        return parse_cut_point_name(self.first)


class LoadReport(_FolderModel):
    """What a board reports of a load: a line of cutcheck, sqlcut or faultcheck (tell.c), or the
    point at which the board was lost."""

    load: Line
    refused: FreeText | None = Field(
        default=None, description="why the file system does not take it"
    )
    operations: Count | None = Field(default=None, description="absent: the board was lost")
    points: Count = 0
    recovery_points: Count = 0
    second_points: Count = 0
    told: Count = Field(
        default=0, description="points of a fault at which a call of the load failed"
    )
    read_only: Count = Field(
        default=0, description="points of a fault after which the file system took no writes"
    )
    held: Count = 0
    recording: Line = Field(default="", description="a digest of the recorded operations")
    chip: Line = Field(default="", description="CRC-32 of the chip before the load")
    kinds: Line = Field(default="", description="a letter an operation")
    outcomes: dict[Line, Line] = Field(default={}, description="a letter an operation, by variant")
    notes: list[FreeText] = Field(
        default=[], description="what a fault struck: a class, a tab, and what, a point each"
    )
    longer: list[FreeText] = Field(default=[], description="files that the check made longer")
    findings: list[Finding] = []

    @model_validator(mode="after")
    def _has_a_letter_for_each(self) -> LoadReport:
        if any(len(letters) < (self.operations or 0) for letters in self.outcomes.values()):
            raise ValueError("outcomes have fewer letters than the load has operations")
        return self


class Piece(_FolderModel):
    """A piece that is done."""

    loads: list[LoadReport]
    cpu_s: float = Field(ge=0, description="of the host, for emulator and all")


def parse_load_reports(lines: str, where: str) -> list[LoadReport]:
    """What a board's program prints, a line for each load; NandlabError for any other line."""
    reports = []
    for line in lines.splitlines():
        try:
            reports.append(LoadReport.model_validate_json(line))
        except ValidationError as e:
            mistakes = "; ".join(list_validation_mistakes(e, LoadReport, None))
            raise NandlabError(f"powercut: {where}: the board's report: {mistakes}") from None
    return reports


def read_campaign_head(out: Path) -> CampaignHead:
    """The head of a campaign's folder; UsageError if it is none."""
    path = out / HEAD
    if not path.exists():
        raise UsageError(f"{out}: no campaign's folder: it has no {HEAD}")
    return validate_data(read_json(path), CampaignHead, str(path))


def read_campaign_pieces(out: Path) -> list[Piece]:
    """The pieces that are done, in order."""
    return [validate_data(read_json(path), Piece, str(path)) for path in sorted(out.glob(PIECES))]


def write_campaign_head(out: Path, head: CampaignHead) -> None:
    """Writes the head whole or not at all."""
    _write_model(out / HEAD, head)


def find_campaign_piece_path(out: Path, number: int) -> Path:
    """The file of a piece that is done."""
    return out / f"{number:05}.json"


def write_campaign_piece(out: Path, number: int, piece: Piece) -> None:
    """Writes a piece whole or not at all."""
    _write_model(find_campaign_piece_path(out, number), piece)


def _write_model(path: Path, model: BaseModel) -> None:
    """Writes what was given of a model: what is absent stays absent."""
    text = model.model_dump_json(by_alias=True, exclude_unset=True)
    write_whole_file(path, f"{text}\n".encode())
