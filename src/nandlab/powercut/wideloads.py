# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads of the calls that CrashMonkey's ACE has and ``ace1`` to ``ace3`` lack, and of others that
file systems of flash have: each in every way to keep it, sync, fsync and fdatasync of the file, a
file beside it, and the folders.

``wide1`` has each call alone, ``wide2`` each pair of which one is new, ``wide3`` a sample of three.
``renames`` renames folders and files wherever in a page its nodes come to lie. ``orphans`` deletes
files that stay open. ``statfs`` asks for the room of a nearly empty file system. ``races`` has a
sync beside files without a name: another process begins it, and the load goes on so many
microseconds later, in the midst of it. Each number of microseconds is one schedule of both.
``gc-passes`` wakes JFFS2's collector so before each of several calls on a file whose nodes it may
move. ``levelling`` has UBI's wear levelling beside a load, on a board whose UBI levels early
(``--source ubi=package,wl_threshold=2``). ``nearly-full`` has writers, write-back, a commit and the
collector of a nearly full UBIFS. It needs small blocks, of which a few pages fill one: ``--chip
nandsim-small --partition-mib 5 --set compression=none``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache

from nandlab.base.errors import UsageError
from nandlab.powercut import loads
from nandlab.powercut.loadcheck import CallChecker
from nandlab.powercut.loads import Load, LoadSet

BASE = (*loads.BASE, "mkdir D", "create D/file", "write D/file 0 300")
CALLS = (
    *("rename D E", "rename D C", "rename D B/dir"),
    *("noreplace A/foo A/new", "exchange A/foo B/bar", "exchange A D"),
    *("whiteout A/foo A/new", "whiteout A/foo B/bar"),
    *("symlink A/to 40", "tmplink A/temporary 3000", "fallocate A/foo 8192 5000"),
    *("setxattr A/foo 1 100", "setxattr D 1 100", "removexattr A/foo 0"),
    *("chmod A/foo 600", "chmod D 700", "chown A/foo 7 8", "utimens A/foo 1000000000"),
    "dropcaches",
)
"""Calls that ``ace1`` has not."""
XATTR_BASE = ("setxattr A/foo 0 50",)
"""What a file has from the begin, where the file system has attributes."""
SIBLING = "B/bar"
PAGE, PAGE_STEP = 2048, 40
"""Bytes of a page, and in what steps nodes are moved in it: fewer than the node of a name takes."""
AHEAD = ("sync", "sync", "sync")
"""Before a write that is to take as much flash as it has bytes: no compressor shortens what every
other pair of calls writes."""
TRIPLES = 300
SCHEDULES, STEP_US = 1000, 10
"""Schedules of each race, and microseconds from one to the next: longer than a sync takes."""
RACE_FILES = ("A/t0", "A/t1", "A/t2")
RACE_BYTES = 3000
COLLECTED, COLLECTED_BYTES = tuple(f"A/c{n}" for n in range(30)), 8000
"""Files of ``gc-passes`` and their bytes, of which every other write compresses: more than a block
of 128 KiB."""
COLLECTOR_SCHEDULES, COLLECTOR_STEP_US, COLLECTOR_PASSES = 20, 100, 3
CHECKS, CHECK_US = 45, 1000
"""Passes that only check the inodes that a mount has found, one each, before any moves a node."""
LARGE_BYTES = 120_000
"""More than statfs may count as used without a file that has it."""
STAYING, STAYING_BYTES, READ_STEP = "A/s", 100_000, 8000
"""The file that stays, its bytes, and how far apart bytes of it are changed: each is read first."""
CHURNED, CHURNED_BYTES = "A/c", 180_000
ROUNDS_BEFORE, ROUNDS, FIRST_US = 20, 5, 5000
"""Writes of the churned file before and in the load, and the first wait: so many that UBI moves the
blocks of the index in the midst of the load, and so long that it does at the load's reads. UBI
levels when each free block has two erases, and then moves a block a round, as the sync ends."""
FILLED, FILLED_BYTES = tuple(f"A/f{n}" for n in range(23)), 65536
"""Files that leave some 30 KiB of a partition of 5 MiB; UBI keeps half of it for bad blocks."""
OUTDATED_ROUNDS, OUTDATED_BYTES, FULL_ROUNDS = 4, 20000, 3
"""How often some of each is written anew before the load, so that no block is free and all have
some bytes to collect."""


@cache
def _start() -> CallChecker:
    return _check((*BASE, *XATTR_BASE))


def _check(calls: tuple[str, ...], before: CallChecker | None = None) -> CallChecker:
    """What is there after calls; UsageError where one cannot be."""
    checker = before.copy() if before else CallChecker()
    for call in calls:
        kind, *words = call.split()
        names = loads.count_paths(kind)
        checker.take(call, kind, words[:names], [int(word) for word in words[names:]])
    return checker


def _find_next(there: CallChecker, call: str) -> CallChecker | None:
    """What is there after a call; None: it cannot be made."""
    try:
        return _check((call,), there)
    except UsageError:
        return None


def _list_keepers(call: str, checker: CallChecker) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Ways to keep what a call did: a word for each, and the calls."""
    kind, *words = call.split()
    names = words[: loads.count_paths(kind)]
    yield "none", ()
    yield "sync", ("sync",)
    for name in [name for name in names if name in checker.names][-1:]:
        node = checker.names[name]
        if node.folder:
            yield "fsyncdir of it", (f"fsyncdir {name}",)
        elif not node.special:
            yield "fsync", (f"fsync {name}",)
            yield "fdatasync", (f"fdatasync {name}",)
    if SIBLING in checker.names and not checker.names[SIBLING].special and SIBLING not in names:
        yield "fsync of a sibling", (f"fsync {SIBLING}",)
    folders = dict.fromkeys(f"fsyncdir {loads.parent_folder(n)}".strip() for n in reversed(names))
    if folders and all(len(f.split()) == 1 or f.split()[1] in checker.names for f in folders):
        yield "fsyncdir", tuple(folders)


def _make_set(name: str, found: list[Load], *before: str) -> LoadSet:
    return LoadSet(name, (*BASE, *before), tuple(found))


def _with_attribute(calls: tuple[str, ...]) -> tuple[str, ...]:
    """Calls behind that which sets an attribute, if one of them removes it."""
    removes = any(call.startswith("removexattr") for call in calls)
    return (*XATTR_BASE, "sync", *calls) if removes else calls


def make_wide1_loads() -> LoadSet:
    """Each new call once, kept in each way."""
    loads: list[Load] = []
    for call in CALLS:
        there = _find_next(_start(), call)
        assert there is not None, call
        for keeper, kept in _list_keepers(call, there):
            loads.append(Load(f"{call}, {keeper}", _with_attribute((call, *kept))))
    return _make_set("wide1", loads)


def make_wide2_loads() -> LoadSet:
    """Each pair of calls of which one is new: the first is kept or not, the second in each way."""
    made_loads: list[Load] = []
    calls = (*loads.CALLS, *CALLS)
    for first in calls:
        middle = _find_next(_start(), first)
        for second in calls if middle else ():
            checker = _find_next(middle, second) if middle else None
            if checker is None or (first in loads.CALLS and second in loads.CALLS):
                continue
            for kept, keeps in (("none", ()), ("sync", ("sync",))):
                for keeper, last in list(_list_keepers(second, checker))[1:]:
                    title = f"{first}, {kept}, {second}, {keeper}"
                    made_loads.append(Load(title, _with_attribute((first, *keeps, second, *last))))
    return _make_set("wide2", made_loads)


def make_wide3_loads(seed: int = loads.SEED, count: int = TRIPLES) -> LoadSet:
    """A sample of three calls in a row, each kept in a way that is drawn, or not at all."""
    draw = random.Random(seed)
    all_calls = (*loads.CALLS, *CALLS)
    loads_by_title: dict[str, Load] = {}
    while len(loads_by_title) < count:
        checker, calls, words = _start(), list[str](), list[str]()
        for _ in range(3):
            after: CallChecker | None = None
            while after is None:
                call = draw.choice(all_calls)
                after = _find_next(checker, call)
            checker = after
            keeper, kept = draw.choice(list(_list_keepers(call, checker)))
            calls += [call, *kept]
            words.append(f"{call} ({keeper})")
        title = ", ".join(words)
        loads_by_title.setdefault(title, Load(title, _with_attribute(tuple(calls))))
    return _make_set("wide3", list(loads_by_title.values()))


def make_rename_loads() -> LoadSet:
    """A rename behind so many bytes that its nodes come to lie anywhere in a page: where they are
    in two pages, one may be on flash and the other not."""
    loads: list[Load] = []
    for call in ("rename D E", "rename D/file D/other", "rename D/file A/foo"):
        for ahead in range(PAGE_STEP, PAGE, PAGE_STEP):
            calls = (*AHEAD, f"write A/foo 0 {ahead}", call)
            loads.append(Load(f"{call} behind {ahead} bytes", calls))
    return _make_set("renames", loads)


def make_orphan_loads() -> LoadSet:
    """Files that lose their names while open: with attributes, written, synced, and replaced."""
    has = ("setxattr A/foo 1 100", "setxattr A/foo 2 2000")
    goes = {
        "unlink": ("unlink A/foo",),
        "replaced by a rename": ("rename B/bar A/foo",),
        "replaced by a folder's exchange": ("exchange A/foo B/bar", "unlink B/bar"),
    }
    later = {
        "sync": ("sync",),
        "fsyncdir": ("fsyncdir A",),
        "written": ("write A/foo 100 300", "sync"),
        "a new file": ("create A/foo", "write A/foo 0 700", "fsync A/foo"),
        "attribute": ("setxattr A/foo 3 60", "removexattr A/foo 1", "sync"),
        "closed": ("sync", "close A/foo", "sync"),
    }
    loads: list[Load] = []
    for first in ((), has, (*has, "sync")):
        for way, calls in goes.items():
            for word, last in later.items():
                made = (*first, "open A/foo", *calls, *last)
                if _can_all(made):
                    kept = {0: "", 2: "attributes, ", 3: "attributes synced, "}[len(first)]
                    loads.append(Load(f"{kept}{way}, {word}", made))
    return _make_set("orphans", loads)


def _can_all(calls: tuple[str, ...]) -> bool:
    try:
        _check(calls, _check(BASE).load())
    except UsageError:
        return False
    return True


def make_statfs_loads() -> LoadSet:
    """What statfs says of a file system that has few files, after each way to change them."""
    changes = {
        "nothing": (),
        "write": ("write A/foo 8192 50000",),
        "unlink": ("unlink A/foo",),
        "truncate": ("truncate A/foo 0",),
    }
    found = [Load(word, ("statfs", *calls, "sync")) for word, calls in changes.items()]
    return _make_set("statfs", found)


def make_race_loads() -> LoadSet:
    """Files without a name that get one beside a sync, files that lose it again there, and files
    that are made there.

    Linux's UBIFS keeps the first without a name if power goes, and refuses to unlink the second,
    until its commits "Fix space leak when powercut happens in linking tmpfile" and "Fix adding
    orphan entry twice for the same inode", both of 2024.
    """
    # statfs sees a file that has no name; it stands first so that the bytes do not compress
    large = ("statfs", "tmpfile A/t0", f"write A/t0 0 {LARGE_BYTES}", "sync", "create A/n")
    makes = [
        call for name in RACE_FILES for call in (f"tmpfile {name}", f"write {name} 0 {RACE_BYTES}")
    ]
    unlinks = [call for name in RACE_FILES for call in (f"linktmp {name}", f"unlink {name}")]
    # what write-back has to do, so that the sync takes long
    dirty = ["write A/foo 0 40000", "create A/n", "write A/n 0 5000", "write B/bar 0 9000"]
    races = (
        ("link", large, ["linktmp A/t0"]),
        ("link and unlink", makes, unlinks),
        ("tmpfile", dirty, makes),
    )
    made_loads: list[Load] = []
    for title, made, calls in races:
        for number in range(SCHEDULES):
            begins = f"beginsync {number * STEP_US}"
            race_calls = (*made, begins, *calls, "endsync", "sync")
            made_loads.append(Load(f"{title} after {number * STEP_US} us", race_calls))
    return LoadSet("races", loads.BASE, tuple(made_loads))


def make_gc_pass_loads() -> LoadSet:
    """Calls beside a pass of the collector, which a signal wakes: JFFS2's moves a node for each.

    The base fills more than a block, for the collector leaves alone the one that is written to.
    Inodes that are evicted beside a pass are a known race (J5 of bench/known_bugs.toml), so it is
    there in as many schedules as one of ``races``.
    """
    filled = [
        call
        for name in COLLECTED
        for call in (f"create {name}", f"write {name} 0 {COLLECTED_BYTES}")
    ]
    # what is outdated in that block, so that there is something to collect
    outdated = [f"swrite {name} 0 5000" for name in COLLECTED[1::2]]
    checks = [f"wakegc {CHECK_US}"] * CHECKS
    first = COLLECTED[0]
    calls = {
        "write": (f"write {first} 1000 5000", f"fsync {first}"),
        "truncate": (f"truncate {first} 2500", f"fsync {first}"),
        "unlink": (f"unlink {first}", "fsyncdir A"),
        "rename": (f"rename {first} A/new", "fsyncdir A"),
        "replaced": (f"rename B/bar {first}", "fsyncdir A"),
        "attribute": (f"setxattr {first} 1 100", "sync"),
        "dropcaches": ("dropcaches", f"write {first} 0 300", "sync"),
    }
    made_loads: list[Load] = []
    for title, title_calls in calls.items():
        waits = range(0, COLLECTOR_SCHEDULES * COLLECTOR_STEP_US, COLLECTOR_STEP_US)
        if title == "dropcaches":
            waits = range(0, SCHEDULES * STEP_US, STEP_US)
        for wait in waits:
            passes = [f"wakegc {wait}"] * COLLECTOR_PASSES
            pass_calls = (*checks, *passes, *title_calls, *passes, "sync")
            made_loads.append(Load(f"{title} after {wait} us", pass_calls))
    return LoadSet("gc-passes", (*loads.BASE, *filled, *outdated), tuple(made_loads))


def make_levelling_loads() -> LoadSet:
    """A commit and UBI's wear levelling beside reads of what is moved.

    UBI leaves a block where it is if somebody reads or writes it. Until Linux's commit "ubi: wl:
    Put source PEB into correct list if trying locking LEB failed" it counts such a block as one
    with bit flips, and scrubs it next.
    """
    base = (
        *(*loads.BASE, "sync", f"create {STAYING}", f"write {STAYING} 0 {STAYING_BYTES}", "sync"),
        *(f"create {CHURNED}", *[f"write {CHURNED} 0 {CHURNED_BYTES}", "sync"] * ROUNDS_BEFORE),
    )
    reads = [f"write {STAYING} {at} 4" for at in range(100, STAYING_BYTES, READ_STEP)]
    made_loads: list[Load] = []
    for wait in range(FIRST_US, FIRST_US + SCHEDULES * STEP_US, STEP_US):
        churn = f"write {CHURNED} 0 {CHURNED_BYTES}"
        round_calls = (churn, "dropcaches", f"beginsync {wait}", *reads, "endsync")
        made_loads.append(Load(f"level after {wait} us", (*round_calls * ROUNDS, "sync")))
    return LoadSet("levelling", base, tuple(made_loads))


def make_nearly_full_loads() -> LoadSet:
    """Write-back of one file beside a sync, synchronous writes to two others, and names that come
    and go: all ask for room in the journal while hardly a block is free.

    Until Linux's commit "ubifs: Queue up space reservation tasks if retrying many times" one that
    finds none in three commits, because others were faster, is refused.
    """
    outdated = [
        f"write {FILLED[(k * 7 + n) % len(FILLED)]} {8192 * n} {OUTDATED_BYTES}"
        for n in range(OUTDATED_ROUNDS)
        for k in range(len(FILLED))
    ]
    base = (
        *loads.BASE,
        *(c for name in FILLED for c in (f"create {name}", f"write {name} 0 {FILLED_BYTES}")),
        *outdated,
    )
    back, first, second = FILLED[:3]
    sync_calls = (
        *(f"swrite {first} 0 32768", "create A/n", "write A/n 0 300", "fsync A/n"),
        *("unlink A/n", f"swrite {second} 0 32768", f"swrite {first} 32768 32768"),
    )
    made_loads: list[Load] = []
    for wait in range(0, SCHEDULES * STEP_US, STEP_US):
        begin = (f"write {back} 0 {FILLED_BYTES}", f"beginsync {wait}")
        round_calls = (*begin, *sync_calls, "endsync")
        made_loads.append(Load(f"reserve after {wait} us", (*round_calls * FULL_ROUNDS, "sync")))
    return LoadSet("nearly-full", base, tuple(made_loads))


WIDE_SETS: dict[str, Callable[[], LoadSet]] = {
    **{"wide1": make_wide1_loads, "wide2": make_wide2_loads, "wide3": make_wide3_loads},
    **{"renames": make_rename_loads, "orphans": make_orphan_loads, "statfs": make_statfs_loads},
    **{"races": make_race_loads, "gc-passes": make_gc_pass_loads},
    **{"levelling": make_levelling_loads, "nearly-full": make_nearly_full_loads},
}
