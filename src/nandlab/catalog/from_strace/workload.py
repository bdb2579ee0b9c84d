# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded load as a workload's file: its words, its parameters, and the load as its config."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace import replayfolder
from nandlab.catalog.from_strace.filecalls import FILE_HANDLERS as FILES
from nandlab.catalog.from_strace.filecalls import WRITTEN_MAPS_REASON
from nandlab.catalog.from_strace.filters import list_filter_doubts, list_unseen_request_doubts
from nandlab.catalog.from_strace.follower import TEXT_BYTES_MAX, CallHandlers, TraceFollower
from nandlab.catalog.from_strace.lines import Trace, read_strace_file
from nandlab.catalog.from_strace.namecalls import NAME_HANDLERS as NAMES
from nandlab.catalog.from_strace.processcalls import DESCRIPTOR_MAKERS, FILELESS_CALLS
from nandlab.catalog.from_strace.processcalls import PROCESS_HANDLERS as PROCESSES
from nandlab.catalog.from_strace.processes import RootPath
from nandlab.catalog.from_strace.recordedload import (
    VERBS_OF_KIND,
    format_seconds,
    make_recorded_load,
)
from nandlab.catalog.from_strace.stamps import Clock

HANDLERS: CallHandlers = {**FILES, **NAMES, **PROCESSES}
NAME_PATTERN = re.compile(r"[A-Za-z0-9][\w.+-]*")
DURABLE = ("write_sync", "fsync", "sync")
WRITES = (
    *("write", "write_sync", "fsync", "sync", "flush", "rename", "link", "unlink", "mkdir"),
    *("rmdir", "resize", "change"),
)
FORKS = ("clone", "clone3", "fork", "vfork")
CONFIG_FILE = "recorded.txt"
COMMAND = (
    f"replay {CONFIG_FILE} {{mountpoint}} --think {{think}} --payload {{payload}} "
    "--compressibility {compressibility} --cache {cache} --seed {seed}"
)
TITLES = {
    "write_sync": "write to O_SYNC files",
    "failed": "calls that fail",
    "flush": "sync_file_range",
    "list": "list a folder",
    "change": "change owner, mode, times",
    "resize": "truncate, allocate",
}


def follow_trace(trace: Trace, folder: RootPath) -> TraceFollower:
    """A trace's calls below a folder."""
    followed = TraceFollower(trace, folder, HANDLERS, DESCRIPTOR_MAKERS)
    followed.run()
    return followed


class TraceWorkload:
    """A trace as a workload."""

    def __init__(self, path: Path, folder: str | None, name: str) -> None:
        """UsageError if the trace cannot be read, or has nothing to replay."""
        self.trace = read_strace_file(path, FILELESS_CALLS)
        self.name = name
        if folder is None:
            where = replayfolder.choose_trace_folder(self.trace, follow_trace(self.trace, ()))
        else:
            where = replayfolder.parse_trace_folder(folder)
        self.followed = follow_trace(self.trace, where)
        self.recorded = make_recorded_load(self.followed)
        self._refuse_nothing(path)

    @property
    def folder(self) -> str:
        return replayfolder.format_trace_folder(self.followed.below)

    def _refuse_nothing(self, path: Path) -> None:
        if not self.followed.replayed_calls:
            raise UsageError(
                f"{path}: no call of the trace is below {self.folder}; without --below, the "
                "folders that it uses are told",
                *(f"{path}: {doubt}" for doubt in list_filter_doubts(self.trace, self.followed)),
            )
        if not self.followed.fits or len(self.recorded.text) > TEXT_BYTES_MAX:
            raise UsageError(
                f"{path}: {self.followed.replayed_calls:,} calls take more than "
                f"{TEXT_BYTES_MAX:,} bytes, the room in a board's job: take a part of the trace, "
                "from its first line on"
            )

    def doubts(self) -> list[str]:
        """What the replay does not have of the trace, a sentence each."""
        doubts = [f"{count:,} x {why}" for why, count in self.recorded.left_out.items()]
        doubts += self._time_doubts()
        if self.trace.foreign:
            doubts.append(
                f"{self.trace.foreign:,} lines are no line of strace but the program's own output"
            )
        if not self.trace.has_process_ids and not self.followed.called.isdisjoint(FORKS):
            doubts.append("its children and threads were not recorded: record with -f")
        if not self.trace.timed:
            doubts.append("calls have no time of their own (strace -T): think time has it in it")
        doubts += list_filter_doubts(self.trace, self.followed)
        doubts += list_unseen_request_doubts(self.followed)
        doubts += self._place_doubts()
        if len(self.trace.processes) > 1:
            doubts.append(
                f"{len(self.trace.processes)} processes and threads are replayed by one, in the "
                "order of their calls' starts"
            )
        if self.followed.adopted:
            doubts.append(
                f"{len(self.followed.adopted)} files were open before the trace: their flags are "
                "guessed, and their positions begin at 0"
            )
        return doubts

    def _time_doubts(self) -> list[str]:
        """What the form of the trace's times leaves open."""
        if self.trace.clock is Clock.SECONDS:
            return ["times are whole seconds (strace -t): so is the time between calls"]
        return []

    def _place_doubts(self) -> list[str]:
        """Calls by relative paths, which may be below the replayed folder too."""
        unplaced = self.followed.unplaced
        if not unplaced:
            return []
        most = replayfolder.format_trace_folder(unplaced.most_common(1)[0][0])
        return [
            f"{unplaced.total():,} calls are by relative paths and count as elsewhere: where the "
            f"program began is not in the trace; replay them by --below {most}, or record with -y"
        ]

    def text(self) -> str:
        """The workload's file."""
        told = (
            line.encode("unicode_escape").decode() for line in self._head()
        )  # TOML takes no other
        head = "\n".join(f"# {line}" if line else "#" for line in told)
        load = f"# {self.folder} of the device is the folder of the replay\n{self.recorded.text}"
        return f"{head}\n\n{self._keys()}\nconfig = '''\n{load}'''\n"

    def _head(self) -> list[str]:
        r, t = self.recorded, self.trace
        counts = ", ".join(f"{n:,} {kind}" for kind, n in r.kinds.items() if n)
        return [
            "The calls of a program, recorded by strace and replayed; docs/replay.md explains it.",
            f"Made by: nandlab workload from-strace {t.path.name!a} --below {self.folder}",
            "",
            f"The trace: {t.lines:,} lines, {t.calls:,} calls, {t.signals:,} signals, "
            f"{len(t.processes)} processes, {format_seconds(t.end - t.begin)}.",
            f"Replayed: {self.followed.replayed_calls:,} calls in {format_seconds(r.span_ns)}, "
            f"of which "
            f"{format_seconds(r.think_ns)} lie between calls: {counts}.",
            f"Bytes: {r.read:,} read, {r.written:,} written.",
            f"Made before: {r.prepared:,} files, folders and links, {r.prepared_bytes:,} bytes.",
            f"Left out as they are elsewhere: {self.followed.elsewhere:,} calls; as they are about "
            f"no file: {t.skipped.total():,}.",
            "",
            "What the replay has not, or has otherwise:",
            *(f"- {doubt}" for doubt in self.doubts() or ["nothing"]),
        ]

    def summary(self) -> str:
        lost = [f"{n:,} x {why}" for why, n in self.recorded.left_out.items()]
        told = f"; not as recorded: {', '.join(lost)}" if lost else ""
        return (
            f"Recorded by strace: {self.followed.replayed_calls:,} calls below {self.folder} "
            f"in {format_seconds(self.recorded.span_ns)}{told}"
        )

    def _written(self) -> str:
        syncs = sum(self.recorded.kinds[kind] for kind in DURABLE)
        return f"written = {{ bytes = {self.recorded.written}, syncs = {syncs} }}"

    def _keys(self) -> str:
        fsyncs = self.recorded.kinds["fsync"]
        figures = [
            *FIGURES,
            *(
                ['figures.fsync_p99 = { title = "p99 of fsync", unit = "time", better = "less" }']
                if fsyncs
                else []
            ),
        ]
        operations = [
            _format_operation(kind) for kind in VERBS_OF_KIND if self.recorded.kinds[kind]
        ]
        return "\n".join(
            [
                f"name = {_quote_toml(self.name)}",
                f"summary = {_quote_toml(self.summary())}",
                'programs = ["replay"]',
                f"command = {_quote_toml(COMMAND)}",
                f'config_file = "{CONFIG_FILE}"',
                "phases = [",
                '    { name = "prepare", title = "prepare", timed = false },',
                '    { name = "replay", title = "replay" },',
                "]",
                "operations = [",
                *operations,
                "]",
                self._written(),
                f"before = {{ bytes = {self.recorded.prepared_bytes} }}",
                *([NEEDS_MAPS] if self.recorded.left_out.get(WRITTEN_MAPS_REASON) else []),
                "",
                HEADLINE,
                *figures,
                "",
                *PARAMETERS,
            ]
        )


NEEDS_MAPS = """needs = [
    { not_differs = "shared_writable_maps", why = "the program writes files through shared maps, \
which this file system refuses, and the replay has none of them", cure = "leave the file system \
out, or record the program without such maps (SQLite: PRAGMA locking_mode = EXCLUSIVE, or another \
journal than WAL)" },
]"""
HEADLINE = (
    'headline = { figure = "phase.replay", noun = "time of the replay, without think time", '
    'best = "finishes the recorded calls first", told = "the recorded calls take {v}" }'
)
FIGURES = (
    'figures.think = { title = "time between calls", short = "think", unit = "time" }',
    'figures.prepared = { title = "files made before", short = "prepared", unit = "count" }',
    'figures.unlike = { title = "calls that returned otherwise", short = "unlike", '
    'unit = "count", better = "less" }',
)
PARAMETERS = (
    'parameters.think = { default = 1.0, min = 0, max = 1000, help = "What the time between '
    'calls is multiplied by: 1 as it was recorded, 0 none; no time has it." }',
    'parameters.payload = { default = "random", one_of = ["random", "postmark"], help = "Values '
    'of the bytes written, which no trace has: all 256, or those of Postmark." }',
    'parameters.compressibility = { default = 0.0, min = 0.0, max = 1.0, help = "Share of the '
    'data that a compressor can take out; 0: none." }',
    'parameters.cache = { default = "cold", one_of = ["cold", "warm"], help = "cold: the kernel '
    'forgets what it cached of the files made before; warm: it keeps what it has." }',
)


def _format_operation(kind: str) -> str:
    title = f", title = {_quote_toml(TITLES[kind])}" if kind in TITLES else ""
    writes = ", writes = true" if kind in WRITES else ""
    durable = ", durable = true" if kind in DURABLE else ""
    return f'    {{ name = "{kind}"{title}{writes}{durable} }},'


def _quote_toml(text: str) -> str:
    return json.dumps(text)


def make_workload_name(path: Path) -> str:
    """A workload's name of a trace's file name."""
    stem = path.name.partition(".")[0]
    found = re.sub(r"[^A-Za-z0-9_+-]+", "-", stem).strip("-_+")
    return found or "recorded"
