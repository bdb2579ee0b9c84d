# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpacks Debian packages without Debian's tools, so that any host can.

A package is an ``ar`` archive: debian-binary, control.tar.*, data.tar.* (deb(5)). Its maintainer
scripts are not run. Documentation and translations are left out.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from nandlab.base.errors import UsageError

MAGIC = b"!<arch>\n"
HEADER_BYTES = 60
FORMS = {"xz": "r|xz", "gz": "r|gz", "": "r|"}
"""How the data of a package may be packed, by its suffix."""
TOP_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
TOP_FOLDER = re.compile(rf"^({'|'.join(TOP_FOLDERS)})(?=/|$)")
"""Top folders that Debian has merged into /usr; in older packages they still are folders."""
OMITTED_FOLDERS = re.compile(r"usr/share/(doc|doc-base|info|lintian|locale|man|iso-codes|xml)/")


def unpack_package(package: Path, root: Path) -> None:
    """Adds a package's files to a root; UsageError if it is no package that can be read.

    The owner is who runs this; no file has a set-user-ID bit.
    """
    with open_package_tar(package, str(package)) as tar:
        for member in tar:
            if _place_member(member):
                _write_member(tar, member, root)


@contextmanager
def open_package_tar(package: Path, called: str) -> Iterator[tarfile.TarFile]:
    """A package's files, as a stream; UsageError, within too, if it cannot be read.

    called: what an error calls it.
    """
    try:
        with package.open("rb") as f, _open_data(f) as tar:
            yield tar
    except (tarfile.TarError, EOFError, _NotADeb) as e:
        raise UsageError(f"{called}: not a Debian package that can be unpacked: {e}") from None


class _NotADeb(Exception):
    pass


def _open_data(f: BinaryIO) -> tarfile.TarFile:
    """The package's data, as a stream."""
    if f.read(len(MAGIC)) != MAGIC:
        raise _NotADeb("it does not begin as one")
    while head := f.read(HEADER_BYTES):
        name = head[:16].decode(errors="replace").strip().rstrip("/")
        if name.startswith("data.tar"):
            suffix = name.removeprefix("data.tar").lstrip(".")
            if suffix not in FORMS:
                raise _NotADeb(f"its data are packed as {suffix}")
            return tarfile.open(fileobj=f, mode=FORMS[suffix])  # type: ignore[call-overload,no-any-return]
        try:
            size = int(head[48:58])
        except ValueError:
            raise _NotADeb("a header in it is damaged") from None
        f.seek(size + size % 2, 1)
    raise _NotADeb("it has no data")


def _place_member(member: tarfile.TarInfo) -> bool:
    """Gives the member its place in a merged root; False: it is left out."""
    member.name = map_path_into_root(member.name)
    if member.issym() and member.name.removeprefix("usr/") in TOP_FOLDERS:
        return False  # base-files of trixie merges the folders by its own links
    if member.islnk():
        member.linkname = map_path_into_root(member.linkname)
    return member.name not in ("", ".") and not OMITTED_FOLDERS.match(member.name + "/")


def map_path_into_root(name: str, *, merged: bool = True) -> str:
    """A package's path as the root has it; merged: the root's top folders are merged into /usr."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise _NotADeb(f"{name} leads out of the root")
    return TOP_FOLDER.sub(r"usr/\1", str(path)) if merged else str(path)


def _write_member(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    target = root / member.name
    if member.isdir():
        if not target.resolve().is_relative_to(root.resolve()):
            raise _NotADeb(f"{member.name} leads out of the root by a link")
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(root.resolve()):
        raise _NotADeb(f"{member.name} leads out of the root by a link")
    target.unlink(missing_ok=True)
    if member.issym():
        target.symlink_to(_relative_target(member))
    elif member.islnk():
        target.hardlink_to(root / member.linkname)
    elif member.isreg():
        with target.open("wb") as out:
            for block in read_member_blocks(tar, member):
                out.write(block)
        target.chmod(0o755 if member.mode & 0o111 else 0o644)


def _relative_target(link: tarfile.TarInfo) -> str:
    """Where a link leads, seen from its folder: an absolute one would lead out of the root."""
    to = PurePosixPath(link.linkname)
    if not to.is_absolute():
        return link.linkname
    up = [".."] * (len(PurePosixPath(link.name).parts) - 1)
    return str(PurePosixPath(*up, *to.parts[1:]))


def read_member_blocks(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """A file's content, in pieces."""
    content = tar.extractfile(member)
    while content and (block := content.read(1 << 20)):
        yield block
