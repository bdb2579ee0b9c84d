# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON files of a trace's folder, and what ``nandlab trace parts`` prints: the shapes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from nandlab.base.strings import Empty, FreeText, Line, Sha256, Word
from nandlab.catalog.chip import Geometry
from nandlab.catalog.noun import StrictModel
from nandlab.flash.chip.sidecar import BLOCKS_MAX
from nandlab.plan.layout import FlashLayout
from nandlab.plan.matrix import StateChoice
from nandlab.traced.tree import LAYERS

Number = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
"""A whole number of 64 bits, as the tables of a trace have."""


class Flash(StrictModel):
    """The chip's operations and their time; oob_: those on spare bytes alone, not in the others."""

    reads: Number
    oob_reads: Number
    reads_ns: Number
    programs: Number
    oob_programs: Number
    programs_ns: Number
    erases: Number
    erases_ns: Number
    buffer_hits: Number = Field(description="reads that found the page in the chip's register")
    ns: Number


class Call(StrictModel):
    """All calls of a kind, or all work of a task outside of any."""

    name: Line
    kind: Literal["system call", "task"]
    count: Number
    ns: int = Field(ge=1, lt=1 << 63)
    ns_max: Number
    layers_ns: dict[Line, Number] = Field(description="by layer, each without those below")
    flash: Flash

    @model_validator(mode="after")
    def _has_each_layer(self) -> Call:
        if set(self.layers_ns) != set(LAYERS):
            raise ValueError(f"layers_ns: needs {', '.join(LAYERS)}, and no other")
        return self


class Function(StrictModel):
    """A kernel function that was traced."""

    name: Line
    count: Number
    ns: Number = Field(description="with all inside")
    ns_self: Number
    ns_max: Number


class Request(StrictModel):
    """All events of a kind."""

    event: Line
    count: Number
    ns: Number
    size: Number | None
    size_is: Literal["pages", "bytes"]


class Amplification(StrictModel):
    """Bytes at each layer; null: that layer was not traced."""

    program_bytes: Number
    file_system_bytes: Number
    mtd_bytes: Number | None
    chip_bytes: Number
    chip_pages: Number
    factor: float | None = Field(description="the chip's bytes by the program's; null: it had none")


class BothWays(StrictModel):
    """Reading and writing."""

    read: Amplification
    write: Amplification


class Cache(StrictModel):
    """The page cache, in pages."""

    hits: Number
    misses: Number
    windows: Number = Field(description="times that the kernel read ahead")
    ahead: Number
    used: Number
    wasted: Number
    hit_rate: float | None


class ByCause(Flash):
    """The flash's work for one cause."""

    cause: Line


class ByFile(Flash):
    """The flash's work for one file."""

    path: FreeText
    inode: Number | None = Field(description="null: for no file")
    gone: bool = Field(description="whether it was deleted when the trace ended")
    causes_ns: dict[Line, Number]


class CostKind(StrictModel):
    """What events of a kind cost, in instructions."""

    kind: Line
    count: Number
    instructions_each: Number
    instructions: Number


class Cost(StrictModel):
    """What the tracing cost."""

    kernel: Line
    kinds: list[CostKind]
    instructions: Number
    ns: Number | None = Field(description="null: not known, for the board has no such clock")
    share: float | None = Field(description="of the trace's time")
    unpriced: dict[Line, Number] = Field(description="events whose cost was not measured")
    source: FreeText


class TraceSummary(StrictModel):
    """summary.json: what a trace comes to."""

    format: Literal[3]
    events: Number
    lost: Number
    missed: Number
    trace_ns: Number
    calls: list[Call]
    functions: list[Function]
    requests: list[Request]
    amplification: BothWays
    cache: Cache
    flash: Flash
    flash_by_cause: list[ByCause]
    flash_by_file: list[ByFile]
    chip: dict[Line, Number | None] = Field(description="what the chip itself counted")
    not_traced: list[FreeText]
    cost: Cost
    warnings: list[FreeText]


class BeganFrom(StrictModel):
    """A chip image."""

    name: Line
    sha256: Sha256


class VirtualBoard(BaseModel):
    """A virtual board, as its catalog file has it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Line
    icount_shift: int = Field(ge=0, le=10)


class Identity(BaseModel):
    """What is read of a board's identity; all else in it is only shown."""

    model_config = ConfigDict(extra="allow", frozen=True)

    accel: Line
    kernel: Line
    board: VirtualBoard | Line = Field(description="a text: where a board of one's own is")

    @model_validator(mode="after")
    def _counts_instructions(self) -> Identity:
        if self.accel == "tcg" and isinstance(self.board, str):
            raise ValueError("under tcg its board is a virtual one")
        return self


class TraceMeta(StrictModel):
    """meta.json: what was run on what."""

    format: Literal[3]
    nandlab: Line = Field(description="its version")
    command: FreeText
    before: FreeText = ""
    with_mount: bool = False
    copies: dict[Line, Sha256] = Field(
        default={}, description="SHA-256 of own files, by their place on the board"
    )
    image: BeganFrom | None = Field(default=None, description="the chip image that it began from")
    filesystem: Line
    options: dict[Word, Line]
    chip: Line
    geometry: Geometry
    partition_blocks: int = Field(ge=1, le=BLOCKS_MAX)
    layout: FlashLayout | None = Field(
        default=None,
        description="all MTD partitions of the chip; null: the file system's is the only one",
    )
    only: Line = Field(
        default="", description="the partition of layout that was traced; empty: all of them"
    )
    state: StateChoice
    seed: int
    tracers: list[Line]
    functions: list[Line]
    records: Number
    rc: Number | None
    command_ns: Number
    stdout: FreeText
    stderr: FreeText
    tracer_status: dict[Line, FreeText]
    kernel_threads: list[Number] | None = Field(default=None, description="null: not kept")
    board: Identity
    kernel_log: list[FreeText]
    chip_image: Sha256 | Empty = Field(
        default="", description="SHA-256 of chip.image, where it was kept"
    )


class PartsPhase(StrictModel):
    """A stretch of the trace."""

    name: Line
    start_ns: int
    elapsed_ns: int
    parts_ns: dict[Line, int] = Field(description="they add up to elapsed_ns")
    for_ns: dict[Line, dict[Line, int]]
    operations: dict[Line, dict[Line, int]] = Field(
        description="of the chip, by who asked for them"
    )


class TraceParts(StrictModel):
    """The time in parts, whole and by phase."""

    format: Literal[1]
    switches: bool = Field(description="whether the scheduler's switches were traced")
    lost: bool
    phases: list[PartsPhase]
