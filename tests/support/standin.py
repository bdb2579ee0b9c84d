# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for a user's ARM board: QEMU's virt, Debian's armmp kernel, nandsim, a serial line,
and a server of ssh on a network that reaches nothing else.

Nothing of nandlab is on it. Its packages are those that tests/support/armhf.lock names.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandlab.board.jobs.cpio import Archive
from nandlab.board.jobs.modules import parse_module_dependencies
from nandlab.board.kit.apt import Apt, Suite
from nandlab.board.kit.kit import fetch_package_sets
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packagesets import SuiteSet
from nandlab.board.kit.root import Root, prepare_package_root
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from support.armhf import LOCK


@dataclass(frozen=True)
class EmulatorSet(SuiteSet):
    """QEMU for ARM, with what it needs."""

    @property
    def name(self) -> str:
        return f"emulator {self.suite.release} {self.suite.arch} arm"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies(["qemu-system-arm", "coreutils", "dash"]))


@dataclass(frozen=True)
class SystemSet(SuiteSet):
    """What is on the board."""

    @property
    def name(self) -> str:
        return f"system {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        image = next(p for p in apt.depends("linux-image-armmp") if p.startswith("linux-image-"))
        return apt.files([image, *apt.with_dependencies(["busybox-static", "mtd-utils"])])


@dataclass(frozen=True)
class ServerSet(SuiteSet):
    """A server of ssh for it."""

    @property
    def name(self) -> str:
        return f"ssh server {self.suite.release} {self.suite.arch}"

    def resolve(self, apt: Apt) -> Files:
        return apt.files(apt.with_dependencies(["dropbear-bin"]))


@cache
def roots() -> tuple[Root, Root, Root]:
    """The roots of the emulator, of the board, and of its server of ssh."""
    armhf = Suite("bookworm", "armhf")
    sets = (EmulatorSet(Suite("bookworm", "amd64")), SystemSet(armhf), ServerSet(armhf))
    taken, _ = fetch_package_sets(load_noun("boards", "apf27", BoardModel), sets, path=LOCK)
    emulator, system, server = (prepare_package_root(taken[each.name]) for each in sets)
    return emulator, system, server


TOOLS = """
flash_erase mtdinfo nanddump nandwrite ubiattach ubidetach ubiformat ubimkvol
"""
LOADER = "lib/ld-linux-armhf.so.3"
SERVER = ("usr/sbin/dropbear", "usr/bin/dropbearkey")
MODULES = """
virtio_mmio virtio_net nandsim jffs2 ubi zstd lzo deflate ubifs
"""
CHIP = "first_id_byte=0x20 second_id_byte=0xa1 third_id_byte=0x00 fourth_id_byte=0x15"
"""128 MiB, pages of 2 KiB, erase blocks of 128 KiB."""
LAYOUT = "parts=192,256 badblocks=300,400"
"""A system of 24 MiB, data of 32 MiB with two bad blocks, and the rest."""
DATA, DATA_BYTES = "NAND simulator partition 1", 32 << 20
INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp; mount -t debugfs debugfs /sys/kernel/debug
%s
ip link set lo up; ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up
dropbearkey -t ed25519 -f /etc/key | grep '^ssh-ed25519'
dropbear -E -s -r /etc/key -p 22
export PATH=/sbin:/bin:/usr/sbin:/usr/bin PS1='%s' HOME=/
exec setsid sh -c 'exec sh -i </dev/ttyAMA0 >/dev/ttyAMA0 2>&1'
"""
HOST = "standin"
PROMPT = "board# "
BOOT_S = 120
APPLETS = """
sh mount umount insmod cat chmod mkdir rm rmdir mv ls echo seq sleep setsid stty dmesg uname sync
md5sum sha256sum base64 fold gunzip head tail tr wc mkfifo readlink ip grep modprobe sort dd rmmod
"""


def _ordered(system: Root) -> list[Path]:
    """The modules in an order in which they can be loaded."""
    paths = {p.stem.replace("-", "_"): p for p in system.path.rglob("*.ko")}
    order: dict[str, Path] = {}

    def take(name: str) -> None:
        path = paths.get(name.replace("-", "_"))
        if path is None or path.stem in order:
            return
        for need in parse_module_dependencies(path.read_bytes()):
            take(need)
        order[path.stem] = path

    for name in MODULES.split():
        take(name)
    return list(order.values())


def initramfs(system: Root, server: Root, key: str) -> bytes:
    """The board's files: Debian's busybox, mtd-utils and dropbear, the modules, and INIT.

    key: the public key whose owner may log in.
    """
    cpio = Archive()
    for folder in ("proc", "sys", "dev", "tmp", "mnt", "modules", "etc"):
        cpio.folder(folder)
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    cpio.file("root/.ssh/authorized_keys", key.encode(), 0o600)
    for program in SERVER:
        cpio.file(program, (server.path / program).read_bytes(), 0o755)
    for library in sorted((server.path / "usr/lib/arm-linux-gnueabihf").glob("*.so.*")):
        cpio.file(f"lib/arm-linux-gnueabihf/{library.name}", library.read_bytes(), 0o755)
    cpio.device("dev/console", 5, 1)
    busybox = (system.path / "bin/busybox").read_bytes()
    cpio.file("bin/busybox", busybox, 0o755)
    for applet in APPLETS.split():
        cpio.link(f"bin/{applet}", "/bin/busybox")
    for tool in TOOLS.split():
        cpio.file(f"usr/sbin/{tool}", (system.path / "usr/sbin" / tool).read_bytes(), 0o755)
    cpio.file(LOADER, (system.path / LOADER).read_bytes(), 0o755)
    loads = []
    for path in _ordered(system):
        cpio.file(f"modules/{path.name}", path.read_bytes())
        words = f" {CHIP} {LAYOUT}" if path.stem == "nandsim" else ""
        loads.append(f"insmod /modules/{path.name}{words}")
    cpio.file("init", (INIT % ("\n".join(loads), PROMPT)).encode(), 0o755)
    return cpio.bytes()


@dataclass(frozen=True)
class StandIn:
    """A stand-in that has booted."""

    tty: Path
    """The host's end of its serial line, at a shell's prompt."""
    config: Path
    """An ssh_config that calls it HOST, and knows its key."""
    pid: int
    """The emulator's process."""


def _config(folder: Path, port: int) -> Path:
    """The ssh_config of a board that has booted, and told its key on the console."""
    console = (folder / "console").read_text(errors="replace")
    told = re.search(r"^(ssh-ed25519 \S+)", console, re.MULTILINE)
    assert told, console[-2000:]
    (folder / "known").write_text(f"{HOST} {told[1]}\n")
    config = folder / "ssh_config"
    config.write_text(
        f"Host {HOST}\n HostName 127.0.0.1\n Port {port}\n User root\n HostKeyAlias {HOST}\n"
        f" IdentityFile {folder}/key\n IdentitiesOnly yes\n IdentityAgent none\n"
        f" UserKnownHostsFile {folder}/known\n StrictHostKeyChecking yes\n"
    )
    return config


def _key(folder: Path) -> str:
    """Makes the user's key; its public half."""
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")]
    subprocess.run(argv, check=True)
    return (folder / "key.pub").read_text()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def board(folder: Path) -> Iterator[StandIn]:
    """A stand-in that has booted."""
    emulator, system, server = roots()
    (folder / "initramfs").write_bytes(initramfs(system, server, _key(folder)))
    port = _free_port()
    network = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
    kernel = next(system.path.glob("boot/vmlinuz-*"))
    see = {"/here": folder, "/vmlinuz": kernel}
    argv = [
        *("qemu-system-arm", "-M", "virt,highmem=off", "-cpu", "cortex-a7", "-m", "512"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", "/vmlinuz", "-initrd", "/here/initramfs", "-monitor", "none"),
        *("-append", "console=ttyAMA0 rdinit=/init panic=-1"),
        *("-chardev", "pty,id=line,logfile=/here/console", "-serial", "chardev:line"),
        *("-netdev", network, "-device", "virtio-net-device,netdev=net"),
    ]
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            emulator.command(argv, see),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            yield StandIn(_booted(folder, process), _config(folder, port), process.pid)
        finally:
            process.kill()
            process.wait()


def _booted(folder: Path, process: subprocess.Popen[bytes]) -> Path:
    """Waits until the board is up; the path of its line."""
    until = time.monotonic() + BOOT_S
    tty = -1
    while time.monotonic() < until and process.poll() is None:
        match = re.search(r"redirected to (\S+)", (folder / "said").read_text())
        if match and tty < 0:
            tty = os.open(match[1], os.O_RDWR | os.O_NOCTTY)
        if tty >= 0:
            os.set_blocking(tty, False)
            with contextlib.suppress(BlockingIOError):
                os.read(tty, 1 << 16)
        console = folder / "console"
        if match and console.exists() and PROMPT.encode() in console.read_bytes():
            os.close(tty)
            return Path(match[1])
        time.sleep(0.1)
    raise AssertionError((folder / "said").read_text() + (folder / "console").read_text()[-2000:])
