# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a workload can be on a file system and a partition, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nandlab.catalog.chip import ChipModel
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.catalog.workload import WorkloadModel


def without_room(
    workload: WorkloadModel, parameters: Mapping[str, Any], chip: ChipModel, blocks: int
) -> str | None:
    """What is wrong with files that are larger than the partition; None: nothing, or not known."""
    least = workload.least_bytes(parameters)
    room = blocks * chip.geometry.erasesize
    if least is None or least < room:
        return None
    return (
        f"{workload.name}: its files take {least} bytes or more, and the partition of "
        f"{chip.name} has {room}: let it keep less, or raise partition_mib"
    )


def refused(
    workload: WorkloadModel,
    parameters: Mapping[str, Any],
    system: FilesystemModel,
    chip: ChipModel,
    blocks: int,
) -> list[str]:
    """What the workload's file refuses of a file system on a partition, with these parameters."""
    differs = system.differing(chip.figures(blocks))
    unmet = [need.unmet(parameters, differs) for need in workload.needs]
    return [f"{workload.name} on {system.title}: {text}" for text in unmet if text]
