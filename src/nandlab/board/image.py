# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's root file system: an initramfs of busybox, mtd-utils, modules, init and ferry."""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nandlab.base.errors import NandlabError
from nandlab.board.cpio import Archive
from nandlab.board.debian import Packages
from nandlab.board.loader import command, libraries

GUEST_PACKAGES = ["busybox-static", "dosfstools", "libc6", "mtd-utils"]
"""Debian packages that the board's tools come from."""

MTD_TOOLS = [
    *("flash_erase", "flash_eraseall", "flash_lock", "flash_unlock"),
    *("mtdinfo", "nanddump", "nandtest", "nandwrite"),
    *("nftl_format", "nftldump"),
    *("ubiattach", "ubidetach", "ubiformat", "ubimkvol", "ubinfo", "ubirmvol", "ubiupdatevol"),
]
"""Programs of mtd-utils that need the C library only."""

MODULES = [
    *("mtd", "nand", "jffs2", "ubi", "ubifs", "nftl", "vfat"),
    *("nls_cp437", "nls_ascii", "nls_utf8"),  # vfat loads these by name
    "nandsim",  # bench/virtual_time.py compares simnand with it
    # file systems load these compressors and checksums by name; no module dependency lists them
    *("deflate", "lzo", "lzo_rle", "zstd", "zstd_compress", "crc32_generic", "crc32c_generic"),
]
"""Kernel modules of the board; the modules that these depend on are added."""


def initramfs(packages: Packages, own: Mapping[str, Path], own_modules: list[Path]) -> Archive:
    """The initramfs: the same inputs give the same bytes.

    own: our programs, by their path on the board.
    """
    cpio = Archive()
    for folder in ("proc", "sys", "dev", "tmp", "mnt", "etc", "root"):
        cpio.folder(folder)
    cpio.device("dev/console", 5, 1)
    cpio.file("etc/profile", b"PS1='nandlab:\\w# '\n")
    _add_busybox(cpio, packages)
    _add_tools(cpio, packages)
    for where, program in sorted(own.items()):
        cpio.file(where, program.read_bytes(), 0o755)
    _add_modules(cpio, packages, own_modules)
    return cpio


def commands(paths: list[str]) -> list[str]:
    """The names of the commands among the paths of an initramfs."""
    return sorted(p.rpartition("/")[2] for p in paths if re.match(r"(usr/)?s?bin/", p))


def _add_busybox(cpio: Archive, packages: Packages) -> None:
    busybox = packages.root / "bin/busybox"
    cpio.file("bin/busybox", busybox.read_bytes(), 0o755)
    argv = [*command(packages.root, busybox), "--list-full"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True)
    for applet in sorted(set(listed.stdout.split()) - {"bin/busybox"}):
        cpio.link(applet, "/bin/busybox")


def _add_tools(cpio: Archive, packages: Packages) -> None:
    tools = [path for tool in MTD_TOOLS if (path := packages.root / "usr/sbin" / tool).exists()]
    tools.append(packages.root / "sbin/mkfs.fat")
    for tool in tools:
        cpio.file(str(tool.relative_to(packages.root)), tool.read_bytes(), 0o755)
    needed = {library for tool in tools for library in libraries(packages.root, tool)}
    for library in sorted(needed):
        home = "lib64" if library.name.startswith("ld-") else "lib/x86_64-linux-gnu"
        cpio.file(f"{home}/{library.name}", library.read_bytes(), 0o755)


def _add_modules(cpio: Archive, packages: Packages, own: list[Path]) -> None:
    """Adds the modules, those that they depend on, and depmod's index of just these."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "lib/modules" / packages.release
        home.mkdir(parents=True)
        for name, content in _with_dependencies(packages, own).items():
            (home / f"{name}.ko").write_bytes(content)
        for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            shutil.copy(packages.modules / index, home)
        argv = ["depmod", "-b", scratch, packages.release]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NandlabError(f"depmod failed: {done.stderr.strip()}")
        for file in sorted(home.iterdir()):
            if not file.name.endswith(".bin"):  # busybox reads the text form
                cpio.file(f"lib/modules/{packages.release}/{file.name}", file.read_bytes())


def _with_dependencies(packages: Packages, own: list[Path]) -> dict[str, bytes]:
    """The board's modules and those that they depend on: uncompressed content by name."""
    paths = {p.name.partition(".")[0].replace("-", "_"): p for p in packages.modules.rglob("*.ko*")}
    chosen = {p.stem: p.read_bytes() for p in own}
    todo = [*MODULES, *(d for content in chosen.values() for d in _depends(content))]
    while todo:
        name = todo.pop().replace("-", "_")
        if name in chosen or name not in paths:
            continue  # chosen already, or built into this kernel
        content = paths[name].read_bytes()
        chosen[name] = lzma.decompress(content) if paths[name].suffix == ".xz" else content
        todo += _depends(chosen[name])
    return chosen


def _depends(module: bytes) -> list[str]:
    """What the module's own .modinfo says it depends on."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [d for d in found[1].decode().split(",") if d] if found else []


def compressed(initramfs: bytes) -> bytes:
    """The initramfs as gzip without a time stamp: the same content gives the same bytes."""
    return gzip.compress(initramfs, compresslevel=6, mtime=0)
