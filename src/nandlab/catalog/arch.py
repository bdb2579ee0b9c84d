# SPDX-License-Identifier: GPL-2.0-or-later
"""Architectures of virtual boards: all in which a board of one differs from a board of another.

A board's file names its architecture as Debian does. Programs for it are built on an amd64 machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nandlab.catalog.chip import MIB

HOST_ARCH = "amd64"
"""The architecture of the machines that boards are built and run on."""


@dataclass(frozen=True)
class Arch:
    """An architecture of boards."""

    emulator: str
    """QEMU's program."""
    tools: tuple[str, ...]
    """Debian packages of HOST: the emulator, and what builds for the board."""
    triplet: str
    """Debian's folder for what is of this architecture."""
    cross: str
    """What the names of compiler and linker begin with; empty: they are HOST's own."""
    kbuild: tuple[str, ...]
    """What a build of modules is told besides."""
    source: str
    """Its folder in ``arch`` of a kernel's tree, which is kbuild's name of it."""
    image: str
    """What a build of a kernel calls the file that boots."""
    loader: str
    """The board's loader of shared libraries; the C library is in /lib/TRIPLET."""
    elf: int
    """Machine of its programs: e_machine of their ELF header."""
    ram_start: int
    """Physical address of the first byte of memory."""
    kernel_mib: int
    """RAM that every kernel keeps for itself, MiB."""
    least_ram_mib: int
    """With less RAM no kernel of the catalog's boards boots, MiB."""
    least_available_mib: int
    """What is then available, MiB."""
    memory_max: int
    """The most memory of a machine, in bytes: more of it would not lie in one piece."""
    boot_bytes: int
    """The least memory before the store: QEMU leaves there what the kernel boots from."""
    initrd_offset: int | None
    """Where in memory the initramfs is put; None: QEMU knows a place."""
    clock: str
    """What the processor's model is told, so that its clock counts ns."""
    doorbell: str
    """QEMU's device whose register the board writes to be stopped."""
    console: str
    """The kernel's name of the console's serial port."""
    channel: str | None
    """QEMU's device of the status channel; None: the machine has a second serial port."""
    words: str
    """Words of the kernel's command line, with {ram} for how much RAM it uses."""
    polls: str
    """The word with which the processor does not halt while it idles."""


AMD64 = Arch(
    emulator="qemu-system-x86_64",
    tools=("qemu-system-x86", "gcc", "libc6-dev"),
    triplet="x86_64-linux-gnu",
    cross="",
    kbuild=("CC=gcc",),
    source="x86",
    image="bzImage",
    loader="/lib64/ld-linux-x86-64.so.2",
    elf=62,
    ram_start=0,
    kernel_mib=64,
    # Linux 6.12's, with its tests of ciphers left out; others need more
    least_ram_mib=74,
    least_available_mib=9,
    # QEMU's pc has less than 3.5 GiB below its devices, or has the rest above 4 GiB
    memory_max=3583 * MIB,
    boot_bytes=0,
    initrd_offset=None,
    clock="",
    doorbell="pvpanic",
    console="ttyS0",
    channel=None,
    words="nokaslr norandmaps random.trust_cpu=off mem={ram} numa=off nmi_watchdog=0",
    polls="idle=poll",
)
ARMHF = Arch(
    emulator="qemu-system-arm",
    # gcc and libc6-dev build for HOST what image makers run with
    tools=(
        *("qemu-system-arm", "gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"),
        *("gcc", "libc6-dev"),
    ),
    triplet="arm-linux-gnueabihf",
    cross="arm-linux-gnueabihf-",
    kbuild=("ARCH=arm", "CROSS_COMPILE=arm-linux-gnueabihf-", "CC=arm-linux-gnueabihf-gcc"),
    source="arm",
    image="zImage",
    loader="/lib/ld-linux-armhf.so.3",
    elf=40,
    ram_start=0x40000000,
    kernel_mib=30,
    # with 54 to 56 it runs out of memory, since it keeps 16 for movable pages alone
    least_ram_mib=57,
    least_available_mib=27,
    # up to the end of what 32 bits address; QEMU counts whole GiB
    memory_max=3072 * MIB,
    # the device tree is put at 128 MiB where there are 256 or more; the kernel reads it in place
    boot_bytes=192 * MIB,
    # QEMU would put it at 128 MiB too, past the RAM of a kernel of 128 MiB. Past the 24 MiB or so
    # that the kernel unpacks itself in.
    initrd_offset=48 * MIB,
    clock=",cntfrq=1000000000",
    doorbell="pvpanic-pci,addr=0x1e",
    console="ttyAMA0",
    channel="pci-serial,addr=0x1d",
    words="norandmaps random.trust_cpu=off mem={ram}@0x40000000",
    polls="nohlt",
)
ARCHS: Mapping[str, Arch] = MappingProxyType({"amd64": AMD64, "armhf": ARMHF})
"""By Debian's name."""
