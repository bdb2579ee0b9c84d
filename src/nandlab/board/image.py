# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's root file system: an initramfs of busybox, mtd-utils, init and ferry.

Of the kernel's modules it has init's own, and the index of all that a job may bring.
"""

from __future__ import annotations

import lzma
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nandlab.board.cpio import Archive
from nandlab.board.modules import LOADED_BY_NAME, OF_INIT, Modules, closed, depends, name_of
from nandlab.kit.kernel import Kernel
from nandlab.kit.kit import Kit
from nandlab.kit.root import Root

MTD_TOOLS = [
    *("flash_erase", "flash_eraseall", "flash_lock", "flash_unlock"),
    *("mtdinfo", "nanddump", "nandtest", "nandwrite"),
    *("nftl_format", "nftldump"),
    *("ubiattach", "ubidetach", "ubiformat", "ubimkvol", "ubinfo", "ubirmvol", "ubiupdatevol"),
]
"""Programs of mtd-utils that need the C library only."""

LOADER = "/lib64/ld-linux-x86-64.so.2 --inhibit-cache"
MODULES = [
    *("mtd", "nand", "jffs2", "ubi", "ubifs", "nftl", "vfat"),
    "nandsim",  # bench/virtual_time.py compares simnand with it
    *(name for names in LOADED_BY_NAME.values() for name in names),
]
"""Kernel modules that a board may load; the modules that these depend on are added."""
INDEXES = ("modules.builtin", "modules.dep", "modules.alias", "modules.softdep")
"""What the board's modprobe reads of depmod's work; the kernel asks for modules by an alias."""


def initramfs(kit: Kit, own: Mapping[str, Path], modules: Modules) -> Archive:
    """The initramfs: the same inputs give the same bytes.

    own: our programs, by their path on the board.
    """
    cpio = Archive()
    for folder in ("proc", "sys", "dev", "tmp", "mnt", "etc", "root"):
        cpio.folder(folder)
    cpio.device("dev/console", 5, 1)
    cpio.file("etc/profile", b"PS1='nandlab:\\w# '\n")
    _add_busybox(cpio, kit.kernel.root)
    _add_tools(cpio, kit.kernel.root)
    for where, program in sorted(own.items()):
        cpio.file(where, program.read_bytes(), 0o755)
    _add_modules(cpio, kit, modules)
    return cpio


def commands(paths: list[str]) -> list[str]:
    """The names of the commands among the paths of an initramfs."""
    return sorted(p.rpartition("/")[2] for p in paths if re.match(r"(usr/)?s?bin/", p))


def _add_busybox(cpio: Archive, root: Root) -> None:
    cpio.file("bin/busybox", (root.path / "bin/busybox").read_bytes(), 0o755)
    listed = root.checked(["/bin/busybox", "--list-full"])
    for applet in sorted(set(listed.split()) - {"bin/busybox"}):
        cpio.link(applet, "/bin/busybox")


def _add_tools(cpio: Archive, root: Root) -> None:
    tools = [f"usr/sbin/{t}" for t in MTD_TOOLS if (root.path / "usr/sbin" / t).exists()]
    tools.append("sbin/mkfs.fat")
    for tool in tools:
        cpio.file(tool, (root.path / tool).read_bytes(), 0o755)
    for library in _libraries(root, tools):
        home = "lib64" if library.name.startswith("ld-") else "lib/x86_64-linux-gnu"
        content = (root.path / library.relative_to("/")).read_bytes()
        cpio.file(f"{home}/{library.name}", content, 0o755)


def _libraries(root: Root, programs: list[str]) -> list[Path]:
    """The libraries that programs of a root load, and their loader, as paths in the root."""
    binary = [p for p in programs if (root.path / p).read_bytes().startswith(b"\x7fELF")]
    asked = f"for p; do {LOADER} --list /$p || exit 1; done"
    told = root.checked(["/bin/busybox", "sh", "-c", asked, "sh", *binary])
    found = {line.split(" => ")[-1].split()[0] for line in told.splitlines()}
    return sorted(Path(p) for p in found if p.startswith("/"))


def gathered(kernel: Kernel, own: list[Path], folder: Path) -> Modules:
    """The board's modules and those that they depend on, uncompressed into a folder.

    own: our modules.
    """
    paths = {name_of(p.name.partition(".")[0]): p for p in kernel.modules.rglob("*.ko*")}
    paths |= {p.stem: p for p in own}
    needs: dict[str, tuple[str, ...]] = {}

    def take(name: str) -> tuple[str, ...] | None:
        if name not in paths:
            return None  # built into this kernel
        content = paths[name].read_bytes()
        content = lzma.decompress(content) if paths[name].suffix == ".xz" else content
        (folder / f"{name}.ko").write_bytes(content)
        needs[name] = (*depends(content), *LOADED_BY_NAME.get(name, ()))
        return needs[name]

    there = closed([*(p.stem for p in own), *MODULES], take)
    only = {name: tuple(n for n in needs[name] if n in needs) for name in there}
    return Modules(folder, f"lib/modules/{kernel.release}", only)


def _add_modules(cpio: Archive, kit: Kit, modules: Modules) -> None:
    """Adds init's modules, and depmod's index of all that there are."""
    kernel = kit.kernel
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        home = Path(scratch) / modules.home
        home.mkdir(parents=True)
        for name in modules.needs:
            shutil.copy(modules.folder / f"{name}.ko", home)
        for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            shutil.copy(kernel.modules / index, home)
        see = {"/image": Path(scratch)}
        kit.tools.checked(["depmod", "-b", "/image", kernel.release], see=see)
        for name in [*(f"{name}.ko" for name in OF_INIT), *INDEXES]:
            cpio.file(f"{modules.home}/{name}", (home / name).read_bytes())


def compressed(initramfs: bytes, tools: Root) -> bytes:
    """The initramfs as gzip, by the board's own tools: another gzip may pack into other bytes."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        (Path(scratch) / "image").write_bytes(initramfs)
        tools.checked(["gzip", "-n", "-6", "/scratch/image"], see={"/scratch": Path(scratch)})
        return (Path(scratch) / "image.gz").read_bytes()
