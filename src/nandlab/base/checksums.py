# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of a folder's content, by which it is known to be as it was when the list was written.

A line is an object's mode, its bytes, its content and its path, with a blank between them. The
content of a file is its SHA-256, that of a link the SHA-256 of where it leads. Of a file that is
mostly holes, as the saved RAM of a large board, it is that of what it has beside zeros. The path is
in JSON, for it may have any letter. Owners and times are not listed: a copy of the folder is as
good, whether it has the holes or not.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from nandlab.base.digest import digest_bytes, digest_file, digest_known_file, digest_sparse_file

LINK = f"{stat.S_IFLNK:o}"[:2]
"""How the mode of a link begins, and of nothing else."""
STAT_BLOCK_BYTES = 512
"""The unit of st_blocks, whatever the file system."""
NO_CONTENT = "-"
SPARSE = "sparse:"
"""How the content begins of a file of which zeros were not read."""


class ListedItem(NamedTuple):
    """A file, a link or a folder, as a list has it."""

    mode: str
    bytes: str
    content: str
    path: str


def make_checksum_listing(folder: Path) -> bytes:
    """The list of all that a folder has, links first, in order of the paths."""
    items = [_read_item(_quote_path(path), place) for path, place in _walk_folder(folder)]
    items.sort(key=lambda item: (not _is_link(item), item.path))
    return "".join(" ".join(item) + "\n" for item in items).encode()


def find_folder_fault(
    folder: Path, lines: bytes, paths: Collection[str] | None = None
) -> str | None:
    """What of a folder is not as its list has it, in a clause; None: nothing.

    paths: those that are looked at, and with them every link; a process then reads a file once.
    None: everything is read, and nothing more may be there.
    """
    quoted_paths = None if paths is None else {_quote_path(path) for path in paths}
    try:
        items = [_parse_line(line) for line in _find_lines(lines, quoted_paths)]
        for item in items:
            if not _is_same(_find_place(folder, item.path), item, once=quoted_paths is not None):
                return f"{item.path} is not as it was made"
    except (ValueError, TypeError):
        return "the list of its files is damaged"
    present = (
        (_quote_path(path) for path, _ in _walk_folder(folder))
        if quoted_paths is None
        else quoted_paths
    )
    added = {*present} - {item.path for item in items}
    return next(
        (f"{p} was added" for p in sorted(added) if os.path.lexists(_find_place(folder, p))), None
    )


def read_file_change_stamps(folder: Path, paths: Collection[str]) -> bytes:
    """When the system last saw a change to each of these files, which no program can set back."""
    stamps = []
    for path in sorted(paths):
        try:
            status = os.lstat(f"{folder}/{path}")
            stamps.append([path, status.st_ctime_ns, status.st_dev, status.st_ino, status.st_size])
        except OSError:
            stamps.append([path])
    return json.dumps(stamps).encode()


def count_disk_bytes(folder: Path) -> int:
    """The bytes that all files of a folder take on the disk; holes of a file take none."""
    status = (os.lstat(place) for _, place in _walk_folder(folder))
    return sum(s.st_blocks * STAT_BLOCK_BYTES for s in status if stat.S_ISREG(s.st_mode))


def _parse_line(line: bytes) -> ListedItem:
    return ListedItem(*line.decode().split(" ", 3))


def _is_link(item: ListedItem) -> bool:
    return item.mode.startswith(LINK)


def _find_lines(lines: bytes, quoted_paths: Collection[str] | None) -> Iterator[bytes]:
    """The lines of a list; wanted: those of links and of these paths, where it has them.

    They are searched for: to take a list of 20,000 lines apart takes longer than to read a kernel.
    """
    if quoted_paths is None:
        yield from lines.splitlines()
        return
    for path in sorted(quoted_paths):
        end = lines.find(f" {path}\n".encode())
        if end >= 0:
            yield lines[lines.rfind(b"\n", 0, end) + 1 : lines.index(b"\n", end)]
    start = 0
    while lines.startswith(LINK.encode(), start):
        end = lines.index(b"\n", start)
        yield lines[start:end]
        start = end + 1


def _read_item(path: str, place: str) -> ListedItem:
    """An object as the list has it."""
    status = os.lstat(place)
    size, content = 0, NO_CONTENT
    if stat.S_ISREG(status.st_mode):
        size = status.st_size
        sparse = status.st_blocks * STAT_BLOCK_BYTES < size / 2
        content = _digest_content(place, sparse=sparse)
    elif stat.S_ISLNK(status.st_mode):
        content = _link_digest(place)
    return ListedItem(f"{status.st_mode:o}", str(size), content, path)


def _digest_content(place: str, *, sparse: bool, once: bool = False) -> str:
    """A file's content, as a list has it; once: a process reads one that does not change once."""
    if sparse:
        return SPARSE + digest_sparse_file(Path(place))
    return (digest_known_file if once else digest_file)(Path(place))


def _is_same(place: str, item: ListedItem, *, once: bool) -> bool:
    """Whether an object is as the list has it."""
    try:
        status = os.lstat(place)
        if f"{status.st_mode:o}" != item.mode:
            return False
        if stat.S_ISLNK(status.st_mode):
            return _link_digest(place) == item.content
        if not stat.S_ISREG(status.st_mode):
            return True
        sparse = item.content.startswith(SPARSE)
        return (
            str(status.st_size) == item.bytes
            and _digest_content(place, sparse=sparse, once=once) == item.content
        )
    except OSError:  # gone, or the disk cannot read it
        return False


def _link_digest(place: str) -> str:
    return digest_bytes(os.fsencode(os.readlink(place)))  # noqa: PTH115 - a root has hundreds


def _quote_path(path: str) -> str:
    return json.dumps(path)


def _find_place(folder: Path, quoted: str) -> str:
    return f"{folder}/{json.loads(quoted)}"


def _walk_folder(folder: Path) -> Iterator[tuple[str, str]]:
    """Path in the folder and place of all that it has; links are not followed."""
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry.path[len(str(folder)) + 1 :], entry.path
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
