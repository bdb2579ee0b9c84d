# SPDX-License-Identifier: GPL-2.0-or-later
"""A board of the catalog: the machine that the kernel sees."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from nandlab.base.registry import list_module_names
from nandlab.base.strings import (
    Cpu,
    KernelFlavour,
    KernelWords,
    Line,
    Lines,
    MachineType,
    Release,
    Word,
)
from nandlab.catalog.arch import ARCHS, Arch
from nandlab.catalog.chip import MIB
from nandlab.catalog.noun import Noun, StrictModel
from nandlab.catalog.part import Sources

KINDS_PACKAGE = "nandlab.board.kinds"
"""Its modules open boards of their kind."""
NO_CIPHER_TESTS = "cryptomgr.notests"
"""A word of the command line: the kernel leaves its tests of ciphers out, and needs less RAM."""
BOOT_MIB_MIN = {
    "bullseye": {"ram_mib": 84},
    "bookworm": {"ram_mib": 88, "available_mib": 17},
    "bookworm-backports": {"ram_mib": 74},
}
"""The least with which amd64 kernels of these releases were seen to boot, their tests included."""
JOB_BYTES = 16 * MIB
"""Room for a job: its files and its programs."""
FIRMWARE_BYTES = 2 * MIB
"""At the end of the memory, where firmware keeps the tables that it tells the kernel of."""
UNSIMULATED_KEYS = {"summary", "controller", "power", "source"}
"""Keys of a board that are only told, and are not in its identity: they change no nanosecond, or,
as sources do, by what is built of them, which is in the identity itself."""


class Controller(StrictModel):
    """What a page costs at the driver of a measured board: told beside figures, never simulated."""

    measured: Line = Field(min_length=1, description="the board that it was measured on")
    read_ns: int = Field(ge=1, description="a page read at the driver, ns, t_r_ns included")
    program_ns: int = Field(ge=1, description="a page program there, ns, t_prog_ns included")
    t_r_ns: int = Field(ge=0, description="what the chip's array takes of a read there, ns")
    t_prog_ns: int = Field(ge=0, description="what the chip's array takes of a program there, ns")
    page_bytes: int = Field(ge=1, description="bytes that such a page has, its OOB included")
    sources: dict[Word, Lines] = Field(description="for each figure: document and section")

    @model_validator(mode="after")
    def _is_whole(self) -> Controller:
        figures = set(type(self).model_fields) - {"measured", "sources"}
        if figures != set(self.sources):
            raise ValueError(f"sources must have {sorted(figures)}")
        if self.read_ns < self.t_r_ns or self.program_ns < self.t_prog_ns:
            raise ValueError("read_ns and program_ns include what the chip's array takes")
        return self


POWER_FIGURES = ("cpu_active_mw", "cpu_idle_mw", "ram_mw", "ram_idle_mw")
"""The figures of Power."""


class Power(StrictModel):
    """What a board draws, mW: energies are worked out from it after a run, it changes no time.

    The board that is simulated is no ARM board: its figures are of the board that it stands for.
    """

    cpu_active_mw: float | None = Field(
        default=None, ge=0, description="the processor while it runs; null: not known"
    )
    cpu_idle_mw: float | None = Field(
        default=None, ge=0, description="the processor while it idles; null: not known"
    )
    ram_mw: float | None = Field(
        default=None,
        ge=0,
        description="the RAM: always, or where ram_idle_mw is given while the processor runs or "
        "waits for flash; null: not known",
    )
    ram_idle_mw: float | None = Field(
        default=None, ge=0, description="the RAM while the processor idles; null: as ram_mw"
    )
    flash_wait: Literal["interrupt", "polling"] | None = Field(
        default=None,
        description="how the driver waits for flash: interrupt, the processor idles meanwhile; "
        "polling, it runs; null: not known",
    )
    above_idle: bool = Field(
        default=False,
        description="the figures are what is added to the board's idle power, which is not known: "
        "energies are above idle then, and tell nothing of a battery",
    )
    sources: dict[Word, Lines] = Field(description="for each figure: where it is from")

    @model_validator(mode="after")
    def _has_its_sources(self) -> Power:
        for key in (*POWER_FIGURES, "flash_wait"):
            if getattr(self, key) is not None and key not in self.sources:
                raise ValueError(f"{key}: no source: say under sources where it is from")
        unknown = sorted(set(self.sources) - {*POWER_FIGURES, "flash_wait", "above_idle"})
        if unknown:
            raise ValueError(f"sources: no such figure: {', '.join(unknown)}")
        return self


def _refuse_unknown_kind(name: str) -> str:
    known = list_module_names(KINDS_PACKAGE)
    if name not in known:
        raise ValueError(f"no kind of board {name!r}; there are: {', '.join(known)}")
    return name


class BoardModel(Noun):
    """A board: the machine that the kernel sees."""

    kind: Annotated[Word, AfterValidator(_refuse_unknown_kind)] = Field(
        default="qemu",
        description="what opens it, a module of board/kinds: qemu, a virtual machine",
    )
    arch: Literal["amd64", "armhf"] = Field(
        description="Debian architecture of kernel and programs: amd64, or armhf, a 32-bit ARM"
    )
    release: Release = Field(description="Debian release that the kernel comes from")
    kernel: KernelFlavour = Field(
        description="kernel flavour: the package is linux-image-KERNEL; with own_kernel the name "
        "of the folder KERNEL.packages beside this file"
    )
    own_kernel: bool = Field(
        default=False,
        description="the kernel is your own, not Debian's: `nandlab board make` writes it",
    )
    tools: Release | None = Field(
        default=None,
        description="Debian release that emulator and compiler come from; absent: the kernel's",
    )
    machine: MachineType = Field(
        default="pc-i440fx-7.2", description="QEMU's machine type, with its version"
    )
    cpu: Cpu = Field(description="QEMU's CPU model; one without rdrand, or runs do not repeat")
    ram_mib: int | None = Field(
        default=None,
        ge=min(a.least_ram_mib for a in ARCHS.values()),
        le=3072,
        description="RAM that the kernel uses, MiB; absent: available_mib says how much",
    )
    available_mib: int | None = Field(
        default=None,
        ge=min(a.least_available_mib for a in ARCHS.values()),
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
    cmdline: KernelWords = Field(
        default="", description="further words for the kernel's command line"
    )
    boot_deadline_s: int = Field(default=180, ge=1, description="limit of a boot, host seconds")
    trial_deadline_s: int = Field(
        default=3600, ge=1, description="limit of a trial, host seconds; past it the board is lost"
    )

    controller: Controller | None = Field(
        default=None, description="a measured board's, to tell what the model flatters"
    )
    power: Power | None = Field(
        default=None, description="what the board draws, for energies; absent: not known"
    )

    partitions: bool = Field(
        default=False,
        description="whether its chip may have several MTD partitions; nandlab sets it where a "
        "trial lies on one of several",
    )
    source: Sources = Field(
        default={},
        description="parts of the kernel that are built from another source than its package, by "
        "the part's name; absent: none",
    )

    @property
    def arch_traits(self) -> Arch:
        """All in which boards of its architecture differ from others."""
        return ARCHS[self.arch]

    @property
    def kernel_bytes(self) -> int:
        """Memory up to the store: whole 64 MiB, for an x86 kernel reserves all of the last.

        Where available_mib is asked for, it has room for the most that a kernel keeps for itself:
        what lies between its RAM and the store is not used.
        """
        ram_mib = self.ram_mib or (self.available_mib or 0) * 5 // 4 + 112
        return max(-(-ram_mib // 64) * 64 * MIB, self.arch_traits.boot_bytes)

    @property
    def usable_mib(self) -> int:
        """RAM that a job may count on having for itself at the most, MiB."""
        return self.available_mib or max(0, (self.ram_mib or 0) - self.arch_traits.kernel_mib)

    @property
    def job_start(self) -> int:
        """Physical address of the store, whose first piece is the job."""
        return self.arch_traits.ram_start + self.kernel_bytes

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
        return self.store_end - self.arch_traits.ram_start + FIRMWARE_BYTES

    @model_validator(mode="after")
    def _has_one_measure_of_ram(self) -> BoardModel:
        if (self.ram_mib is None) == (self.available_mib is None):
            raise ValueError("a board has either ram_mib or available_mib")
        return self

    @model_validator(mode="after")
    def _can_boot(self) -> BoardModel:
        arch = self.arch_traits
        for name in ("ram_mib", "available_mib"):
            value, least = getattr(self, name), getattr(arch, f"least_{name}")
            if value is not None and value < least:
                raise ValueError(
                    f"{name} is {value}: no kernel for {self.arch} boots with less than {least}"
                )
        debian_amd64 = self.arch == "amd64" and not self.own_kernel
        seen = BOOT_MIB_MIN.get(self.release, {}) if debian_amd64 else {}
        for name, least in seen.items():
            value = getattr(self, name)
            if value is not None and value < least and NO_CIPHER_TESTS not in self.cmdline:
                raise ValueError(
                    f"{name} is {value}: the kernel of {self.release} runs out of memory as it "
                    f"boots with less than {least}; raise it, or leave the kernel's tests of "
                    f'ciphers out: cmdline = "{NO_CIPHER_TESTS}"'
                )
        return self

    @model_validator(mode="after")
    def _memory_is_in_one_piece(self) -> BoardModel:
        most = self.arch_traits.memory_max
        over_mib = (self.memory_bytes - most) // MIB
        asked = "ram_mib" if self.ram_mib else "available_mib"
        if over_mib > 0:
            raise ValueError(
                f"{asked} and chip_store_mib are {over_mib} MiB too much: a machine of more than "
                f"{most // MIB} MiB in all has a hole in its memory"
            )
        return self
