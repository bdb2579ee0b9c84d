# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace for Perfetto's timeline (https://ui.perfetto.dev reads it, also offline).

Each task has a track of its own with all its intervals nested. Beside them each layer has a group
of tracks, one for each task that was in it, for intervals of several tasks may overlap; the chip
does one thing at a time and is one track.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from nandlab.traced.records import EventType, Names, Recording
from nandlab.traced.tree import NONE, Tree

SEQUENCE = 1
GROUPS = ("VFS", "page cache", "file system", "garbage collector", "MTD", "flash")
FLASH = GROUPS.index("flash")
COLLECTOR = GROUPS.index("garbage collector")
COLLECTING = ("garbage_collection", "wear_leveling")
TASKS_UUID = 1 << 20
LAYERS_UUID = 1 << 24
NO_GROUP = -1
NOTES = ("object", "offset", "size", "result", "extra")
"""What a slice tells beside its name."""
BEGIN, END, INSTANT = (
    TrackEvent.TYPE_SLICE_BEGIN,
    TrackEvent.TYPE_SLICE_END,
    TrackEvent.TYPE_INSTANT,
)
MARK, HIT = int(EventType.MARK), int(EventType.FLASH_HIT)

_GROUP_OF = np.full(256, NO_GROUP)
_GROUP_OF[EventType.VFS_OPEN : EventType.PC_HIT] = 0
_GROUP_OF[EventType.PC_HIT : EventType.FS_READAHEAD] = 1
_GROUP_OF[EventType.FS_READAHEAD : EventType.FLASH_READ] = 2
_GROUP_OF[EventType.MTD_READ : EventType.FUNC] = 4
_GROUP_OF[EventType.FLASH_READ : EventType.MTD_READ] = FLASH


def write_perfetto_timeline(
    recording: Recording, names: Names, tree: Tree, paths: Mapping[int, str], to: Path
) -> int:
    """Writes the file; returns how many slices and instants it has."""
    with to.open("wb") as out:
        writer = _Writer(StreamingTraceProtoBuilder(out), names, paths)
        return writer.all(recording, tree)


def _make_signed(column: NDArray[Any]) -> NDArray[Any]:
    """As Perfetto's integers can hold it: a column of 64 bits loses its highest bit."""
    return column & np.uint64(2**63 - 1) if column.dtype.itemsize == 8 else column


class _Writer:
    def __init__(
        self, builder: StreamingTraceProtoBuilder, names: Names, paths: Mapping[int, str]
    ) -> None:
        self.builder = builder
        self.names = names
        self.paths = paths
        self.declared: set[int] = set()
        self.written = 0
        # filled anew for each event: to make a message costs more than to write it
        self.bare, self.noted, self.end = (self._packet(1) for _ in range(3))
        self.end.track_event.type = END
        for name in NOTES:
            self.noted.track_event.debug_annotations.add().name = name

    def all(self, recording: Recording, tree: Tree) -> int:
        packet = self._packet(0)
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self.builder.write_packet(packet)
        for n, group in enumerate(GROUPS):
            self._track(LAYERS_UUID + (n << 32), group)
        r = recording.records
        labels, groups = self._labels(r, tree), self._groups(r, tree)
        columns = (r[k].tolist() for k in ("pid", "task", "type", "start_ns", "latency_ns"))
        rows = list(zip(*columns, tree.parent.tolist(), strict=True))
        notes = list(zip(*(_make_signed(r[k]).tolist() for k in NOTES), strict=True))
        opened: dict[int, list[tuple[int, int]]] = {}
        for i, (pid, task, kind, start, latency, around) in enumerate(rows):
            parent = around
            while parent != NONE and not rows[parent][4]:
                parent = rows[parent][5]  # an instant is no slice to lie in
            stack = opened.setdefault(pid, [])
            while stack and stack[-1][0] != parent:
                self._close(rows, groups, stack.pop())
            tracks = self._tracks(pid, task, groups[i])
            shown = INSTANT if not latency or kind == HIT else BEGIN
            self._event(tracks, start, shown, labels[i], () if kind == MARK else notes[i])
            if latency:
                stack.append((i, start + latency))
        for stack in opened.values():
            while stack:
                self._close(rows, groups, stack.pop())
        return self.written

    def _close(self, rows: list[Any], groups: list[int], top: tuple[int, int]) -> None:
        i, self.end.timestamp = top
        for track in self._tracks(rows[i][0], rows[i][1], groups[i]):
            self.end.track_event.track_uuid = track
            self.builder.write_packet(self.end)

    def _event(
        self, tracks: list[int], start: int, event_type: int, label: str, notes: Sequence[int]
    ) -> None:
        packet = self.noted if notes else self.bare
        event = packet.track_event
        packet.timestamp, event.type, event.name = start, event_type, label
        for note, value in zip(event.debug_annotations, notes, strict=True):
            note.int_value = value
        for track in tracks:
            event.track_uuid = track
            self.builder.write_packet(packet)
            self.written += 1

    def _tracks(self, pid: int, task: int, group: int) -> list[int]:
        """The task's own track, and that of the layer; a new one is declared to Perfetto."""
        task_track = TASKS_UUID + pid
        if task_track not in self.declared:
            self._thread(task_track, pid, task)
        if group == NO_GROUP:
            return [task_track]
        if group == FLASH:
            return [task_track, LAYERS_UUID + (FLASH << 32)]
        track = LAYERS_UUID + (group << 32) + 1 + pid
        if track not in self.declared:
            self._track(track, self.names.task(task), LAYERS_UUID + (group << 32))
        return [task_track, track]

    def _thread(self, uuid: int, pid: int, task: int) -> None:
        packet = self._packet(0)
        packet.track_descriptor.uuid = uuid
        thread = packet.track_descriptor.thread
        thread.pid = thread.tid = pid
        thread.thread_name = self.names.task(task)
        self.declared.add(uuid)
        self.builder.write_packet(packet)

    def _track(self, uuid: int, name: str, parent: int = 0) -> None:
        packet = self._packet(0)
        packet.track_descriptor.uuid, packet.track_descriptor.name = uuid, name
        if parent:
            packet.track_descriptor.parent_uuid = parent
        self.declared.add(uuid)
        self.builder.write_packet(packet)

    def _packet(self, time_ns: int) -> Any:
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        if time_ns:
            packet.timestamp = time_ns
        return packet

    def _groups(self, records: Any, tree: Tree) -> list[int]:
        """The group of each record; functions are the file system's or its collector's."""
        groups = _GROUP_OF[records["type"]]
        function = records["type"] == EventType.FUNC
        groups[function & (tree.layer == 1)] = 2
        collects = [
            n for n, f in self.names.functions.items() if f in tree.list_functions(COLLECTING)
        ]
        groups[function & np.isin(records["object"], collects)] = COLLECTOR
        found: list[int] = groups.tolist()
        return found

    def _labels(self, records: Any, tree: Tree) -> list[str]:
        kinds = {t.value: t.name.lower() for t in EventType}
        labels = []
        fields = (records[k].tolist() for k in ("type", "object", "text", "extra"))
        for kind, number, text, extra in zip(*fields, strict=True):
            label = kinds[kind]
            if kind == EventType.MARK:
                label = text.decode(errors="replace")
            elif kind == EventType.FUNC:
                label = self.names.functions.get(number, label)
            elif kind == EventType.FLASH_ERASE:
                label = f"erase block {extra}"
            elif EventType.FLASH_READ <= kind <= EventType.FLASH_HIT:
                label = f"{label.removeprefix('flash_')} page {number}"
            elif kind < EventType.PC_HIT and number in self.paths:
                label = f"{label} {self.paths[number]}"
            labels.append(label)
        return labels


def read_perfetto_timeline(path: Path) -> Trace:
    """Reads the file back with Perfetto's own classes."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace
