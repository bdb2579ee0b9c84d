# SPDX-License-Identifier: GPL-2.0-or-later
"""What the flash of a user's own board does is counted by three modules of ours in its kernel.

Flashmon sees each page and block; flashcounts tells its counts where and as the simulated chip
tells its own, so that whatever reads these reads the real chip's too.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from nandlab.base.cache import make_entry
from nandlab.base.digest import digest_file, digest_tree
from nandlab.base.errors import UsageError
from nandlab.base.paths import DEVICE
from nandlab.board.own.crossbuild import CrossCompiler

FOLDERS = ("tracers", "flashcounts")
"""Of device/modules."""
MODULES = ("tracers", "flashmon", "flashcounts")
"""In the order in which they are loaded."""
STOP_COMMAND = f"rmmod {' '.join(reversed(MODULES))} 2>/dev/null"
"""The board's command that takes them away."""
ARCHES = {"arm": "arm", "aarch64": "arm64", "mips": "mips", "riscv": "riscv", "x86_64": "x86"}
"""What a kernel's build calls a machine, by how ``uname -m`` begins."""
KERNEL_FILES = ("include/config/kernel.release", ".config", "Module.symvers")
"""Files of a build folder that tell which kernel it is of."""


def make_counting_start_command(number: int) -> str:
    """The board's command that begins to count what an erased partition does.

    It is for a step of a job: the modules lie beside the job's folder.
    """
    put = "insmod ../modules"
    return (
        "{ grep -q ' debugfs ' /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug; }"
        f" && {put}/tracers.ko records=1024 && {put}/flashmon.ko"
        f" && echo mtd {number} >/proc/tracers/flashmon && echo start >/proc/tracers/flashmon"
        f" && {put}/flashcounts.ko mtd={number}"
    )


def build_counting_modules(compiler: CrossCompiler, kdir: Path, machine: str) -> Sequence[Path]:
    """The modules, built for a board's kernel by its build folder; UsageError where it is none."""
    release = kdir / KERNEL_FILES[0]
    if not release.is_file():
        raise UsageError(
            f"programs.kdir: {kdir} is no build folder of a kernel that was built or prepared: it "
            f"has no {KERNEL_FILES[0]}"
        )
    arch = next((a for m, a in ARCHES.items() if machine.startswith(m)), machine)

    def make(work: Path) -> None:
        for name in FOLDERS:
            shutil.copytree(DEVICE / "modules" / name, work / "from" / name)
        for name in FOLDERS:
            words = [f"M={work}/from/{name}", f"ARCH={arch}", f"CROSS_COMPILE={compiler.prefix}"]
            words += [f"CC={compiler.prefix}gcc", "KCFLAGS=-g0", "CONFIG_DEBUG_INFO_BTF_MODULES="]
            compiler.make("-C", str(kdir), *words, "modules")
        for name in MODULES:
            shutil.move(next((work / "from").rglob(f"{name}.ko")), work)
        shutil.rmtree(work / "from")

    inputs = {
        **{name: digest_tree(DEVICE / "modules" / name) for name in FOLDERS},
        **{name: digest_file(kdir / name) for name in KERNEL_FILES if (kdir / name).is_file()},
        "compiler": compiler.version_texts,
    }
    folder = make_entry("own-modules", inputs, make)
    return [folder / f"{name}.ko" for name in MODULES]
