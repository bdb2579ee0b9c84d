# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM truly boots a guest here. The device node alone tells nothing: it can be there, open
and accept a virtual machine, and still never run its first instruction."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

DEVICE = Path("/dev/kvm")
DEADLINE_S = 20
EXIT_PORT = 0xF4
EXIT_VALUE = 0x10
EXIT_STATUS = EXIT_VALUE << 1 | 1
"""What QEMU's isa-debug-exit makes of the value."""
_SECTOR = (
    bytes(
        [
            *(0xB0, EXIT_VALUE),  # mov al, EXIT_VALUE
            *(0xE6, EXIT_PORT),  # out EXIT_PORT, al
            *(0xEB, 0xFE),  # jmp .
        ]
    ).ljust(510, b"\0")
    + b"\x55\xaa"
)
"""A boot sector whose only act is to end QEMU with a status of our choice."""


@dataclass(frozen=True)
class Kvm:
    """What the probe found, or None, and then what to do."""

    found: str | None
    remedy: str


def probe() -> Kvm:
    """Boots a guest of 512 bytes under KVM, with a deadline."""
    if not DEVICE.exists():
        return Kvm(None, f"no {DEVICE}; nandlab runs without it")
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return Kvm(None, f"no permission on {DEVICE}: join its group; nandlab runs without it")
    try:
        status = boots("kvm")
    except FileNotFoundError:
        return Kvm(None, "QEMU is missing")
    except subprocess.TimeoutExpired:
        return Kvm(None, f"{DEVICE} is there but no guest runs on it; nandlab runs without it")
    if status != EXIT_STATUS:
        return Kvm(None, "QEMU could not use KVM; nandlab runs without it")
    return Kvm(f"{DEVICE}, booted a guest", "")


def boots(accel: str) -> int:
    """QEMU's exit status on the boot sector: EXIT_STATUS if the guest ran. Has a deadline."""
    with tempfile.NamedTemporaryFile(suffix=".img") as disk:
        disk.write(_SECTOR)
        disk.flush()
        argv = [
            *("qemu-system-x86_64", "-accel", accel, "-m", "16"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1"),
            *("-drive", f"file={disk.name},format=raw,if=ide,readonly=off"),
        ]
        done = subprocess.run(argv, capture_output=True, check=False, timeout=DEADLINE_S)
    return done.returncode
