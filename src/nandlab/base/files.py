# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written whole or not at all, with the permissions that the umask leaves.

A process holds a lock on each part of a file that it writes. A part that nobody holds is of a
process that was killed: the next that writes in the same folder removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from nandlab.base.errors import UsageError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk."""
PART = ".part-"
"""Begin of the name of a file that is being written."""
PART_NAME = re.compile(re.escape(PART) + "[0-9a-f]{16}")
"""Names of parts that are locked while they are written; no other file is removed."""


@contextmanager
def open_whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name once all of it is on the disk; the folder must be there.

    A reader sees the old file or the new one, never a part. OSError names the path.
    """
    part = None
    _clean_once(path.parent.absolute())
    try:
        part, out = _begin_part(path.parent)
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            part.replace(path)
    except BaseException as e:
        if part is not None:
            part.unlink(missing_ok=True)
        ours = isinstance(e, OSError) and (part is None or e.filename in (None, str(part)))
        if isinstance(e, OSError) and ours and e.errno is not None:
            raise OSError(e.errno, os.strerror(e.errno), str(path)) from None
        raise


def _begin_part(folder: Path) -> tuple[Path, IO[bytes]]:
    """A new part, locked; again, if another process took it for one that was left."""
    while True:
        part = folder / f"{PART}{secrets.token_hex(8)}"
        out = part.open("x+b")
        with suppress(OSError):  # a disk without locks, where nobody removes a part
            fcntl.flock(out, fcntl.LOCK_EX)
        if os.fstat(out.fileno()).st_nlink:
            return part, out
        out.close()


@cache
def _clean_once(folder: Path) -> None:
    """Removes the parts that killed processes have left in a folder, once for a process."""
    with suppress(OSError), os.scandir(folder) as there:
        for part in [entry.path for entry in there if PART_NAME.fullmatch(entry.name)]:
            _remove_if_left(part)


def _remove_if_left(part: str) -> None:
    try:
        descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # gone meanwhile, or another user's
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(part).unlink()
    os.close(descriptor)


@contextmanager
def name_full_disk(place: Path) -> Iterator[None]:
    """An error of a full disk that names no file is raised with this place.

    What writes to an open file knows no name; standard output does (printer.NamedStream).
    """
    try:
        yield
    except OSError as e:
        if e.errno not in DISK_FULL or e.filename is not None:
            raise
        raise OSError(e.errno, os.strerror(e.errno), str(place)) from None


def encode_page(text: str) -> bytes:
    r"""A page as UTF-8; a byte of a file's name that is none of it is written as ``\udcNN``."""
    return text.encode(errors="backslashreplace")


def write_whole_file(path: Path, content: bytes) -> None:
    """Writes a file whole: see writing_whole."""
    with open_whole_file(path) as out:
        out.write(content)


def write_requested_file(path: Path, content: bytes) -> None:
    """Writes a file whole where the user wants it.

    UsageError where it cannot be; OSError where the disk is full, which is no matter of the path.
    """
    try:
        write_whole_file(path, content)
    except OSError as e:
        if e.errno in DISK_FULL:
            raise
        raise UsageError(f"{path}: cannot be written: {e.strerror}") from None


def write_files_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes files that belong together: none has its name before all are on the disk.

    The first is the last to get its name: the one that speaks of the others.
    """
    with ExitStack() as stack:
        for path, content in files:
            out = stack.enter_context(open_whole_file(path))
            out.write(content)
            out.flush()


def list_written_parts(fd: int) -> Iterator[tuple[int, int]]:
    """Place and size, in bytes, of each part of an open file that is no hole."""
    end = 0
    while True:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            return
        end = os.lseek(fd, start, os.SEEK_HOLE)
        yield start, end - start
