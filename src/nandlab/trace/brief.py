# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder in a few lines that can be kept: flash time by cause and by phase.

A folder is many megabytes; a paper's claim rests on a few of its figures. These are copied, never
typed: ``nandlab trace brief FOLDER > FILE``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field

from nandlab.base.gate import read_json
from nandlab.base.strings import FreeText, FreeValue, Line, Word
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel


class Flash(StrictModel):
    """The chip's operations and their time. Those on spare bytes alone count in the time only."""

    ns: int
    reads: int
    programs: int
    erases: int


class Cause(Flash):
    """The operations of one cause."""

    cause: Line


class Phase(StrictModel):
    """A phase with the sync that ends it, as the program itself tells it."""

    name: Line
    ns: int
    reads: int
    programs: int
    erases: int


class Brief(StrictModel):
    """A trace's figures, and what it is of."""

    format: Literal[1] = 1
    nandlab: Line
    command: FreeText
    board: Word
    kernel: Line
    chip: Word
    partition_blocks: int
    filesystem: Word
    options: dict[Word, Line]
    state: dict[Word, FreeValue]
    seed: int
    config: dict[Line, FreeValue] = Field(
        description="the program's own account of its load; else empty"
    )
    command_ns: int
    events: int
    lost: int
    missed: int
    warnings: list[FreeText]
    phases: list[Phase] = Field(description="as the program tells them")
    pages: dict[Line, int] = Field(
        description="of the page cache: pages that calls wrote to, those that write-back took"
    )
    programmed_bytes: int | None
    written_bytes: int | None = Field(description="that the program wrote, by its calls")
    flash: Flash | None = Field(description="null: not traced")
    causes: list[Cause]
    calls: dict[Line, list[int]] = Field(
        description="of each call of the VFS: how many, and their ns with all inside"
    )
    functions: dict[Line, list[int]] = Field(
        default={},
        description="of each function asked for by name: calls, their ns with all inside",
    )


def read_trace_brief(path: Path) -> Brief:
    """A brief that was kept; UsageError if it is none."""
    return validate_data(read_json(path), Brief, str(path))


def format_trace_brief(brief: Brief) -> str:
    """As it is kept in a file."""
    return json.dumps(brief.model_dump(), indent=1) + "\n"
