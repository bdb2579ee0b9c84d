# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's calls as a recorded load, the text that ``device/programs/replay`` reads.

docs/replay.md explains the language: what is there before, then the calls, one a line, each after
the time that passed since the call before had ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from nandlab.catalog.from_strace.follower import ReplayOperation, TraceFollower
from nandlab.catalog.from_strace.names import NameNode
from nandlab.catalog.from_strace.processes import OpenFile
from nandlab.catalog.from_strace.words import quote_load_word

NS_PER_US = 1000
NS_PER_S = 1_000_000_000
APPENDERS = frozenset(("write", "writev", "fsync", "fdatasync", "fstat", "newfstatat", "statx"))
"""Calls on a file that was open before the trace and to which the program only appends."""
VERBS_OF_KIND = {
    "open": ("open",),
    "close": ("close",),
    "read": ("read", "pread", "readv", "preadv"),
    "write": ("write", "pwrite", "writev", "pwritev"),
    "write_sync": (),
    "seek": ("lseek",),
    "fsync": ("fsync", "fdatasync"),
    "sync": ("sync", "syncfs"),
    "flush": ("sync_range",),
    "rename": ("rename", "rename_new", "exchange"),
    "link": ("link", "symlink"),
    "unlink": ("unlink",),
    "mkdir": ("mkdir",),
    "rmdir": ("rmdir",),
    "resize": ("truncate", "ftruncate", "fallocate"),
    "stat": ("stat", "lstat", "fstat", "access", "readlink", "statfs"),
    "list": ("getdents",),
    "change": (*("chmod", "fchmod", "chown", "lchown", "fchown", "utimes", "lutimes", "futimes"),),
    "advise": ("fadvise",),
    "failed": (),
}
"""What calls count as in the result, as device/programs/replay/calls.c has it."""
KIND_OF = {verb: kind for kind, verbs in VERBS_OF_KIND.items() for verb in verbs}


@dataclass(frozen=True)
class RecordedLoad:
    """A recorded load and what is told of it."""

    text: str
    kinds: Counter[str]
    verbs: Counter[str]
    read: int
    written: int
    """Bytes."""
    prepared: int
    prepared_bytes: int
    think_ns: int
    span_ns: int
    left_out: dict[str, int]
    """What is left out or replayed otherwise, by why, the most first."""


def make_recorded_load(followed: TraceFollower) -> RecordedLoad:
    """The recorded load of a trace that was followed."""
    operations = followed.operations
    befores = list(_format_before(followed))
    thinks = list(_compute_think_us(operations))
    kinds = _count_kinds(operations)
    text = "\n".join(
        [
            *(line for line, _ in befores),
            "calls",
            *(o.text(think) for o, think in zip(operations, thinks, strict=True)),
            "",
        ]
    )
    left_out_counts = dict(sorted(followed.left_out.items(), key=lambda item: (-item[1], item[0])))
    return RecordedLoad(
        text=text,
        kinds=kinds,
        verbs=Counter(o.verb for o in operations if not o.returned.startswith("-E")),
        read=_sum_bytes(operations, "read"),
        written=_sum_bytes(operations, "write"),
        prepared=len(befores),
        prepared_bytes=sum(size for _, size in befores),
        think_ns=sum(thinks) * NS_PER_US,
        span_ns=(operations[-1].end - operations[0].start) if operations else 0,
        left_out=left_out_counts,
    )


def _format_before(followed: TraceFollower) -> Iterator[tuple[str, int]]:
    """What is there before the calls: lines, and bytes that each needs."""
    for node in followed.before():
        yield _format_node(followed, node)
    for opened in followed.adopted:
        yield _format_open_file(followed, opened), 0


def _format_node(followed: TraceFollower, node: NameNode) -> tuple[str, int]:
    path = followed.word(node.origin or ())
    if node.kind == "dir" or (not node.kind and node.children):
        return f"dir {path} 755", 0
    if node.kind == "link" and node.target is not None:
        return f"symlink {quote_load_word(node.target)} {path}", 0
    return f"file {path} {node.size.first}", node.size.first


def _format_open_file(followed: TraceFollower, opened: OpenFile) -> str:
    node = opened.node
    path = followed.word((node.origin if node else None) or ())
    if node is not None and (node.kind == "dir" or node.origin == ()):
        return f"opened {opened.number} {path} O_RDONLY|O_DIRECTORY"
    only = "O_WRONLY|O_APPEND" if (opened.calls or set()) <= APPENDERS else "O_RDWR"
    return f"opened {opened.number} {path} {only}"


def _compute_think_us(operations: list[ReplayOperation]) -> Iterator[int]:
    """us before each call, since the latest end of those before; no time is lost by rounding."""
    ended = carried = 0
    for o in operations:
        gap = (o.start - ended if ended else 0) + carried
        think = max(0, gap) // NS_PER_US
        carried = gap - think * NS_PER_US if gap > 0 else 0
        ended = max(ended, o.end, o.start)
        yield think


def _count_kinds(operations: list[ReplayOperation]) -> Counter[str]:
    """Calls by what they count as; writes to files opened O_SYNC are told apart."""
    counts: Counter[str] = Counter()
    synced: set[str] = set()
    for o in operations:
        kind = KIND_OF[o.verb]
        number = o.words.partition(" ")[0]
        if o.returned.startswith("-E"):
            kind = "failed"
        elif o.verb == "open":
            (synced.add if "SYNC" in o.words.split(" ")[2] else synced.discard)(number)
        elif kind == "write" and number in synced:
            kind = "write_sync"
        counts[kind] += 1
    return counts


def _sum_bytes(operations: list[ReplayOperation], kind: str) -> int:
    """Bytes that calls of a kind moved."""
    moved = 0
    for o in operations:
        if KIND_OF[o.verb] == kind:
            asked = sum(map(int, o.words.split(" ")[1].split(",")))
            moved += int(o.returned) if o.returned else asked
    return moved


def format_seconds(ns: int) -> str:
    """A time for the file's head."""
    return f"{ns / NS_PER_S:,.3f} s"
