# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages of a kernel that nandlab built: which files, and the same bytes each time.

A package is what deb.py reads: an ``ar`` archive of a tar of regular files. Owners, times and order
are fixed. The tar is packed by the root's gzip: another may pack into other bytes.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.kit.deb import MAGIC
from nandlab.board.kit.root import Root
from nandlab.catalog.arch import Arch

ELF = b"\x7fELF"
FORMAT = b"2.0\n"
"""What a package's member debian-binary has."""
HEADER_NAMES = ("Kbuild", "Kconfig", "Makefile")
"""How the names of files begin that kbuild reads in a folder of the architecture."""
LEFT_OUT = ("scripts/dtc/include-prefixes", "scripts/kconfig", "scripts/package")
"""Folders of ``scripts`` that no build of a module reads."""


def list_header_files(source: Path, out: Path, arch: Arch) -> dict[str, Path]:
    """The files that modules are built against, by their path in the folder of the headers.

    source: the tree. out: what was built of it, which goes before the tree's.
    """
    arch_folder = f"arch/{arch.source}"
    header_files = {
        name: source / name
        for name in ("Makefile", "Kbuild", "Kconfig")
        if (source / name).is_file()
    }
    for folder in ("include", "scripts", f"{arch_folder}/include"):
        header_files |= _list_files(source, folder)
    for path in (source / arch_folder).rglob("*"):
        if path.is_file() and path.name.startswith(HEADER_NAMES):
            header_files[str(path.relative_to(source))] = path
    for folder in ("include", f"{arch_folder}/include"):
        header_files |= _list_files(out, folder)
    built = _list_files(out, "scripts") | _list_files(out, "tools/objtool")
    header_files |= {name: path for name, path in built.items() if _is_program(path)}
    output_names = (
        ".config",
        "Module.symvers",
        "scripts/module.lds",
        f"{arch_folder}/kernel/asm-offsets.s",
    )
    return header_files | {name: out / name for name in output_names if (out / name).is_file()}


def _list_files(top: Path, folder: str) -> dict[str, Path]:
    """The regular files below a folder, by their path from the top."""
    paths = (path for path in (top / folder).rglob("*") if path.is_file())
    found = {str(path.relative_to(top)): path for path in paths}
    return {name: path for name, path in found.items() if not name.startswith(LEFT_OUT)}


def _is_program(path: Path) -> bool:
    """Whether a file is a program that a build of modules runs, and not an object."""
    if path.suffix in (".o", ".a", ".so") or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as f:
        return f.read(len(ELF)) == ELF


def pack_kernel_package(package: Path, files: Mapping[str, Path], tools: Root) -> None:
    """Writes a package of files by their path in the root; equal files give equal bytes."""
    with hold_scratch_folder(str(package.parent)) as folder:
        with tarfile.open(folder / "data.tar", "w", format=tarfile.GNU_FORMAT) as tar:
            for name in _list_folders(files):
                tar.addfile(_make_member(name, tarfile.DIRTYPE, 0o755, 0))
            for name, path in sorted(files.items()):
                mode = 0o755 if os.access(path, os.X_OK) else 0o644
                member = _make_member(name, tarfile.REGTYPE, mode, path.stat().st_size)
                with path.open("rb") as f:
                    tar.addfile(member, f)
        with tarfile.open(folder / "control.tar", "w", format=tarfile.GNU_FORMAT) as tar:
            control = _format_control(package.name)
            member = _make_member("control", tarfile.REGTYPE, 0o644, len(control))
            tar.addfile(member, BytesIO(control))
        tars = ("/scratch/control.tar", "/scratch/data.tar")
        tools.checked(["gzip", "-n", "-6", *tars], see={"/scratch": folder})
        with package.open("wb") as out:
            out.write(MAGIC)
            _add_ar_member(out, "debian-binary", FORMAT)
            for name in ("control.tar.gz", "data.tar.gz"):
                _add_ar_member(out, name, (folder / name).read_bytes())


def _list_folders(files: Mapping[str, Path]) -> Iterator[str]:
    """The folders of files, each behind those that it is in."""
    found = {str(each) for name in files for each in PurePosixPath(name).parents}
    yield from sorted(found - {"."})


def _make_member(name: str, kind: bytes, mode: int, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"./{name}")
    member.type, member.mode, member.size = kind, mode, size
    return member


def _format_control(file: str) -> bytes:
    """What a package says of itself."""
    name, version, arch = file.removesuffix(".deb").split("_")
    return (
        f"Package: {name}\nVersion: {version}\nArchitecture: {arch}\n"
        "Maintainer: nandlab <nandlab@localhost>\nDescription: a kernel of a virtual board\n"
    ).encode()


def _add_ar_member(out: IO[bytes], name: str, content: bytes) -> None:
    """Adds a member of an ar archive, as deb(5) has it."""
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    out.write(head.encode() + content + b"\n" * (len(content) % 2))
