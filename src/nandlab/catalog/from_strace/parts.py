# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace in parts, a file for each process or thread, as ``strace -ff -o FILE`` writes it."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.stamps import Clock, StampedLine, StampReader, is_stack_line

PART_NUMBER = re.compile(r"\.(\d{1,10})$")


def list_trace_parts(path: Path) -> list[Path]:
    """The parts ``PATH.NUMBER`` of a trace; none if the file itself is there."""
    if path.exists() or not path.name or not path.parent.is_dir():
        return []
    named = (p for p in path.parent.iterdir() if p.name.startswith(f"{path.name}."))
    return sorted(p for p in named if PART_NUMBER.fullmatch(p.name[len(path.name) :]))


def merge_trace_parts(
    parts: list[Path], read_texts: Callable[[Path], Iterator[str]]
) -> Iterator[StampedLine]:
    """The lines of all parts by their times."""
    return heapq.merge(*(_read_part(p, read_texts) for p in parts), key=lambda line: line.ns)


def _read_part(path: Path, read_texts: Callable[[Path], Iterator[str]]) -> Iterator[StampedLine]:
    number = PART_NUMBER.search(path.name)
    assert number is not None
    stamps = StampReader()
    for line, text in enumerate(read_texts(path), 1):
        if is_stack_line(text):
            continue
        stamped = stamps.read(text)
        if stamped is None or stamped.pid is not None:
            raise UsageError(f"{path}:{line}: no line of a part that strace -ff -ttt wrote")
        clock = stamps.clock or Clock.EPOCH
        if clock in (Clock.RELATIVE, Clock.SECONDS) or stamps.is_past_midnight:
            raise UsageError(
                f"{path}:{line}: times as {clock.value} has them leave the order of the "
                "parts' lines open; record with -ttt"
            )
        yield replace(stamped, pid=int(number[1]))
