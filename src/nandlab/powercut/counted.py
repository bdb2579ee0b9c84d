# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign's points are, beside what was found at them: how many states, how many of them no
state of the part. A file of the campaign's folder, a line for each load."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from nandlab.base.files import write_whole
from nandlab.base.gate import read_json_lines
from nandlab.base.strings import Line
from nandlab.catalog.files import validate
from nandlab.catalog.noun import Strict

FILE = "states.jsonl"


class Counted(Strict):
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


def read(folder: Path) -> dict[str, Counted]:
    """What is kept in a campaign's folder, by load."""
    path = folder / FILE
    lines = read_json_lines(path) if path.exists() else []
    told = [validate(line, Counted, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    return {one.load: one for one in told}


def write(folder: Path, every: dict[str, Counted]) -> None:
    """Keeps it."""
    lines = (one.model_dump_json() + "\n" for one in every.values())
    write_whole(folder / FILE, "".join(lines).encode())


def distinct(every: dict[str, Counted]) -> int:
    """States of all loads: one that several loads reach is one."""
    return len({state for one in every.values() for state in one.states})
