# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's root file system: an initramfs of busybox, mtd-utils, init and ferry.

Of the kernel's modules it has init's own, and the index of all that a job may bring.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nandlab.base.scratch import scratch
from nandlab.board.cpio import Archive
from nandlab.board.modules import (
    BESIDE,
    INDEXES,
    LOADED_BESIDE,
    LOADED_BY_NAME,
    NEEDS,
    OF_INIT,
    Modules,
    closed,
    depends,
    name_of,
)
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

    Those that lie beside are in a folder of it. own: our modules.
    """
    paths = {name_of(p.name.partition(".")[0]): p for p in kernel.modules.rglob("*.ko*")}
    paths |= {p.stem: p for p in own}
    needs: dict[str, tuple[str, ...]] = {}

    def take(name: str) -> tuple[str, ...] | None:
        if name not in paths:
            return None  # built into this kernel
        content = _content(paths[name])
        (folder / f"{name}.ko").write_bytes(content)
        needs[name] = (*depends(content), *LOADED_BY_NAME.get(name, ()))
        return needs[name]

    there = closed([*(p.stem for p in own), *MODULES], take)
    only = {name: tuple(n for n in needs[name] if n in needs) for name in there}
    found = Modules(folder, f"lib/modules/{kernel.release}", only)
    _gather_beside(found, paths)
    return found


def _gather_beside(modules: Modules, paths: Mapping[str, Path]) -> None:
    """The modules that the image's index does not have, and what they need; paths: all, by name."""
    modules.beside.mkdir()
    needs: dict[str, tuple[str, ...]] = {}

    def take(name: str) -> tuple[str, ...] | None:
        if name in modules.needs or name not in paths:
            return None
        content = _content(paths[name])
        (modules.beside / f"{name}.ko").write_bytes(content)
        needs[name] = (*depends(content), *LOADED_BESIDE.get(name, ()))
        return needs[name]

    closed(BESIDE, take)
    known = {*needs, *modules.needs}
    only = {name: [n for n in more if n in known] for name, more in sorted(needs.items())}
    (modules.beside / NEEDS).write_text(json.dumps(only))


def _content(module: Path) -> bytes:
    """A module of a kernel's package as the board loads it."""
    content = module.read_bytes()
    return lzma.decompress(content) if module.suffix == ".xz" else content


def _add_modules(cpio: Archive, kit: Kit, modules: Modules) -> None:
    """Adds init's modules, and depmod's index of all that there are; keeps the index beside."""
    own = sorted(modules.folder / f"{name}.ko" for name in modules.needs)
    with _indexed(kit, modules, own) as home:
        for name in [*(f"{name}.ko" for name in OF_INIT), *INDEXES]:
            cpio.file(f"{modules.home}/{name}", (home / name).read_bytes())
    with _indexed(kit, modules, [*own, *sorted(modules.beside.glob("*.ko"))]) as home:
        for name in INDEXES:
            shutil.copy(home / name, modules.beside)


@contextmanager
def _indexed(kit: Kit, modules: Modules, files: Iterable[Path]) -> Iterator[Path]:
    """A folder with these modules and depmod's index of them."""
    kernel = kit.kernel
    with scratch() as folder:
        home = folder / modules.home
        home.mkdir(parents=True)
        for file in files:
            shutil.copy(file, home)
        for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            shutil.copy(kernel.modules / index, home)
        see = {"/image": folder}
        kit.tools.checked(["depmod", "-b", "/image", kernel.release], see=see)
        yield home


def compressed(initramfs: bytes, tools: Root) -> bytes:
    """The initramfs as gzip, by the board's own tools: another gzip may pack into other bytes."""
    with scratch() as folder:
        (folder / "image").write_bytes(initramfs)
        tools.checked(["gzip", "-n", "-6", "/scratch/image"], see={"/scratch": folder})
        return (folder / "image.gz").read_bytes()
