# SPDX-License-Identifier: GPL-2.0-or-later
"""From a recorded load (docs/replay.md) to a load that is cut: the calls that change something.

So any program's load can be cut: strace it, and the names and sizes are its own; the bytes are
``cutcheck``'s, for a trace has none. Reads, times, owners and modes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.words import unescape_string_body
from nandlab.powercut.loadcheck import FILE_BYTES_MAX
from nandlab.powercut.loads import Load, LoadSet

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
ODD_CHARACTER = re.compile(r"[^\w.+,:@~-]")
"""Characters that a name of a load has as %XX."""
NO_CHANGE = frozenset(
    (
        *("stat", "lstat", "fstat", "access", "readlink", "statfs", "getdents", "fadvise"),
        *("chmod", "fchmod", "chown", "lchown", "fchown", "utimes", "lutimes", "futimes"),
        "sync_range",
    )
)


@dataclass
class _File:
    """A file or folder, whatever its names."""

    folder: bool = False
    size: int = 0
    names: set[str] = field(default_factory=set)
    writers: int = 0
    """Descriptors that may write to it."""

    @property
    def name(self) -> str | None:
        """Any of its names; None: it has none, so that a cut takes it whatever is written."""
        return min(self.names, default=None)


@dataclass
class _OpenFile:
    file: _File
    position: int
    appends: bool
    synced: bool
    writes: bool


class _CallConverter:
    """Follows a recording's calls, and makes a load's of them."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.files: dict[str, _File] = {}
        self.opened: dict[str, _OpenFile] = {}
        self.lines: list[str] = []

    def say(self, *words: object) -> None:
        self.lines.append(" ".join(map(str, words)).strip())

    def refuse(self, why: str) -> UsageError:
        return UsageError(f"{self.where}: {why}, which power cuts do not know")

    # what is there before

    def dir(self, path: str, *_: str) -> None:
        if path:
            self.made_at(path, "mkdir", _File(folder=True))

    def file(self, path: str, size: str) -> None:
        self.made_at(path, "create", _File())
        if int(size):
            self.wrote(self.files[path], 0, int(size))

    # names

    def made_at(self, path: str, call: str, file: _File) -> None:
        file.names.add(path)
        self.files[path] = file
        self.say(call, path)

    def mkdir(self, path: str, *_: str) -> None:
        self.dir(path)

    def unlink(self, path: str) -> None:
        self.say("unlink", path)
        self.files.pop(path).names.discard(path)

    def rmdir(self, path: str) -> None:
        self.say("rmdir", path)
        self.files.pop(path).names.discard(path)

    def rename(self, path: str, to: str) -> None:
        file = self.files[path]
        if file.folder:
            raise self.refuse(f"the folder {path} is renamed")
        if self.files.get(to) is file:
            return
        self.say("rename", path, to)
        if to in self.files:
            self.files[to].names.discard(to)
        self.files[to] = self.files.pop(path)
        file.names.discard(path)
        file.names.add(to)

    def link(self, path: str, to: str) -> None:
        self.say("link", path, to)
        self.files[to] = self.files[path]
        self.files[to].names.add(to)

    # content

    def open(self, number: str, path: str, flags: str, *_: str) -> None:
        words = flags.split("|")
        if path and path not in self.files:
            self.made_at(path, "create", _File())
        file = self.files.get(path) or _File(folder=True)
        if "O_TRUNC" in words and file.size:
            self.truncate(path, "0")
        writes = bool({"O_WRONLY", "O_RDWR"} & set(words))
        synced = bool({"O_SYNC", "O_DSYNC"} & set(words))
        self.opened[number] = _OpenFile(file, 0, "O_APPEND" in words, synced, writes)
        file.writers += writes
        if writes and file.writers == 1:
            self.say("open", path)

    def close(self, number: str) -> None:
        opened = self.opened.pop(number)
        opened.file.writers -= opened.writes
        if opened.writes and not opened.file.writers and opened.file.name:
            self.say("close", opened.file.name)

    def wrote(self, file: _File, offset: int, size: int, *, synced: bool = False) -> None:
        if offset + size > FILE_BYTES_MAX:
            raise self.refuse(f"{file.name} has more than {FILE_BYTES_MAX} bytes")
        file.size = max(file.size, offset + size)
        if file.name and size:
            self.say("swrite" if synced else "write", file.name, offset, size)

    def write(self, number: str, sizes: str, offset: str | None = None) -> None:
        opened = self.opened[number]
        size = sum(map(int, sizes.split(",")))
        where = opened.position if offset is None else int(offset)
        where = opened.file.size if opened.appends else where
        self.wrote(opened.file, where, size, synced=opened.synced)
        if offset is None:
            opened.position = where + size

    def truncate(self, path: str, size: str) -> None:
        self.cut(self.files[path], int(size))

    def ftruncate(self, number: str, size: str) -> None:
        self.cut(self.opened[number].file, int(size))

    def cut(self, file: _File, size: int) -> None:
        if size > FILE_BYTES_MAX:
            raise self.refuse(f"{file.name} has more than {FILE_BYTES_MAX} bytes")
        file.size = size
        if file.name:
            self.say("truncate", file.name, size)

    def fsync(self, number: str) -> None:
        file = self.opened[number].file
        if file.folder:
            self.say("fsyncdir", file.name or "")
        elif file.name:
            self.say("fsync", file.name)

    def sync(self, *_: str) -> None:
        self.say("sync")

    def moved(self, number: str, *, to: int | None = None, by: int = 0) -> None:
        opened = self.opened[number]
        opened.position = opened.position + by if to is None else to


CALL_METHODS: dict[str, Callable[..., None]] = {
    **{
        "dir": _CallConverter.dir,
        "file": _CallConverter.file,
        "mkdir": _CallConverter.mkdir,
        "unlink": _CallConverter.unlink,
    },
    **{
        "rmdir": _CallConverter.rmdir,
        "rename": _CallConverter.rename,
        "rename_new": _CallConverter.rename,
    },
    **{
        "link": _CallConverter.link,
        "open": _CallConverter.open,
        "opened": _CallConverter.open,
        "close": _CallConverter.close,
    },
    **dict.fromkeys(("write", "writev", "pwrite", "pwritev"), _CallConverter.write),
    **{"truncate": _CallConverter.truncate, "ftruncate": _CallConverter.ftruncate},
    **{"fsync": _CallConverter.fsync, "fdatasync": _CallConverter.fsync},
    **{"sync": _CallConverter.sync, "syncfs": _CallConverter.sync},
}
PATH_WORDS = {
    **dict.fromkeys(("dir", "file", "mkdir", "unlink", "rmdir", "truncate"), (0,)),
    **dict.fromkeys(("rename", "rename_new", "link"), (0, 1)),
    **dict.fromkeys(("open", "opened"), (1,)),
}
"""Which words of a call are paths."""


def _split_words(line: str) -> list[str]:
    """A line's words; a quoted one may hold blanks."""
    return [
        unescape_string_body(found[1]).decode("latin-1") if found[1] is not None else found[2]
        for found in WORD.finditer(line)
    ]


def _convert_path(path: str) -> str:
    """A path as a load has it; the folder itself is empty."""
    parts = (ODD_CHARACTER.sub(lambda c: f"%{ord(c[0]):02X}", part) for part in path.split("/"))
    return "/".join(part for part in parts if part not in ("", "."))


def _parse_lines(where: str, text: str) -> Iterator[tuple[str, str, list[str], str]]:
    """Place, verb, words and what it returned, of each line."""
    for number, line in enumerate(text.splitlines(), 1):
        words = _split_words(line)
        if not words or words[0].startswith("#"):
            continue
        if words[0].startswith("+"):  # time before it
            del words[0]
        returned = words[-1] if len(words) > 2 and words[-2] == "=" else ""
        yield f"{where}:{number}", words[0], words[1 : -2 if returned else None], returned


def parse_recorded_load(name: str, text: str) -> LoadSet:
    """A recording as a load; UsageError where it has what cannot be cut."""
    calls = _CallConverter(name)
    base: list[str] = []
    for where, verb, words, returned in _parse_lines(name, text):
        calls.where = where
        if verb == "calls":
            # a base is unmounted before the load: what is open is opened again
            base = [call for call in calls.lines if not call.startswith("open ")]
            calls.lines = [call for call in calls.lines if call.startswith("open ")]
        elif returned.startswith("-E") or verb in NO_CHANGE:
            continue
        elif verb == "lseek":
            calls.moved(words[0], to=int(returned or 0))
        elif verb in ("read", "readv"):
            calls.moved(words[0], by=int(returned or sum(map(int, words[1].split(",")))))
        elif verb in CALL_METHODS:
            paths = PATH_WORDS.get(verb, ())
            CALL_METHODS[verb](
                calls, *(_convert_path(w) if i in paths else w for i, w in enumerate(words))
            )
        elif verb not in ("pread", "preadv"):
            raise calls.refuse(f"a call {verb}")
    return LoadSet(name, tuple(base), (Load(name.rpartition("/")[2], tuple(calls.lines)),))
