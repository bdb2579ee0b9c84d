# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a workload can be on a file system and a partition, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.workload import WorkloadModel


def check_files_fit_partition(
    workload: WorkloadModel, parameters: Mapping[str, Any], chip: ChipModel, blocks: int
) -> str | None:
    """What is wrong with files that are larger than the partition; None: nothing, or not known."""
    room = blocks * chip.geometry.erasesize
    trees = workload.most_bytes(parameters) if workload.steps else None
    if trees is not None and trees[1] > room:
        return (
            f"{workload.name}: after step {trees[0]} its trees are expected to have {trees[1]} "
            f"bytes, and the partition of {chip.name} has {room}: make them smaller, or raise "
            "partition_mib"
        )
    least = workload.least_bytes(parameters)
    if least is None or least < room:
        return None
    return (
        f"{workload.name}: its files take {least} bytes or more, and the partition of "
        f"{chip.name} has {room}: let it keep less, or raise partition_mib"
    )


def check_workload_needs(
    workload: WorkloadModel,
    parameters: Mapping[str, Any],
    system: FilesystemModel,
    chip: ChipModel,
    blocks: int,
) -> list[str]:
    """What the workload's file refuses of a file system on a partition, with these parameters."""
    differs = system.list_differences(chip.figures(blocks))
    unmet = [need.unmet(parameters, differs) for need in workload.needs]
    mistakes = [text for text in unmet if text]
    if system.own_entries:
        own = ", ".join(system.own_entries)
        mistakes += [
            f"step {name}: filetree cannot delete {own}, which the file system keeps in its top "
            'folder: name a folder below it, or set by = "busybox", which leaves it'
            for name in workload.list_emptying_steps(parameters)
        ]
    return [f"{workload.name} on {system.title}: {text}" for text in mistakes]
