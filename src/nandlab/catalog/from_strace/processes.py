# SPDX-License-Identifier: GPL-2.0-or-later
"""The processes of a trace: which open file a descriptor is, and the folder where each is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nandlab.catalog.from_strace.names import NameNode, PathParts

RootPath = tuple[bytes, ...]
"""A path from the root of the device; where that is not known, its first part is ``.``."""
UNKNOWN_ROOT: RootPath = (b".",)


@dataclass(eq=False)
class OpenFile:
    """An open file description: what descriptors of one or more processes stand for."""

    path: RootPath | None
    """Its path when it was opened; None: it is no file of a name, such as a pipe."""
    number: int = 0
    """In the recorded load; 0: it is not replayed."""
    node: NameNode | None = None
    position: int = 0
    """Its position, bytes."""
    appends: bool = False
    synced: bool = False
    refs: int = 0
    calls: set[str] | None = None
    """Of a file that was open before the trace: the calls on it, by name."""

    @property
    def folder(self) -> PathParts | None:
        """Where it is now, below the replayed folder."""
        return self.node.path if self.node else None


@dataclass(eq=False)
class DescriptorTable:
    """Descriptors, which processes may share."""

    files: dict[int, tuple[OpenFile, bool]] = field(default_factory=dict)
    """An open file, and whether an execve closes it."""
    users: int = 1


@dataclass(eq=False)
class CurrentFolder:
    """A current folder, which processes may share; None: the trace has not told it."""

    cwd: RootPath | None = None


@dataclass(eq=False)
class TraceProcess:
    table: DescriptorTable
    place: CurrentFolder


class ProcessTable:
    """All processes. ``closed`` is called with each open file that no descriptor stands for."""

    def __init__(self, closed: Callable[[OpenFile], None]) -> None:
        self._closed = closed
        self._all: dict[int, TraceProcess] = {}
        self._first: TraceProcess | None = None

    def get(self, pid: int) -> TraceProcess:
        """A process. Those that no call has begun are taken for threads of one."""
        if pid not in self._all:
            if self._first is None:
                self._first = TraceProcess(DescriptorTable(users=0), CurrentFolder())
            self._first.table.users += 1
            self._all[pid] = self._first
        return self._all[pid]

    def begin(self, pid: int, parent: int, flags: str) -> None:
        """A process or thread that another one begins."""
        parent_process = self.get(parent)
        if "CLONE_FILES" in flags:
            parent_process.table.users += 1
            table = parent_process.table
        else:
            table = DescriptorTable(dict(parent_process.table.files))
            for opened, _ in table.files.values():
                opened.refs += 1
        place = (
            parent_process.place if "CLONE_FS" in flags else CurrentFolder(parent_process.place.cwd)
        )
        self._all[pid] = TraceProcess(table, place)

    def end(self, pid: int) -> None:
        process = self._all.pop(pid, None)
        if process is None:
            return
        process.table.users -= 1
        if process.table.users <= 0:
            for fd in list(process.table.files):
                self._close(process.table, fd)
        if process is self._first and process.table.users <= 0:
            self._first = None

    def superseded(self, pid: int, by: int) -> None:
        """A thread of a process became a program; the process has its number."""
        self.end(pid)
        if by in self._all:
            self._all[pid] = self._all.pop(by)

    def unshare(self, pid: int) -> TraceProcess:
        """The process, with a table that is its own from now on."""
        process = self.get(pid)
        if process.table.users <= 1:
            return process
        process.table.users -= 1
        table = DescriptorTable(dict(process.table.files))
        for opened, _ in table.files.values():
            opened.refs += 1
        self._all[pid] = TraceProcess(table, CurrentFolder(process.place.cwd))
        return self._all[pid]

    def descriptors(self, pid: int) -> list[int]:
        return sorted(self.get(pid).table.files)

    def execve(self, pid: int) -> None:
        """A process becomes another program: its table is its own from now on."""
        process = self.unshare(pid)
        for fd, (_, closes) in list(process.table.files.items()):
            if closes:
                self._close(process.table, fd)

    def put(self, pid: int, fd: int, opened: OpenFile, *, closes: bool) -> None:
        """A descriptor comes to stand for an open file."""
        table = self.get(pid).table
        opened.refs += 1
        if fd in table.files:
            self._close(table, fd)
        table.files[fd] = (opened, closes)

    def close(self, pid: int, fd: int) -> None:
        self._close(self.get(pid).table, fd)

    def _close(self, table: DescriptorTable, fd: int) -> None:
        opened = table.files.pop(fd, None)
        if opened is None:
            return
        opened[0].refs -= 1
        if not opened[0].refs:
            self._closed(opened[0])

    def file(self, pid: int, fd: int) -> OpenFile | None:
        """The open file of a descriptor; None: it is of before the trace."""
        found = self.get(pid).table.files.get(fd)
        return found[0] if found else None

    def set_closes(self, pid: int, fd: int, *, closes: bool) -> None:
        table = self.get(pid).table
        if fd in table.files:
            table.files[fd] = (table.files[fd][0], closes)
