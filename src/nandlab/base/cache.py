# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache of folders named by the hash of everything that went into them.

An entry is made in a temporary folder and renamed, under a lock of its own, so that a reader sees
all of it or none, and two runs that need the same entry at once make it once.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base.digest import digest
from nandlab.base.files import PART, write_whole
from nandlab.base.paths import cache_dir


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Only one process at a time is past this for one path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def place(kind: str, inputs: Any) -> Path:
    """Where the entry made from ``inputs`` is, or would be."""
    return cache_dir() / kind / digest(inputs)[:20]


def entry(kind: str, inputs: Any, make: Callable[[Path], None]) -> Path:
    """The folder made from ``inputs``; ``make`` fills it if it is not there yet, or not whole.

    ``inputs`` must name everything that ``make`` depends on. If ``make`` raises, nothing is kept.
    """
    folder = _own(place(kind, inputs))
    if _is_whole(folder):
        return folder
    with held(_lock(folder)):
        if not _is_whole(folder):
            with _made(folder, inputs) as work:
                make(work)
    return folder


@contextmanager
def reading(kind: str, inputs: Any) -> Iterator[Path | None]:
    """The whole folder made from ``inputs``, which nobody removes meanwhile; None: there is none.

    None too while somebody makes it: nobody is waited for.
    """
    folder = _own(place(kind, inputs))
    with _tried(_lock(folder), fcntl.LOCK_SH) as ours:
        if not (ours and _is_whole(folder)):
            yield None
            return
        os.utime(folder)
        yield folder


@contextmanager
def making(kind: str, inputs: Any) -> Iterator[Path | None]:
    """A folder to be filled, which is the entry of ``inputs`` afterwards unless this block raises.

    None if somebody else makes or reads the entry: nobody is waited for.
    """
    folder = _own(place(kind, inputs))
    with _tried(_lock(folder), fcntl.LOCK_EX) as ours:
        if not ours:
            yield None
            return
        with _made(folder, inputs) as work:
            yield work


def _own(folder: Path) -> Path:
    """The entry's folder: what another user made is not trusted, this user's own is beside it."""
    if folder.exists() and folder.stat().st_uid != os.getuid():
        return folder.with_name(f"{folder.name}-{os.getuid()}")
    return folder


def _lock(folder: Path) -> Path:
    return folder.with_suffix(".lock")


@contextmanager
def _tried(path: Path, how: int) -> Iterator[bool]:
    """Whether the lock could be had; it is held meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        try:
            fcntl.flock(f, how | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


@contextmanager
def _made(folder: Path, inputs: Any) -> Iterator[Path]:
    """A folder that has the entry's name afterwards; needs the entry's lock."""
    part = f"{PART}{folder.name}-"
    for left in folder.parent.glob(f"{part}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder)
    _seen.discard(folder)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=part))
    try:
        work.chmod(0o755)
        yield work
        (work / INPUTS).write_text(json.dumps(inputs, indent=1, sort_keys=True))
        write_whole(folder.with_suffix(FILES), _listed(work))
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


INPUTS = "inputs.json"
"""The file of an entry that is written last."""
FILES = ".files"
"""Ending of the list of an entry's files, beside it, each with its size."""


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Each file of a folder, by its path in it, and its bytes; links are not followed."""
    left = [str(folder)]
    while left:
        with os.scandir(left.pop()) as there:
            for each in there:
                if each.is_dir(follow_symlinks=False):
                    left.append(each.path)
                elif each.is_file(follow_symlinks=False):
                    path = each.path[len(str(folder)) + 1 :]
                    yield path, each.stat(follow_symlinks=False).st_size


def _listed(folder: Path) -> bytes:
    lines = [f"{size} {path}" for path, size in _files(folder) if "\n" not in path]
    return os.fsencode("\n".join(lines))


_seen: set[Path] = set()
"""Entries that this process has found whole: a root has tens of thousands of files."""


def _is_whole(folder: Path) -> bool:
    """Whether an entry is there, and all files that it was made with have their size.

    An entry from before there were lists has none.
    """
    if not (folder / INPUTS).is_file():
        return False
    if folder not in _seen:
        try:
            lines = os.fsdecode(folder.with_suffix(FILES).read_bytes()).split("\n")
        except FileNotFoundError:
            return True
        there = dict(_files(folder))
        told = (line.partition(" ") for line in lines)
        if not all(str(there.get(path)) == size for size, _, path in told):
            return False
        _seen.add(folder)
    return True


NAME = re.compile(r"[0-9a-f]{20}(-\d+)?")
"""Names of what is kept under a hash; nothing else in the cache's folder is ever removed."""
CONTENT = re.compile(r"[0-9a-f]{64}")
"""Names of packages, by their content."""


@dataclass(frozen=True)
class Kept:
    """A thing of the cache."""

    kind: str
    path: Path
    bytes: int
    used_s: float
    """When it was last made or read, seconds since 1970."""


def kept() -> Iterator[Kept]:
    """All that the cache keeps, by kind."""
    for path in sorted(cache_dir().glob("*/*")):
        of_hash = NAME.fullmatch(path.name) and path.is_dir()
        if of_hash or (CONTENT.fullmatch(path.name) and path.is_file()):
            size = sum(n for _, n in _files(path)) if path.is_dir() else path.stat().st_size
            used = max(path.stat().st_atime, path.stat().st_mtime)
            yield Kept(path.parent.name, path, size, used)


def drop(one: Kept) -> None:
    """Removes a thing of the cache, while nobody makes it."""
    if not one.path.is_dir():
        one.path.unlink()
        return
    with held(_lock(one.path)):
        _remove(one.path)


def trim(kind: str, most_bytes: int) -> None:
    """Removes what was not used for longest until the kind takes no more; what is in use stays.

    With it goes what killed processes have left of entries that they made.
    """
    there = cache_dir() / kind
    for left in there.glob(f"{PART}*"):
        name = left.name.removeprefix(PART).rpartition("-")[0]
        with _tried(_lock(there / name), fcntl.LOCK_EX) as ours:
            if ours:
                shutil.rmtree(left, ignore_errors=True)
    found = sorted((one for one in kept() if one.kind == kind), key=lambda one: one.used_s)
    over = sum(one.bytes for one in found) - most_bytes
    for one in found:
        if over <= 0:
            break
        with _tried(_lock(one.path), fcntl.LOCK_EX) as ours:
            if ours and one.path.is_dir():
                _remove(one.path)
                over -= one.bytes


def _remove(folder: Path) -> None:
    """Removes an entry; needs its lock."""
    shutil.rmtree(folder)
    folder.with_suffix(FILES).unlink(missing_ok=True)
    _seen.discard(folder)
