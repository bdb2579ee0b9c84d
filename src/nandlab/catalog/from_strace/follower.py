# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows a trace's calls, in the order of their starts, to the operations of a recorded load.

Each call is taken when it enters, with what it will return; only the descriptor that it makes comes
to be when it leaves. So a number that one thread frees and another one gets is never mistaken.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nandlab.catalog.from_strace.events import (
    Call,
    EnterEvent,
    ExitEvent,
    LeaveEvent,
    SupersedeEvent,
    TraceEvent,
)
from nandlab.catalog.from_strace.lines import Trace
from nandlab.catalog.from_strace.names import NameNode, NameTree, PathParts, normalise_path
from nandlab.catalog.from_strace.processes import UNKNOWN_ROOT, OpenFile, ProcessTable, RootPath
from nandlab.catalog.from_strace.words import (
    parse_string_argument,
    quote_load_word,
    unescape_string_body,
)

FD = re.compile(r"(-?\d{1,10})(?:<(.*)>(?:\(deleted\))?)?$", re.DOTALL)
CWD = re.compile(r"AT_FDCWD(?:<(.*)>)?$", re.DOTALL)
NUMBER = re.compile(r"-?\d{1,19}|0x[0-9a-f]{1,16}")
PATH_MAX = 4000
"""Bytes of a path that the replay takes."""
TEXT_BYTES_MAX = 12 << 20
"""Of a recorded load: a job takes 16 MiB with its programs."""
REPLAYED = ("ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ENAMETOOLONG")
"""Failures that are replayed: they look names up, and another file system fails the same way."""


@dataclass(slots=True)
class ReplayOperation:
    """A line of the recorded load."""

    verb: str
    words: str
    returned: str
    """Empty: all that it asked for."""
    start: int
    end: int
    """ns since 1970."""
    line: int
    """Of the trace."""

    def text(self, think_us: int) -> str:
        """It as the recorded load has it, after so many us without a call."""
        head = f"+{think_us} " if think_us else ""
        words = f" {self.words}" if self.words else ""
        tail = f" = {self.returned}" if self.returned else ""
        return f"{head}{self.verb}{words}{tail}"


def parse_argument_number(text: str) -> int | None:
    """A whole number of an argument, without the comment behind it."""
    found = NUMBER.match(text)
    return int(found[0], 16 if "x" in found[0] else 10) if found else None


def resolve_path(path: bytes, begin: RootPath = UNKNOWN_ROOT) -> RootPath | None:
    """A path as parts from the root; one that does not begin there goes on from ``begin``."""
    parts = tuple(path.split(b"/"))
    if path.startswith(b"/"):
        return make_absolute_path(parts)
    if begin[:1] == UNKNOWN_ROOT:
        more = normalise_path((*begin[1:], *parts))
        return None if more is None else (*UNKNOWN_ROOT, *more)
    return make_absolute_path((*begin, *parts))


def make_absolute_path(parts: PathParts) -> RootPath:
    """The same from the root, above which .. does not lead."""
    names: list[bytes] = []
    for part in parts:
        if part == b"..":
            del names[-1:]
        elif part not in (b"", b"."):
            names.append(part)
    return tuple(names)


def parse_annotated_path(annotated: str | None) -> bytes | None:
    """The path that strace -y names behind a descriptor, escaped as its strings are; None: none.

    What a device is follows its path in brackets of its own.
    """
    path = unescape_string_body((annotated or "").partition("<")[0])
    return path if path.startswith(b"/") else None


def parse_folder_annotation(argument: str) -> bytes | None:
    """The folder that strace -y names behind AT_FDCWD; None: there is none."""
    match = CWD.match(argument)
    return parse_annotated_path(match[1]) if match else None


class TraceFollower:
    """A trace's calls below one folder."""

    def __init__(
        self, trace: Trace, below: RootPath, handlers: CallHandlers, maker: CallHandlers
    ) -> None:
        self.trace = trace
        self.below = below
        self.names = NameTree()
        self.processes = ProcessTable(self._closed)
        self.operations: list[ReplayOperation] = []
        """In the order of their starts; none where they take more than TEXT_BYTES_MAX."""
        self.replayed_calls = 0
        self._bytes = 0
        self.left_out: Counter[str] = Counter()
        """Calls on replayed files that are left out, by why."""
        self.elsewhere = 0
        """Calls on other files."""
        self.unplaced: Counter[RootPath] = Counter()
        """Of these, calls by a path from a folder that the trace does not tell, by the folder."""
        self.wrote: Counter[RootPath] = Counter()
        self.wrote_open: Counter[RootPath] = Counter()
        self.folder_uses: Counter[RootPath] = Counter()
        """Folders where a call changed a file, wrote to one open before the trace, used one."""
        self.called: set[str] = set()
        """The names of all calls."""
        self.adopted: list[OpenFile] = []
        """Files that were open before the trace."""
        self._handlers = handlers
        self._makers = maker
        self._new_descriptors: dict[int, tuple[OpenFile, bool]] = {}
        self._free: list[int] = []
        self._top = 0
        self._outside = 0
        self._now: Call | None = None

    def run(self) -> None:
        self._begin_where()
        for event in self.trace.events:
            self._take(event)
        self.operations.sort(key=lambda o: o.start)

    def _begin_where(self) -> None:
        """The first getcwd, or folder that strace -y names, tells where the program began, if no
        chdir came before."""
        calls = (e.call for e in self.trace.events if isinstance(e, EnterEvent))
        for call in calls:
            if call.name in ("chdir", "fchdir") and not call.error:
                return
            path = (
                parse_string_argument(call.arg(0))
                if call.name == "getcwd"
                else parse_folder_annotation(call.arg(0))
            )
            if path is not None and path.startswith(b"/"):
                self.processes.get(call.pid).place.cwd = resolve_path(path)
                return

    def _take(self, event: TraceEvent) -> None:
        if isinstance(event, ExitEvent):
            self._now = Call(event.pid, "exit", 0, event.start)
            self.processes.end(event.pid)
        elif isinstance(event, SupersedeEvent):
            self.processes.superseded(event.pid, event.new_pid)
        elif isinstance(event, LeaveEvent):
            self._leave(event.call)
        elif event.call.result is not None:
            self._enter(event.call)

    def _enter(self, call: Call) -> None:
        self._now = call
        self.called.add(call.name)
        if make := self._makers.get(call.name):
            made = make(self, call)
            if isinstance(made, tuple):
                self._new_descriptors[call.line] = made
            if not call.split:
                self._leave(call)
        elif handler := self._handlers.get(call.name):
            handler(self, call)
        else:
            self._unknown(call)

    def _leave(self, call: Call) -> None:
        made = self._new_descriptors.pop(call.line, None)
        if made is not None and call.result is not None:
            self.processes.put(call.pid, call.result, made[0], closes=made[1])

    def _unknown(self, call: Call) -> None:
        """A call that the replay does not know: told if it is on a replayed file."""
        first = call.arg(0)
        opened = self.opened(call, 0) if first[:1].isdigit() else None
        path = self.path(call, None, 0) if first.startswith('"/') else None
        if (opened is not None and opened.number) or path is not None:
            self.leave_out(call, f"{call.name}, which the replay does not know")

    # what handlers use

    def emit(self, call: Call, verb: str, *words: str | int, returned: str | int = "") -> None:
        """An operation of the recorded load."""
        asked = " ".join(map(str, words))
        end = call.end or call.start
        operation = ReplayOperation(verb, asked, str(returned), call.start, end, call.line)
        self.replayed_calls += 1
        self._bytes += len(operation.text(0)) + 1
        if self.fits:
            self.operations.append(operation)
        else:
            self.operations.clear()

    @property
    def fits(self) -> bool:
        """Whether a job has room for the operations, as text without times."""
        return self._bytes <= TEXT_BYTES_MAX

    def leave_out(self, call: Call, why: str) -> None:
        del call
        self.left_out[why] += 1

    def failed(self, call: Call, *errors: str) -> bool:
        """Whether a call failed in a way that is not replayed; it is left out then."""
        if not call.error or call.error in (*REPLAYED, *errors):
            return False
        self.leave_out(call, f"failed with {call.error}")
        return True

    def word(self, path: PathParts) -> str:
        return quote_load_word(b"/".join(path) or b".")

    def opened(self, call: Call, index: int) -> OpenFile | None:
        """The open file of an argument; None: not known. Counts what is left out."""
        found = FD.match(call.arg(index))
        if found is None or found[1].startswith("-"):
            return None
        fd = int(found[1])
        opened = self.processes.file(call.pid, fd) or self._adopt(call, fd, found[2])
        if opened is None:
            if fd > 2:
                self.leave_out(call, "on a descriptor of before the trace")
        elif not opened.number:
            self.elsewhere += 1
        return opened

    def replayed(self, call: Call, index: int = 0) -> OpenFile | None:
        """The open file of an argument if it is replayed and the call did not fail."""
        opened = self.opened(call, index)
        if opened is None or not opened.number:
            return None
        if call.error:
            self.leave_out(call, f"failed with {call.error}")
            return None
        if opened.calls is not None:
            opened.calls.add(call.name)
        return opened

    def _adopt(self, call: Call, fd: int, annotated: str | None) -> OpenFile | None:
        """A file that was open before the trace, which strace -y tells."""
        path = parse_annotated_path(annotated)
        if path is None:
            return None
        where = resolve_path(path)
        opened = OpenFile(where)
        parts = self.inside(where)
        if parts is not None:
            opened.node = self.names.existing(parts)
            if opened.node is None or opened.node.origin is None:
                return None
            self._top += 1
            opened.number = self._top
            opened.calls = set()
            self.adopted.append(opened)
        self.processes.put(call.pid, fd, opened, closes=False)
        return opened

    def inside(self, where: RootPath | None) -> PathParts | None:
        """A path from the replayed folder; None: it is elsewhere."""
        if where is None or where[: len(self.below)] != self.below:
            return None
        rest = where[len(self.below) :]
        return rest if sum(map(len, rest)) + len(rest) <= PATH_MAX else None

    def find_path(self, call: Call, folder: int | None, index: int) -> RootPath | None:
        """The path of an argument, from the root; None: not known."""
        path = parse_string_argument(call.arg(index))
        if path is None or not path:
            return None
        if path.startswith(b"/"):
            return resolve_path(path)
        if folder is None or CWD.match(call.arg(folder)):
            here = None if folder is None else parse_folder_annotation(call.arg(folder))
            place = self.processes.get(call.pid).place
            if here is not None:
                place.cwd = resolve_path(here)
            return resolve_path(path, UNKNOWN_ROOT if place.cwd is None else place.cwd)
        opened = self.opened(call, folder)
        if opened is None:
            return None
        if opened.node is not None:
            self.names.existing(opened.node.path or (), "dir")
            now = opened.node.path
            return None if now is None else resolve_path(path, (*self.below, *now))
        return None if opened.path is None else resolve_path(path, opened.path)

    def path(self, call: Call, folder: int | None, index: int) -> PathParts | None:
        """The path of an argument from the replayed folder; None: elsewhere. Counts it."""
        where = self.find_path(call, folder, index)
        parts = self.inside(where)
        if parts is None:
            self.elsewhere += 1
            if where is not None and where[:1] == UNKNOWN_ROOT:
                self.unplaced[where[:2] if len(where) > 2 else where[:1]] += 1
        elif where is not None:
            self.folder_uses[where[:-1]] += 1
        return parts

    def outside(self) -> PathParts:
        """A name for a file that comes from elsewhere, or goes there."""
        self._outside += 1
        return (b".outside-%d" % self._outside,)

    def note_write(self, path: PathParts) -> None:
        self.wrote[(*self.below, *path)[:-1]] += 1

    def take_number(self) -> int:
        """The lowest number that no open file of the load has."""
        if self._free:
            return heapq.heappop(self._free)
        self._top += 1
        return self._top

    def give_number(self, number: int) -> None:
        heapq.heappush(self._free, number)

    def _closed(self, opened: OpenFile) -> None:
        """The last descriptor of an open file is gone, by a close or by an end."""
        if opened.number and self._now is not None:
            self.emit(self._now, "close", opened.number)
            self.give_number(opened.number)

    def before(self) -> Iterator[NameNode]:
        return self.names.before()


CallHandlers = dict[str, Callable[[TraceFollower, Call], object]]
