# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab model map`` and ``nandlab model read`` print as JSON: maps of files, and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel
from nandlab.flash.layouts.jffs2nodes import DroppedNode
from nandlab.flash.reading.fragments import FileMap, PageRow
from nandlab.flash.reading.reads import FirstOpen, ReadCall
from nandlab.flash.reading.times import PageReadTimes


class PageRecord(StrictModel):
    """A page of a file."""

    page: int
    nodes: int
    flash: list[int] | None = Field(description="flash pages in the order they are read")
    n_alone: int | None
    n_in_sequence: int | None


class FileRecord(StrictModel):
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
    pages: list[PageRecord]


class DroppedNodeRecord(StrictModel):
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
    files: list[FileRecord]
    dropped: list[DroppedNodeRecord]


def make_model_map(
    maps: Sequence[FileMap], dropped: Sequence[DroppedNode], *, page_seen: bool
) -> ModelMap:
    """The maps of files for programs."""
    return ModelMap(
        page_seen=page_seen,
        files=[_make_file_record(m) for m in maps],
        dropped=[DroppedNodeRecord(**node._asdict()) for node in dropped],
    )


def _make_file_record(m: FileMap) -> FileRecord:
    return FileRecord(
        path=m.path,
        size=m.size,
        pages_unknown=m.unknown,
        live_bytes=m.live_bytes,
        dead_bytes=m.dead_bytes,
        n_mean=m.mean,
        n_if_rewritten=m.rewritten,
        pages_estimated=m.estimated,
        distribution={str(n): pages for n, pages in m.distribution().items()},
        pages=[_make_page_record(row) for row in m.rows],
    )


def _make_page_record(row: PageRow) -> PageRecord:
    return PageRecord(
        page=row.page,
        nodes=row.nodes,
        flash=row.flash if row.is_known else None,
        n_alone=row.n_alone if row.is_known else None,
        n_in_sequence=row.n_in_sequence,
    )


class ReadCost(StrictModel):
    """What is read of a file as it is first opened."""

    n: int
    hits: int
    ns: int | None = Field(description="null: not measured for this file system and kernel")
    chip_ns: int = Field(description="the chip's part of it")


class PagePlace(StrictModel):
    """A page of a file, by its number."""

    page: int


class ReadCallCost(ReadCost, PagePlace):
    """A call that reads a page of a file."""


class ModelRead(StrictModel):
    """What reading a file costs, foretold."""

    predicted: Literal[True]
    first_open: ReadCost
    calls: list[ReadCallCost]
    pages_estimated: int = Field(description="rewritten: packed as well as their pieces are")
    total_ns: int | None = Field(description="of the calls, without the first open")
    total_chip_ns: int


CallPricer = Callable[[ReadCall | FirstOpen], int | None]
"""The time of a call, ns; None: not known."""


def make_model_read(
    first: FirstOpen,
    calls: Sequence[ReadCall],
    pricer: CallPricer,
    page_read: PageReadTimes,
    pages_estimated: int,
) -> ModelRead:
    """The costs of a first open and of the calls after it."""

    def make_cost(call: ReadCall | FirstOpen) -> ReadCost:
        n = len(call.flash)
        chip_ns = round(page_read.compute_ns(n, call.registered))
        return ReadCost(n=n, hits=call.hits, ns=pricer(call), chip_ns=chip_ns)

    opening = make_cost(first)
    costs = [ReadCallCost(page=call.page, **dict(make_cost(call))) for call in calls]
    return ModelRead(
        predicted=True,
        first_open=opening,
        calls=costs,
        pages_estimated=pages_estimated,
        total_ns=None if opening.ns is None else sum(cost.ns or 0 for cost in costs),
        total_chip_ns=sum(cost.chip_ns for cost in costs),
    )
