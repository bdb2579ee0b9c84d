# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces made up for tests: nested events whose own times are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nandlab.traced import records
from nandlab.traced.records import HEADER, RECORD, EventType, Recording


@dataclass
class Event:
    """An event with what lies in it; ``own_ns`` is its time without that."""

    type: EventType
    own_ns: int = 0
    inside: list[Event] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


def ev(kind: EventType, own_ns: int = 0, *inside: Event, **fields: Any) -> Event:
    return Event(kind, own_ns, list(inside), fields)


def function(number: int) -> Callable[..., Event]:
    def made(own_ns: int, *inside: Event) -> Event:
        return ev(EventType.FUNC, own_ns, *inside, object=number)

    return made


GC, FLUSH, ERASE, ANYTHING = (function(n) for n in range(4))


def page_read(ns: int = 25, **fields: Any) -> Event:
    return ev(EventType.FLASH_READ, ns, size=2048, **fields)


def program(ns: int = 220) -> Event:
    return ev(EventType.FLASH_PROGRAM, ns, size=2048)


@dataclass
class Made:
    """Tasks' events, one after the other; ``parents`` by number are what a tree must find."""

    now: int = 1_000_000
    seq: int = 0
    written: list[dict[str, Any]] = field(default_factory=list)
    parents: dict[int, int] = field(default_factory=dict)

    def task(self, pid: int, *events: Event, number: int | None = None) -> Made:
        for event in events:
            self._event(pid, pid if number is None else number, event, 0)
        return self

    def _event(self, pid: int, task: int, event: Event, parent: int) -> None:
        self.seq += 1
        seq, start = self.seq, self.now
        self.parents[seq] = parent
        self.now += event.own_ns // 2
        for one in event.inside:
            self._event(pid, task, one, seq)
        self.now += event.own_ns - event.own_ns // 2
        record = {"seq": seq, "start_ns": start, "latency_ns": self.now - start}
        self.written.append(record | {"type": event.type, "pid": pid, "task": task} | event.fields)

    def array(self) -> np.ndarray[Any, Any]:
        """As a board writes them: in the order of their ends."""
        made = np.zeros(len(self.written), RECORD)
        for i, record in enumerate(self.written):
            for key, value in record.items():
                made[i][key] = value
        return made

    def file(self) -> bytes:
        """As /proc/tracers/records gives them."""
        head = np.zeros(1, HEADER)
        head["magic"], head["version"] = records.MAGIC, records.VERSION
        head["record_bytes"], head["type"] = records.RECORD_BYTES, records.HEADER_TYPE
        head["written"] = len(self.written)
        return head.tobytes() + self.array().tobytes()

    def recording(self) -> Recording:
        return records.decode_trace_records(self.file())


@dataclass
class Processor:
    """Several tasks on one processor: one runs until it sleeps; then another, or none."""

    now: int = 1_000_000
    seq: int = 0
    running: int | None = None
    stacks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    passed: list[tuple[int | None, int]] = field(default_factory=list)
    """Who had the processor for how many ns, in order."""

    def wake(self, pid: int) -> Processor:
        """A task gets the processor; the first time it has an instant there."""
        assert self.running is None
        self.running = pid
        if pid in self.stacks:
            return self.end()
        self.stacks[pid] = []
        return self.instant("PC_HIT")

    def sleep(self) -> Processor:
        """The task gives the processor away."""
        self.begin("FUNC", text="schedule")
        self.running = None
        return self

    def run(self, ns: int) -> Processor:
        """Time passes."""
        self.now += ns
        self.passed.append((self.running, ns))
        return self

    def begin(self, event: str, **fields: Any) -> Processor:
        assert self.running is not None
        row = self._row(event, **fields)
        self.stacks[self.running].append(row)
        return self

    def end(self) -> Processor:
        assert self.running is not None
        row = self.stacks[self.running].pop()
        row["latency_ns"] = self.now - row["start_ns"]
        return self

    def instant(self, event: str, **fields: Any) -> Processor:
        self._row(event, **fields)
        return self

    def _row(self, event: str, **fields: Any) -> dict[str, Any]:
        self.seq += 1
        stack = self.stacks[self.running]  # type: ignore[index]
        row = {
            "seq": self.seq,
            "parent": stack[-1]["seq"] if stack else 0,
            "start_ns": self.now,
            "latency_ns": 0,
            "pid": self.running,
            "event": event,
            "text": "",
            "cause": "",
        }
        self.rows.append(row | fields)
        return self.rows[-1]
