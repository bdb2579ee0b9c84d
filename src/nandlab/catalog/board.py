# SPDX-License-Identifier: GPL-2.0-or-later
"""A board of the catalog: the machine that the kernel sees."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nandlab.catalog.chip import MIB
from nandlab.catalog.noun import Noun


class BoardModel(Noun):
    """A board: the machine that the kernel sees."""

    kind: Literal["qemu"] = Field(default="qemu", description="what it is: qemu, a virtual machine")
    arch: Literal["amd64"] = Field(description="Debian architecture of kernel and programs")
    release: str = Field(description="Debian release that the kernel comes from")
    kernel: str = Field(description="kernel flavour: the package is linux-image-KERNEL")
    cpu: str = Field(description="QEMU's CPU model; one without rdrand, or runs do not repeat")
    ram_mib: int = Field(ge=32, le=3072, description="RAM that the kernel uses, MiB")
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
    def store_start(self) -> int:
        """Where the chip's cells begin in physical memory, bytes.

        At the first whole 64 MiB past the kernel's RAM: an x86 kernel reserves what lies between.
        """
        return -(-self.ram_mib // 64) * 64 * MIB
