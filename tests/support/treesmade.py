# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels' trees: small ones of a few texts, and that of a board's locked source."""

from __future__ import annotations

import tarfile
from pathlib import Path

from nandlab.board.kit import kit
from nandlab.board.kit.deb import open_package_tar
from nandlab.board.kit.kernelsource import ARCHIVE, make_kernel_source_set
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.catalog.board import BoardModel

VERSION = "6.1.7"


def write_small_tree(top: Path, version: str = VERSION) -> Path:
    """Writes what every kernel's tree has, and nothing that could be built."""
    major, minor, sub = version.split(".")
    files = {
        "Makefile": f"VERSION = {major}\nPATCHLEVEL = {minor}\nSUBLEVEL = {sub}\n",
        "Kconfig": "",
        "scripts/Kconfig.include": "",
        "init/main.c": "int main;\n",
        "arch/Kconfig": "",
        "arch/x86/Makefile": "",
        "arch/arm/crypto/Kconfig": "",
        "arch/arm/Makefile": "",
        "Documentation/Kconfig": "",
        "Documentation/long.rst": "text\n",
        ".git/config": "",
    }
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def unpack_locked_tree(model: BoardModel, folder: Path) -> Path:
    """The whole source of a board's kernel, fetched and unpacked into a folder; its top."""
    lock = kit.read_board_package_lock(model)
    each = make_kernel_source_set(model, lock[kit.make_kernel_package_set(model).name])
    (file,) = lock[each.name]
    kit.fetch_locked_package_set(each, lock[each.name])
    with open_package_tar(make_cached_package_path(lock[each.name][file]), file) as outer:
        for member in outer:
            if member.isreg() and member.name.removeprefix("./").startswith(ARCHIVE):
                with tarfile.open(fileobj=outer.extractfile(member), mode="r|xz") as inner:
                    inner.extractall(folder, filter="data")
                break
    (top,) = folder.iterdir()
    return top
