# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages as `make bindeb-pkg` builds them: small ones of texts, and those of Debian's kernel."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

from nandlab.board.kit.kernel import Kernel
from nandlab.board.kit.ownkernel import NEEDED_BY_ARCH, NEEDED_SETTINGS
from support.debmirror import ar

RELEASE = "6.6.1-ours"
VERSION = "6.6.1-3"
KEPT_MODULES = ("drivers/mtd", "fs/jffs2", "fs/ubifs", "fs/fat", "fs/nls", "lib", "crypto", "arch")
"""Folders of Debian's modules that a small image has."""


def list_image_files(arch: str = "amd64", release: str = RELEASE) -> dict[str, str]:
    """The files of an image that a board takes, by path."""
    symbols = {**NEEDED_SETTINGS, **NEEDED_BY_ARCH[arch]}
    modules = f"lib/modules/{release}"
    return {
        f"boot/vmlinuz-{release}": "a kernel",
        f"boot/config-{release}": "".join(f"{symbol}=y\n" for symbol in symbols),
        f"{modules}/modules.order": "",
        f"{modules}/modules.builtin": "",
    }


def list_header_files(release: str = RELEASE) -> dict[str, str]:
    """The files of headers that a board takes, by path."""
    top = f"usr/src/linux-headers-{release}"
    return {f"{top}/{name}": "" for name in ("Makefile", "Module.symvers", ".config")}


def write_deb(path: Path, files: dict[str, str], *others: tarfile.TarInfo) -> None:
    """Writes a package of texts by path, and of other members."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        for member in others:
            tar.addfile(member)
    path.write_bytes(ar({"debian-binary": b"2.0\n", "data.tar.xz": data.getvalue()}))


def write_kernel_packages(folder: Path, arch: str = "amd64", release: str = RELEASE) -> None:
    """Writes the two packages of a kernel that is only texts."""
    folder.mkdir(exist_ok=True)
    write_deb(
        folder / f"linux-image-{release}_{VERSION}_{arch}.deb", list_image_files(arch, release)
    )
    write_deb(folder / f"linux-headers-{release}_{VERSION}_{arch}.deb", list_header_files(release))


def repack_debian_kernel(kernel: Kernel, folder: Path) -> None:
    """Writes the kernel of Debian's packages as the two packages of a kernel of one's own.

    Its image has few modules. Its headers are one folder, with the programs of linux-kbuild.
    """
    release, stage = kernel.release, folder / "stage"
    image, headers = stage / "image", stage / "headers/usr/src" / f"linux-headers-{release}"
    (image / "boot").mkdir(parents=True)
    for path in (kernel.vmlinuz, kernel.config_file):
        shutil.copy(path, image / "boot")
    modules = image / "lib/modules" / release
    for name in KEPT_MODULES:
        shutil.copytree(kernel.modules / "kernel" / name, modules / "kernel" / name)
    for name in ("order", "builtin", "builtin.modinfo"):
        shutil.copy(kernel.modules / f"modules.{name}", modules)
    _merge_headers(kernel, headers)
    for kind in ("image", "headers"):
        _pack_folder(folder / f"linux-{kind}-{release}_1_amd64.deb", stage / kind)
    shutil.rmtree(stage)


def _pack_folder(path: Path, folder: Path) -> None:
    """Writes a package of all that is in a folder."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as tar:
        tar.add(folder, ".")
    path.write_bytes(ar({"debian-binary": b"2.0\n", "data.tar.gz": data.getvalue()}))


def _merge_headers(kernel: Kernel, top: Path) -> None:
    """Lays out Debian's three packages of headers as one folder."""
    sources = kernel.root.path / "usr/src"
    flavour = sources / f"linux-headers-{kernel.release}"
    common = next(sources.glob("linux-headers-*-common"))
    kbuild = next((kernel.root.path / "usr/lib").glob("linux-kbuild-*"))
    skip = shutil.ignore_patterns("scripts", "tools")
    shutil.copytree(common, top, ignore=skip, symlinks=True)
    for folder in ("scripts", "tools"):
        shutil.copytree(kbuild / folder, top / folder, symlinks=True)
    for path in sorted(flavour.rglob("*")):
        place = top / path.relative_to(flavour)
        if path.is_file() and not path.is_symlink() and path != flavour / "Makefile":
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
