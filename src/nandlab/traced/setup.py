# SPDX-License-Identifier: GPL-2.0-or-later
"""The board's shell commands that load the tracers and start them on a file system.

What they need to know of the file system is in its catalog file, under ``[symbols]``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB
from nandlab.catalog.filesystem import FILE_OPERATIONS, FilesystemModel

FOLDER = "/proc/tracers"
HOOKS_SWITCH = "/proc/sys/kernel/ftrace_enabled"
"""While it is 0, ftrace changes no function of the kernel."""
START_COMMAND, STOP_COMMAND = (f"echo {word} > {FOLDER}/control" for word in ("start", "stop"))
MODULES = {"vfs": "vfsmon", "flash": "flashmon", "func": "funcmon"}
"""Word of the command line -> module and file."""
RECORD_BYTES = 64
RAM_LEFT_MIB = 16
"""RAM that is left to programs and the page cache beside the records, MiB."""


@dataclass(frozen=True)
class TracedPartition:
    """The one MTD partition of several that the tracers look at."""

    mtd: int
    """Its number."""
    has_filesystem: bool
    """Whether the trial's own file system is on it."""


def _make_vfsmon_commands(
    fs: FilesystemModel, mountpoint: str | None, mtd: int | None
) -> list[str]:
    file = f"{FOLDER}/vfsmon"
    chosen = [
        f"echo op {operation} {' '.join(names)} > {file}"
        for operation, names in fs.symbols.items()
        if operation in FILE_OPERATIONS
    ]
    # A mount that is yet to come has no path: the type selects it.
    where = f"mount {mountpoint}" if mountpoint else f"fs {fs.kernel_type}"
    if mtd is not None:
        where = f"mtd {mtd}"
    return [*chosen, f"echo {where} > {file}"]


def _make_funcmon_commands(fs: FilesystemModel, functions: Iterable[str]) -> list[str]:
    file = f"{FOLDER}/funcmon"
    # The first candidate that exists; if none does, the kernel log and status say so.
    causes = [
        " || ".join(f"echo add {name} > {file} 2>/dev/null" for name in names)
        for operation, names in fs.symbols.items()
        if operation not in FILE_OPERATIONS
    ]
    return [*causes, *(f"echo add {name} > {file}" for name in functions)]


def make_tracer_commands(
    fs: FilesystemModel,
    mountpoint: str | None,
    tracers: Iterable[str] = tuple(MODULES),
    functions: Iterable[str] = (),
    records: int = 16384,
    only: TracedPartition | None = None,
) -> list[str]:
    """Loads tracers and starts them; ``mountpoint`` None: before the file system is mounted.

    only: the partition that is traced, of several; None: the mount, and all flash.
    """
    tracer_names = list(tracers)
    unknown = sorted(set(tracer_names) - set(MODULES))
    if unknown or not tracer_names:
        unknown_names = ", ".join(unknown) or "none"
        raise UsageError(f"tracers: {unknown_names}; there are: {', '.join(MODULES)}")
    lines = [
        f"modprobe tracers records={records}",
        *(f"modprobe {MODULES[t]}" for t in tracer_names),
    ]
    if "vfs" in tracer_names:
        elsewhere = only is not None and not only.has_filesystem
        lines += _make_vfsmon_commands(fs, mountpoint, only.mtd if only and elsewhere else None)
    if "flash" in tracer_names and only is not None:
        lines.append(f"echo mtd {only.mtd} > {FOLDER}/flashmon")
    if "func" in tracer_names:
        lines += _make_funcmon_commands(fs, functions)
    return [*lines, START_COMMAND]


def make_hooks_at_once_command(command: str) -> str:
    """A command that starts or stops the tracers, with all their hooks set or removed at once.

    For each hook ftrace walks all functions of the kernel three times, 25 ms on apf27; a start sets
    thirty. With ftrace off, it does so only when it is on again, for all. Where the kernel has no
    switch, or refuses, each hook is set by itself, as without this.
    """
    off, on = (f"{{ echo {word} > {HOOKS_SWITCH}; }} 2> /dev/null" for word in "01")
    return f"{off}; {command}; rc=$?; {on}; (exit $rc)"


def make_tracer_start_lines(
    fs: FilesystemModel,
    mountpoint: str | None,
    tracers: Iterable[str] = tuple(MODULES),
    functions: Iterable[str] = (),
    records: int = 16384,
    only: TracedPartition | None = None,
) -> list[str]:
    """tracer_commands with the calls of MTD, all hooks set at once; then they say what they could
    not do, and fail."""
    tracer_names, function_names = list(tracers), list(functions)
    lines = make_tracer_commands(fs, mountpoint, tracer_names, function_names, records, only)
    # the calls of MTD are a layer of their own
    calls = [f"echo calls on > {FOLDER}/flashmon"] if "flash" in tracer_names else []
    lines = [*lines[:-1], *calls, make_hooks_at_once_command(lines[-1])]
    for name in function_names:
        there = f"grep -q '^function [0-9]* '{shlex.quote(name)}'$' {FOLDER}/names"
        told = f"the kernel has no function {name} that can be traced; it may be inlined"
        lines.append(f"{there} || {{ echo {shlex.quote(told)} >&2; exit 2; }}")
    for monitor in ("vfsmon", "flashmon", "funcmon"):
        if monitor.removesuffix("mon") in tracer_names:
            refused = f"{{ grep '^refused' {FOLDER}/status >&2; exit 1; }}"
            lines.append(f"grep -q '^{monitor} running' {FOLDER}/status || {refused}")
    return lines


def compute_records_max(board: BoardModel) -> int:
    """The most records that a trace may ask for. The tracers take a power of two at once; with more
    the kernel's OOM killer would run before the trace begins."""
    fit = max(0, board.usable_mib - RAM_LEFT_MIB) * MIB // RECORD_BYTES
    return 1 << (fit.bit_length() - 1) if fit else 0


def compute_records_file_bytes_max(records: int) -> int:
    """The most bytes that the file of so many records takes: rounded up, and a header."""
    capacity = 1 << (records - 1).bit_length()
    return (capacity + 1) * RECORD_BYTES
