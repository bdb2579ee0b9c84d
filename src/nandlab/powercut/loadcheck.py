# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of a file of loads, followed one after the other: what is there, and what is open.

So a call that cannot be is refused when the file is read, with its line. On the board it would end
a campaign, or its outcome would be taken for the file system's fault.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from nandlab.base.errors import UsageError

FILE_BYTES_MAX, HELD_MAX = 1 << 20, 64
"""Of cutcheck's: bytes of a file, and files that are open at once."""
PAGE = 4096
"""Of memory, in bytes."""
RESERVED_NAMES = ("lost+found", "unlinked", "written-after")
"""Names in the root that a load does not make: the file system's, and the check's own."""
FILLER = "filler."
"""Begins the names of files that fill a disk for ``nandlab faults``."""


@dataclass(eq=False)
class _FileNode:
    """A file or folder, whatever its names."""

    folder: bool = False
    size: int = 0


@dataclass
class CallChecker:
    """What is there after some calls."""

    where: str = ""
    """Place and words of the call that is taken."""
    names: dict[str, _FileNode] = field(default_factory=dict)
    held: list[_FileNode] = field(default_factory=list)
    """Files that are open."""

    def load(self) -> CallChecker:
        """What a load begins with, if these calls are the base: nothing is open any more."""
        begun = copy.deepcopy(self)
        begun.held.clear()
        return begun

    def take(self, where: str, kind: str, names: list[str], numbers: list[int]) -> None:
        """Makes a call; UsageError if it cannot be."""
        self.where = f"{where}: {' '.join((kind, *names, *map(str, numbers)))}"
        for name in names:
            self._refuse_unfit(name)
        CALL_METHODS[kind](self, *names, *numbers)

    def _no(self, why: str) -> UsageError:
        return UsageError(f"{self.where}: {why}")

    def _refuse_unfit(self, name: str) -> None:
        parts = name.split("/")
        if {"", ".", ".."} & set(parts):
            raise self._no(
                f"{name} is no name below the file system's root: give one such as A/b, without "
                "a '/' at its begin or end, '//', '.' or '..'"
            )
        if parts[0] in RESERVED_NAMES or parts[0].startswith(FILLER):
            raise self._no(f"the file system or the check has a {parts[0]} of its own: rename it")

    def _there(self, name: str) -> _FileNode:
        if name not in self.names:
            raise self._no(
                f"{name} is not there: make it before this call, in the same load or before the "
                "first one"
            )
        return self.names[name]

    def _file(self, name: str, instead: str) -> _FileNode:
        """A file; instead: what to do if it is a folder."""
        node = self._there(name)
        if node.folder:
            raise self._no(f"{name} is a folder: {instead}")
        return node

    def _folder(self, name: str, instead: str) -> _FileNode:
        node = self._there(name)
        if not node.folder:
            raise self._no(f"{name} is a file: {instead}")
        return node

    def _refuse_homeless(self, name: str) -> None:
        above = name.rpartition("/")[0]
        if above and above not in self.names:
            raise self._no(f"there is no folder {above}: make it before, with mkdir {above}")
        if above:
            self._folder(above, "give a name in a folder")

    def _made(self, name: str, node: _FileNode) -> None:
        self._refuse_homeless(name)
        if name in self.names:
            raise self._no(f"{name} is there already: give another name, or unlink it before")
        self.names[name] = node

    def _refuse_large(self, size: int) -> None:
        if size > FILE_BYTES_MAX:
            raise self._no(
                f"a file of {size:,} bytes: a load's have at most {FILE_BYTES_MAX:,}: write less, "
                "or nearer to its begin"
            )

    # the calls

    def create(self, name: str) -> None:
        self._made(name, _FileNode())

    def mkdir(self, name: str) -> None:
        self._made(name, _FileNode(folder=True))

    def unlink(self, name: str) -> None:
        self._file(name, "take rmdir")
        del self.names[name]

    def rmdir(self, name: str) -> None:
        self._folder(name, "take unlink")
        if any(each.startswith(f"{name}/") for each in self.names):
            raise self._no(f"{name} is not empty: unlink what is in it before")
        del self.names[name]

    def rename(self, name: str, to: str) -> None:
        node = self._file(name, "folders are not renamed in a load: rename files")
        self._refuse_homeless(to)
        if to in self.names:
            self._file(to, "a file cannot take its name: give another")
        if self.names.get(to) is not node:  # else nothing happens, by POSIX
            self.names[to] = self.names.pop(name)

    def link(self, name: str, to: str) -> None:
        self._made(to, self._file(name, "it cannot have two names: link a file"))

    def write(self, name: str, at: int, count: int) -> None:
        node = self._file(name, "write to a file")
        if not count:
            raise self._no("it writes nothing: give the bytes that it writes")
        self._refuse_large(at + count)
        node.size = max(node.size, at + count)

    def mwrite(self, name: str, at: int, count: int) -> None:
        node = self._file(name, "write to a file")
        # what is past the last page is the file system's to refuse; within it nobody does
        if node.size < at + count <= -(-node.size // PAGE) * PAGE:
            raise self._no(
                f"{name} has {node.size:,} bytes, and a mapping makes no file longer: make it "
                f"longer before, with truncate {name} {at + count}"
            )
        self.write(name, at, count)

    def truncate(self, name: str, size: int) -> None:
        node = self._file(name, "truncate a file")
        self._refuse_large(size)
        node.size = size

    def fsync(self, name: str) -> None:
        self._file(name, "take fsyncdir")

    def fsyncdir(self, name: str = "") -> None:
        if name:
            self._folder(name, "take fsync")

    def open(self, name: str) -> None:
        self.held.append(self._file(name, "open a file"))
        if len(self.held) > HELD_MAX:
            raise self._no(f"more than {HELD_MAX} files are open: close some before")

    def close(self, name: str) -> None:
        node = self._file(name, "close a file")
        if node not in self.held:
            raise self._no(f"{name} is not open: open it before, in the same load")
        self.held.remove(node)

    def readonly(self) -> None:
        if self.held:
            raise self._no("a file is open, so it stays writable: close it before")

    def nothing(self) -> None:
        """A call on no name, which can always be."""


CALL_METHODS: dict[str, Callable[..., None]] = {
    **{"create": CallChecker.create, "mkdir": CallChecker.mkdir, "unlink": CallChecker.unlink},
    **{"rmdir": CallChecker.rmdir, "rename": CallChecker.rename, "link": CallChecker.link},
    **{"write": CallChecker.write, "swrite": CallChecker.write, "mwrite": CallChecker.mwrite},
    **{
        "truncate": CallChecker.truncate,
        "fsync": CallChecker.fsync,
        "fsyncdir": CallChecker.fsyncdir,
    },
    **{"open": CallChecker.open, "close": CallChecker.close, "readonly": CallChecker.readonly},
    **{"sync": CallChecker.nothing, "damage": CallChecker.nothing},
}
