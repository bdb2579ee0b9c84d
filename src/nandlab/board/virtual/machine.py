# SPDX-License-Identifier: GPL-2.0-or-later
"""What the virtual board is made of: kernel, initramfs, QEMU's command line; and its identity."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_file
from nandlab.base.errors import SourceError, ToolError, UsageError
from nandlab.base.paths import DEVICE, PACKAGE
from nandlab.base.strings import Accel, Cpu, KernelWords, MachineType, does_text_fit_type
from nandlab.board.jobs import build
from nandlab.board.jobs.cargo import STORE
from nandlab.board.jobs.job import PROGRAMS
from nandlab.board.jobs.modules import ModuleSet
from nandlab.board.jobs.programs import CARRIER, FOLDER
from nandlab.board.kit.kit import Kit
from nandlab.board.kit.partsource import Requests
from nandlab.board.kit.root import Root, is_fault_of_machine
from nandlab.board.virtual.emulator import list_emulator_files
from nandlab.board.virtual.image import (
    compress_initramfs,
    list_command_names,
    make_initramfs,
    unpack_kernel_modules,
)
from nandlab.board.virtual.modversions import refuse_unlike_versions
from nandlab.board.virtual.partset import (
    BuiltPart,
    build_parts,
    read_kernel_symvers,
    set_part_symbols,
)
from nandlab.board.virtual.yaffs2 import Yaffs2Core, prepare_yaffs2_core
from nandlab.catalog.arch import Arch
from nandlab.catalog.board import FIRMWARE_BYTES, UNSIMULATED_KEYS, BoardModel
from nandlab.catalog.chip import MIB
from nandlab.catalog.noun import dump_noun_identity

OWN_MODULES = ("doorbell", "fsram", "nopidle", "simnand", "tracers")
"""Folders of device/modules whose modules are on every board; yaffs2 is too, see assemble()."""
SPI_PART, SPI_CHIP = "spinand", "spi_simnand"
"""A board for which the kernel's driver of SPI-NAND chips was built has our chip behind SPI too."""
PARTED_CHIP = "parted_simnand"
"""Our chip with several MTD partitions, on a board whose trials ask for them."""
WORK_FOLDER, STATE, SAVES, VMLINUZ, INITRAMFS = map(
    Path, ("/board", "/state", "/saves", "/vmlinuz", "/initramfs")
)
"""Where QEMU, in its root, sees the folder of its files, those of the state that it is restored
from and that it saves, and what it boots."""
RAM = "ram"
"""Name of the file of the kernel's RAM, among QEMU's files or those of a state."""
UNFILED_RAM = "memory-backend-ram,id=ram"
"""What QEMU is told of the kernel's RAM, but its size, where no file of the host's is named."""
SHARED_RAM = f"memory-backend-file,id=ram,mem-path={WORK_FOLDER / RAM},share=on"
"""RAM that is a file among QEMU's, which has all of it when the board stands still."""
SAVED_RAM = f"memory-backend-file,id=ram,mem-path={STATE / RAM},share=off"
"""RAM that begins as a state's file has it. The file stays as it is: a page that the board writes
to is copied first. So a restore takes time for the pages only that the board then uses."""
SIMNAND = {"simnand": DEVICE / "modules" / "simnand"}
"""simnand's own files, for a module that is made of them."""
NO_SOURCES: Requests = MappingProxyType({})
"""No part of the kernel is built from another source."""
CODE_MIB = 32
"""QEMU's buffer for translated code. QEMU's default of 1 GiB fills up over a long run of short
programs, since each is translated anew wherever it is loaded. QEMU empties a full buffer; that
changes no figure."""


@dataclass(frozen=True)
class Machine:
    """Everything a board boots from; equal machines behave equally under TCG."""

    model: BoardModel
    accel: str
    kit: Kit
    initrd: Path
    commands: frozenset[str]
    """What the initramfs has commands for, by name; a shell takes these before any program."""
    parts: dict[str, str]
    """SHA-256 of each program and module of ours in the initramfs, by file name."""
    yaffs2: Yaffs2Core
    modules: ModuleSet
    """Those of the kernel that a job may bring."""
    loads: tuple[Path, ...] = ()
    """What QEMU loads of its root: see emulator.py"""
    measured_ram_kib: int | None = None
    """RAM that the kernel uses, KiB, if the model tells only what shall be available: see ram.py"""
    sources: Mapping[str, BuiltPart] = field(default_factory=dict)
    """Parts of the kernel that were built from another source, by name."""

    def __post_init__(self) -> None:
        """UsageError: these become words of QEMU's command line, and may be of a foreign file."""
        m = self.model
        words = (
            *((MachineType, m.machine), (Cpu, m.cpu)),
            *((KernelWords, m.cmdline), (Accel, self.accel)),
        )
        if wrong := next(
            (text for kind, text in words if not does_text_fit_type(kind, text)), None
        ):
            raise UsageError(f"board {m.name}: {wrong!r}: QEMU is not given this")

    @property
    def ram(self) -> str:
        """RAM that the kernel uses, as its command line has it."""
        return f"{self.model.ram_mib}M" if self.model.ram_mib else f"{self.measured_ram_kib}K"

    @property
    def kernel_config(self) -> dict[str, str]:
        """The configuration of the kernel and of the parts that were built: values by symbol."""
        parts = (part.modules.settings for part in self.sources.values())
        return set_part_symbols(self.kit.kernel.config, parts)

    def _memory(self, ram: str) -> list[str]:
        """QEMU's options for the machine's memory: the kernel's, the store, the firmware's tables.

        ram: UNFILED_RAM, SHARED_RAM or SAVED_RAM. The store is the file ``HERE/store``; saved
        states do not contain it. QEMU assembles memory from several pieces only as NUMA nodes;
        ``numa=off`` makes the kernel ignore these.
        """
        m = self.model
        store = f"memory-backend-file,id=store,mem-path={WORK_FOLDER / STORE},share=on"
        sizes = {
            ram: m.kernel_bytes,
            store: m.store_end - m.job_start,
            "memory-backend-ram,id=firmware": FIRMWARE_BYTES,
        }
        nodes = ("cpus=0,memdev=ram", "memdev=store", "memdev=firmware")
        return [
            *("-m", f"{m.memory_bytes // MIB}"),
            *(w for piece, size in sizes.items() for w in ("-object", f"{piece},size={size}")),
            *(word for node in nodes for word in ("-numa", f"node,{node}")),
        ]

    def command(self, see: Mapping[Path, Path], ram: str, *extra_words: str) -> list[str]:
        """The command line that runs QEMU; see: folders, by HERE, STATE, SAVES; ram: see qemu()."""
        self.kit.tools.check(self.loads)
        boots = {VMLINUZ: self.kit.kernel.vmlinuz, INITRAMFS: self.initrd}
        seen = {str(at): path for at, path in {**see, **boots}.items()}
        return self.kit.tools.command([*self.qemu(ram), *extra_words], seen)

    def qemu(self, ram: str = UNFILED_RAM) -> list[str]:
        """QEMU's own command line, which has no path of this machine.

        ram: one of the three above. What holds the RAM on the host changes nothing on the board, so
        neither its identity nor a state's name has it.
        """
        m = self.model
        arch = m.arch_traits
        exact = self.accel == "tcg"
        accel = f"tcg,tb-size={CODE_MIB}" if exact else self.accel
        clock = ["-icount", f"shift={m.icount_shift},sleep=off"] if exact else []
        repeats = f"{arch.polls} nandlab.exact " if exact else ""
        initrd, told = self._initrd()
        append = (
            f"console={arch.console} quiet panic=-1 oops=panic {arch.words.format(ram=self.ram)} "
            f"{told}nandlab.job={m.job_start:#x} {repeats}{m.cmdline}"
        )
        return [
            *(arch.emulator, "-machine", m.machine, "-accel", accel),
            *("-cpu", f"{m.cpu}{arch.clock}", "-smp", "1"),
            *self._memory(ram),
            *clock,
            *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", arch.doorbell, "-action", "panic=pause"),
            *("-kernel", str(VMLINUZ), *initrd),
            *("-append", append.strip()),
            *("-qmp", f"unix:{WORK_FOLDER / 'qmp'}"),
        ]

    def _initrd(self) -> tuple[list[str], str]:
        """QEMU's options that bring the initramfs, and how the kernel is told where it is."""
        offset = self.model.arch_traits.initrd_offset
        if offset is None:
            return ["-initrd", str(INITRAMFS)], ""
        at = self.model.arch_traits.ram_start + offset
        loader = f"loader,file={INITRAMFS},addr={at:#x},force-raw=on"
        return ["-device", loader], f"initrd={at:#x},{self.initrd.stat().st_size} "

    def serial(self, console: str) -> list[str]:
        """QEMU's options for console and status channel; console: where that goes."""
        channel = f"{WORK_FOLDER / 'channel'}"
        device = self.model.arch_traits.channel
        if device is None:
            return ["-serial", console, "-serial", f"file:{channel}"]
        place = f"file,id=channel,path={channel}"
        return ["-serial", console, "-chardev", place, "-device", f"{device},chardev=channel"]

    def identity(self) -> dict[str, Any]:
        """What the machine is, as written into every result."""
        sources = {name: part.identity() for name, part in self.sources.items()}
        return {
            "board": dump_noun_identity(self.model, *UNSIMULATED_KEYS),
            "accel": self.accel,
            "kernel": self.kit.kernel.release,
            "command": shlex.join(self.qemu()),
            "initramfs": _digest_initramfs(self.initrd),
            "lock": {name: dict(files) for name, files in self.kit.lock.items()},
            "parts": self.parts,
            "modules": self.modules.identity(),
            "yaffs2_core": self.yaffs2.identity(),
            **({"sources": sources} if sources else {}),
        }


@cache
def _digest_initramfs(initrd: Path) -> str:
    """SHA-256 of an initramfs; each trial asks for its board's identity several times."""
    return digest_file(initrd)


def build_initramfs_programs(tools: Root, arch: Arch) -> dict[str, Path]:
    """Our programs in the board's image, built, by their path on the board."""
    ferry = build.build_program(tools, DEVICE / FOLDER / CARRIER, arch=arch)
    return {"init": build.build_init_program(tools, arch), f"{PROGRAMS}/{CARRIER}": ferry}


def _build_yaffs2(kit: Kit, core: Yaffs2Core, *, requested: bool) -> list[Path]:
    """The module of YAFFS2; SourceError where a core that the user named does not build."""
    try:
        return build.build_kernel_modules(kit.tools, "yaffs2", kit.kernel, {"core": core.folder})
    except ToolError as e:
        if not requested or is_fault_of_machine(e.lines):
            raise
        raise SourceError(*e.lines, "correct the source") from None


def assemble_machine(
    model: BoardModel, kit: Kit, accel: str = "tcg", requests: Requests = NO_SOURCES
) -> Machine:
    """Builds all that the board needs, or finds it in the cache.

    requests: the parts of the kernel, and YAFFS2's core, that are built from another source.
    """
    yaffs2 = prepare_yaffs2_core(kit.yaffs2, requests.get("yaffs2"))
    sources = build_parts(model, kit, requests)
    arch = model.arch_traits
    home = build_initramfs_programs(kit.tools, arch)
    built = (build.build_kernel_modules(kit.tools, folder, kit.kernel) for folder in OWN_MODULES)
    own_modules = [ko for paths in built for ko in paths]
    own_modules += _build_yaffs2(kit, yaffs2, requested="yaffs2" in requests)
    own_modules += [ko for part in sources.values() for ko in part.modules.paths]
    if SPI_PART in sources:
        own_modules += build.build_kernel_modules(kit.tools, SPI_CHIP, kit.kernel, SIMNAND)
    if model.partitions:
        own_modules += build.build_kernel_modules(kit.tools, PARTED_CHIP, kit.kernel, SIMNAND)
    parts = {p.name: digest_file(p) for p in (*home.values(), *own_modules)}

    def make(work: Path) -> None:
        kit.kernel.root.check()
        (work / "modules").mkdir()
        module_set = unpack_kernel_modules(kit.kernel, own_modules, work / "modules")
        if sources:
            built = {name: part.modules.symvers.read_text() for name, part in sources.items()}
            symvers = read_kernel_symvers(kit.kernel)
            refuse_unlike_versions(module_set.folder, module_set.needs, symvers, built)
        initramfs = make_initramfs(kit, home, module_set)
        (work / "needs").write_text(json.dumps([module_set.home, module_set.needs]))
        (work / "commands").write_text("\n".join(list_command_names(initramfs.paths())))
        (work / "initrd").write_bytes(compress_initramfs(initramfs.bytes(), kit.tools))

    files = [
        PACKAGE / "board" / part for part in ("virtual/image.py", "jobs/modules.py", "jobs/cpio.py")
    ]
    source = {path.name: digest_file(path) for path in files}
    roots = [kit.tools.key, kit.kernel.root.key]
    entry = make_entry("initramfs", {"roots": roots, "parts": parts, "source": source}, make)
    has = frozenset((entry / "commands").read_text().split())
    to, needs = json.loads((entry / "needs").read_text())
    module_set = ModuleSet(
        entry / "modules", to, {name: tuple(names) for name, names in needs.items()}
    )
    loaded = tuple(list_emulator_files(kit.tools, arch.emulator))
    initrd = entry / "initrd"
    return Machine(
        model, accel, kit, initrd, has, parts, yaffs2, module_set, loaded, sources=sources
    )
