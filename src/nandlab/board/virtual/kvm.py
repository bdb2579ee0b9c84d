# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks whether KVM boots a guest on this machine.

The device node alone proves nothing: it can exist, create a virtual machine and even run a boot
sector, while a kernel still hangs in its first second.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nandlab.board.kit.root import Root

QEMU = "qemu-system-x86_64"
DEVICE = Path("/dev/kvm")
DEADLINE_S = 30
END_OF_BOOT = "Kernel panic - not syncing: VFS: Unable to mount root fs"
"""What a kernel without initramfs or disk says once it has booted."""


@dataclass(frozen=True)
class KvmProbe:
    """What the probe found; if that is None, why KVM cannot be used and what to do."""

    result: str | None
    remedy: str


def probe_kvm(tools: Root | None, kernel: Path | None) -> KvmProbe:
    """Tries to boot the kernel under KVM, with a deadline."""
    why = _find_hindrance()
    if why is None and (tools is None or kernel is None):
        why = "no kernel here yet to try it with, ask again after `nandlab run`"
    elif why is None and tools and kernel:
        try:
            if can_boot_kernel("kvm", tools, kernel):
                return KvmProbe(f"{DEVICE}, booted {kernel.name}", "")
            why = "QEMU could not use KVM"
        except subprocess.TimeoutExpired:
            why = f"{DEVICE} is there but a guest hangs on it"
    return KvmProbe(None, f"{why}; nandlab runs without it")


def _find_hindrance() -> str | None:
    """Why the probe cannot be tried; None: it can."""
    if not DEVICE.exists():
        return f"no {DEVICE}"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"no permission on {DEVICE}: join its group"
    return None


def can_boot_kernel(accel: str, tools: Root, kernel: Path) -> bool:
    """Whether a guest boots the kernel until that finds no root; TimeoutExpired if it hangs."""
    argv = [
        *(QEMU, "-accel", accel, "-cpu", "qemu64", "-m", "256"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio"),
        *("-kernel", "/vmlinuz", "-append", "console=ttyS0 panic=-1"),
    ]
    tools.check()
    result = subprocess.run(
        tools.command(argv, {"/vmlinuz": kernel}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=DEADLINE_S,
    )
    return END_OF_BOOT in result.stdout
