# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab model board --json`` prints: the four scores of each load."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel

FlashKind = Literal["R", "W", "E"]
"""A page is read, a page is written, a block is erased."""


class NotScored(StrictModel):
    """A score that a load does not have."""

    not_scored: FreeText = Field(description="why")


class FittedScore(StrictModel):
    """What every score of a real board's load begins with."""

    fitted: FreeText | None = Field(description="what was fitted; null: nothing")


class ReadCallsRun(StrictModel):
    """Calls of jffs2_readpage in a run."""

    calls_of: FreeText
    functions_of: FreeText
    foretold: int
    traced: int
    bursts_equal: bool
    of_choices: dict[Line, int] = Field(description="what each choice of the cache foretells")
    writes_foretold: int
    writes_traced: int


class ReadCalls(FittedScore):
    """Calls of jffs2_readpage; the runs that are exact are of those that are not fitted."""

    fitted_on: FreeText
    as_good_there: list[FreeText]
    scored_on: int
    exact: int
    bursts_exact: int
    writes_exact: int
    runs: list[ReadCallsRun]
    not_paired: int
    not_known: list[FreeText]


class BurstErrors(StrictModel):
    """How far bursts' times are off, as shares."""

    total: float
    median: float
    max: float


class BurstRun(StrictModel):
    """Bursts of reads in a run."""

    functions_of: FreeText
    flash_of: FreeText
    n: int
    calls: int
    bursts: int
    measured_us: float
    errors: BurstErrors | None


class BurstTimes(FittedScore):
    """Times of bursts of reads, given their flash pages."""

    fitted_on: FreeText
    overhead_us: float
    t_page_us: float
    impossible: int = Field(description="bursts whose pages take longer than their calls")
    scored_on: int
    fitted_overhead: BurstErrors | None = Field(description="of the runs that are not fitted")
    paper_overhead: BurstErrors | None = Field(description="of all, with the paper's overhead")
    runs: list[BurstRun]
    not_paired: int
    not_known: list[FreeText]


class Pauses(StrictModel):
    """Pauses from a start of an operation to the next; null where they are too few."""

    pauses: int
    mode_us: float | None
    us: float | None
    near_mode: float | None
    too_short: int | None
    table_us: float
    off: float | None


class PageTimes(FittedScore):
    """The time of a flash operation of each kind."""

    kinds: dict[FlashKind, Pauses]
    not_known: list[FreeText]


class CollectorCounts(StrictModel):
    """The collector's reads of blocks that it erased."""

    erases: int
    in_order: int
    foretold: int
    traced: int


class FlashRun(StrictModel):
    """A run of the flash's tracer."""

    flash_of: FreeText


class CollectorRun(CollectorCounts, FlashRun):
    """Those of a run."""


class Collector(FittedScore):
    """Those of all runs."""

    exact: int
    scored_on: int
    erases: int
    in_order: int
    foretold: int
    traced: int
    runs: list[CollectorRun]
    not_known: list[FreeText]


class BoardLoad(StrictModel):
    """A load and its scores."""

    load: FreeText
    runs: dict[Literal["syscalls", "ffs_tracer", "flashmon"], int]
    read_calls: ReadCalls
    burst_times: BurstTimes | NotScored
    page_times: PageTimes
    collector: Collector | NotScored


class ModelBoard(StrictModel):
    """All loads."""

    loads: list[BoardLoad]
