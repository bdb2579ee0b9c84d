# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache of folders named by the hash of everything that went into them.

An entry is made in a temporary folder and renamed, under a lock of its own, so that a reader sees
all of it or none, and two runs that need the same entry at once make it once. Beside it is the list
of what it was made with (sums.py). A process reads the files of an entry once, before it uses them;
an entry that is not as it was made is reported and made again. That finds what a disk, a neighbour
or a slip has changed; who may write the list too can change both.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nandlab.base import checksums
from nandlab.base.digest import digest_file, digest_json_value
from nandlab.base.errors import UsageError
from nandlab.base.files import PART, name_full_disk, write_whole_file
from nandlab.base.paths import find_cache_folder
from nandlab.base.printer import print_note


@contextmanager
def hold_path_lock(path: Path) -> Iterator[None]:
    """Only one process at a time is past this for one path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def find_entry_path(kind: str, inputs: Any) -> Path:
    """Where the entry made from ``inputs`` is, or would be."""
    return find_cache_folder() / kind / digest_json_value(inputs)[:20]


def make_entry(kind: str, inputs: Any, make: Callable[[Path], None], *, lazy: bool = False) -> Path:
    """The folder made from ``inputs``; ``make`` fills it if it is not there yet, or not whole.

    ``inputs`` must name everything that ``make`` depends on. If ``make`` raises, nothing is kept.
    lazy: of an entry that is there no file is read; who uses one asks check() before.
    """
    folder = _own_folder(find_entry_path(kind, inputs))
    if lazy and _has_list(folder):
        _unread_entries[folder] = partial(make_entry, kind, inputs, make)
    elif _find_fault(folder) is not None:
        with hold_path_lock(_lock_path(folder)):
            why = _find_fault(folder)
            if why is not None:
                _report_damage(folder, why)
                with _fill_folder(folder, inputs) as work:
                    make(work)
    return folder


def has_entry(kind: str, inputs: Any) -> bool:
    """Whether there is an entry made from ``inputs``; none of its files is read."""
    return _has_list(_own_folder(find_entry_path(kind, inputs)))


def verify_entry_files(folder: Path, paths: Collection[str] | None = None) -> None:
    """Reads files of an entry that ``lazy`` left unread; it is made again if one is damaged.

    paths: where they are in the entry, see _read(); None: all, each. All links are looked at too.
    """
    make_again = _unread_entries.get(folder)
    if make_again is not None and _find_fault(folder, paths) is not None:
        make_again()


@contextmanager
def hold_entry(kind: str, inputs: Any) -> Iterator[Path | None]:
    """The whole folder made from ``inputs``, which nobody removes meanwhile; None: there is none.

    None too while somebody makes it: nobody is waited for.
    """
    folder = _own_folder(find_entry_path(kind, inputs))
    with _try_lock(_lock_path(folder), fcntl.LOCK_SH) as ours:
        why = _find_fault(folder) if ours else NO_ENTRY
        if why is not None:
            _report_damage(folder, why)
            yield None
            return
        os.utime(folder)
        yield folder


@contextmanager
def fill_entry(kind: str, inputs: Any) -> Iterator[Path | None]:
    """A folder to be filled, which is the entry of ``inputs`` afterwards unless this block raises.

    None if somebody else makes or reads the entry: nobody is waited for.
    """
    folder = _own_folder(find_entry_path(kind, inputs))
    with _try_lock(_lock_path(folder), fcntl.LOCK_EX) as ours:
        if not ours:
            yield None
            return
        with _fill_folder(folder, inputs) as work:
            yield work


def _own_folder(folder: Path) -> Path:
    """The entry's folder: what another user made is not trusted, this user's own is beside it."""
    if _is_ours(folder):
        return folder
    own_folder = folder.with_name(f"{folder.name}-{os.getuid()}")
    if not _is_ours(own_folder):
        raise UsageError(
            f"{own_folder}: another user made it, or its list or lock: have it removed, or name "
            "another cache in NANDLAB_CACHE"
        )
    return own_folder


def _is_ours(folder: Path) -> bool:
    """Whether nothing of an entry is another user's: neither folder nor list nor lock."""
    for path in (folder, _list_path(folder), folder.with_suffix(READ_NOTE), _lock_path(folder)):
        try:
            if path.lstat().st_uid != os.getuid():
                return False
        except FileNotFoundError:
            continue
    return True


def _lock_path(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def _list_path(folder: Path) -> Path:
    return folder.with_suffix(SUMS)


@contextmanager
def _try_lock(path: Path, how: int) -> Iterator[bool]:
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
def _fill_folder(folder: Path, inputs: Any) -> Iterator[Path]:
    """A folder that has the entry's name afterwards; needs the entry's lock.

    What had the name before keeps it until then, for another process may be using it.
    """
    part = f"{PART}{folder.name}-"
    for left in folder.parent.glob(f"{part}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=part))
    try:
        work.chmod(0o755)
        with name_full_disk(work):
            yield work
            (work / INPUTS).write_text(json.dumps(inputs, indent=1, sort_keys=True))
        lines = checksums.make_checksum_listing(work)
        _remove_entry(folder)
        write_whole_file(_list_path(folder), lines)
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        _remove_entry(folder)
        raise
    _list_times[folder, None] = _list_path(folder).stat().st_mtime_ns


INPUTS = "inputs.json"
"""The file of an entry that is written last."""
SUMS = ".sums"
"""Ending of the list of what an entry has, beside it; see sums.py."""
READ_NOTE = ".read"
"""Ending of the note of when the files that check() was asked for last changed before a reading."""
REREAD_S = 86400
"""A disk may lose a bit of a file that nobody changes, so a note is believed for so long."""
SIZES = ".files"
"""Ending of the list that entries had before."""
NO_ENTRY = ""
"""Why an entry that nobody has made, or that has no list, is not used."""
_list_times: dict[tuple[Path, frozenset[str] | None], int] = {}
"""By entry and which of its files (None: all): the time of the list that this process found them to
agree with."""
_unread_entries: dict[Path, Callable[[], Path]] = {}
"""Entries that this process has not read as a whole, with what reads them, and makes them again."""


def _has_list(folder: Path) -> bool:
    return (folder / INPUTS).is_file() and _list_path(folder).is_file()


def _find_fault(folder: Path, paths: Collection[str] | None = None) -> str | None:
    """Why an entry, or some of its files, cannot be used, in a clause; None: it can."""
    if not _has_list(folder):
        return NO_ENTRY
    key = folder, None if paths is None else frozenset(paths)
    try:
        made_ns = _list_path(folder).stat().st_mtime_ns
        if made_ns in (_list_times.get(key), _list_times.get((folder, None))):
            return None
        why = _verify_content(folder, _list_path(folder).read_bytes(), paths)
    except FileNotFoundError:  # somebody makes it again meanwhile
        return NO_ENTRY
    if why is None:
        _list_times[key] = made_ns
    return why


def _verify_content(folder: Path, lines: bytes, paths: Collection[str] | None) -> str | None:
    """What of an entry is not as its list has it, in a clause; paths: see sums.fault().

    Of paths, those that no file system has changed since a process read them, less than a day ago,
    are not read again: the emulator's files took each process as long as its saved state.
    """
    if paths is None:
        return checksums.find_folder_fault(folder, lines)
    note, changes = folder.with_suffix(READ_NOTE), checksums.read_file_change_stamps(folder, paths)
    lately = note.is_file() and 0 <= time.time() - note.stat().st_mtime < REREAD_S
    if lately and note.read_bytes() == changes:
        return checksums.find_folder_fault(folder, lines, ())
    why = checksums.find_folder_fault(folder, lines, paths)
    if why is None:
        write_whole_file(note, changes)
    return why


def _report_damage(folder: Path, why: str) -> None:
    """Tells of damage to an entry that is to be made again."""
    if why != NO_ENTRY:
        name = f"{folder.parent.name}/{folder.name}"
        print_note(f"damaged in the cache, made again: {name}: {why}")


HASH_NAME = re.compile(r"[0-9a-f]{20}(-\d+)?")
"""Names of what is kept under a hash; nothing else in the cache's folder is ever removed."""
CONTENT_NAME = re.compile(r"[0-9a-f]{64}")
"""Names of packages, by their content."""


@dataclass(frozen=True)
class CacheItem:
    """A thing of the cache."""

    kind: str
    path: Path
    bytes: int
    """Of a folder those that it takes on the disk."""
    used_s: float
    """When it was last made or read, seconds since 1970."""


def list_cache_items() -> Iterator[CacheItem]:
    """All that the cache keeps, by kind."""
    for path in sorted(find_cache_folder().glob("*/*")):
        of_hash = HASH_NAME.fullmatch(path.name) and path.is_dir()
        if of_hash or (CONTENT_NAME.fullmatch(path.name) and path.is_file()):
            size = checksums.count_disk_bytes(path) if path.is_dir() else path.stat().st_size
            used = max(path.stat().st_atime, path.stat().st_mtime)
            yield CacheItem(path.parent.name, path, size, used)


def remove_item_if_damaged(item: CacheItem) -> str | None:
    """Reads a thing of the cache, and removes it if it is damaged: what is wrong, in a clause.

    None: nothing, or somebody makes it just now, or it is another user's, which is never used.
    """
    if not item.path.is_dir():
        if digest_file(item.path) == item.path.name:
            return None
        item.path.unlink()
        return "its content is not what its name says"
    if not _is_ours(item.path):
        return None
    with _try_lock(_lock_path(item.path), fcntl.LOCK_SH) as ours:
        why = _find_whole_fault(item.path) if ours else None
    if why is None:
        return None
    with _try_lock(_lock_path(item.path), fcntl.LOCK_EX) as ours:
        if not ours:
            return f"{why}; it is in use and not removed: verify again"
        _remove_entry(item.path)
    return why


def _find_whole_fault(folder: Path) -> str | None:
    """What is wrong with an entry, in a clause, whatever this process has read of it before.

    A folder with neither inputs nor list is no entry, as that of apt, which verifies its own.
    """
    if _has_list(folder):
        return checksums.find_folder_fault(folder, _list_path(folder).read_bytes())
    was_entry = (folder / INPUTS).exists() or _list_path(folder).exists()
    return "it lacks the list of its files, or that of its inputs" if was_entry else None


def remove_item(item: CacheItem) -> None:
    """Removes a thing of the cache, while nobody makes it."""
    if not item.path.is_dir():
        item.path.unlink()
        return
    with hold_path_lock(_lock_path(item.path)):
        _remove_entry(item.path)


def trim_cache_kind(kind: str, most_bytes: int) -> None:
    """Removes what was not used for longest until the kind takes no more; what is in use stays.

    With it goes what killed processes have left of entries that they made.
    """
    kind_folder = find_cache_folder() / kind
    for abandoned in kind_folder.glob(f"{PART}*"):
        name = abandoned.name.removeprefix(PART).rpartition("-")[0]
        with _try_lock(_lock_path(kind_folder / name), fcntl.LOCK_EX) as ours:
            if ours:
                shutil.rmtree(abandoned, ignore_errors=True)
    items = sorted(
        (item for item in list_cache_items() if item.kind == kind), key=lambda item: item.used_s
    )
    over = sum(item.bytes for item in items) - most_bytes
    for item in items:
        if over <= 0:
            break
        with _try_lock(_lock_path(item.path), fcntl.LOCK_EX) as ours:
            if ours and item.path.is_dir():
                _remove_entry(item.path)
                over -= item.bytes


def _remove_entry(folder: Path) -> None:
    """Removes an entry, if there is one; needs its lock.

    It loses its name first, so that nobody finds a part of it.
    """
    for ending in (SUMS, READ_NOTE, SIZES):
        folder.with_suffix(ending).unlink(missing_ok=True)
    if folder.exists():
        gone = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{PART}{folder.name}-"))
        folder.rename(gone)
        shutil.rmtree(gone)
