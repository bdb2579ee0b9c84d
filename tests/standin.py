# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for a user's ARM board: QEMU's virt, Debian's armmp kernel, nandsim, a serial line.

Nothing of nandlab is on it. Its packages are those that tests/armhf.lock names.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from armhf import LOCK

from nandlab.board.cpio import Archive
from nandlab.board.modules import depends
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load
from nandlab.kit.apt import Apt, Suite
from nandlab.kit.kit import take
from nandlab.kit.lock import Files
from nandlab.kit.root import Root, root
from nandlab.kit.wanted import Wanted


@dataclass(frozen=True)
class EmulatorSet(Wanted):
    """QEMU for ARM, with what it needs."""

    @property
    def name(self) -> str:
        return f"emulator {self.suite.release} {self.suite.arch} arm"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies(["qemu-system-arm", "coreutils", "dash"]))


@dataclass(frozen=True)
class SystemSet(Wanted):
    """What is on the board."""

    @property
    def name(self) -> str:
        return f"system {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        image = next(p for p in apt.depends("linux-image-armmp") if p.startswith("linux-image-"))
        return apt.files([image, *apt.with_dependencies(["busybox-static", "mtd-utils"])])


@cache
def roots() -> tuple[Root, Root]:
    """The roots of the emulator and of the board."""
    sets = (EmulatorSet(Suite("bookworm", "amd64")), SystemSet(Suite("bookworm", "armhf")))
    taken, _ = take(load("boards", "apf27", BoardModel), sets, path=LOCK)
    emulator, system = (root(taken[each.name]) for each in sets)
    return emulator, system


TOOLS = ("flash_erase", "mtdinfo", "nanddump", "nandwrite", "ubiattach", "ubidetach", "ubimkvol")
LIBRARIES = ("ld-linux-armhf.so.3", "arm-linux-gnueabihf/libc.so.6")
MODULES = ("nandsim", "jffs2", "ubi", "ubifs", "zstd", "lzo", "deflate")
CHIP = "first_id_byte=0x20 second_id_byte=0xa1 third_id_byte=0x00 fourth_id_byte=0x15"
"""128 MiB, pages of 2 KiB, erase blocks of 128 KiB."""
LAYOUT = "parts=192 badblocks=300,700"
"""A system of 24 MiB, the rest, and two bad blocks in it."""
DATA = "NAND simulator partition 1"
INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp; mount -t debugfs debugfs /sys/kernel/debug
%s
export PATH=/sbin:/bin:/usr/sbin:/usr/bin PS1='board# ' HOME=/
echo the board is up
exec setsid sh -c 'exec sh -i </dev/ttyAMA0 >/dev/ttyAMA0 2>&1'
"""
BOOT_S = 120
APPLETS = """
sh mount umount insmod cat chmod mkdir rm rmdir mv ls echo seq sleep setsid stty dmesg uname sync
md5sum sha256sum base64 fold head tail tr wc mkfifo readlink
"""


def _ordered(system: Root) -> list[Path]:
    """The modules in an order in which they can be loaded."""
    paths = {p.stem.replace("-", "_"): p for p in system.path.rglob("*.ko")}
    found: dict[str, Path] = {}

    def take(name: str) -> None:
        path = paths.get(name.replace("-", "_"))
        if path is None or path.stem in found:
            return
        for need in depends(path.read_bytes()):
            take(need)
        found[path.stem] = path

    for name in MODULES:
        take(name)
    return list(found.values())


def initramfs(system: Root) -> bytes:
    """The board's files: Debian's busybox and mtd-utils, the modules, and INIT."""
    cpio = Archive()
    for folder in ("proc", "sys", "dev", "tmp", "mnt", "modules"):
        cpio.folder(folder)
    cpio.device("dev/console", 5, 1)
    busybox = (system.path / "bin/busybox").read_bytes()
    cpio.file("bin/busybox", busybox, 0o755)
    for applet in APPLETS.split():
        cpio.link(f"bin/{applet}", "/bin/busybox")
    for tool in TOOLS:
        cpio.file(f"usr/sbin/{tool}", (system.path / "usr/sbin" / tool).read_bytes(), 0o755)
    for library in LIBRARIES:
        cpio.file(f"lib/{library}", (system.path / "lib" / library).read_bytes(), 0o755)
    loads = []
    for path in _ordered(system):
        cpio.file(f"modules/{path.name}", path.read_bytes())
        words = f" {CHIP} {LAYOUT}" if path.stem == "nandsim" else ""
        loads.append(f"insmod /modules/{path.name}{words}")
    cpio.file("init", (INIT % "\n".join(loads)).encode(), 0o755)
    return cpio.bytes()


@contextmanager
def board(folder: Path) -> Iterator[Path]:
    """A stand-in that has booted: the host's end of its serial line, at a shell's prompt."""
    emulator, system = roots()
    (folder / "initramfs").write_bytes(initramfs(system))
    kernel = next(system.path.glob("boot/vmlinuz-*"))
    see = {"/here": folder, "/vmlinuz": kernel}
    argv = [
        *("qemu-system-arm", "-M", "virt,highmem=off", "-cpu", "cortex-a7", "-m", "512"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", "/vmlinuz", "-initrd", "/here/initramfs", "-monitor", "none"),
        *("-append", "console=ttyAMA0 rdinit=/init panic=-1"),
        *("-chardev", "pty,id=line,logfile=/here/console", "-serial", "chardev:line"),
    ]
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            emulator.command(argv, see),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _booted(folder, process)
        finally:
            process.kill()
            process.wait()


def _booted(folder: Path, process: subprocess.Popen[bytes]) -> Path:
    """Waits until the board is up; the path of its line."""
    until = time.monotonic() + BOOT_S
    tty = -1
    while time.monotonic() < until and process.poll() is None:
        told = re.search(r"redirected to (\S+)", (folder / "said").read_text())
        if told and tty < 0:
            tty = os.open(told[1], os.O_RDWR | os.O_NOCTTY)
        if tty >= 0:
            os.set_blocking(tty, False)
            with contextlib.suppress(BlockingIOError):
                os.read(tty, 1 << 16)
        console = folder / "console"
        if told and console.exists() and b"the board is up" in console.read_bytes():
            os.close(tty)
            return Path(told[1])
        time.sleep(0.1)
    raise AssertionError((folder / "said").read_text() + (folder / "console").read_text()[-2000:])
