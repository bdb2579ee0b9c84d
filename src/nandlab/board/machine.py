# SPDX-License-Identifier: GPL-2.0-or-later
"""What the virtual board is made of: kernel, initramfs, QEMU's command line; and its identity."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base.digest import file_digest
from nandlab.base.errors import UsageError
from nandlab.base.paths import TARGET
from nandlab.board.build import init, modules, program
from nandlab.board.cache import entry
from nandlab.board.cargo import STORE
from nandlab.board.debian import Packages, Suite, packages, packages_here
from nandlab.board.image import GUEST_PACKAGES, commands, compressed, initramfs
from nandlab.board.job import PROGRAMS
from nandlab.board.kvm import QEMU
from nandlab.board.programs import CARRIER, FOLDER
from nandlab.board.yaffs2 import Core, core
from nandlab.catalog.board import FIRMWARE_BYTES, BoardModel
from nandlab.catalog.chip import MIB

OWN_MODULES = ("doorbell", "fsram", "nopidle", "simnand", "tracers")
"""Folders of target/modules whose modules are on every board; yaffs2 is too, see assemble()."""
CODE_MIB = 32
"""QEMU's buffer for translated code. QEMU's default of 1 GiB fills up over a long run of short
programs, since each is translated anew wherever it is loaded. QEMU empties a full buffer; that
changes no figure."""


def qemu_version() -> str:
    """The version line that QEMU prints; UsageError if QEMU is missing."""
    try:
        done = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise UsageError(f"{QEMU} is not on this machine; run `nandlab doctor`") from None
    return done.stdout.splitlines()[0]


@dataclass(frozen=True)
class Machine:
    """Everything a board boots from; equal machines behave equally under TCG."""

    model: BoardModel
    accel: str
    packages: Packages
    initrd: Path
    commands: frozenset[str]
    """What the initramfs has commands for, by name; a shell takes these before any program."""
    parts: dict[str, str]
    """SHA-256 of each program and module of ours in the initramfs, by file name."""
    yaffs2: Core

    def _memory(self, folder: Path) -> list[str]:
        """QEMU's options for the machine's memory: the kernel's, the store, the firmware's tables.

        The store is the file ``folder/store``; saved states do not contain it. QEMU assembles
        memory from several pieces only as NUMA nodes; ``numa=off`` makes the kernel ignore these.
        """
        m = self.model
        store = f"memory-backend-file,id=store,mem-path={folder / STORE},share=on"
        sizes = {
            "memory-backend-ram,id=ram": m.kernel_bytes,
            store: m.store_end - m.kernel_bytes,
            "memory-backend-ram,id=firmware": FIRMWARE_BYTES,
        }
        nodes = ("cpus=0,memdev=ram", "memdev=store", "memdev=firmware")
        return [
            *("-m", f"{m.memory_bytes // MIB}"),
            *(w for piece, size in sizes.items() for w in ("-object", f"{piece},size={size}")),
            *(word for node in nodes for word in ("-numa", f"node,{node}")),
        ]

    def command(self, folder: Path) -> list[str]:
        """QEMU's command line, with its sockets and files in ``folder``."""
        m = self.model
        exact = self.accel == "tcg"
        accel = f"tcg,tb-size={CODE_MIB}" if exact else self.accel
        clock = ["-icount", f"shift={m.icount_shift},sleep=off"] if exact else []
        repeats = "idle=poll nandlab.exact " if exact else ""
        append = (
            f"console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps random.trust_cpu=off "
            f"mem={m.ram_mib}M numa=off nmi_watchdog=0 "
            f"nandlab.job={m.job_start:#x} {repeats}{m.cmdline}"
        )
        return [
            *(QEMU, "-accel", accel, "-cpu", m.cpu, "-smp", "1"),
            *self._memory(folder),
            *clock,
            *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", "pvpanic", "-action", "panic=pause"),
            *("-kernel", str(self.packages.vmlinuz), "-initrd", str(self.initrd)),
            *("-append", append.strip()),
            *("-qmp", f"unix:{folder / 'qmp'}"),
        ]

    def identity(self) -> dict[str, Any]:
        """What the machine is, as written into every result."""
        return {
            "board": self.model.model_dump(exclude={"summary"}),
            "accel": self.accel,
            "kernel": self.packages.release,
            "packages": self.packages.versions,
            "qemu": qemu_version(),
            "parts": self.parts,
            "yaffs2_core": self.yaffs2.identity(),
        }


def kernel_config_here(model: BoardModel) -> dict[str, str] | None:
    """The configuration of a board's kernel, if its package is in the cache already."""
    debs = packages_here(Suite(model.release, model.arch), model.kernel, GUEST_PACKAGES)
    return debs.config if debs else None


def own_programs() -> dict[str, Path]:
    """Our programs in the board's image, built, by their path on the board."""
    return {"init": init(), f"{PROGRAMS}/{CARRIER}": program(TARGET / FOLDER / CARRIER)}


def assemble(model: BoardModel, accel: str = "tcg", yaffs2_source: Path | None = None) -> Machine:
    """Fetches and builds all that the board needs, or finds it in the cache.

    yaffs2_source: a folder of the YAFFS2 core's sources; None takes Debian's.
    """
    yaffs2 = core(yaffs2_source)
    suite = Suite(model.release, model.arch)
    debs = packages(suite, model.kernel, GUEST_PACKAGES)
    home = own_programs()
    own = [ko for folder in OWN_MODULES for ko in modules(folder, debs)]
    own += modules("yaffs2", debs, {"core": yaffs2.folder})
    parts = {p.name: file_digest(p) for p in (*home.values(), *own)}

    def make(work: Path) -> None:
        image = initramfs(debs, home, own)
        (work / "commands").write_text("\n".join(commands(image.paths())))
        (work / "initrd").write_bytes(compressed(image.bytes()))

    source = {m: file_digest(Path(__file__).with_name(m)) for m in ("image.py", "cpio.py")}
    inputs = {"packages": debs.versions, "parts": parts, "source": source}
    made = entry("initramfs", inputs, make)
    has = frozenset((made / "commands").read_text().split())
    return Machine(model, accel, debs, made / "initrd", has, parts, yaffs2)
