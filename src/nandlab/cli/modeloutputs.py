# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab model map``, ``read`` and ``score`` print as JSON: the shapes, for schemas."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel


class MapPage(StrictModel):
    """A page of a file."""

    page: int
    nodes: int
    flash: list[int] | None = Field(description="flash pages in the order they are read")
    n_alone: int | None
    n_in_sequence: int | None


class MapFile(StrictModel):
    """How a file's pages lie on flash."""

    path: FreeText
    size: int
    pages_unknown: int
    live_bytes: int
    dead_bytes: int | None
    n_mean: float | None
    n_if_rewritten: float | None
    pages_estimated: int = Field(description="of which it is not known how they would be packed")
    distribution: dict[Line, int] = Field(description="pages by N in sequence")
    pages: list[MapPage]


class DroppedNode(StrictModel):
    """What cannot be read of a block; 0: not known."""

    at: int
    bytes: int
    why: FreeText
    kind: FreeText
    number: int
    offset: int
    plain: int


class ModelMap(StrictModel):
    """The files of an image and the nodes that cannot be read."""

    page_seen: bool = Field(description="false: the chip's pages may be larger, and N another")
    files: list[MapFile]
    dropped: list[DroppedNode]


class FirstOpen(StrictModel):
    """What is read of a file as it is first opened."""

    n: int
    hits: int
    ns: int | None = Field(description="null: not measured for this file system and kernel")
    chip_ns: int = Field(description="the chip's part of it")


class ReadCall(FirstOpen):
    """A call that reads a page of a file."""

    page: int


class ModelRead(StrictModel):
    """What reading a file costs, foretold."""

    predicted: Literal[True]
    first_open: FirstOpen
    calls: list[ReadCall]
    pages_estimated: int = Field(description="rewritten: packed as well as their pieces are")
    total_ns: int | None = Field(description="of the calls, without the first open")
    total_chip_ns: int


class DifferingCall(StrictModel):
    """A call whose flash pages are not the foretold ones."""

    path: FreeText
    page: int | None = Field(description="null: a first open")
    traced: list[int]
    foretold: list[int]


class TracedOpen(StrictModel):
    """A first open beside the foretold one."""

    path: FreeText
    n: int
    same: bool
    ordered: bool = Field(description="false: the flash does not tell in which order it reads")
    disturbed: bool = Field(description="true: something else ran before it ended")
    ticked: bool = Field(description="true: the kernel's tick may have come in it")
    measured_ns: int
    error: float | None = Field(description="null: times are not known")


class Errors(StrictModel):
    """How far foretold times are off, as shares of the measured ones."""

    total: float
    median: float
    p99: float
    max: float


class PaperErrors(Errors):
    """Those of the paper's formula."""

    overhead_ns: int


class ModelScore(StrictModel):
    """A trace's reads beside the model's; those from n on are absent where no call was timed."""

    calls: int
    unknown: int
    differ: int
    disturbed: int
    ticked: int = Field(description="calls in which the kernel's tick may have come")
    first_that_differ: list[DifferingCall]
    opens: list[TracedOpen]
    n: int = 0
    measured_ns: int = 0
    chip_ns: int = Field(default=0, description="the chip's part of it, foretold")
    not_known: FreeText | None = Field(
        default=None, description="why nandlab tells no more of times"
    )
    nandlab: Errors | None = None
    in_time: Errors | None = Field(
        default=None, description="given when each call began: with ticks and first waits"
    )
    alone: Errors | None = Field(
        default=None,
        description="in_time, of calls alone during which nothing else ran while the chip worked",
    )
    undisturbed: Errors | None = None
    paper: PaperErrors | None = None
