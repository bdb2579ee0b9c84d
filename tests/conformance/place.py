# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system on a part, mounted as a trial has it: found in the catalog, so new ones join."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from smalltrial import skip_where_refused

from nandlab import study, trial
from nandlab.board.job import ALWAYS, Board, Job, JobRecord, Step
from nandlab.catalog import names
from nandlab.errors import UsageError
from nandlab.study import Study, TrialSpec

PARTS = {"apf27": 24, "nandsim-small": 16}
"""Parts that file systems are put on, large pages and small, and MiB of their partitions."""
SMALL = {"apf27": 12, "nandsim-small": 6}
"""The same for what must be filled."""
SYSTEMS = names("filesystems")


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
    mib: float | None = None
    """Of its partition; none: the part's own, or the small one."""

    @property
    def spec(self) -> TrialSpec:
        """As a study would have it; UsageError if the file system cannot live there."""
        mib = self.mib or (SMALL if self.small else PARTS)[self.part]
        return _spec(self.system, self.part, mib, self.faults)

    def differs(self) -> frozenset[str]:
        """What its catalog file declares."""
        return frozenset(self.spec.filesystem.differs)

    def run(
        self, board: Board, *steps: Step, files: dict[str, bytes] | None = None
    ) -> tuple[JobRecord, list[str]]:
        """Makes and mounts it, runs the steps, unmounts; and what the kernel complained of."""
        skip_where_refused(self.spec, board)
        log = Step(ALWAYS + "kernel-log", "dmesg -r")
        todo = (*trial.setup(self.spec), *steps, trial.unmount(self.spec), log)
        record = asyncio.run(board.run(Job(todo, files or {})))
        return record, trial.kernel_log(self.spec, record)

    def remount(self) -> str:
        """The command that takes it away and brings it back."""
        return f"{trial.unmount(self.spec).command} && {trial.mount(self.spec).command}"

    def rest(self) -> Step:
        """Until its work in the background is done."""
        return next(s for s in trial.setup(self.spec) if s.name == "settle")


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
