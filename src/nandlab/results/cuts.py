# SPDX-License-Identifier: GPL-2.0-or-later
"""A summary of each campaign of power cuts in a folder, such as that beside a run's trials.

``nandlab powercut`` writes it after each campaign, from the campaign's own folder, which has all of
it. A trial knows the campaigns of its file system, options and chip.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole
from nandlab.base.gate import read_json
from nandlab.base.strings import Line, Word

FOLDER = "powercut"
FILE = "summary.json"
UNSTABLE = " (unstable cells)"
"""What follows the class of a point at which cells were unstable."""
TWO_NAMES = "two names after a rename"
"""A class that breaks no promise: Linux's rename(2) has both names for a while."""


class Cuts(BaseModel):
    """A campaign in numbers."""

    model_config = ConfigDict(frozen=True)

    filesystem: Word
    options: dict[Word, Line]
    chip: Word
    """Its part."""
    kernel: Line
    load: Line
    faulty: bool
    """Whether the chip failed, instead of its power."""
    variants: list[Line] = []
    """Ways to tear an operation, or faults."""
    seeds: list[int] = []
    pieces: int = 0
    done: int = 0
    """Pieces of the campaign that are done."""
    operations: int
    """Flash operations of the loads."""
    cut: int
    """Those at which the power was cut."""
    points: int
    distinct: int | None = None
    """States of the chip that these points are; None: not counted."""
    unphysical: int | None = None
    """Points within programs that the part's data sheet forbids; None: not counted."""
    excused: dict[Line, int]
    """Points that did not hold by class: of unstable cells, or pages that cannot be read."""
    lost: dict[Line, int]
    """Points that did not hold by class, and nothing excuses."""

    first: dict[Line, Line] = {}
    """Where a class was first seen: its load and its point."""

    @property
    def held(self) -> bool:
        """Whether it kept what it may have promised."""
        return self.lost.keys() <= {TWO_NAMES}


EVERY = TypeAdapter(list[Cuts])


def read(run: Path) -> list[Cuts]:
    """The campaigns beside a run; UsageError if their summary is damaged."""
    path = run / FOLDER / FILE
    if not path.exists():
        return []
    try:
        return EVERY.validate_python(read_json(path))
    except ValidationError:
        raise UsageError(
            f"{path}: damaged: remove it, and run nandlab powercut {run} again"
        ) from None


def write(folder: Path, cuts: list[Cuts]) -> None:
    """Keeps the summary of the campaigns in a folder."""
    write_whole(folder / FILE, EVERY.dump_json(cuts, indent=1))
