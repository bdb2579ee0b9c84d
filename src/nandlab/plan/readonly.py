# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file system that is only read cannot take: no image, loads that write, a filled flash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.step import WorkloadStep
from nandlab.catalog.workload import WorkloadModel
from nandlab.plan.matrix import StateChoice


def check_erased_chip_start(system: FilesystemModel) -> str | None:
    """Why a trial of it cannot begin from an erased chip; None: it can."""
    if not system.read_only:
        return None
    return (
        f"{system.title} is only read, so a trial of it begins from an image: make one with "
        f"`nandlab image make --fs {system.name} ...`, and give it as image, or give a tree"
    )


def check_workload_writes(workload: WorkloadModel, system: FilesystemModel) -> list[str]:
    """What of a workload writes, if the file system is only read."""
    if not system.read_only:
        return []
    return [
        f"{workload.name} on {system.title}, which is only read: {w}"
        for w in _list_writes(workload)
    ]


def check_state_fill(state: StateChoice, systems: Iterable[FilesystemModel]) -> list[str]:
    """Why the flash of file systems that are only read cannot be brought to a state."""
    if not (state.valid or state.invalid):
        return []
    return [
        f"{state.name}: {system.title} is only read, and cannot be filled: leave valid and "
        "invalid out, and put the data into the image"
        for system in systems
        if system.read_only
    ]


def _list_writes(workload: WorkloadModel) -> Sequence[str]:
    if workload.steps:
        return [
            f"step {step.phase} writes{_format_cure(step)}"
            for step in workload.steps
            if step.writes
        ]
    if workload.reads_only:
        return []
    return ["its command may write; if it only reads, its file says reads_only = true"]


def _format_cure(step: WorkloadStep) -> str:
    said = "; if its command only reads, its file says reads_only = true"
    return said if step.do == "run" else ""
