# SPDX-License-Identifier: GPL-2.0-or-later
"""A writer of a made board's traces: folders of the form that nandlab.traced.boardtraces reads.

Nothing of it was recorded anywhere; every answer is known from what is put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.traced.boardtraces import STEP_S

HEAD = "#<time>;<call>;<arguments>;<file>;<elapsed>"
FILE = "/flash/a.db"


def opened(file: str = FILE) -> str:
    return f"open;3;0;0;0;{file};0.000153"


def closed(file: str = FILE) -> str:
    return f"close;3;{file};0.000061"


def read(offset: int, size: int, file: str = FILE) -> str:
    return f"read;3;{offset};{size};{file};0.000092"


def written(offset: int, size: int, file: str = FILE) -> str:
    return f"write;4;{offset};{size};{file};0.000244"


def syscalls(calls: Iterable[str]) -> list[str]:
    """A run of strace: a head, and calls half a second apart."""
    return [HEAD, *(f"{1400000000 + i * 0.5:.2f};{call}" for i, call in enumerate(calls))]


def functions(bursts: Sequence[Sequence[int]], name: str = "jffs2_readpage") -> list[str]:
    """A run of ffs_tracer: bursts of calls that take so many steps of the clock each."""
    lines, at = [], 1000
    for burst in bursts:
        for took in burst:
            start, end = at * STEP_S, (at + took) * STEP_S
            lines.append(f"{start:.9f};{end:.9f};{end - start:.9f};{name};77")
            at += took + 1
        at += 40000
    return lines


@dataclass
class Flash:
    """A run of flashmon, in the making."""

    rows: list[str] = field(default_factory=list)
    at: int = 500
    """In steps of the clock."""

    def operation(self, kind: str, number: int, task: str, then: int) -> None:
        """An operation, and so many steps to the next start."""
        self.rows.append(f"{self.at * STEP_S:.9f};{kind};{number};{task}")
        self.at += then

    def burst(self, pages: int, task: str = "load", step: int = 6) -> None:
        for page in range(pages):
            self.operation("R", 700 + page, task, step)
        self.at += 40000

    def erase(self, block: int, reads: int = 64, task: str = "gc") -> None:
        """An erase, and reads of its pages from the first on."""
        self.operation("E", block, task, 20)
        for page in range(reads):
            self.operation("R", block * 64 + page, task, 6)
        self.at += 40000


def write(
    folder: Path,
    calls: Sequence[Sequence[str]],
    traced: Sequence[Sequence[str]],
    flash: Sequence[Sequence[str]],
) -> Path:
    """A load's folder, of runs of each kind."""
    for kind, runs in (("syscalls", calls), ("ffs_tracer", traced), ("flashmon", flash)):
        (folder / kind).mkdir(parents=True)
        for i, rows in enumerate(runs, 1):
            (folder / kind / f"made_{i}.csv").write_text("".join(f"{row}\n" for row in rows))
    return folder
