# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads for power cuts: short sequences of calls, each the text that ``cutcheck`` plays.

``ace1`` and ``ace2`` are every sequence of one and two calls of a bounded set on two small files
and three folders, each call kept by a sync of some kind or not: the way of CrashMonkey's ACE.
``ace3`` is a sample of those of three, each call kept in a way that is drawn. ``open-files``
changes files that stay open, or that a mapping wrote, and makes the file system read-only and back.
``holes`` shortens files and writes past their end.
``small-files`` is one longer load of many small files, in the manner of FFSMark. ``collect`` goes
on where a small partition is full of what is outdated. Others are read from a file.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_text
from nandlab.powercut.loadcheck import CallChecker

KINDS = {
    **{"create": 1, "mkdir": 1, "unlink": 1, "rmdir": 1, "fsync": 1, "fsyncdir": 1},
    **{"rename": 2, "link": 2, "write": 3, "swrite": 3, "mwrite": 3, "truncate": 2, "sync": 0},
    **{"readonly": 0, "open": 1, "close": 1, "damage": 0},
    **{"noreplace": 2, "exchange": 2, "whiteout": 2, "symlink": 2, "tmplink": 2},
    **{"fdatasync": 1, "fallocate": 3, "setxattr": 3, "removexattr": 2, "chmod": 2},
    **{"chown": 3, "utimens": 2, "dropcaches": 0, "statfs": 0},
    **{"tmpfile": 1, "linktmp": 1, "beginsync": 1, "endsync": 0},
    **{"wakegc": 1},
}
"""Words after each kind of call."""
TWO_NAMES = ("rename", "link", "noreplace", "exchange", "whiteout")
"""Calls whose words are two names."""
WAITING_CALLS = ("beginsync", "wakegc")
"""Calls whose word is the time until the load goes on, in microseconds."""
BASE = (
    *("mkdir A", "mkdir B", "mkdir C"),
    *("create A/foo", "write A/foo 0 8192", "create B/bar", "write B/bar 0 3000"),
)
"""What the partition holds before each load of ours."""
CALLS = (
    "create A/new",
    "mkdir A/dir",
    "write A/foo 8192 5000",
    "write A/foo 1000 5000",
    "truncate A/foo 2500",
    "truncate A/foo 20000",
    "rename A/foo A/new",
    "rename A/foo B/new",
    "rename A/foo B/bar",
    "link A/foo B/new",
    "unlink A/foo",
    "rmdir C",
    "mwrite A/foo 4096 2000",
    "swrite A/foo 0 3000",
)
"""The bounded set: create, append, overwrite, truncate, rename, rename over, link and so on."""
FILES, FILE_BYTES_MAX, SYNC_EVERY = 40, 10_000, 5
TRANSACTIONS = 60
STAYING_FILES, STAYING_BYTES, UPDATED, UPDATES = 50, 5000, 8192, 150
"""Of ``collect``: files that stay and their bytes, bytes of an update, and how many."""
SEED = 1
PROGRAM = "cutcheck"
LOADS_BYTES_MAX = 16 << 20
LINE_BYTES_MAX = 598
"""Of a line of a file, as cutcheck reads it."""
TRIPLES = 200
"""Sequences of ``ace3``."""


@dataclass(frozen=True)
class Load:
    """Calls that are made in order."""

    title: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class LoadSet:
    """Loads that begin from the same base."""

    name: str
    base: tuple[str, ...]
    loads: tuple[Load, ...]
    program: str = PROGRAM
    """Of the board, that plays and judges them."""

    def text(self) -> str:
        """The file that cutcheck reads."""
        lines = [*self.base]
        for load in self.loads:
            lines += [f"load {load.title}", *load.calls]
        return "\n".join(lines) + "\n"


def read_load_file_text(name: str) -> str:
    """The text of a file of loads; UsageError if it is none."""
    return read_text(Path(name), LOADS_BYTES_MAX)


def parse_loads(name: str, text: str) -> LoadSet:
    """Loads from their text; UsageError names the line."""
    base: list[str] = []
    loads: dict[str, list[str]] = {}
    base_checker = checker = CallChecker()
    for number, line in enumerate(text.splitlines(), 1):
        words, where = line.split(), f"{name}:{number}"
        if not words or words[0].startswith("#"):
            continue
        call = " ".join(words)
        refuse_long_line(where, call, LINE_BYTES_MAX)
        if not call.isprintable():
            raise UsageError(f"{where}: a character of it cannot be printed: take it out")
        if words[0] == "load":
            title = parse_load_title(where, " ".join(words[1:]), loads)
            loads[title], checker = [], base_checker.load()
            continue
        _refuse_bad_call(where, words)
        names = count_paths(words[0])
        checker.take(where, words[0], words[1 : 1 + names], [int(w) for w in words[1 + names :]])
        (loads[title] if loads else base).append(call)
    return LoadSet(name, tuple(base), make_loads_from_calls(name, loads))


def refuse_long_line(where: str, line: str, most: int) -> None:
    """UsageError for a line that the board's program would take for two."""
    if len(line.encode()) > most:
        raise UsageError(f"{where}: the line has more than {most:,} bytes: make it shorter")


def parse_load_title(where: str, title: str, before: Mapping[str, object]) -> str:
    """The title of the load that a line begins; before: the loads before it."""
    if not title:
        raise UsageError(f"{where}: a load has a title: load TITLE")
    if title in before:
        raise UsageError(f"{where}: two loads of one title: {title}: give this one another")
    return title


def make_loads_from_calls(name: str, loads: Mapping[str, Sequence[str]]) -> tuple[Load, ...]:
    """The loads of a file, from their calls by title."""
    if not loads:
        raise UsageError(f"{name}: no load in it: begin one with a line 'load TITLE'")
    return tuple(Load(title, tuple(calls)) for title, calls in loads.items())


def _refuse_bad_call(where: str, words: list[str]) -> None:
    if words[0] not in KINDS:
        raise UsageError(f"{where}: no such call: {words[0]}; known are {', '.join(KINDS)}")
    root = words == ["fsyncdir"]
    if len(words) - 1 != KINDS[words[0]] and not root:
        raise UsageError(f"{where}: {words[0]} takes {KINDS[words[0]]} words")
    numbers = words[1 + count_paths(words[0]) :]
    if not all(word.isascii() and word.isdigit() for word in numbers):
        raise UsageError(f"{where}: {' '.join(words)}: offsets and sizes are whole numbers")


def count_paths(kind: str) -> int:
    """How many words of a call are names."""
    if kind in WAITING_CALLS:
        return 0
    return 2 if kind in TWO_NAMES else min(1, KINDS[kind])


def _find_names_after(present: set[str], call: str) -> set[str] | None:
    """The names that are there after a call; None: it cannot be made."""
    kind, *words = call.split()
    names = words[: count_paths(kind)]
    if kind in ("create", "mkdir"):
        return None if names[0] in present else present | {names[0]}
    if not names or names[0] not in present:
        return None
    if kind == "link":
        return None if names[1] in present else present | {names[1]}
    if kind == "rename":
        return (present | {names[1]}) - {names[0]}
    return present - {names[0]} if kind in ("unlink", "rmdir") else present


def parent_folder(path: str) -> str:
    return path.rpartition("/")[0]


def _list_keepers(call: str, present: set[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Ways to keep what a call did: a word for each, and the calls."""
    kind, *words = call.split()
    names = words[: count_paths(kind)]
    yield "none", ()
    yield "sync", ("sync",)
    kept = [name for name in names if name in present]
    if kept and kind not in ("mkdir", "rmdir"):
        yield "fsync", (f"fsync {kept[-1]}",)
    folders = dict.fromkeys(f"fsyncdir {parent_folder(name)}".strip() for name in reversed(names))
    yield "fsyncdir", tuple(folders)


def _format_title(calls: tuple[str, ...], keeper: str) -> str:
    return ", ".join([*calls, keeper])


def make_ace1_loads() -> LoadSet:
    """Each call once, kept in each way."""
    start = {word for call in BASE for word in call.split()[1:2]}
    loads: list[Load] = []
    for call in CALLS:
        there = _find_names_after(start, call)
        for keeper, kept in _list_keepers(call, there or set()):
            loads.append(Load(_format_title((call,), keeper), (call, *kept)))
    return LoadSet("ace1", BASE, tuple(loads))


def make_ace2_loads() -> LoadSet:
    """Each pair of calls that can be made: the first kept in each way or not at all, the second in
    each way. What the second does unkept is within the loads that keep it."""
    start = {word for call in BASE for word in call.split()[1:2]}
    loads: list[Load] = []
    for first in CALLS:
        middle = _find_names_after(start, first) or set()
        for second in CALLS:
            there = _find_names_after(middle, second)
            if there is None:
                continue
            for kept, keeps in _list_keepers(first, middle):
                for keeper, last in list(_list_keepers(second, there))[1:]:
                    title = _format_title((_format_title((first,), kept), second), keeper)
                    loads.append(Load(title, (first, *keeps, second, *last)))
    return LoadSet("ace2", BASE, tuple(loads))


def make_ace3_loads(seed: int = SEED, count: int = TRIPLES) -> LoadSet:
    """A sample of three calls in a row, each kept in a way that is drawn, or not at all."""
    draw = random.Random(seed)
    start = {word for call in BASE for word in call.split()[1:2]}
    loads: dict[str, Load] = {}
    while len(loads) < count:
        present, calls = start, list[str]()
        keepers = list[str]()
        for _ in range(3):
            can = [
                (c, after) for c in CALLS if (after := _find_names_after(present, c)) is not None
            ]
            call, present = draw.choice(can)
            keeper, kept = draw.choice(list(_list_keepers(call, present)))
            calls += [call, *kept]
            keepers.append(f"{call} ({keeper})")
        title = ", ".join(keepers)
        loads.setdefault(title, Load(title, tuple(calls)))
    return LoadSet("ace3", BASE, tuple(loads.values()))


def make_open_file_loads() -> LoadSet:
    """Changes of a file that stays open, by write and by mapping, kept in each way. The first is
    less than a page, so that it may be in a cache of the file system's own alone."""
    changes = ["write A/foo 100 200"]
    changes += [call for call in CALLS if call.split()[0] in ("write", "mwrite")]
    loads: list[Load] = []
    for call in changes:
        for keeper in ("sync", "fsync A/foo"):
            calls = ("open A/foo", call, keeper, "create A/later", "fsync A/later", "close A/foo")
            loads.append(Load(_format_title((call,), f"held open, {keeper}"), calls))
        again = (call, "readonly", "create A/later", "fsync A/later")
        loads.append(Load(_format_title((call,), "readonly"), again))
    return LoadSet("open-files", BASE, tuple(loads))


def make_hole_loads() -> LoadSet:
    """Files that are shortened and then written past their end, in one page and in others: what was
    cut off must not come back, and what is between is zeros.

    Linux's JFFS2 had it come back after a remount, within the page that is written, until its
    commit 23892d383bee, "correct logic when creating a hole in jffs2_write_begin", of March 2023.
    """
    tiny = ("create A/new", "write A/new 0 16", "sync")
    loads: list[Load] = []
    for first in (("truncate A/new 8",), ("truncate A/new 0",), ()):
        for offset in (20, 4095, 5000):
            for keeper in ("sync", "fsync A/new", "readonly"):
                calls = (*first, f"write A/new {offset} 4")
                loads.append(Load(_format_title(calls, keeper), (*tiny, *calls, keeper)))
    for offset in (2600, 4000, 5000, 9000):
        for keeper in ("sync", "fsync A/foo"):
            calls = ("truncate A/foo 2500", f"write A/foo {offset} 100")
            loads.append(Load(_format_title(calls, keeper), (*calls, keeper)))
    return LoadSet("holes", BASE, tuple(loads))


def make_rewrite_loads() -> LoadSet:
    """Each call on a file whose pages, and those of its names, the load wrote itself before: what
    is damaged then is in its way."""
    before = ("write A/foo 0 8192", "write A/foo 8192 5000", "sync", "damage")
    made = (Load(call, (*before, call, "sync")) for call in CALLS)
    return LoadSet("rewrite", BASE, tuple(made))


def make_small_file_loads(seed: int = SEED) -> LoadSet:
    """Many small files, made, appended to, replaced and deleted, each fifth change synced."""
    draw = random.Random(seed)
    sizes: dict[str, int] = {}
    calls = [f"mkdir d{i}" for i in range(4)]

    def make(name: str) -> None:
        sizes[name] = draw.randint(500, FILE_BYTES_MAX)
        calls.extend((f"create {name}", f"write {name} 0 {sizes[name]}"))

    for i in range(FILES):
        make(f"d{i % 4}/f{i}")
    calls.append("sync")
    for i in range(TRANSACTIONS):
        name = draw.choice(sorted(sizes))
        change = draw.choice(("append", "delete", "make", "replace"))
        if change == "append":
            append_bytes = draw.randint(100, 3000)
            calls.append(f"write {name} {sizes[name]} {append_bytes}")
            sizes[name] += append_bytes
        elif change == "delete":
            del sizes[name]
            calls.append(f"unlink {name}")
            continue
        elif change == "make":
            name = f"d{i % 4}/n{i}"
            make(name)
        else:
            make(f"d{i % 4}/t{i}")
            calls += [f"fsync d{i % 4}/t{i}", f"rename d{i % 4}/t{i} {name}"]
            sizes[name] = sizes.pop(f"d{i % 4}/t{i}")
        if i % SYNC_EVERY == 0:
            calls.append(f"fsync {name}")
    calls.append("sync")
    return LoadSet("small-files", (), (Load("small files", tuple(calls)),))


def make_collector_loads(seed: int = SEED) -> LoadSet:
    """Updates of one file, and files replaced, on a partition that was written through before the
    cuts begin: its outdated pages lie among files that stay, so a collector moves these and erases.

    On 3 MiB of blocks of 128 KiB JFFS2's does so, and YAFFS2's; UBIFS's on 8 MiB, of which UBI
    keeps more than half for blocks that go bad.
    """
    draw = random.Random(seed)

    def update() -> str:
        return f"write hot {draw.randrange(STAYING_FILES) * UPDATED} {UPDATED}"

    base = ["create hot"]
    for i in range(STAYING_FILES):
        base += [f"create s{i}", f"write s{i} 0 {STAYING_BYTES}"]
        base += [f"write hot {i * UPDATED} {UPDATED}", *["sync"] * (i % 4 == 3)]
    for i in range(3 * STAYING_FILES):
        base += [update(), *["sync"] * (i % 8 == 7)]
    calls: list[str] = []
    for i in range(UPDATES):
        if i % 5 == 4:
            calls += [f"create t{i}", f"write t{i} 0 {STAYING_BYTES}", f"fsync t{i}"]
            calls.append(f"rename t{i} s{draw.randrange(STAYING_FILES)}")
        else:
            calls.append(update())
        calls += ["fsync hot"] * (i % 3 == 2)
    calls.append("sync")
    return LoadSet("collect", tuple(base), (Load("a collector at work", tuple(calls)),))


LOAD_SETS: dict[str, Callable[[], LoadSet]] = {
    **{"ace1": make_ace1_loads, "ace2": make_ace2_loads, "ace3": make_ace3_loads},
    **{"holes": make_hole_loads, "open-files": make_open_file_loads, "rewrite": make_rewrite_loads},
    **{"small-files": make_small_file_loads, "collect": make_collector_loads},
}
"""Loads of these calls by their name; wideloads.py has those of more."""
