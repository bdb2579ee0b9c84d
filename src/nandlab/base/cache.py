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
from nandlab.base.files import write_whole
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
    What another user made is not trusted: this user's own is made beside it.
    """
    folder = place(kind, inputs)
    if folder.exists() and folder.stat().st_uid != os.getuid():
        folder = folder.with_name(f"{folder.name}-{os.getuid()}")
    if _is_whole(folder):
        return folder
    with held(folder.with_suffix(".lock")):
        if _is_whole(folder):
            return folder
        part = f".part-{folder.name}-"
        for left in folder.parent.glob(f"{part}*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(folder)
        work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=part))
        try:
            work.chmod(0o755)
            make(work)
            (work / INPUTS).write_text(json.dumps(inputs, indent=1, sort_keys=True))
            write_whole(folder.with_suffix(FILES), _listed(work))
            work.rename(folder)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return folder


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
    with held(one.path.with_suffix(".lock")):
        shutil.rmtree(one.path)
        one.path.with_suffix(FILES).unlink(missing_ok=True)
