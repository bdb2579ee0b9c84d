# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file system promises of its data when the power goes, and how that is checked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.base.strings import Command, Line, Lines
from nandlab.catalog.noun import StrictModel

PowerCutPromise = Literal["synced", "nothing"]
"""What is there after a power cut; synced: what sync or fsync has returned from."""
Checksums = Literal["all", "tags", "none"]
"""What a file system's own checksums are of: all that it writes, what it writes to spare areas and
reads apart from the data, or nothing. By them it knows a page that the ECC cannot correct."""


class Power(StrictModel):
    """What is promised of the data when the power goes; nobody's measurement."""

    keeps: PowerCutPromise = Field(description="synced, or nothing")
    promises: Lines = Field(
        min_length=1,
        description="in clauses: of what sync returned from, of the rest, and of the structure",
    )
    tested: Lines = Field(
        default="", description="in a clause: what our own test of cuts saw; empty: it has none"
    )
    source: Lines = Field(min_length=1, description="who says so: document and section")
    checks: tuple[Command, ...] = Field(
        default=(),
        strict=False,
        description="files of the kernel that switch its own checks on, by 1, FILE=VALUE, or "
        "FILE=VALUE,THEN; `nandlab powercut` does at the second mount after a cut, and to THEN "
        "after it",
    )
    check_says: tuple[Line, ...] = Field(
        default=(),
        strict=False,
        description="words of the kernel's log by which a check says that it failed, if it keeps "
        "nothing from mounting",
    )
    host_check: Literal["", "fsck.vfat"] = Field(
        default="",
        description="its own check that this machine runs on what `nandlab powercut --sample` and "
        "`--point` leave; empty: none",
    )
    checksums: Checksums = Field(
        default="none",
        description="of what it has checksums: all, tags (what it writes to spare areas) or none; "
        "by them a checker on this machine takes pages that the ECC cannot correct",
    )
