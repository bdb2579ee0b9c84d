# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's root file system: an initramfs of busybox, mtd-utils, modules, init and ferry."""

from __future__ import annotations

import lzma
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nandlab.board.cpio import Archive
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
    *("nls_cp437", "nls_ascii", "nls_utf8"),  # vfat loads these by name
    "nandsim",  # bench/virtual_time.py compares simnand with it
    # file systems load these compressors and checksums by name; no module dependency lists them
    *("deflate", "lzo", "lzo_rle", "zstd", "zstd_compress", "crc32_generic", "crc32c_generic"),
]
"""Kernel modules of the board; the modules that these depend on are added."""


def initramfs(kit: Kit, own: Mapping[str, Path], own_modules: list[Path]) -> Archive:
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
    _add_modules(cpio, kit, own_modules)
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


def _add_modules(cpio: Archive, kit: Kit, own: list[Path]) -> None:
    """Adds the modules, those that they depend on, and depmod's index of just these."""
    kernel = kit.kernel
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        home = Path(scratch) / "lib/modules" / kernel.release
        home.mkdir(parents=True)
        for name, content in _with_dependencies(kernel, own).items():
            (home / f"{name}.ko").write_bytes(content)
        for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
            shutil.copy(kernel.modules / index, home)
        see = {"/image": Path(scratch)}
        kit.tools.checked(["depmod", "-b", "/image", kernel.release], see=see)
        for file in sorted(home.iterdir()):
            if not file.name.endswith(".bin"):  # busybox reads the text form
                cpio.file(f"lib/modules/{kernel.release}/{file.name}", file.read_bytes())


def _with_dependencies(kernel: Kernel, own: list[Path]) -> dict[str, bytes]:
    """The board's modules and those that they depend on: uncompressed content by name."""
    paths = {p.name.partition(".")[0].replace("-", "_"): p for p in kernel.modules.rglob("*.ko*")}
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


def compressed(initramfs: bytes, tools: Root) -> bytes:
    """The initramfs as gzip, by the board's own tools: another gzip may pack into other bytes."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        (Path(scratch) / "image").write_bytes(initramfs)
        tools.checked(["gzip", "-n", "-6", "/scratch/image"], see={"/scratch": Path(scratch)})
        return (Path(scratch) / "image.gz").read_bytes()
