# SPDX-License-Identifier: GPL-2.0-or-later
"""A board of the catalog: the machine that the kernel sees."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from nandlab.catalog.chip import MIB
from nandlab.catalog.noun import Noun

LEAST_RAM_MIB = 80
"""With less no kernel of the catalog's boards unpacks its root file system."""
LEAST_AVAILABLE_MIB = 12
"""The same for what is available."""
KERNEL_MIB = 64
"""RAM that every kernel keeps for itself."""
JOB_BYTES = 16 * MIB
"""Room for a job: its files and its programs."""
FIRMWARE_BYTES = 2 * MIB
"""At the end of the memory, where firmware keeps the tables that it tells the kernel of."""
IN_ONE_PIECE_MAX = 3583 * MIB
"""QEMU's pc has less than 3.5 GiB below its devices, or has the rest above 4 GiB."""


class BoardModel(Noun):
    """A board: the machine that the kernel sees."""

    kind: Literal["qemu"] = Field(default="qemu", description="what it is: qemu, a virtual machine")
    arch: Literal["amd64"] = Field(description="Debian architecture of kernel and programs")
    release: str = Field(description="Debian release that the kernel comes from")
    kernel: str = Field(description="kernel flavour: the package is linux-image-KERNEL")
    tools: str | None = Field(
        default=None,
        description="Debian release that emulator and compiler come from; absent: the kernel's",
    )
    machine: str = Field(
        default="pc-i440fx-7.2", description="QEMU's machine type, with its version"
    )
    cpu: str = Field(description="QEMU's CPU model; one without rdrand, or runs do not repeat")
    ram_mib: int | None = Field(
        default=None,
        ge=LEAST_RAM_MIB,
        le=3072,
        description="RAM that the kernel uses, MiB; absent: available_mib says how much",
    )
    available_mib: int | None = Field(
        default=None,
        ge=LEAST_AVAILABLE_MIB,
        le=2048,
        description="RAM that is available (MemAvailable) when the board is ready, before a job, "
        "MiB: the kernel has as much more as it keeps for itself. Absent: ram_mib says how much",
    )
    chip_store_mib: int = Field(
        ge=16, description="memory outside the kernel's that holds the chip's cells, MiB"
    )
    icount_shift: int = Field(
        ge=0, le=10, description="an instruction takes 2^shift ns of the board's clock"
    )
    wait: Literal["warp", "sleep", "spin"] = Field(
        default="warp", description="how the chip's time passes: docs/time.md"
    )
    cmdline: str = Field(default="", description="further words for the kernel's command line")
    boot_deadline_s: int = Field(default=180, ge=1, description="limit of a boot, host seconds")
    trial_deadline_s: int = Field(
        default=3600, ge=1, description="limit of a trial, host seconds; past it the board is lost"
    )

    @property
    def kernel_bytes(self) -> int:
        """Memory up to the store: whole 64 MiB, for an x86 kernel reserves all of the last.

        Where available_mib is asked for, it has room for the most that a kernel keeps for itself:
        what lies between its RAM and the store is not used.
        """
        ram_mib = self.ram_mib or (self.available_mib or 0) * 5 // 4 + 112
        return -(-ram_mib // 64) * 64 * MIB

    @property
    def usable_mib(self) -> int:
        """RAM that a job may count on having for itself at the most, MiB."""
        return self.available_mib or max(0, (self.ram_mib or 0) - KERNEL_MIB)

    @property
    def job_start(self) -> int:
        """Physical address of the store, whose first piece is the job."""
        return self.kernel_bytes

    @property
    def store_start(self) -> int:
        """Physical address of the chip's cells; cargo comes after them."""
        return self.job_start + JOB_BYTES

    @property
    def store_end(self) -> int:
        """Physical address past the store."""
        return self.store_start + self.chip_store_mib * MIB

    @property
    def memory_bytes(self) -> int:
        """All of the machine's memory: the kernel's, the store, the firmware's tables."""
        return self.store_end + FIRMWARE_BYTES

    @model_validator(mode="after")
    def _has_one_measure_of_ram(self) -> BoardModel:
        if (self.ram_mib is None) == (self.available_mib is None):
            raise ValueError("a board has either ram_mib or available_mib")
        return self

    @model_validator(mode="after")
    def _memory_is_in_one_piece(self) -> BoardModel:
        over_mib = (self.memory_bytes - IN_ONE_PIECE_MAX) // MIB
        asked = "ram_mib" if self.ram_mib else "available_mib"
        if over_mib > 0:
            raise ValueError(
                f"{asked} and chip_store_mib are {over_mib} MiB too much: a machine of more than "
                f"{IN_ONE_PIECE_MAX // MIB} MiB in all has a hole in its memory"
            )
        return self
