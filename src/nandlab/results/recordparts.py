# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial's record is made of: its chip, its phases and steps, and what each of them cost.

Nothing here knows any workload. Times are in ns of the board's clock unless the key says
otherwise; missing is null or absent, never 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    model_validator,
)
from pydantic_core.core_schema import (
    CoreSchema,
    no_info_after_validator_function,
    plain_serializer_function_ser_schema,
)

from nandlab.base.strings import Digest, FreeText, Line, Sha256, Word
from nandlab.catalog.chip import SpiBus

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A count, or a time in ns."""


_FIELD_SETS: dict[frozenset[str], set[str]] = {}
"""Names of the fields that a part was told, each set of them once."""


class RecordPart(BaseModel):
    """Of a record: whole, and never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def model_post_init(self, context: Any, /) -> None:
        """Parts that were told the same fields share the set of their names: it is a third of what
        a run of thousands of trials takes, and pydantic changes it only where a field is set."""
        names = self.__pydantic_fields_set__
        shared = _FIELD_SETS.setdefault(frozenset(names), names)
        object.__setattr__(self, "__pydantic_fields_set__", shared)


def pack_counts_into_array(counts: Sequence[int]) -> array[int]:
    """Counts in as few bytes each as the greatest needs: a chip has thousands of blocks."""
    most = max(counts, default=0)
    return array(next(code for code in "BHIQ" if most < 1 << 8 * array(code).itemsize), counts)


def _make_packed_schema(counts: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """A list of counts to whoever writes or reads one, and packed while it is here."""
    told = handler.generate_schema(list[Count])
    written = plain_serializer_function_ser_schema(list, return_schema=told)
    return no_info_after_validator_function(pack_counts_into_array, told, serialization=written)


PackedCounts = Annotated[Sequence[int], GetPydanticSchema(_make_packed_schema)]


class Doubt(RecordPart):
    """A doubt about a trial: a code of record.WARNINGS and what was seen."""

    code: Word
    text: FreeText


class OperationCounts(RecordPart):
    """Operations of the chip: page reads, page programs, block erases."""

    reads: Count
    programs: Count
    erases: Count


class EraseSpread(RecordPart):
    """Erases per block of the partition over the timed phases."""

    mean: float
    stddev: float
    min: Count
    max: Count


class PerBlock(RecordPart):
    """Operations per block of the partition over the timed phases; index is the block."""

    reads: PackedCounts
    programs: PackedCounts
    erases: PackedCounts


class Latency(RecordPart):
    """Latency of one kind of operation: exact nearest-rank percentiles, in ns."""

    count: Count
    min: Count
    median: Count
    p95: Count
    p99: Count
    p99_9: Count
    max: Count


class PageShares(RecordPart):
    """Shares of the partition's pages, 0..1, that the chip counted as programmed."""

    before: float | None = Field(default=None, description="already programmed before the fill")
    valid: float | None = Field(default=None, description="programmed by the data that stays")
    invalid: float | None = Field(
        default=None, description="programmed by data since removed, and not erased yet"
    )
    programmed: float | None = Field(
        default=None, description="all that are programmed when the timed phases begin"
    )


class FlashState(RecordPart):
    """Flash state before the timed phases: what was asked, and what the chip then held."""

    name: Word
    valid: float
    invalid: float
    mix: float
    of: Literal["chip", "free"] = Field(
        default="chip", description="what the shares asked for are of"
    )
    obtained: PageShares | None = None


class TrialChip(RecordPart):
    """The chip of a trial: catalog part, and the partition the file system gets."""

    part: Word
    partition_mib: float
    pages_per_block: int
    blocks: int = Field(description="blocks of the partition")
    writesize: int
    latency: Literal["typical", "maximum"] = Field(
        default="typical", description="which of the data sheet's array times"
    )
    faults: dict[Word, int] = Field(
        default_factory=dict, description="simnand's fault parameters, as a study's chips name them"
    )
    spinand: SpiBus | None = Field(
        default=None,
        description="the bus of a chip that the kernel's own driver of SPI-NAND chips drove; "
        "null: the raw NAND layer did",
    )
    layout: Line = Field(
        default="", description="the chip's MTD partitions, where the file system's is one of them"
    )


class StartImage(RecordPart):
    """A chip image that a trial began from: it was flashed and mounted, never formatted."""

    name: Line = Field(description="as the study names it")
    sha256: Digest = Field(description="of its cells and its sidecar")
    tree: Digest | None = Field(
        default=None,
        description="digest of the root file system that it was made of for the run; null: it was "
        "given",
    )
    pages: Count | None = Field(
        default=None,
        description="that hold data, UBI's headers among them; null, as the two below: the result "
        "is older than this field",
    )
    own_header_pages: Count | None = Field(
        default=None, description="pages with UBI's headers and nothing else"
    )
    bytes: Count | None = Field(
        default=None, description="of the pages without UBI's headers, no spare areas"
    )


class ChipUsage(RecordPart):
    """Where the time of a phase or a step went, and what passed the chip's bus; null: not known."""

    idle_ns: Count | None = Field(default=None, description="the processor idled, by cpuidle")
    busy_ns: Count | None = Field(default=None, description="the chip worked")
    warped_ns: Count | None = Field(
        default=None,
        description="of busy_ns, what was added to the clock: the processor neither ran nor idled",
    )
    bytes_read: Count | None = Field(
        default=None, description="over the chip's bus, spare bytes included"
    )
    bytes_written: Count | None = Field(default=None, description="the same, to the chip")
    register_hits: Count | None = Field(
        default=None, description="reads that the chip's page register answered, without tR"
    )


class Phase(RecordPart):
    """A part of a workload, by the workload's own name."""

    name: Line
    ns: Count | None = Field(default=None, description="without its sync; null: it was not run")
    sync_ns: Count | None = Field(default=None, description="the sync that ends it; null: none")
    operations: dict[Line, Count] = Field(default={}, description="made in it, by kind")
    bytes: dict[Line, Count] = Field(
        default={}, description="read, written in it; empty: the workload reports totals only"
    )
    chip: OperationCounts | None = Field(
        default=None, description="its sync included; null: not counted"
    )
    chip_sync: OperationCounts | None = Field(default=None, description="the sync's part of them")
    usage: ChipUsage | None = Field(default=None, description="null: the workload does not tell it")
    at: dict[Line, int | float | Line] = Field(
        default={}, description="what sets it apart from like phases, such as count, size, pattern"
    )


class StepResult(RecordPart):
    """A step of the trial's job."""

    name: Line
    ns: Count = Field(description="of the board's clock")
    chip: OperationCounts | None = Field(default=None, description="null: not counted")
    blocks_erased: Count | None = Field(
        default=None,
        description="blocks of the partition that are good and erased at its end; null: there is "
        "no chip, or the result is older than this field",
    )
    register_hits: Count | None = Field(
        default=None,
        description="reads that the chip's page register answered, without tR; no part of chip's "
        "reads; null: not counted, or the result is older than this field",
    )
    usage: ChipUsage | None = Field(
        default=None,
        description="what the chip counted of the step, idle_ns not known; null: not counted, or "
        "the result is older than this field",
    )
    command: FreeText | None = Field(
        default=None,
        description="what the board was given; null: the result is older than this field",
    )


class Series(RecordPart):
    """A figure over the time of the trial."""

    name: Line
    unit: Line = Field(description="as nandlab.base.units has quantities: bytes, count, ...")
    t_ns: list[Count] = Field(description="the board's clock, ascending")
    values: list[int | float] = Field(description="one for each time")

    @model_validator(mode="after")
    def _is_whole(self) -> Series:
        if len(self.t_ns) != len(self.values):
            raise ValueError(f"{len(self.t_ns)} times and {len(self.values)} values")
        return self


class Artefact(RecordPart):
    """A file that the trial left: kept once per content in the run's folder ``artefacts``."""

    name: Line = Field(description="in the trial")
    kind: Line = Field(description="chip image, trace, dump, ...")
    sha256: Sha256
    bytes: Count


class WearReading(RecordPart):
    """Erases of each good block of the partition since the reading before."""

    after: Line = Field(description="the step, or the moment of the trial, that had just ended")
    t_ns: Count = Field(description="the board's clock")
    runs: list[Count] = Field(
        description="runs of blocks that are alike: how many blocks, erases of each, how many, ..."
    )


class Wear(RecordPart):
    """Erases per block over a trial, by the instrument of that name."""

    blocks: Count = Field(description="good blocks of the partition")
    bad: list[Count] = Field(description="factory-bad blocks, by number; no reading has them")
    before: Count = Field(
        description="how many readings lie before the load's first step: the chip's loading, "
        "formatting, first mount and coming to rest; for a state also its fill"
    )
    readings: list[WearReading] = Field(description="in the order of the trial")

    @model_validator(mode="after")
    def _is_whole(self) -> Wear:
        if not 0 < self.before <= len(self.readings):
            raise ValueError(f"{len(self.readings)} readings, {self.before} before the load")
        for r in self.readings:
            if len(r.runs) % 2 or sum(r.runs[::2]) != self.blocks:
                raise ValueError(f"reading after {r.after}: not of {self.blocks} blocks")
        return self
