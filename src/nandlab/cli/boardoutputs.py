# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab model board --json`` prints: its shape, for the schema."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel


class NotScored(StrictModel):
    """A score that a load does not have."""

    not_scored: FreeText = Field(description="why")


class BoardScore(StrictModel):
    """What every score of a real board's load has."""

    fitted: FreeText | None = Field(description="what was fitted; null: nothing")
    not_known: list[FreeText]


class ReadCallsRun(StrictModel):
    calls_of: Line
    functions_of: Line
    foretold: int
    traced: int
    bursts_equal: bool
    of_choices: dict[Line, int] = Field(description="what each choice of the cache foretells")
    writes_foretold: int
    writes_traced: int


class ReadCalls(BoardScore):
    """Calls of jffs2_readpage; the runs that are exact are of those that are not fitted."""

    fitted_on: FreeText
    as_good_there: list[FreeText]
    scored_on: int
    exact: int
    bursts_exact: int
    writes_exact: int
    runs: list[ReadCallsRun]
    not_paired: int


class BurstErrors(StrictModel):
    """How far bursts' times are off, as shares."""

    total: float
    median: float
    max: float


class BurstRun(StrictModel):
    functions_of: Line
    flash_of: Line
    n: int
    calls: int
    bursts: int
    measured_us: float
    errors: BurstErrors | None


class BurstTimes(BoardScore):
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


class Pauses(StrictModel):
    """Pauses from a start of an operation to the next; null where they are too few."""

    pauses: int
    table_us: float
    mode_us: float | None
    us: float | None
    near_mode: float | None
    too_short: int | None
    off: float | None


class PageTimes(BoardScore):
    kinds: dict[Literal["R", "W", "E"], Pauses]


class CollectorRun(StrictModel):
    flash_of: Line
    erases: int
    in_order: int
    foretold: int
    traced: int


class Collector(BoardScore):
    """The collector's reads of blocks that it erased."""

    exact: int
    scored_on: int
    erases: int
    in_order: int
    foretold: int
    traced: int
    runs: list[CollectorRun]


class BoardLoad(StrictModel):
    load: Line
    runs: dict[Literal["syscalls", "ffs_tracer", "flashmon"], int]
    read_calls: ReadCalls
    burst_times: BurstTimes | NotScored
    page_times: PageTimes
    collector: Collector | NotScored


class ModelBoard(StrictModel):
    loads: list[BoardLoad]
