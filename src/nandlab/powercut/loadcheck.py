# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of a file of loads, followed one after the other: what is there, and what is open.

So a call that cannot be is refused when the file is read, with its line. On the board it would end
a campaign, or its outcome would be taken for the file system's fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nandlab.base.errors import UsageError

VALUE_BYTES_MAX, TARGET_MAX, XATTRS = 4096, 4095, 10
"""Of cutcheck's: bytes of an attribute, letters of a symbolic link's target, and attributes."""
MODE_MAX, OWNER_MAX, SECONDS_MAX = 0o7777, 65_535, (1 << 31) - 1
FILE_BYTES_MAX, HELD_MAX = 1 << 20, 64
"""Of cutcheck's: bytes of a file, and files that are open at once."""
WAIT_MAX = 1_000_000
"""Microseconds after which a load goes on beside a sync or the collector."""
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
    special: bool = False
    """A symbolic link or a whiteout: a name and no more."""
    nameless: bool = False
    """Whether it was made without a name, and has had none yet."""
    xattrs: set[int] = field(default_factory=set)


@dataclass
class CallChecker:
    """What is there after some calls."""

    place: str = ""
    """Place and words of the call that is taken."""
    names: dict[str, _FileNode] = field(default_factory=dict)
    open_files: list[_FileNode] = field(default_factory=list)
    """Files that are open."""
    open_names: dict[str, _FileNode] = field(default_factory=dict)
    """The same by the names under which they were opened."""
    is_sync_beside: bool = False
    """Whether a sync has begun beside the load."""

    def copy(self) -> CallChecker:
        """What is there, so that a call of the one is none of the other; two names of a file are
        two of its copy."""
        nodes = (*self.names.values(), *self.open_files, *self.open_names.values())
        copies = {node: replace(node, xattrs={*node.xattrs}) for node in nodes}
        return CallChecker(
            self.place,
            {name: copies[node] for name, node in self.names.items()},
            [copies[node] for node in self.open_files],
            {name: copies[node] for name, node in self.open_names.items()},
            self.is_sync_beside,
        )

    def load(self) -> CallChecker:
        """What a load begins with, if these calls are the base: nothing is open any more."""
        begun = self.copy()
        begun.open_files.clear()
        begun.open_names.clear()
        begun.is_sync_beside = False
        return begun

    def take(self, where: str, kind: str, names: list[str], numbers: list[int]) -> None:
        """Makes a call; UsageError if it cannot be."""
        self.place = f"{where}: {' '.join((kind, *names, *map(str, numbers)))}"
        for name in names:
            self._refuse_unfit(name)
        CALL_METHODS[kind](self, *names, *numbers)

    def _no(self, why: str) -> UsageError:
        return UsageError(f"{self.place}: {why}")

    def _refuse_unfit(self, name: str) -> None:
        parts = name.split("/")
        if {"", ".", ".."} & set(parts):
            raise self._no(
                f"{name} is no name below the file system's root: give one such as A/b, without "
                "a '/' at its begin or end, '//', '.' or '..'"
            )
        if parts[0] in RESERVED_NAMES or parts[0].startswith(FILLER):
            raise self._no(f"the file system or the check has a {parts[0]} of its own: rename it")

    def _find_node(self, name: str) -> _FileNode:
        if name not in self.names:
            raise self._no(
                f"{name} is not there: make it before this call, in the same load or before the "
                "first one"
            )
        return self.names[name]

    def _file(self, name: str, instead: str) -> _FileNode:
        """A file; instead: what to do if it is a folder."""
        node = self._find_node(name)
        if node.folder:
            raise self._no(f"{name} is a folder: {instead}")
        if node.special:
            raise self._no(f"{name} is a symbolic link or a whiteout: give a file")
        return node

    def _open_file(self, name: str, instead: str) -> _FileNode:
        """A file, which may be held open and have no name any more."""
        if name not in self.names and name in self.open_names:
            return self.open_names[name]
        return self._file(name, instead)

    def _folder(self, name: str, instead: str) -> _FileNode:
        node = self._find_node(name)
        if not node.folder:
            raise self._no(f"{name} is a file: {instead}")
        return node

    def _refuse_homeless(self, name: str) -> None:
        above = name.rpartition("/")[0]
        if above and above not in self.names:
            raise self._no(f"there is no folder {above}: make it before, with mkdir {above}")
        if above:
            self._folder(above, "give a name in a folder")

    def _add_node(self, name: str, node: _FileNode) -> None:
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
        self._add_node(name, _FileNode())

    def mkdir(self, name: str) -> None:
        self._add_node(name, _FileNode(folder=True))

    def unlink(self, name: str) -> None:
        if self._find_node(name).folder:
            raise self._no(f"{name} is a folder: take rmdir")
        del self.names[name]

    def rmdir(self, name: str) -> None:
        self._folder(name, "take unlink")
        self._refuse_full(name)
        del self.names[name]

    def _refuse_full(self, name: str) -> None:
        if any(each.startswith(f"{name}/") for each in self.names):
            raise self._no(f"{name} is not empty: unlink what is in it before")

    def rename(self, name: str, to: str) -> None:
        node = self._find_node(name)
        self._refuse_homeless(to)
        if to.startswith(f"{name}/"):
            raise self._no(f"{to} is in {name}: a folder does not move into itself")
        if to in self.names and node.folder:
            self._folder(to, "a folder cannot take its name: give another")
            self._refuse_full(to)
        elif to in self.names and self.names[to].folder:
            raise self._no(f"{to} is a folder: a file cannot take its name: give another")
        if self.names.get(to) is not node:  # else nothing happens, by POSIX
            self._move({name: to})

    def _move(self, moves: dict[str, str]) -> None:
        """Gives names others, and to all that is below them."""
        moved_names = {
            name: next(old for old in moves if name == old or name.startswith(f"{old}/"))
            for name in self.names
            if any(name == old or name.startswith(f"{old}/") for old in moves)
        }
        nodes = {name: self.names.pop(name) for name in moved_names}
        for name, old in moved_names.items():
            self.names[moves[old] + name[len(old) :]] = nodes[name]

    def noreplace(self, name: str, to: str) -> None:
        if to in self.names:
            raise self._no(f"{to} is there already: it is refused then: give another name")
        self.rename(name, to)

    def exchange(self, name: str, to: str) -> None:
        self._find_node(name)
        self._find_node(to)
        if to.startswith(f"{name}/") or name.startswith(f"{to}/"):
            raise self._no("one is in the other: they cannot be exchanged")
        if self.names[name] is not self.names[to]:
            self._move({name: to, to: name})

    def whiteout(self, name: str, to: str) -> None:
        self._file(name, "a whiteout is made of a file")
        if self.names.get(to) is self.names[name]:
            raise self._no("both are names of one file: nothing would happen")
        self.rename(name, to)
        self.names[name] = _FileNode(special=True)

    def symlink(self, name: str, letters: int) -> None:
        if not 1 <= letters <= TARGET_MAX:
            raise self._no(f"a target has 1 to {TARGET_MAX:,} letters")
        self._add_node(name, _FileNode(special=True))

    def tmplink(self, name: str, count: int) -> None:
        self._refuse_large(count)
        if not count:
            raise self._no("it writes nothing: give the bytes that it writes")
        if "/" not in name:
            raise self._no("it is made in a folder: give a name such as A/b")
        self._add_node(name, _FileNode(size=count))

    def link(self, name: str, to: str) -> None:
        self._add_node(to, self._file(name, "it cannot have two names: link a file"))

    def write(self, name: str, offset: int, count: int) -> None:
        node = self._open_file(name, "write to a file")
        if not count:
            raise self._no("it writes nothing: give the bytes that it writes")
        self._refuse_large(offset + count)
        node.size = max(node.size, offset + count)

    def swrite(self, name: str, offset: int, count: int) -> None:
        self._file(name, "write to a file")  # it is opened by its name
        self.write(name, offset, count)

    def mwrite(self, name: str, offset: int, count: int) -> None:
        node = self._file(name, "write to a file")
        # what is past the last page is the file system's to refuse; within it nobody does
        if node.size < offset + count <= -(-node.size // PAGE) * PAGE:
            raise self._no(
                f"{name} has {node.size:,} bytes, and a mapping makes no file longer: make it "
                f"longer before, with truncate {name} {offset + count}"
            )
        self.write(name, offset, count)

    def truncate(self, name: str, size: int) -> None:
        node = self._file(name, "truncate a file")
        self._refuse_large(size)
        node.size = size

    def fallocate(self, name: str, offset: int, count: int) -> None:
        node = self._open_file(name, "only a file has room")
        if not count:
            raise self._no("it asks for no room: give the bytes")
        self._refuse_large(offset + count)
        node.size = max(node.size, offset + count)

    def fsync(self, name: str) -> None:
        self._open_file(name, "take fsyncdir")

    # metadata

    def _set(self, name: str, *numbers: tuple[int, int]) -> None:
        """Refuses what has no metadata, and numbers that are greater than may be."""
        if name in self.names and self.names[name].special:
            raise self._no(f"{name} is a symbolic link or a whiteout: give a file or a folder")
        if name not in self.open_names:
            self._find_node(name)
        for number, most in numbers:
            if number > most:
                raise self._no(f"{number} is too large: at most {most}")

    def setxattr(self, name: str, which: int, count: int) -> None:
        self._set(name, (which, XATTRS - 1), (count, VALUE_BYTES_MAX))
        self._xattrs(name).add(which)

    def removexattr(self, name: str, which: int) -> None:
        self._set(name, (which, XATTRS - 1))
        if which not in self._xattrs(name):
            raise self._no(f"{name} has no attribute {which}: set it before, with setxattr")
        self._xattrs(name).remove(which)

    def _xattrs(self, name: str) -> set[int]:
        return (self.names.get(name) or self.open_names[name]).xattrs

    def chmod(self, name: str, mode: int) -> None:
        # written in octal
        if set(str(mode)) - set("01234567"):
            raise self._no(f"{mode} is no mode: give it in octal, such as 640")
        self._set(name, (int(str(mode), 8), MODE_MAX))

    def chown(self, name: str, user: int, group: int) -> None:
        self._set(name, (user, OWNER_MAX), (group, OWNER_MAX))

    def utimens(self, name: str, seconds: int) -> None:
        self._set(name, (seconds, SECONDS_MAX))

    def fsyncdir(self, name: str = "") -> None:
        if name:
            self._folder(name, "take fsync")

    def open(self, name: str) -> None:
        self._hold(name, self._file(name, "open a file"))

    def _hold(self, name: str, node: _FileNode) -> None:
        self.open_files.append(node)
        self.open_names[name] = node
        if len(self.open_files) > HELD_MAX:
            raise self._no(f"more than {HELD_MAX} files are open: close some before")

    def close(self, name: str) -> None:
        node = self._open_file(name, "close a file")
        if node not in self.open_files:
            raise self._no(f"{name} is not open: open it before, in the same load")
        self.open_files.remove(node)
        self.open_names.pop(name, None)

    def tmpfile(self, name: str) -> None:
        if "/" not in name:
            raise self._no("it is made in a folder: give a name such as A/b")
        self._refuse_homeless(name)
        if name in self.names or name in self.open_names:
            raise self._no(f"{name} is there already: give another name")
        self._hold(name, _FileNode(nameless=True))

    def linktmp(self, name: str) -> None:
        node = self.open_names.get(name)
        if node is None or not node.nameless:
            raise self._no("there is no such file without a name: make it before, with tmpfile")
        self._add_node(name, node)
        node.nameless = False

    def beginsync(self, microseconds: int) -> None:
        if self.is_sync_beside:
            raise self._no("a sync is beside the load already: endsync before")
        self._refuse_long_wait(microseconds)
        self.is_sync_beside = True

    def endsync(self) -> None:
        if not self.is_sync_beside:
            raise self._no("no sync is beside the load: beginsync before")
        self.is_sync_beside = False

    def wakegc(self, microseconds: int) -> None:
        self._refuse_long_wait(microseconds)

    def _refuse_long_wait(self, microseconds: int) -> None:
        if microseconds > WAIT_MAX:
            raise self._no(f"the load goes on after at most {WAIT_MAX:,} microseconds")

    def readonly(self) -> None:
        if self.open_files:
            raise self._no("a file is open, so it stays writable: close it before")

    def nothing(self) -> None:
        """A call on no name, which can always be."""


CALL_METHODS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("fsync", "fdatasync"), CallChecker.fsync),
    **dict.fromkeys(("sync", "damage", "dropcaches", "statfs"), CallChecker.nothing),
    **{
        kind: getattr(CallChecker, kind)
        for kind in (
            *("create", "mkdir", "unlink", "rmdir", "rename", "noreplace", "exchange", "whiteout"),
            *(
                "link",
                "symlink",
                "tmplink",
                "write",
                "swrite",
                "mwrite",
                "truncate",
                "fallocate",
                "fsyncdir",
            ),
            *("setxattr", "removexattr", "chmod", "chown", "utimens"),
            *("open", "close", "readonly", "tmpfile", "linktmp", "beginsync", "endsync"),
            "wakegc",
        )
    },
}
