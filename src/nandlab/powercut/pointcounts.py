# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign's points are, beside what was found at them: how many states, how many of them no
state of the part. A file of the campaign's folder, a line for each load."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_json_lines
from nandlab.base.strings import Line
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel

FILE = "states.jsonl"


class PointCounts(StrictModel):
    """A load's points."""

    load: Line
    recording: Line
    """The board's digest of the recording that they were counted on."""
    points: int
    states: list[Line]
    """Digests of the states that are distinct, as hexadecimal digits."""
    programs: int
    forbidden: dict[Line, int] = Field(default={})
    """Programs that break a figure of the part's geometry, by its name."""
    broken: int = 0
    """Programs that break any."""
    unphysical: int = 0
    """Points within those programs."""


def read_point_counts(folder: Path) -> dict[str, PointCounts]:
    """What is kept in a campaign's folder, by load."""
    path = folder / FILE
    lines = read_json_lines(path) if path.exists() else []
    told = [validate_data(line, PointCounts, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    return {one.load: one for one in told}


def write_point_counts(folder: Path, every: dict[str, PointCounts]) -> None:
    """Keeps it."""
    lines = (one.model_dump_json() + "\n" for one in every.values())
    write_whole_file(folder / FILE, "".join(lines).encode())


def count_distinct_states(every: dict[str, PointCounts]) -> int:
    """States of all loads: one that several loads reach is one."""
    return len({state for one in every.values() for state in one.states})
