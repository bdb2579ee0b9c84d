# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``nandlab space --json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from nandlab.base.strings import FreeText, Line
from nandlab.catalog.noun import StrictModel

if TYPE_CHECKING:
    from nandlab.flash.layouts.layout import Layout


class UbiVolumeRecord(StrictModel):
    """A volume of UBI."""

    number: int
    name: FreeText
    static: bool
    reserved: int = Field(description="physical blocks that it may take")
    mapped: int = Field(description="physical blocks that it has")


class SpaceSummary(StrictModel):
    """What each byte of a partition is; all in bytes but files and counts."""

    filesystem: Line
    partition: int
    user: int
    metadata: int
    slack: int
    obsolete: int
    free: int
    bad: int
    user_logical: int = Field(description="the bytes of files, that user's bytes stand for")
    parts: dict[Line, dict[Line, int]]
    files: int
    counts: dict[Line, int]
    volumes: list[UbiVolumeRecord] = Field(description="those of UBI; empty without it")


def summarize_layout(layout: Layout) -> SpaceSummary:
    """The bytes of a partition by their kind."""
    return SpaceSummary(
        filesystem=layout.filesystem,
        partition=layout.partition_bytes,
        **{kind.value: count for kind, count in layout.sums().items()},
        user_logical=layout.logical_bytes,
        parts={kind.value: parts for kind, parts in layout.parts().items()},
        files=len(layout.sizes),
        counts=layout.counts,
        volumes=[UbiVolumeRecord(**volume._asdict()) for volume in layout.volumes],
    )
