# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a trace: what ``strace -f -ttt -o FILE`` writes, to calls in their order.

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
from nandlab.strace.events import Call, EventFile
from nandlab.strace.words import parse_call_arguments

LINE = re.compile(
    r"(?:(\d{1,10})(?:<[^>]*>)?|\[pid +(\d{1,10})(?:<[^>]*>)?\]) +"
    r"(\d{9,12}\.\d{3,9}) (?:\[[^\]]*\] )*(.*)"
)
"""A process, a time since 1970, and what it did."""
UNNUMBERED_LINE = re.compile(r"\d{9,12}\.\d{3,9} (.*)")
"""The same without a process."""
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
ATTACHED = re.compile(r"strace: Process \d+ (attached|detached).*")
NS_PER_S = 1_000_000_000
LETTERS_SHOWN = 60
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
    """ns since 1970: of the first and the last line."""


def read_strace_file(path: Path, skipped: frozenset[str]) -> Trace:
    """A file as a trace; calls that are named in ``skipped`` are only counted."""
    reader = _TraceReader(Trace(path), skipped)
    for text in _read_texts(path):
        reader.take(text)
    reader.finish()
    return reader.trace


def _read_texts(path: Path) -> Iterator[str]:
    """The lines; each character is a byte. UsageError if the file is no text, or was cut."""
    number, line = 0, b"\n"
    for number, line in enumerate(read_lines(path, TEXT_BYTES_MAX), 1):
        if b"\0" in line:
            raise UsageError(
                f"{path}:{number}: a byte that is no text: this is no output of strace"
            )
        if line.endswith(b"\n"):
            yield line[:-1].decode("latin-1")
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


def _parse_ns(time: str) -> int:
    seconds, _, part = time.partition(".")
    return int(seconds) * NS_PER_S + int(part.ljust(9, "0")[:9])


class _TraceReader:
    """Takes a trace's lines one by one."""

    def __init__(self, trace: Trace, skipped: frozenset[str]) -> None:
        self.trace = trace
        self._skipped = skipped
        self._pending: dict[int, tuple[Call, str]] = {}
        self._detached = False
        """strace let go of the processes, which went on: their last calls have no end."""

    def _refuse(self, what: str, line: int | None = None) -> NoReturn:
        raise UsageError(f"{self.trace.path}:{line or self.trace.lines}: {what}")

    def take(self, text: str) -> None:
        self.trace.lines += 1
        found = LINE.fullmatch(text)
        if found is None:
            self._other(text)
            return
        pid, now, rest = int(found[1] or found[2]), _parse_ns(found[3]), found[4]
        self.trace.processes.add(pid)
        self.trace.begin = self.trace.begin or now
        self.trace.end = max(now, self.trace.end)
        if call := CALL.fullmatch(rest):
            self._call(Call(pid, call[1], self.trace.lines, now), call[2])
        elif resumed := RESUMED.fullmatch(rest):
            self._resume(pid, now, resumed[1], resumed[2])
        else:
            self._event(pid, now, rest)

    def _other(self, text: str) -> None:
        """A line that has no process or no time."""
        if attached := ATTACHED.fullmatch(text):
            self._detached |= attached[1] == "detached"
            return
        if not text.strip():
            return
        if (alone := UNNUMBERED_LINE.fullmatch(text)) and EVENT_PATTERN.fullmatch(alone[1]):
            self._refuse(
                f"it names no process: the trace was taken without -f, or without -o; {STRACE_HINT}"
            )
        if EVENT_PATTERN.fullmatch(text):
            self._refuse(f"it has no time in seconds since 1970, as -ttt gives it; {STRACE_HINT}")
        shown = text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}..."
        self._refuse(f"no line of strace: {shown!a}; {STRACE_HINT}")

    def _event(self, pid: int, now: int, rest: str) -> None:
        if rest.startswith("--- ") and rest.endswith(" ---"):
            self.trace.signals += 1
        elif superseded := SUPERSEDED.fullmatch(rest):
            by = int(superseded[1])
            self._pending.pop(pid, None)
            if by in self._pending:
                self._pending[pid] = self._pending.pop(by)
                self._pending[pid][0].pid = pid
            self.trace.events.supersede(pid, by)
        elif rest.startswith("+++ ") and rest.endswith(" +++"):
            self._pending.pop(pid, None)
            self.trace.events.exit(pid, now)
        else:
            self._refuse(f"no call, signal or exit: {rest[:LETTERS_SHOWN]!a}")

    def _call(self, call: Call, rest: str) -> None:
        if call.pid in self._pending:
            other = self._pending[call.pid][0]
            self._refuse(f"{call.name} begins before {other.name} of line {other.line} has ended")
        if DETACHED.search(rest):
            self._detached = True
            return
        self.trace.calls += 1
        if UNFINISHED.search(rest):
            call.split = True
            self._pending[call.pid] = (call, UNFINISHED.sub("", rest))
            if call.name not in self._skipped:
                self.trace.events.begin(call)
            return
        if call.name in self._skipped:
            self._skip(call, rest)
            return
        self._end(call, rest)
        self.trace.events.call(call)

    def _skip(self, call: Call, rest: str) -> None:
        if ") " not in rest:
            self._refuse(f"{call.name} has no end: the line is cut short", call.line)
        self.trace.skipped[call.name] += 1

    def _resume(self, pid: int, now: int, name: str, rest: str) -> None:
        call, begun = self._pending.pop(pid, (None, ""))
        if call is None or call.name != name:
            self._refuse(f"{name} is resumed, and process {pid} has not begun it")
        if UNFINISHED.search(rest):
            self._pending[pid] = (call, f"{begun}{UNFINISHED.sub('', rest)}")
            return
        if DETACHED.search(rest):
            self._detached = True
            return
        if name in self._skipped:
            self._skip(call, rest)
            return
        self._end(call, f"{begun}{rest}")
        call.end = call.end or now
        self.trace.events.end(call)

    def _end(self, call: Call, text: str) -> None:
        """Takes a call's arguments and what it returned."""
        split = parse_call_arguments(text)
        told = RESULT.fullmatch(text, split[1]) if split else None
        if split is None or told is None:
            self._refuse(
                f"{call.name} has no result: the line is cut short, or not of strace", call.line
            )
        call.args = split[0]
        for wrong in filter(TOO_LARGE.match, call.args):
            self._refuse(
                f"{call.name} has the number {wrong}, which no system call takes: not of strace",
                call.line,
            )
        call.result = None if told[1] == "?" else _parse_result(told[1])
        call.error, call.path = told[3] or "", told[2] or ""
        if told[4] and told[4] != "unavailable":
            call.end = call.start + _parse_ns(told[4])
            self.trace.timed = True

    def finish(self) -> None:
        """UsageError if a call has no end, and neither its process nor strace ended before."""
        if self._pending and not self._detached:
            call, _ = min(self._pending.values(), key=lambda p: p[0].line)
            self._refuse(
                f"the trace is cut short: {call.name} of process {call.pid} is unfinished, and "
                "neither its end nor its process's follows",
                call.line,
            )
        if not self.trace.calls:
            raise UsageError(f"{self.trace.path}: it has no call; {STRACE_HINT}")
