# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a trace: what ``strace`` writes, to calls in their order.

A call that other processes interrupt has two lines, ``<unfinished ...>`` and ``resumed``: it enters
at the one and leaves at the other. Every mistake is a UsageError with the file and the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from nandlab.base.errors import UsageError
from nandlab.base.gate import TEXT_BYTES_MAX, read_lines
from nandlab.catalog.from_strace.events import Call, EventFile
from nandlab.catalog.from_strace.parts import list_trace_parts, merge_trace_parts
from nandlab.catalog.from_strace.stamps import (
    Clock,
    StampedLine,
    StampReader,
    is_stack_line,
    parse_ns,
)
from nandlab.catalog.from_strace.whoruns import ProcessNames
from nandlab.catalog.from_strace.words import parse_call_arguments

EVENT_PATTERN = re.compile(
    r"(?:(?:\d+|\[pid +\d+\]) +)?(?:[\d:.]+ +)?"
    r"(?:[a-z_]\w*\(.*|\+\+\+ .* \+\+\+|--- .* ---|<\.\.\. .*)"
)
"""A line of strace whatever its time."""
CALL = re.compile(r"([a-z_]\w*)\((.*)")
RESUMED = re.compile(r"<\.\.\. ([a-z_]\w*) resumed> ?(.*)")
UNFINISHED = re.compile(r" ?<unfinished \.\.\.>$")
DETACHED = re.compile(r" ?<detached \.\.\.>$")
SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d{1,10}) \+\+\+")
TOO_LARGE = re.compile(r"-?[1-9][0-9]{20,}")
"""An argument that is no number of 64 bits."""
RESULT = re.compile(
    r"\) *= (\?|-?[1-9]\d{0,19}|0[0-7]{0,21}|0x[0-9a-f]{1,16})"
    r"(?:<((?:[^<>]|<[^<>]*>)*)>(?:\(deleted\))?)?"
    r"(?: (E[A-Z0-9]+)(?= |$))?(?: .*?)??(?: <(\d{1,12}\.\d{1,9}|unavailable)>)?"
)
ATTACHED = re.compile(r"strace: Process (\d{1,10}) (attached|detached).*")
VERBOSE_WORD = re.compile(r"(?:0x[0-9a-f]+|-?\d+) /\* ([A-Z][A-Z0-9_|]*) \*/")
"""A number with its name, as -X verbose has both."""
TERMINAL_WRITE = re.compile(
    r'([12](?:<[^>]*>)?, "(?:[^"\\]|\\.)*"(?:\.\.\.)?, \d+)(.*?)(\) += .*)?'
)
"""A write to a terminal: its arguments, what the program wrote there in between, and its end."""
OPEN_FLAGS = {"open": 1, "openat": 2}
"""Calls with flags, and which argument has them."""
RAW = re.compile(r"0x[0-9a-f]+")
BROKEN_END = re.compile(r"\) += .*")
ATTACHED_END = re.compile(r"strace: Process \d{1,10} attached\Z")
"""Strace's own message, which may end the line of a call."""
STRACE_EVENT = re.compile(r"[a-z_]\w*\(.*|<\.\.\. .*|\+\+\+ .*|--- .*")
FAILURE = re.compile(r"\) += -1 E[A-Z]")
SUCCESS = re.compile(r"\) += (?:\d|-[2-9]|0x)")
LETTERS_SHOWN = 60
PREAMBLE_MAX = 1000
"""Lines of the program before strace's first, at most."""
STRACE_HINT = "take it with: strace -f -ttt -T -y -o FILE COMMAND"


@dataclass
class Trace:
    """What a trace's lines say, in their order."""

    path: Path
    events: EventFile = field(default_factory=EventFile)
    lines: int = 0
    calls: int = 0
    signals: int = 0
    processes: set[int] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)
    """Calls that are about no file, by name."""
    timed: bool = False
    """Whether calls have their own time (strace -T)."""
    begin: int = 0
    end: int = 0
    """ns: of the first and the last line."""
    clock: Clock | None = None
    """The form of the lines' times."""
    foreign: int = 0
    """Lines that the program itself wrote, where both wrote to one place."""
    has_process_ids: bool = False
    """Whether a line names its process: without -f, none does."""
    names: set[str] = field(default_factory=set)
    """Of all calls."""
    has_success: bool = False
    has_failure: bool = False
    """Whether a call succeeded, and whether one failed."""
    has_exit: bool = False
    """Whether a process ended by itself, which is a call too."""


def read_strace_file(path: Path, skipped: frozenset[str]) -> Trace:
    """A file as a trace; calls that are named in ``skipped`` are only counted.

    A file that is not there, and whose name with a process's number is, is the parts of -ff.
    """
    reader = _TraceReader(Trace(path), skipped)
    parts = list_trace_parts(path)
    if parts:
        for stamped in merge_trace_parts(parts, _read_texts):
            reader.take_line(stamped)
    else:
        for text in _read_texts(path):
            reader.take(text)
    reader.finish()
    return reader.trace


def _read_texts(path: Path) -> Iterator[str]:
    """The lines; each character is a byte. UsageError if the file is no text, or was cut.

    A serial console ends lines with a carriage return too.
    """
    number, line = 0, b"\n"
    for number, line in enumerate(read_lines(path, TEXT_BYTES_MAX), 1):
        if b"\0" in line:
            raise UsageError(
                f"{path}:{number}: a byte that is no text: this is no output of strace"
            )
        if line.endswith(b"\n"):
            yield line[:-1].removesuffix(b"\r").decode("latin-1")
    if not number:
        raise UsageError(f"{path}: it is empty; {STRACE_HINT}")
    if not line.endswith(b"\n"):
        raise UsageError(
            f"{path}:{number}: the trace is cut short: its last line has no end; "
            f"to use what is whole, take that line off: head -n {number - 1}"
        )


def _parse_result(told: str) -> int:
    """What a call returned, as strace writes it: a mask, as umask's, is octal."""
    octal = told.startswith("0") and told.isdigit()
    return int(told, 8) if octal else int(told, 0)


class _TraceReader:
    """Takes a trace's lines one by one."""

    def __init__(self, trace: Trace, skipped: frozenset[str]) -> None:
        self.trace = trace
        self._skipped = skipped
        self._pending: dict[int, tuple[Call, str]] = {}
        self._detached = False
        """strace let go of the processes, which went on: their last calls have no end."""
        self._stamps = StampReader()
        self._names = ProcessNames()
        self._broken: tuple[Call, str] | None = None
        self._glued = ""
        """The begin of a call that goes on in the next line."""
        self._on_terminal = False
        """Lines are as strace writes them to a terminal, where a program's own may be."""
        self._preamble = 0
        self._first_foreign: tuple[int, str] | None = None

    def _refuse(self, what: str, line: int | None = None) -> NoReturn:
        raise UsageError(f"{self.trace.path}:{line or self.trace.lines}: {what}")

    def take(self, text: str) -> None:
        self.trace.lines += 1
        if is_stack_line(text):
            return
        text, self._glued = f"{self._glued}{text}", ""
        glued = ATTACHED_END.search(text)
        if glued and "(" in text[: glued.start()]:
            self._glued, text = text[: glued.start()], glued[0]
        stamped = self._stamps.read(text)
        if self._broken is not None and self._mend(text, stamped):
            return
        if stamped is None or not STRACE_EVENT.fullmatch(stamped.text):
            self._take_other_line(text, stamped)
            return
        self.trace.lines -= 1
        self.take_line(stamped)

    def take_line(self, line: StampedLine) -> None:
        """A line with its time, in the order of the lines."""
        self.trace.lines += 1
        self.trace.clock = self._stamps.clock
        self.trace.has_process_ids |= line.pid is not None
        self._on_terminal |= line.pid is None or line.bracketed
        named = line.pid is not None and not line.bracketed
        pid = line.pid if named and line.pid is not None else self._names.name(line.pid)
        now = line.ns
        if not self.trace.processes:
            self.trace.begin = now
        self.trace.processes.add(pid)
        self.trace.end = max(now, self.trace.end)
        if call := CALL.fullmatch(line.text):
            self._call(Call(pid, call[1], self.trace.lines, now), call[2])
        elif resumed := RESUMED.fullmatch(line.text):
            self._resume(pid, now, resumed[1], resumed[2])
        else:
            self._event(pid, now, line.text)

    def _mend(self, text: str, stamped: StampedLine | None) -> bool:
        """Takes a line after that of a write which the program's output has ended."""
        assert self._broken is not None
        call, begun = self._broken
        if not BROKEN_END.fullmatch(text):
            self.trace.foreign += stamped is None
            return stamped is None
        self._broken = None
        self._end(call, f"{begun}{text}")
        self.trace.events.call(call)
        return True

    def _take_other_line(self, text: str, stamped: StampedLine | None) -> None:
        """A line that has no process, no time or no call."""
        if attached := ATTACHED.fullmatch(text):
            self._detached |= attached[2] == "detached"
            if attached[2] == "attached":
                self._names.attach(int(attached[1]))
            return
        if not text.strip():
            return
        if stamped is None and EVENT_PATTERN.fullmatch(text):
            self._refuse(f"it has no time, as -ttt gives it; {STRACE_HINT}")
        if self._on_terminal:
            self.trace.foreign += 1
            return
        if stamped is not None:
            self._refuse(f"no call, signal or exit: {stamped.text[:LETTERS_SHOWN]!a}")
        self._preamble += 1
        if self._preamble <= PREAMBLE_MAX and not self.trace.calls:
            self._first_foreign = self._first_foreign or (self.trace.lines, text)
            self.trace.foreign += 1
            return
        self._refuse_foreign(self.trace.lines, text)

    def _refuse_foreign(self, line: int, text: str) -> NoReturn:
        shown = text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}..."
        self._refuse(f"no line of strace: {shown!a}; {STRACE_HINT}", line)

    def _event(self, pid: int, now: int, text: str) -> None:
        if text.startswith("--- ") and text.endswith(" ---"):
            self.trace.signals += 1
        elif superseded := SUPERSEDED.fullmatch(text):
            by = int(superseded[1])
            self._pending.pop(pid, None)
            if by in self._pending:
                self._pending[pid] = self._pending.pop(by)
                self._pending[pid][0].pid = pid
            self.trace.events.supersede(pid, by)
        elif text.startswith("+++ ") and text.endswith(" +++"):
            self.trace.has_exit |= text.startswith("+++ exited")
            self._pending.pop(pid, None)
            self._names.end(pid)
            self.trace.events.exit(pid, now)
        else:
            self._refuse(f"no call, signal or exit: {text[:LETTERS_SHOWN]!a}")

    def _call(self, call: Call, text: str) -> None:
        if call.pid in self._pending:
            other = self._pending[call.pid][0]
            self._refuse(f"{call.name} begins before {other.name} of line {other.line} has ended")
        if DETACHED.search(text):
            self._detached = True
            return
        self.trace.calls += 1
        self.trace.names.add(call.name)
        if UNFINISHED.search(text):
            call.split = True
            self._pending[call.pid] = (call, UNFINISHED.sub("", text))
            if call.name not in self._skipped:
                self.trace.events.begin(call)
            return
        if call.name in self._skipped:
            self._skip(call, text)
            return
        if self._on_terminal and call.name == "write":
            written = TERMINAL_WRITE.fullmatch(text)
            if written is not None and written[3] is None:
                self._broken = (call, written[1])
                return
            text = f"{written[1]}{written[3]}" if written else text
        self._end(call, text)
        self.trace.events.call(call)

    def _skip(self, call: Call, text: str) -> None:
        if ") " not in text:
            self._refuse(f"{call.name} has no end: the line is cut short", call.line)
        self.trace.has_success = self.trace.has_success or SUCCESS.search(text) is not None
        self.trace.has_failure = self.trace.has_failure or FAILURE.search(text) is not None
        self.trace.skipped[call.name] += 1

    def _resume(self, pid: int, now: int, name: str, text: str) -> None:
        call, begun = self._pending.pop(pid, (None, ""))
        if call is None or call.name != name:
            self._refuse(f"{name} is resumed, and process {pid} has not begun it")
        if UNFINISHED.search(text):
            self._pending[pid] = (call, f"{begun}{UNFINISHED.sub('', text)}")
            return
        if DETACHED.search(text):
            self._detached = True
            return
        if name in self._skipped:
            self._skip(call, text)
            return
        self._end(call, f"{begun}{text}")
        call.end = call.end or now
        self.trace.events.end(call)

    def _end(self, call: Call, text: str) -> None:
        """Takes a call's arguments and what it returned."""
        split = parse_call_arguments(text)
        result = RESULT.fullmatch(text, split[1]) if split else None
        if split is None or result is None:
            self._refuse(
                f"{call.name} has no result: the line is cut short, or not of strace", call.line
            )
        flags = OPEN_FLAGS.get(call.name)
        if flags is not None and split[0][flags : flags + 1] and RAW.fullmatch(split[0][flags]):
            self._refuse("flags without names: the trace was taken with -X raw", call.line)
        call.args = [VERBOSE_WORD.sub(r"\1", arg) for arg in split[0]]
        for wrong in filter(TOO_LARGE.match, call.args):
            self._refuse(
                f"{call.name} has the number {wrong}, which no system call takes: not of strace",
                call.line,
            )
        call.result = None if result[1] == "?" else _parse_result(result[1])
        call.error, call.path = result[3] or "", result[2] or ""
        self.trace.has_success |= call.result is not None and not call.error
        self.trace.has_failure |= call.result is not None and bool(call.error)
        if result[4] and result[4] != "unavailable":
            call.end = call.start + parse_ns(result[4])
            self.trace.timed = True

    def finish(self) -> None:
        """UsageError if a call has no end, and neither its process nor strace ended before."""
        if self._first_foreign and not self._on_terminal:
            self._refuse_foreign(*self._first_foreign)
        if self._pending and not self._detached:
            call, _ = min(self._pending.values(), key=lambda p: p[0].line)
            self._refuse(
                f"the trace is cut short: {call.name} of process {call.pid} is unfinished, and "
                "neither its end nor its process's follows",
                call.line,
            )
        if not self.trace.calls:
            raise UsageError(f"{self.trace.path}: it has no call; {STRACE_HINT}")
