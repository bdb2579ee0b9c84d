# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's calls and what else happens in it, in the order of the lines.

They lie in an unnamed temporary file, for a trace may have millions: memory holds eight bytes for
each call that has two lines, and nothing of the others.
"""

from __future__ import annotations

import marshal
import os
import struct
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<cI")
"""Of a record: its kind and the bytes of its content."""
CALL_RECORD, BEGIN_RECORD, END_RECORD, EXIT_RECORD, SUPERSEDE_RECORD = b"C", b"B", b"E", b"X", b"S"
"""A call of one line; the first and the second line of one; an exit; a superseded thread."""


@dataclass(slots=True)
class Call:
    """A system call of a trace."""

    pid: int
    name: str
    line: int
    """Of the file, where it enters."""
    start: int
    """ns since 1970."""
    args: list[str] = field(default_factory=list)
    result: int | None = None
    """None: it never returned."""
    error: str = ""
    """Of errno, such as ENOENT; empty: it did not fail."""
    path: str = ""
    """Of the descriptor that it returned, by strace -y."""
    end: int | None = None
    """ns since 1970, by strace -T or its second line; None: not known."""
    split: bool = False
    """It has two lines."""

    def arg(self, index: int) -> str:
        """An argument; empty if there is none."""
        return self.args[index] if index < len(self.args) else ""


@dataclass(frozen=True, slots=True)
class EnterEvent:
    """A call begins; it has what it will return."""

    call: Call


@dataclass(frozen=True, slots=True)
class LeaveEvent:
    """A call returns."""

    call: Call


@dataclass(frozen=True, slots=True)
class ExitEvent:
    """A process or thread is gone."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class SupersedeEvent:
    """A thread became a program, and took the number of its process."""

    pid: int
    new_pid: int


TraceEvent = EnterEvent | LeaveEvent | ExitEvent | SupersedeEvent


FIELDS = tuple(each.name for each in fields(Call))


def _list_values(call: Call) -> tuple[Any, ...]:
    return tuple(getattr(call, name) for name in FIELDS)


class EventFile:
    """The events of one trace: written once, and read as often as they are asked for."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="nandlab-")  # noqa: SIM115 - it lives as this does
        self._size = 0
        self._ends = array("Q")
        """Where the end of each call of two lines is, in the order of their begins; 0: it has
        none, for the first record is no end."""
        self._open: dict[int, int] = {}
        """Those that have begun and not ended: places in _ends, by the line where they began."""

    def call(self, call: Call) -> None:
        """A call of one line."""
        self._add(CALL_RECORD, _list_values(call))

    def begin(self, call: Call) -> None:
        """The first line of a call that has two."""
        self._open[call.line] = len(self._ends)
        self._ends.append(0)
        self._add(BEGIN_RECORD, _list_values(call))

    def end(self, call: Call) -> None:
        """The second line, with all that the call has."""
        self._ends[self._open.pop(call.line)] = self._size
        self._add(END_RECORD, _list_values(call))

    def exit(self, pid: int, start: int) -> None:
        """The end of a process or thread."""
        self._add(EXIT_RECORD, (pid, start))

    def supersede(self, pid: int, by: int) -> None:
        """A thread's call of execve."""
        self._add(SUPERSEDE_RECORD, (pid, by))

    def _add(self, kind: bytes, values: tuple[Any, ...]) -> None:
        content = marshal.dumps(values)
        self._file.write(HEAD.pack(kind, len(content)))
        self._file.write(content)
        self._size += HEAD.size + len(content)

    def __iter__(self) -> Iterator[TraceEvent]:
        self._file.flush()
        with Path(f"/proc/self/fd/{self._file.fileno()}").open("rb") as file:
            ends = iter(self._ends)
            while head := file.read(HEAD.size):
                kind, size = HEAD.unpack(head)
                values = marshal.loads(file.read(size))
                if kind == CALL_RECORD:
                    call = Call(*values)
                    yield EnterEvent(call)
                    yield LeaveEvent(call)
                elif kind == BEGIN_RECORD:
                    place = next(ends)
                    yield EnterEvent(self._call_at(place) if place else Call(*values))
                elif kind == END_RECORD:
                    yield LeaveEvent(Call(*values))
                elif kind == EXIT_RECORD:
                    yield ExitEvent(*values)
                else:
                    yield SupersedeEvent(*values)

    def _call_at(self, place: int) -> Call:
        """The call whose end lies there."""
        descriptor = self._file.fileno()
        _, size = HEAD.unpack(os.pread(descriptor, HEAD.size, place))
        return Call(*marshal.loads(os.pread(descriptor, size, place + HEAD.size)))
