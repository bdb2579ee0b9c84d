# SPDX-License-Identifier: GPL-2.0-or-later
"""What a campaign's points are, beside what was found at them: how many states, how many of them no
state of the part. A file of the campaign's folder, a line for each load."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nandlab.base.files import write_whole

FILE = "states.jsonl"


@dataclass(frozen=True)
class Counted:
    """A load's points."""

    load: str
    recording: str
    """The board's digest of the recording that they were counted on."""
    points: int
    states: list[str]
    """Digests of the states that are distinct, as hexadecimal digits."""
    programs: int
    forbidden: dict[str, int] = field(default_factory=dict)
    """Programs that break a figure of the part's geometry, by its name."""
    broken: int = 0
    """Programs that break any."""
    unphysical: int = 0
    """Points within those programs."""


def read(folder: Path) -> dict[str, Counted]:
    """What is kept in a campaign's folder, by load."""
    path = folder / FILE
    lines = path.read_text().splitlines() if path.exists() else ()
    return {one.load: one for one in (Counted(**json.loads(line)) for line in lines)}


def write(folder: Path, every: dict[str, Counted]) -> None:
    """Keeps it."""
    lines = (json.dumps(asdict(one)) + "\n" for one in every.values())
    write_whole(folder / FILE, "".join(lines).encode())


def distinct(every: dict[str, Counted]) -> int:
    """States of all loads: one that several loads reach is one."""
    return len({state for one in every.values() for state in one.states})
