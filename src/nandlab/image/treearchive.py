# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree as a tar archive: what the board unpacks into an image, and what it packed out of one."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from nandlab.base.errors import NandlabError
from nandlab.base.files import name_full_disk
from nandlab.image.tree import FileTree, TreeEntry, escape_file_name

SET_ID = stat.S_ISUID | stat.S_ISGID


def pack_tree_archives(tree: FileTree, folder: Path) -> tuple[bytes, int]:
    """The tree as a tar archive, then a second archive of the folders alone; the first's bytes.

    Some unpackers set a folder's time at once, and unpacking files into it changes the time again.
    The second archive then restores it.
    """
    out = io.BytesIO()
    firsts = tree.first_names()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for e in tree:
            info = _make_tar_info(e, firsts)
            if not info.isreg():
                tar.addfile(info)
                continue
            with (folder / e.path).open("rb") as f:
                _add_member(tar, info, f, e)
    first_bytes = out.tell()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for e in reversed(tree.entries):
            if e.is_folder:
                tar.addfile(_make_tar_info(e, firsts))
    return out.getvalue(), first_bytes


def _add_member(
    tar: tarfile.TarFile, info: tarfile.TarInfo, f: io.BufferedReader, e: TreeEntry
) -> None:
    try:
        tar.addfile(info, f)
    except OSError as error:  # the file has become shorter
        raise NandlabError(
            f"{escape_file_name(e.path)} changed while it was read: {error}"
        ) from None


def _make_tar_info(e: TreeEntry, firsts: dict[int, str]) -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"./{e.path}")
    info.mode, info.uid, info.gid = stat.S_IMODE(e.mode), e.uid, e.gid
    info.mtime = e.mtime_s
    if e.is_folder:
        info.type = tarfile.DIRTYPE
    elif e.target is not None:
        info.type, info.linkname = tarfile.SYMTYPE, e.target
    elif firsts[e.inode] != e.path:
        info.type, info.linkname = tarfile.LNKTYPE, f"./{firsts[e.inode]}"
    else:
        info.size = e.size
    return info


def unpack_archive(
    archive: bytes, to: Path, skip: Iterable[str] = (), set_id: bool = False
) -> list[str]:
    """Unpacks an archive that the board packed into a new folder, without ``skip``.

    Returns the paths of devices and FIFOs, which are left out: a host needs none.

    The image may be a stranger's, so nothing outside of the folder is touched: every path lies in a
    folder that this call made, a hard link leads to a file that it made, and no link is followed.
    (tarfile's data filter would refuse the absolute links that root file systems have.) Set-user-ID
    and set-group-ID bits are left out unless ``set_id``: on the host they would be an open door.
    """
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        stored = [m for m in tar if _find_member_path(m) not in skip]
        devices = _list_devices(stored)
        members = [m for m in stored if _find_member_path(m) not in devices]
        made: dict[str, bytes] = {}
        for member in members:
            if not set_id:
                member.mode &= ~SET_ID
            _make_member(tar, member, to, made)
    # Making a file changes its folder's time, so folders are finished last, the deepest first.
    for member in reversed([m for m in members if m.isdir()]):
        _finish_member(member, to / _find_member_path(member))
    return list(devices)


def _list_devices(members: Iterable[tarfile.TarInfo]) -> dict[str, None]:
    """The paths of devices and FIFOs, in the archive's order, further names of theirs as well."""
    devices: dict[str, None] = {}
    for member in members:
        further = member.islnk() and _normalise_inside(member.linkname) in devices
        if member.isdev() or further:
            devices[_find_member_path(member)] = None
    return devices


def _find_member_path(member: tarfile.TarInfo) -> str:
    """A member's path below the archive's root; NandlabError if it leads out of the root."""
    return _normalise_inside(member.name)


def _normalise_inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise NandlabError(f"{escape_file_name(name)}: the path leads out of its folder")
    return "" if path == PurePosixPath() else str(path)


def _make_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, to: Path, members: dict[str, bytes]
) -> None:
    """Makes a member, and notes its type by its path; NandlabError if it is there already."""
    below = _find_member_path(member)
    path = to / below
    parent, _, _ = below.rpartition("/")
    if below in members or (below and members.get(parent) != tarfile.DIRTYPE):
        raise NandlabError(
            f"{escape_file_name(member.name)}: it is in the archive twice, or in no folder of it"
        )
    if member.isdir():
        path.mkdir()
    elif member.issym():
        path.symlink_to(member.linkname)
    elif member.islnk():
        target = _normalise_inside(member.linkname)
        if members.get(target) != tarfile.REGTYPE:
            raise NandlabError(
                f"{escape_file_name(member.name)}: a hard link to no file of the archive"
            )
        path.hardlink_to(to / target)
    elif member.isreg():
        content = tar.extractfile(member)
        assert content is not None
        with name_full_disk(path), path.open("xb") as f:
            shutil.copyfileobj(content, f)
        _finish_member(member, path)
    else:
        raise NandlabError(f"{escape_file_name(member.name)}: neither file, folder nor link")
    members[below] = tarfile.REGTYPE if member.islnk() or member.isreg() else member.type


def _finish_member(member: tarfile.TarInfo, path: Path) -> None:
    """Sets the owner (only root can), permissions and time of a file or folder."""
    if os.geteuid() == 0:
        os.chown(path, member.uid, member.gid)
    path.chmod(member.mode)
    os.utime(path, (member.mtime, member.mtime))
