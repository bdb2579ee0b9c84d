# SPDX-License-Identifier: GPL-2.0-or-later
"""What the virtual board is made of: kernel, initramfs, QEMU's command line; and its identity."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base.digest import file_digest
from nandlab.base.errors import UsageError
from nandlab.board.build import modules, programs
from nandlab.board.cache import entry
from nandlab.board.debian import Packages, Suite, packages, packages_here
from nandlab.board.image import GUEST_PACKAGES, compressed, initramfs
from nandlab.board.kvm import QEMU
from nandlab.board.yaffs2 import Core, core
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB

OWN_MODULES = ("doorbell", "fsram", "nopidle", "simnand", "tracers")
"""Folders of target/modules that every board has; yaffs2 besides, which takes foreign sources."""
JOB_SIZE = 1 << 20
"""Bytes of the fw_cfg file that holds a job: constant, for the guest learns it once, at boot."""
CODE_MIB = 32
"""Room for translated code; QEMU's own 1 GiB fills over a long run of short programs, which are
translated anew wherever they are loaded. It is emptied when it is full: no figure moves by that."""


def qemu_version() -> str:
    """QEMU's own version line; UsageError when there is none."""
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
    parts: dict[str, str]
    """SHA-256 of what is in the initramfs that we built, by name."""
    yaffs2: Core

    @property
    def memory_mib(self) -> int:
        """All of the machine's memory, the kernel's and the chip's, MiB."""
        return self.model.store_start // MIB + self.model.chip_store_mib

    def command(self, folder: Path) -> list[str]:
        """QEMU's command line; sockets and files in ``folder``."""
        m = self.model
        exact = self.accel == "tcg"
        accel = f"tcg,tb-size={CODE_MIB}" if exact else self.accel
        clock = ["-icount", f"shift={m.icount_shift},sleep=off"] if exact else []
        repeats = "idle=poll nandlab.exact " if exact else ""
        append = (
            f"console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps random.trust_cpu=off "
            f"mem={m.ram_mib}M nmi_watchdog=0 {repeats}{m.cmdline}"
        )
        return [
            *(QEMU, "-accel", accel, "-cpu", m.cpu, "-smp", "1"),
            *("-m", str(self.memory_mib)),
            *clock,
            *("-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", "pvpanic", "-action", "panic=pause"),
            *("-kernel", str(self.packages.vmlinuz), "-initrd", str(self.initrd)),
            *("-append", append.strip()),
            *("-qmp", f"unix:{folder / 'qmp'}"),
            *("-fw_cfg", f"name=opt/nandlab/job,file={folder / 'job'}"),
        ]

    def identity(self) -> dict[str, Any]:
        """What is written into every result."""
        return {
            "board": self.model.model_dump(),
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


def assemble(model: BoardModel, accel: str = "tcg", yaffs2_source: Path | None = None) -> Machine:
    """Fetches and builds all that the board needs, or finds it in the cache.

    yaffs2_source: a folder of the YAFFS2 core's sources; None takes Debian's.
    """
    yaffs2 = core(yaffs2_source)
    suite = Suite(model.release, model.arch)
    debs = packages(suite, model.kernel, GUEST_PACKAGES)
    built = programs()
    own = [ko for folder in OWN_MODULES for ko in modules(folder, debs)]
    own += modules("yaffs2", debs, {"core": yaffs2.folder})
    parts = {p.name: file_digest(p) for p in sorted(built.iterdir()) if p.suffix != ".json"}
    parts |= {p.name: file_digest(p) for p in own}

    def make(work: Path) -> None:
        (work / "initrd").write_bytes(compressed(initramfs(debs, built, own)))

    source = {m: file_digest(Path(__file__).with_name(m)) for m in ("image.py", "cpio.py")}
    inputs = {"packages": debs.versions, "parts": parts, "source": source}
    initrd = entry("initramfs", inputs, make) / "initrd"
    return Machine(model, accel, debs, initrd, parts, yaffs2)
