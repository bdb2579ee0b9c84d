# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board, by its file: how it is reached, and the one partition that may be erased."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Command, Line, Word
from nandlab.catalog.noun import Noun, StrictModel

Device = Annotated[str, Field(pattern=r"^/dev/[A-Za-z0-9_.:,+/-]+$")]
CompilerPrefix = Annotated[str, Field(pattern=r"^([A-Za-z0-9_./-]+-)?$")]
FolderName = Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
BAUDS = (9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600, 1000000, 1500000)


class BoardAccess(StrictModel):
    """How a board is reached: one way."""

    ssh: Word | None = Field(
        default=None,
        description="its name in your ssh_config, which decides all else; nobody is asked",
    )
    serial: Device | None = Field(
        default=None, description="a serial device that you have logged in on"
    )
    baud: int = Field(default=115200, description="speed of the serial line")
    labgrid: Word | None = Field(
        default=None,
        description="its place in labgrid, which is acquired meanwhile, and has the power that is "
        "switched if power is absent",
    )
    power: Command | None = Field(
        default=None,
        min_length=1,
        description="command of this machine that switches the board off and on again: it is run "
        "once when the board is lost; absent: labgrid's, or none",
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> BoardAccess:
        if (self.ssh is None) == (self.serial is None):
            raise ValueError("give ssh or serial, one of them")
        if self.baud not in BAUDS:
            raise ValueError(f"baud is one of {', '.join(map(str, BAUDS))}")
        return self


class ErasablePartition(StrictModel):
    """The partition that may be erased, as /proc/mtd must tell it."""

    name: Line = Field(min_length=1, description="its name, to the letter")
    size: int = Field(ge=1, description="bytes")
    erasesize: int = Field(ge=1, description="bytes of an erase block")
    part: Word | None = Field(
        default=None,
        description="the chip's name in the catalog, for latencies and endurance; its geometry "
        "must be the board's. Studies need it; absent: only look and unlock",
    )


class ProgramBuild(StrictModel):
    """How programs are built for the board, on this machine."""

    cross: CompilerPrefix = Field(
        default="",
        description="what a compiler's name begins with: arm-linux-gnueabihf-; absent: gcc is one "
        "for the board",
    )
    kdir: FolderName | None = Field(
        default=None,
        description="the build folder of the board's own kernel, on this machine: three modules "
        "built with it are loaded for each trial and count what the flash does; absent: its counts "
        "are not known",
    )


class RemoteModel(Noun):
    """A user's own board."""

    kind: Literal["remote"] = Field(description="remote: a board on your desk")
    reach: BoardAccess = Field(description="how it is reached")
    partition: ErasablePartition = Field(description="the partition that may be erased")
    programs: ProgramBuild = Field(
        default=ProgramBuild(), description="absent: gcc builds for the board"
    )
