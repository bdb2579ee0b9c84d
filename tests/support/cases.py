# SPDX-License-Identifier: GPL-2.0-or-later
"""Many cases in one job: what wants no fresh board is some steps among others.

A board's start, restore and end cost two seconds of a processor, a case's own steps often a tenth.
Each case loads what it needs and unloads it. A case that fails ends its job, as any step does; the
cases after it then run in another job, so that each has a record of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nandlab.board.jobs.cargo import Cargo
from nandlab.board.jobs.job import Board, Job, JobRecord, Step

T = TypeVar("T")
UNLOAD = Step("unload", "rmmod simnand")
"""Takes the chip out, so that the next case may put in another."""
FORGET = Step("forget", "dmesg -c > /dev/null")
"""What the kernel logs from here on is of one case."""
DETACH = Step("detach", "[ ! -e /sys/class/ubi/ubi0 ] || ubidetach -d 0")
"""Frees the chip of a UBI that stays attached over unmounts."""


class Cases:
    """The records of all cases of one job, by the case's name."""

    def __init__(self, records: Mapping[str, JobRecord]) -> None:
        self._records = records

    def __getitem__(self, name: str) -> JobRecord:
        """The record of a case; AssertionError, with what its step said, if it failed."""
        record = self._records[name]
        failed = record.failed()
        assert failed is None, f"{name}: {failed.failure()}"
        return record

    def get_record(self, name: str) -> JobRecord:
        """The record of a case, whether it failed or not."""
        return self._records[name]

    def name_again(self, names: Mapping[str, str]) -> Cases:
        """The same records by other names; names: those that they have, by the new ones."""
        return Cases({new: self._records[old] for new, old in names.items()})


def find_first_equals(cases: Mapping[str, T]) -> dict[str, str]:
    """For each case the first that is equal, by name: with the default of each option in turn a
    case is the same as often as there are options."""
    return {name: next(n for n, c in cases.items() if c == case) for name, case in cases.items()}


def run_cases(
    board: Board,
    cases: Mapping[str, Sequence[Step]],
    cargo: Cargo | None = None,
    files: dict[str, bytes] | None = None,
) -> Cases:
    """Runs the steps of each case, one case after another; steps keep their names within a case."""
    todo, records = dict(cases), dict[str, JobRecord]()
    while todo:
        steps = [replace(s, name=f"{name}: {s.name}") for name in todo for s in todo[name]]
        record = asyncio.run(board.run(Job(tuple(steps), files or {}, cargo=cargo)))
        failed = record.failed()
        for name in [*todo]:
            begin = f"{name}: "
            mine = [s for s in record.steps if s.step.startswith(begin)]
            done = [replace(s, step=s.step.removeprefix(begin)) for s in mine]
            records[name] = replace(record, steps=tuple(done))
            del todo[name]
            if failed and failed in mine:
                break
    return Cases(records)
