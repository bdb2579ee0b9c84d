# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that others took of a real board: a reader for each kind of file, all of one form.

A folder has one load's traces: a subfolder for each tracer, in it a CSV file for each run, with
semicolons and no quotes. Lines that begin with ``#`` are heads. Each tracer is taken to have run in
a run of its own, so no time of one is set beside a time of another. Stamps come in steps of
:data:`STEP_S`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from nandlab.base.errors import UsageError
from nandlab.base.gate import TEXT_BYTES_MAX, read_text

STEP_S = 1 / 32768
"""Stamps of the kernel's tracers come in steps of a 32 kHz clock."""
SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
FILE_BYTES_MOST = 1 << 32
"""No file on such a chip is longer: a larger offset is damage."""
SHOWN = 40
"""Characters of a wrong text that a message has."""


class _WrongRowError(Exception):
    """What a row has that its form has not."""


@dataclass(frozen=True, slots=True)
class SystemCall:
    """open, read, write or close, as strace saw it."""

    start_s: float
    """Since 1970, in steps of 10 ms: order, no measure."""
    call: str
    file: str
    elapsed_s: float
    offset: int = 0
    """Of a read or write, in bytes."""
    size: int = 0
    """Bytes that a read or write moved."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function of the kernel."""

    start_s: float
    end_s: float
    function: str


@dataclass(frozen=True, slots=True)
class FlashStart:
    """The start of an operation of the chip; when it ended is not told."""

    start_s: float
    kind: str
    """R: a page is read, W: a page is written, E: a block is erased."""
    number: int
    """Of the page, or of the block that is erased, from the chip's begin."""
    task: str
    """Name of the process that ran."""


Row = SystemCall | FunctionCall | FlashStart
T = TypeVar("T", SystemCall, FunctionCall, FlashStart)


@dataclass(frozen=True)
class TraceForm(Generic[T]):
    """A kind of file."""

    folder: str
    columns: str
    """As a message tells them."""
    row: Callable[[Sequence[str]], T]
    """From a line's fields; ``_WrongRowError`` tells what is wrong with them."""


@dataclass(frozen=True)
class TraceRun(Generic[T]):
    """One file, one run of the load."""

    name: str
    rows: tuple[T, ...]


@dataclass(frozen=True)
class BoardTraces:
    """All that a folder has of one load; the runs of each kind in the order of their names."""

    name: str
    calls: tuple[TraceRun[SystemCall], ...]
    functions: tuple[TraceRun[FunctionCall], ...]
    flash: tuple[TraceRun[FlashStart], ...]


def _parse_seconds(text: str) -> float:
    if not SECONDS.fullmatch(text):
        raise _WrongRowError(f"{text[:SHOWN]!r} is no time in seconds")
    return float(text)


def _parse_whole(text: str, least: int = 0) -> int:
    if not WHOLE_NUMBER.fullmatch(text) or int(text) < least:
        raise _WrongRowError(f"{text[:SHOWN]!r} is no whole number from {least}")
    return int(text)


def _check_field_count(fields: Sequence[str], count: int) -> Sequence[str]:
    if len(fields) != count:
        raise _WrongRowError(f"{len(fields)} columns where {count} were expected")
    if not all(fields):
        raise _WrongRowError("a column is empty")
    return fields


CALL_COLUMNS = {"open": 8, "read": 7, "write": 7, "close": 5}
"""System call -> columns of its line: an open has three flags, a close neither offset nor size."""


def _parse_system_call(fields: Sequence[str]) -> SystemCall:
    call = _check_field_count(fields, max(len(fields), min(CALL_COLUMNS.values())))[1]
    if call not in CALL_COLUMNS:
        raise _WrongRowError(f"{call[:SHOWN]!r} is none of {', '.join(CALL_COLUMNS)}")
    start, _, descriptor, *numbers, file, elapsed = _check_field_count(fields, CALL_COLUMNS[call])
    _parse_whole(descriptor, -1)
    told = [_parse_whole(number) for number in numbers]
    moved = told if call in {"read", "write"} else (0, 0)
    if sum(moved) > FILE_BYTES_MOST:
        raise _WrongRowError(f"byte {sum(moved)} of a file is beyond any chip")
    return SystemCall(_parse_seconds(start), call, file, _parse_seconds(elapsed), *moved)


def _parse_function_call(fields: Sequence[str]) -> FunctionCall:
    start, end, duration, function, pid = _check_field_count(fields, 5)
    _parse_seconds(duration)
    _parse_whole(pid)
    found = FunctionCall(_parse_seconds(start), _parse_seconds(end), function)
    if found.end_s < found.start_s:
        raise _WrongRowError("the call ends before it starts")
    return found


def _parse_flash_start(fields: Sequence[str]) -> FlashStart:
    start, kind, number, task = _check_field_count(fields, 4)
    if kind not in {"R", "W", "E"}:
        raise _WrongRowError(f"{kind[:SHOWN]!r} is none of R, W, E")
    return FlashStart(_parse_seconds(start), kind, _parse_whole(number), task)


SYSCALLS = TraceForm("syscalls", "epoch_s;call;fd;offset;size;file;elapsed_s", _parse_system_call)
FFS_TRACER = TraceForm("ffs_tracer", "start_s;end_s;duration_s;function;pid", _parse_function_call)
FLASHMON = TraceForm("flashmon", "time_s;R|W|E;page;task", _parse_flash_start)
FOLDERS = tuple(form.folder for form in (SYSCALLS, FFS_TRACER, FLASHMON))


def read_board_trace_file(path: Path, form: TraceForm[T]) -> TraceRun[T]:
    """One file. UsageError, with its line, if it has other columns, a text that is no number, or
    times that go backwards; and if it has no row."""
    text = read_text(path, TEXT_BYTES_MAX)
    rows: list[T] = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.rstrip("\r").split(";")
        if fields == [""] or line.startswith("#"):
            continue
        try:
            row = form.row(fields)
            if rows and row.start_s < rows[-1].start_s:
                raise _WrongRowError("the time is before that of the row above")
        except _WrongRowError as e:
            raise UsageError(f"{path} line {number}: {e}: expected {form.columns}") from None
        rows.append(row)
    if not rows:
        raise UsageError(f"{path}: no row: take it out of the folder, or trace the run again")
    return TraceRun(path.name, tuple(rows))


def _sort_by_number(path: Path) -> list[tuple[int, str]]:
    """So that a run 10 comes after 9."""
    return [(int(word), "") if word.isdecimal() else (0, word) for word in _split_name(path.name)]


def _split_name(name: str) -> list[str]:
    return re.findall(r"[0-9]{1,18}|[^0-9]+", name, re.ASCII)


def _read_runs(folder: Path, form: TraceForm[T]) -> tuple[TraceRun[T], ...]:
    within = folder / form.folder
    if not within.is_dir():
        raise UsageError(
            f"{folder}: no folder {form.folder}: a board's traces are in {', '.join(FOLDERS)}"
        )
    files = sorted((f for f in within.glob("*.csv") if f.is_file()), key=_sort_by_number)
    if not files:
        raise UsageError(f"{within}: no CSV file: one for each run, of rows {form.columns}")
    return tuple(read_board_trace_file(file, form) for file in files)


def _is_load_folder(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in FOLDERS)


def read_board_traces_of_loads(folder: Path) -> list[BoardTraces]:
    """Each load's traces: of a load's own folder, or of all such folders in it; UsageError if there
    are none, or if one lacks a kind."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder: give one with {', '.join(FOLDERS)} in it")
    load_folders = (
        [folder]
        if _is_load_folder(folder)
        else sorted(f for f in folder.iterdir() if _is_load_folder(f))
    )
    if not load_folders:
        raise UsageError(f"{folder}: no board's traces: those are in {', '.join(FOLDERS)}")
    return [
        BoardTraces(
            f.name, _read_runs(f, SYSCALLS), _read_runs(f, FFS_TRACER), _read_runs(f, FLASHMON)
        )
        for f in load_folders
    ]
