# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace shows of the calls that strace was told to leave out of it (-e, -P, -z, -Z)."""

from __future__ import annotations

from nandlab.catalog.from_strace.filecalls import FILE_HANDLERS
from nandlab.catalog.from_strace.follower import TraceFollower
from nandlab.catalog.from_strace.lines import Trace
from nandlab.catalog.from_strace.namecalls import NAME_HANDLERS

WRITE_CALLS = (
    *("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendfile", "sendfile64", "splice"),
    *("copy_file_range", "mmap", "mmap2", "io_submit", "io_uring_enter", "ftruncate", "fallocate"),
    *("close", "close_range", "dup2", "dup3"),
)
"""A trace of a program that opens files to write to them has one of these, if it has all calls."""
PATH_CALLS = frozenset(
    (
        *(*FILE_HANDLERS, *NAME_HANDLERS, "open", "openat", "openat2", "creat", "close"),
        *("dup", "dup2", "dup3", "fcntl", "fcntl64", "flock", "ioctl", "chdir", "fchdir"),
    )
)
"""Calls that strace -P shows: they name a file, by path or by descriptor."""
UNSEEN_CALLS = {
    "io_uring_setup": "io_uring, whose requests strace does not show",
    "io_submit": "io_submit, whose requests the replay does not make",
}
"""Calls of a program that reads and writes by others than read and write."""
EXITS = frozenset(("exit", "exit_group"))


def list_filter_doubts(trace: Trace, followed: TraceFollower) -> list[str]:
    """What was left out, a sentence each; none where the trace looks whole."""
    if not trace.has_success:
        return [
            "no call of the trace succeeded: strace left those out (-Z, -e status=failed); record "
            "without it"
        ]
    if _is_without_writes(followed):
        return [
            "files are opened to be written, and no call writes or closes one: strace left "
            "calls out (-e trace=...); record without -e"
        ]
    if trace.names <= PATH_CALLS:
        return [
            "each call of the trace is on a file, and programs make others too: if strace was told "
            "paths (-P), calls on all other files are missing; record without -P"
        ]
    if not trace.has_failure and trace.has_exit and trace.names.isdisjoint(EXITS):
        return [
            "no call of the trace failed, and none is an exit: strace left those out (-z, "
            "-e status=successful); record without it"
        ]
    return []


def list_unseen_request_doubts(followed: TraceFollower) -> list[str]:
    """Requests that a program makes of files by no call of the replay, a sentence each."""
    return [
        f"the program uses {what}: the reads, writes and syncs that it makes so are missing; "
        "record it with another way to read and write"
        for name, what in UNSEEN_CALLS.items()
        if name in followed.called
    ]


def _is_without_writes(followed: TraceFollower) -> bool:
    opens = (o.words for o in followed.operations if o.verb == "open")
    writable = any("O_WRONLY" in words or "O_RDWR" in words for words in opens)
    return writable and followed.called.isdisjoint(WRITE_CALLS)
