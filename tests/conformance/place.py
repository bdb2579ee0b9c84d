# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system on a part, mounted as a trial has it: found in the catalog, so new ones join."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from nandlab import study
from nandlab.board.job import ALWAYS, Board, Job, JobRecord, Step
from nandlab.catalog import names
from nandlab.errors import UsageError
from nandlab.study import Study, TrialSpec
from nandlab.trial import job

PARTS = {"apf27": 24, "nandsim-small": 16}
"""Parts that file systems are put on, large pages and small, and MiB of their partitions."""
SMALL = {"apf27": 12, "nandsim-small": 6}
"""The same for what must be filled."""
SYSTEMS = names("filesystems")
HARMLESS = ("taint", "jffs2_sum_write_data: Not enough space for summary")
"""Warnings that mean no trouble: of modules built out of tree; of a block that JFFS2 ends without
a summary, which only the next mount's time can tell."""


def _spec(system: str, part: str, mib: float, faults: dict[str, int]) -> TrialSpec:
    made = Study.model_validate(
        {
            "name": "conformance",
            "question": "Does it do what it should?",
            "board": os.environ.get("NANDLAB_TEST_BOARD", "apf27"),
            "matrix": {
                "workloads": [{"name": "ffsmark"}],
                "filesystems": [{"name": system}],
                "chips": [{"part": part, "partition_mib": mib, "faults": faults}],
                "states": [{"name": "fresh"}],
                "seeds": [1],
            },
        }
    )
    return study.plan(made)[0]


@dataclass(frozen=True)
class Place:
    """Where a file system under test lives."""

    system: str
    part: str
    faults: dict[str, int] = field(default_factory=dict)
    small: bool = False

    @property
    def spec(self) -> TrialSpec:
        """As a study would have it; UsageError if the file system cannot live there."""
        mib = (SMALL if self.small else PARTS)[self.part]
        return _spec(self.system, self.part, mib, self.faults)

    def differs(self) -> frozenset[str]:
        """What its catalog file declares."""
        return frozenset(self.spec.filesystem.differs)

    def run(
        self, board: Board, *steps: Step, files: dict[str, bytes] | None = None
    ) -> tuple[JobRecord, list[str]]:
        """Makes and mounts it, runs the steps, unmounts; and what the kernel complained of."""
        log = Step(ALWAYS + "kernel-log", "dmesg -r")
        todo = (*self.setup(), *steps, self.step("unmount"), log)
        record = asyncio.run(board.run(Job(todo, files or {})))
        return record, complaints(record, self.spec)

    def setup(self) -> list[Step]:
        """From a board without a chip to a file system that is mounted and at rest."""
        steps = job(self.spec).steps
        last = [s.name for s in steps].index("settle")
        return list(steps[: last + 1])

    def step(self, name: str) -> Step:
        """A step of a trial, such as mount or unmount."""
        return next(s for s in job(self.spec).steps if s.name == name)

    def remount(self) -> str:
        """The command that takes it away and brings it back."""
        return f"{self.step('unmount').command} && {self.step('mount').command}"


def places(every_part: bool, small: bool = False) -> list[Place]:
    """All file systems, each on the first part that it can live on, or on every such part."""
    found = []
    for system in SYSTEMS:
        fit = [p for p in (Place(system, part, small=small) for part in PARTS) if _fits(p)]
        found += fit if every_part else fit[:1]
    return found


def _fits(place: Place) -> bool:
    try:
        return bool(place.spec)
    except UsageError:
        return False


def complaints(record: JobRecord, spec: TrialSpec) -> list[str]:
    """The kernel's lines of warning and worse, since the chip was put in."""
    lines = record[ALWAYS + "kernel-log"].stdout.splitlines()
    levels = [line for line in lines if line[:1] == "<" and int(line[1 : line.index(">")]) & 7 <= 4]
    since = record.steps[0].start_ns / 1e9
    harmless = tuple(getattr(spec.filesystem, "harmless_log", ()))
    told = []
    for line in levels:
        stamp, _, said = line.partition("[")[2].partition("] ")
        expected = said.startswith(harmless) or any(words in said for words in HARMLESS)
        if float(stamp) >= since and not expected:
            told.append(said)
    return told
