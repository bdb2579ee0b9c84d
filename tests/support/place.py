# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system on a part, mounted as a trial has it: found in the catalog, so new ones join."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Board, Job, JobRecord, Step
from nandlab.catalog.files import list_noun_names
from nandlab.plan import study
from nandlab.plan.study import Study
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import mediumsteps, outcome
from nandlab.trial import steps as trial
from support.cases import FORGET, UNLOAD, Cases, run_cases
from support.sequences import CUT
from support.smalltrial import skip_where_refused

PARTS = {"apf27": 16, "nandsim-small": 8}
"""Parts that file systems are put on, large pages and small, and MiB of their partitions."""
SMALL = {"apf27": 12, "nandsim-small": 4}
"""The same for what must be filled."""
CUT_SHORT_MIB = 8
"""Less, and YAFFS2 finds no room for a checkpoint."""
SYSTEMS = list_noun_names("filesystems")
SIM = "/sys/kernel/debug/simnand"
CHIP = CUT.split()[1]
LOG = Step("kernel-log", "dmesg -r")


def _spec(place: Place, mib: float) -> TrialSpec:
    one_trial = Study.model_validate(
        {
            "name": "conformance",
            "question": "Does it do what it should?",
            "board": os.environ.get("NANDLAB_TEST_BOARD", "apf27"),
            "matrix": {
                "workloads": [{"name": "ffsmark"}],
                "filesystems": [{"name": place.system, **place.options}],
                "chips": [{"part": place.part, "partition_mib": mib, "faults": place.faults}],
                "states": [{"name": "fresh"}],
                "seeds": [1],
            },
        }
    )
    return study.plan_trials(one_trial)[0]


@dataclass(frozen=True)
class Place:
    """Where a file system under test lives."""

    system: str
    part: str
    faults: dict[str, int] = field(default_factory=dict)
    small: bool = False
    cut_short: bool = False
    """The partition is as small as will do, and the chip ends with it: it is put in sooner."""
    options: dict[str, str] = field(default_factory=dict)
    mib: float | None = None
    """Of its partition; none: the part's own, or the small one."""

    @property
    def spec(self) -> TrialSpec:
        """As a study would have it; UsageError if the file system cannot live there."""
        size = CUT_SHORT_MIB if self.cut_short else (SMALL if self.small else PARTS)[self.part]
        return _spec(self, self.mib or size)

    def differs(self) -> frozenset[str]:
        """What its catalog file declares for this part."""
        figures = self.spec.chip.figures(self.spec.partition_blocks)
        return frozenset(self.spec.filesystem.list_differences(figures))

    def run(
        self, board: Board, *steps: Step, files: dict[str, bytes] | None = None
    ) -> tuple[JobRecord, list[str]]:
        """Makes and mounts it, runs the steps, unmounts; and what the kernel complained of."""
        skip_where_refused(self.spec, board)
        todo = (*self._around(*steps), replace(LOG, always=True))
        record = asyncio.run(board.run(Job(todo, files or {})))
        return record, outcome.filter_kernel_log(self.spec, record)

    def run_cases(
        self,
        board: Board,
        cases: Mapping[str, Sequence[Step]],
        files: dict[str, bytes] | None = None,
    ) -> Cases:
        """A job in which each case has the file system to itself, made anew; see complaints()."""
        skip_where_refused(self.spec, board)
        around = {n: (FORGET, *self._around(*steps), LOG, UNLOAD) for n, steps in cases.items()}
        return run_cases(board, around, files=files)

    def complaints(self, record: JobRecord) -> list[str]:
        """What the kernel complained of in a case."""
        return outcome.filter_kernel_log(self.spec, record)

    def _around(self, *steps: Step) -> list[Step]:
        load, *mount = trial.make_steps_until_mounted(self.spec)
        load = replace(load, command=self.load())
        return [load, *mount, *steps, mediumsteps.make_unmount_step(self.spec)]

    def remount(self) -> str:
        """The command that takes it away and brings it back."""
        return (
            f"{mediumsteps.make_unmount_step(self.spec).command} && "
            f"{mediumsteps.make_mount_step(self.spec).command}"
        )

    def load(self) -> str:
        """The command that puts the chip in."""
        command = trial.make_steps_until_mounted(self.spec)[0].command
        if not self.cut_short:
            return command
        return f"{command} blocks={1 << (self.spec.partition_blocks - 1).bit_length()}"

    def cut(self) -> str:
        """The command that takes the power away for as long as it takes to keep the chip."""
        kept = f"cat {SIM}/image > {CHIP} && cat {SIM}/counters > {CHIP}.counters"
        return f"echo off > {SIM}/power; {kept}; echo on > {SIM}/power"

    def another_machine(self) -> str:
        """The command that takes a chip whose power has gone to where nobody has memory of it.

        Fails if the chip took an operation after that.
        """
        cut = f"grep -qx 'powered 0' {CHIP}.counters && grep -w op_seq {CHIP}.counters > /tmp/last"
        there = f"rmmod simnand && {self.load()} image={CHIP} && rm {CHIP}"
        same = f"grep -w op_seq {SIM}/counters | diff /tmp/last -"
        away = mediumsteps.make_unmount_step(self.spec).command
        return (
            f"{cut} && {away} && {there} && {same} && "
            f"{mediumsteps.make_mount_step(self.spec).command}"
        )

    def pages_with(self, text: str) -> str:
        """The command that prints the numbers of the flash pages that hold a text."""
        size = self.spec.chip.geometry.writesize
        places = f"strings -t d -n {len(text)} /dev/mtd0 | grep -F '{text}'"
        return f"{places} | while read -r at rest; do echo $((at / {size})); done"

    def rest(self) -> Step:
        """Until its work in the background is done."""
        return next(s for s in trial.make_steps_until_mounted(self.spec) if s.name == "settle")


def places(every_part: bool, small: bool = False) -> list[Place]:
    """All file systems, each on the first part that it can live on, or on every such part."""
    fit = _fitting(small)
    return [place for each in fit for place in (each if every_part else each[:1])]


@cache
def _fitting(small: bool) -> list[list[Place]]:
    """The places that each file system can live on."""
    return [
        [p for p in (Place(s, part, small=small) for part in PARTS) if _fits(p)] for s in SYSTEMS
    ]


def _fits(place: Place) -> bool:
    try:
        return bool(place.spec)
    except UsageError:
        return False
