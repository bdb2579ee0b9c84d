# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands print as JSON, where no other room has a model of it: the shapes, for schemas.

The commands write dictionaries; tests/cli/test_schema.py validates what each one really prints.
"""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from nandlab.analysis.verdicts.battery import Battery, BatteryLife
from nandlab.analysis.verdicts.verdict import Verdict
from nandlab.base.strings import FreeText, Line, PackageSets
from nandlab.catalog.board import BoardModel
from nandlab.catalog.noun import StrictModel
from nandlab.report.page.terminal import TRIAL_FIELDS
from nandlab.results.record import Trial

Number = int | float


def _make_nullable(name: str) -> Any:
    """The type of a trial's field with its marks, or null."""
    field = Trial.model_fields[name]
    kind: Any = field.annotation
    return Annotated[(kind, *field.metadata)] | None if field.metadata else kind | None


_FIELDS: Any = {name: (_make_nullable(name), ...) for name in TRIAL_FIELDS}
SHOWN_TRIALS = GenericAlias(list, (create_model("Shown", __base__=StrictModel, **_FIELDS),))
"""Trials as ``nandlab show`` has them: every key is there, and null where it is not known."""


class FigureRecord(StrictModel):
    """A figure of a configuration over its ensemble."""

    workload: Line
    setting: FreeText
    filesystem: Line
    configuration: FreeText
    state: Line
    figure: Line = Field(description="its name (docs/workloads.md)")
    title: FreeText
    unit: Line = Field(description="of min, median and max; empty: a plain number")
    trials: int = Field(description="that ended well and have it")
    min: Number | None
    median: Number | None
    max: Number | None


class MovedRecord(StrictModel):
    """A figure that moved between two runs; before and now are medians, or words."""

    setting: FreeText
    configuration: FreeText
    figure: Line
    unit: Line
    before: Number | FreeText | None
    before_min: Number | None
    before_max: Number | None
    now: Number | FreeText | None
    now_min: Number | None
    now_max: Number | None
    change: Number | None = Field(description="in unit")
    change_share: float | None = Field(description="of before")
    change_min: Number | None = Field(description="the least change of a trial, in unit")
    change_max: Number | None
    in_range: bool | None = Field(description="whether both ranges touch")
    trials_moved: int
    trials: int


class LikeRecord(StrictModel):
    """A figure of a board of one's own and of a virtual one: medians and ranges."""

    setting: FreeText
    configuration: FreeText
    figure: Line
    unit: Line
    real: Number
    real_min: Number
    real_max: Number
    simulated: Number
    simulated_min: Number
    simulated_max: Number
    ratio: Number | None = Field(description="of the medians, simulated over real; null: real is 0")
    ratio_min: Number | None = Field(description="the least that both ranges allow")
    ratio_max: Number | None
    in_range: bool = Field(description="whether both ranges touch")


Advice = Verdict
"""The advice on a workload on a chip, or for a product."""


class OnBattery(StrictModel):
    """Days on a battery."""

    setting: FreeText
    battery: Battery
    lasting: list[BatteryLife] = Field(description="days: least, median and most")


class UbiVolume(StrictModel):
    """A volume of UBI."""

    number: int
    name: FreeText
    static: bool
    reserved: int = Field(description="physical blocks that it may take")
    mapped: int = Field(description="physical blocks that it has")


class Space(StrictModel):
    """What each byte of a partition is; all in bytes but files and counts."""

    filesystem: Line
    partition: int
    user: int
    metadata: int
    slack: int
    obsolete: int
    free: int
    bad: int
    user_logical: int = Field(description="the bytes of files, that user's bytes stand for")
    parts: dict[Line, dict[Line, int]]
    files: int
    counts: dict[Line, int]
    volumes: list[UbiVolume] = Field(description="those of UBI; empty without it")


class TreeCounts(StrictModel):
    """What a folder has."""

    files: int
    hard_links: int
    folders: int
    symbolic_links: int
    bytes: int


class SizesRow(StrictModel):
    """An image of a folder; without one, why not."""

    filesystem: Line
    compression: Line | None
    pages: int | None
    own_header_pages: int | None
    pages_without_own_headers: int | None
    bytes: int | None
    saved: float | None = Field(description="share of the pages that compression saves")
    least_mib: float | None
    """The smallest partition that the file system can live on, whatever it holds."""
    why_not: FreeText | None
    lost: list[FreeText]
    seconds: float | None


class Sizes(StrictModel):
    """Images of one folder in several file systems."""

    chip: Line
    partition_mib: float
    page_bytes: int
    board: Line
    tree: TreeCounts
    rows: list[SizesRow]


class Marks(StrictModel):
    """A figure over an ensemble, ns."""

    min: Number
    median: Number
    max: Number


class ForetoldRange(StrictModel):
    """A figure that is foretold over an ensemble, ns."""

    min: Number
    median: Number | None = Field(description="null: a range alone is told")
    max: Number


class RepricedTime(StrictModel):
    """A time on another part, foretold."""

    predicted: Literal[True]
    setting: FreeText
    configuration: FreeText
    part: Line
    phase: Line | None = Field(description="null: all timed phases")
    measured_ns: Marks
    predicted_ns: ForetoldRange | None = Field(description="null: not even a range is told")
    trials: int
    ratio: float | None
    doubt: FreeText | None
    off_max_seen: float | None = Field(
        description="the most that a total was off where parts were run, a share; null: not known"
    )


class RunBegins(StrictModel):
    """The run begins."""

    event: Literal["run_begins"]
    todo: int
    done: int = Field(description="trials with a result from before")
    left_s: float | None


class TrialBegins(StrictModel):
    """A trial begins."""

    event: Literal["trial_begins"]
    trial: Line
    title: FreeText = Field(
        description="what sets it apart, in words: load, file system, chip, state"
    )


class StepBegins(StrictModel):
    """A step of a trial begins."""

    event: Literal["step_begins"]
    trial: Line
    step: Line


class TrialEnds(StrictModel):
    """A trial has its result."""

    event: Literal["trial_ends"]
    trial: Line
    status: Literal["ok", "trial_failed", "not_measured", "board_lost"]
    error: FreeText | None
    left_s: float | None


Event = Annotated[RunBegins | TrialBegins | StepBegins | TrialEnds, Field(discriminator="event")]


class BoardFileHead(StrictModel):
    """board.json, the first member of a board file."""

    format: Literal[1]
    board: BoardModel
    lock: PackageSets = Field(description="SHA-256 by file, by set of packages")


class ReproducedRun(StrictModel):
    """reproduced.json: which run the folder repeats."""

    format: Literal[1]
    run: Line
