# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders for a moment, below the system's temporary folder, that no killed process leaves there.

A process holds a lock on each of its folders for as long as it needs it. A folder that nobody holds
is of a process that was killed: the next that makes one removes it, if it is of the same user.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from nandlab.base.files import name_full_disk

PREFIX = "nandlab-scratch-"
PIECE_CHARACTERS = 1 << 16
"""Letters of a text that waits in a file which are read at a time."""
FOLDER_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
"""Names as they are drawn here; a folder that a user called otherwise is never touched."""


@contextmanager
def hold_scratch_folder(within: str | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; within: below which folder, None: the system's."""
    home = Path(within or tempfile.gettempdir())
    _clean_once(home)
    folder = _draw_name(home)
    lock: int | None = None
    try:  # its name is known before it is there: a signal at any place leaves none
        while (lock := _make_locked_folder(folder)) is None:
            folder = _draw_name(home)
        with name_full_disk(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


class WaitingText:
    """A text that waits in a file until all of it is there, or what is printed before it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.write = file.write

    def read_pieces(self) -> Iterator[str]:
        """The text from its begin, in pieces."""
        self._file.seek(0)
        while piece := self._file.read(PIECE_CHARACTERS):
            yield piece


@contextmanager
def hold_waiting_text() -> Iterator[WaitingText]:
    """A text that is gone afterwards."""
    with (
        name_full_disk(Path(tempfile.gettempdir())),
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file,
    ):
        yield WaitingText(file)


def buffer_text_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """The same text, begun once all of it is there: until then it waits in a file."""
    with hold_waiting_text() as text:
        for piece in pieces:
            text.write(piece)
        yield from text.read_pieces()


def _draw_name(home: Path) -> Path:
    """A folder that is not there yet."""
    return home / f"{PREFIX}{secrets.token_hex(4)}"


def _make_locked_folder(folder: Path) -> int | None:
    """Makes the folder; its lock. None: another name is needed, for this one is another process's,
    or one took the folder for one that was left."""
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    fcntl.flock(lock, fcntl.LOCK_EX)
    if folder.is_dir():
        return lock
    os.close(lock)
    return None


@cache
def _clean_once(home: Path) -> None:
    """Removes what processes of this user that were killed have left, once for a process."""
    with os.scandir(home) as there:
        left = [Path(entry.path) for entry in there if FOLDER_NAME.fullmatch(entry.name)]
    for folder in left:
        _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # gone meanwhile, or another user's
    try:
        told = os.fstat(lock)
        if told.st_uid != os.getuid() or stat.S_IMODE(told.st_mode) != 0o700:
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
