# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder that is replayed: the one given, or the only one that the trace can mean."""

from __future__ import annotations

from collections import Counter

from nandlab.base.errors import UsageError
from nandlab.catalog.from_strace.follower import TraceFollower, resolve_path
from nandlab.catalog.from_strace.lines import Trace
from nandlab.catalog.from_strace.processes import UNKNOWN_ROOT, RootPath

PSEUDO = (b"dev", b"proc", b"sys")
"""Folders of the root that are no files of a disk."""
PROGRAMS = (*PSEUDO, b"bin", b"etc", b"lib", b"lib64", b"sbin", b"usr", b"run", b"home", b"root")
"""Folders of the root that programs read for themselves."""
TOLD_MAX = 8


def parse_trace_folder(text: str) -> RootPath:
    """A folder as the user wrote it, as paths of the trace are."""
    if not text:
        raise UsageError("--below '': give a folder, / for all of them, or leave --below out")
    found = resolve_path(text.encode(errors="surrogateescape"))
    if found is None:
        raise UsageError(f"--below {text}: leads out of where the trace began")
    return found


def format_trace_folder(folder: RootPath) -> str:
    """A folder as a user writes it."""
    text = b"/".join(folder).decode(errors="backslashreplace")
    return text if folder[:1] == UNKNOWN_ROOT else f"/{text}"


def choose_trace_folder(trace: Trace, follower: TraceFollower) -> RootPath:
    """The folder below which the trace changes files, or uses any; UsageError lists several.

    ``seen``: the trace, followed below the root.
    """
    for folder_uses, ignored in (
        (follower.wrote, PSEUDO),
        (follower.wrote_open, PSEUDO),
        (follower.folder_uses, PROGRAMS),
    ):
        folders = Counter({f: n for f, n in folder_uses.items() if f and f[0] not in ignored})
        if folders:
            return _choose_one(trace, folders)
    raise UsageError(
        f"{trace.path}: no call changes a file or uses one outside the system's own folders: "
        "say with --below which folder's calls are replayed"
    )


def _choose_one(trace: Trace, folders: Counter[RootPath]) -> RootPath:
    shared = find_common_folder(list(folders))
    if shared and shared != UNKNOWN_ROOT:
        return shared
    if shared == UNKNOWN_ROOT and len({f[:2] for f in folders}) == 1:
        return shared
    groups: dict[RootPath, list[RootPath]] = {}
    for folder in folders:
        groups.setdefault(folder[: 2 if folder[:1] == UNKNOWN_ROOT else 1], []).append(folder)
    if len(groups) == 1:
        return shared
    calls = {find_common_folder(each): sum(folders[f] for f in each) for each in groups.values()}
    most = sorted(calls, key=lambda f: (-calls[f], f))
    lines = [f"  --below {format_trace_folder(f)}  ({calls[f]:,} calls)" for f in most[:TOLD_MAX]]
    more = [f"  and {len(most) - TOLD_MAX} more"] if len(most) > TOLD_MAX else []
    head = f"{trace.path}: calls are below several folders; say which one is replayed:"
    raise UsageError(head, *lines, *more)


def find_common_folder(folders: list[RootPath]) -> RootPath:
    """The longest path that all begin with."""
    least, most = min(folders), max(folders)
    for i, part in enumerate(least):
        if i >= len(most) or most[i] != part:
            return least[:i]
    return least
