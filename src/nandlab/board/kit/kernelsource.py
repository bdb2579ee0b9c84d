# SPDX-License-Identifier: GPL-2.0-or-later
"""The locked source of a board's kernel: what the parts of the catalog need of it, unpacked.

Debian's package linux-source-VERSION has the whole tree in one archive. It is of the very version
that the board's kernel is locked at, or it is refused.
"""

from __future__ import annotations

import tarfile
from pathlib import Path, PurePosixPath

from nandlab.base.cache import make_entry
from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.board.kit.apt import Suite
from nandlab.board.kit.deb import open_package_tar, read_member_blocks
from nandlab.board.kit.kernel import IMAGE
from nandlab.board.kit.lock import Files
from nandlab.board.kit.packages import make_cached_package_path
from nandlab.board.kit.packagesets import LINUX_SOURCE, KernelSourceSet
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.part import KIND, PartModel

ARCHIVE = "usr/src/linux-source-"
"""How the path of the tree's archive begins in the package."""
FORM = 1
"""Part of the unpacked source's name: raise it when it is unpacked in another way."""


def make_kernel_source_set(model: BoardModel, kernel: Files) -> KernelSourceSet:
    """The set of the source of a board's kernel. kernel: the packages of the kernel."""
    return KernelSourceSet(Suite(model.release, "amd64"), _find_versions(kernel)[0])


def _find_versions(kernel: Files) -> tuple[str, str]:
    """The version in the name of a kernel's package, as 6.1, and the package's own."""
    image = next((file for file in kernel if IMAGE.match(file)), None)
    if image is None:
        raise UsageError("the lock's set of the kernel has no package linux-image-…")
    name, version = image.split("_")[:2]
    return ".".join(name.removeprefix("linux-image-").split(".")[:2]).partition("-")[0], version


def unpack_kernel_source(model: BoardModel, kernel: Files, source: Files) -> tuple[Path, str]:
    """The parts' folders of the source, in the cache, and what it is called.

    UsageError if the source is not of the version of the kernel's packages.
    """
    file = next((name for name in source if name.startswith(LINUX_SOURCE)), "")
    version = _find_versions(kernel)[1]
    if file.split("_")[1:2] != [version]:
        raise UsageError(
            f"board {model.name}: its kernel is of version {version}, and the locked source is "
            f"{file or 'none'}: `nandlab board update {model.name}` locks both anew"
        )

    def make(work: Path) -> None:
        print_note(f"unpacking {file}")
        (work / "tree").mkdir()
        _unpack_folders(make_cached_package_path(source[file]), file, work / "tree", folders)

    folders = _list_folders()
    inputs = {"package": source[file], "folders": folders, "form": FORM}
    return make_entry("kernel-source", inputs, make) / "tree", " ".join(file.split("_")[:2])


def _list_folders() -> list[str]:
    """The folders of a kernel's tree that files of the parts are in; "." has its Makefile."""
    parts = [load_noun(KIND, name, PartModel) for name in list_noun_names(KIND)]
    headers = {str(PurePosixPath(path).parent) for part in parts for path in part.headers}
    return sorted({".", *headers, *(folder for part in parts for folder in part.folders)})


def _unpack_folders(package: Path, called: str, top: Path, folders: list[str]) -> None:
    """Writes the regular files of some folders, without those of folders in them."""
    with open_package_tar(package, called) as outer:
        for member in outer:
            if not member.name.removeprefix("./").startswith(ARCHIVE) or not member.isreg():
                continue
            with tarfile.open(fileobj=outer.extractfile(member), mode="r|xz") as inner:
                for file in inner:
                    path = PurePosixPath(*PurePosixPath(file.name).parts[1:])
                    if file.isreg() and str(path.parent) in folders and ".." not in path.parts:
                        target = top / path
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(b"".join(read_member_blocks(inner, file)))
            return
    raise UsageError(f"{called}: it has no archive {ARCHIVE}…")
