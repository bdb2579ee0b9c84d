# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board, by its file: how it is reached, and the one partition that may be erased."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from nandlab.catalog.noun import Noun, Strict

BAUDS = (9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600, 1000000, 1500000)


class Reach(Strict):
    """How a board is reached: one way."""

    ssh: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][\w.-]*$",
        description="its name in your ssh_config, which decides all else; nobody is asked",
    )
    serial: str | None = Field(
        default=None, pattern="^/dev/", description="a serial device that you have logged in on"
    )
    baud: int = Field(default=115200, description="speed of the serial line")
    labgrid: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][\w.-]*$",
        description="its place in labgrid, which is acquired meanwhile, and has the power that is "
        "switched if power is absent",
    )
    power: str | None = Field(
        default=None,
        min_length=1,
        description="command of this machine that switches the board off and on again: it is run "
        "once when the board is lost; absent: labgrid's, or none",
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> Reach:
        if (self.ssh is None) == (self.serial is None):
            raise ValueError("give ssh or serial, one of them")
        if self.baud not in BAUDS:
            raise ValueError(f"baud is one of {', '.join(map(str, BAUDS))}")
        return self


class ErasedPartition(Strict):
    """The partition that may be erased, as /proc/mtd must tell it."""

    name: str = Field(min_length=1, description="its name, to the letter")
    size: int = Field(ge=1, description="bytes")
    erasesize: int = Field(ge=1, description="bytes of an erase block")
    part: str | None = Field(
        default=None,
        description="the chip's name in the catalog, for latencies and endurance; its geometry "
        "must be the board's. Studies need it; absent: only look and unlock",
    )


class Programs(Strict):
    """How programs are built for the board, on this machine."""

    cross: str = Field(
        default="",
        pattern=r"^([\w./-]+-)?$",
        description="what a compiler's name begins with: arm-linux-gnueabihf-; absent: gcc is one "
        "for the board",
    )
    kdir: str | None = Field(
        default=None,
        pattern="^/",
        description="the build folder of the board's own kernel, on this machine: three modules "
        "built with it are loaded for each trial and count what the flash does; absent: its counts "
        "are not known",
    )


class RemoteModel(Noun):
    """A user's own board."""

    kind: Literal["remote"] = Field(description="remote: a board on your desk")
    reach: Reach = Field(description="how it is reached")
    partition: ErasedPartition = Field(description="the partition that may be erased")
    programs: Programs = Field(default=Programs(), description="absent: gcc builds for the board")
