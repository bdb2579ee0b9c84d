# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs that wait for another by its name, and jobs whose end ends others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class Waiter(Protocol):
    """A job, and what it waits for."""

    name: str
    line: int
    options: dict[str, str]

    @property
    def stonewall(self) -> bool: ...


def arrange_exits(jobs: Sequence[Waiter]) -> Iterator[tuple[Waiter, str]]:
    """Numbers the groups of fio's report, which ``exitall`` ends; yields what ends too much."""
    ending = any(job.options.get("exitall") == "1" for job in jobs)
    group = 0
    for index, job in enumerate(jobs):
        new = job.options.pop("new_group", "0") == "1"
        group += bool(index) and (new or job.stonewall)
        if not ending:
            job.options.pop("exit_what", None)
            continue
        job.options["exit_group"] = str(group)
        if job.options.get("exit_what") == "all":
            if any(later.stonewall for later in jobs[index + 1 :]):
                yield job, "exit_what=all: jobs after a stonewall would never begin"
            job.options["exit_what"] = "stonewall"


def arrange_waits(jobs: Iterable[tuple[Waiter, str]]) -> Iterator[tuple[Waiter, str]]:
    """Gives each job with ``wait_for`` the stonewall that does the same; yields those without one.

    Jobs come with the name that they wait for, or "". A wait is a stonewall where that job is the
    whole group before: nothing runs beside the wait then.
    """
    group: list[Waiter] = []
    awaited = ""
    for job, target in jobs:
        joins = bool(target) and target == awaited
        if target and not joins:
            if [other.name for other in group] != [target]:
                yield job, f"wait_for={target}: can only be the one job that ran just before"
            job.options["stonewall"] = "1"
        elif awaited and not target and not job.stonewall:
            yield job, "fio would begin it with the first jobs: give it a wait_for or a stonewall"
        if job.stonewall and not joins:
            group = []
            awaited = target
        group.append(job)
