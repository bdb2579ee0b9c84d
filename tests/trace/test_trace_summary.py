# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees, causes, layers and the page cache, on traces whose answers are known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tracemade import ANYTHING, ERASE, FLUSH, GC, Event, Made, ev, page_read, program

from nandlab.trace import pagecache, summary
from nandlab.traced import cost, tree
from nandlab.traced.records import EventFlag, EventType, Names, Task

SYMBOLS = {
    "read_page": ["fs_read_page"],
    "garbage_collection": ["fs_gc"],
    "write_buffer": ["fs_flush"],
    "erase": ["fs_erase"],
}
NAMES = Names(
    functions={0: "fs_gc", 1: "fs_flush", 2: "fs_erase", 3: "anything"},
    tasks={7: Task(7, False, "cat"), 8: Task(8, True, "fs_gcd")},
)


def events() -> st.SearchStrategy[Event]:
    kinds = st.sampled_from(
        [EventType.VFS_READ, EventType.FS_READ_PAGE, EventType.FLASH_READ, EventType.FUNC]
    )
    leaf = st.builds(Event, kinds, st.integers(0, 9))
    return st.recursive(
        leaf, lambda e: st.builds(Event, kinds, st.integers(0, 9), st.lists(e, max_size=4))
    )


@given(st.lists(st.tuples(st.integers(1, 3), events()), max_size=8))
def test_any_nesting_is_found_again(tasks: list[tuple[int, Event]]) -> None:
    made = Made()
    for pid, event in tasks:
        made.task(pid, event)
    recording = made.recording()
    found = tree.make_event_tree(recording, NAMES, SYMBOLS)
    seqs = [0, *recording.records["seq"].tolist()]
    parents = [seqs[p + 1] for p in found.parent.tolist()]
    assert parents == [made.parents[s] for s in seqs[1:]]
    own: dict[int, int] = {}

    def collect(event: Event) -> None:
        own[len(own)] = event.own_ns
        for inside in event.inside:
            collect(inside)

    for _, event in tasks:
        collect(event)
    assert found.self_ns.tolist() == [own[i] for i in range(len(own))]
    assert (found.root[found.parent == -1] == (found.parent == -1).nonzero()[0]).all()


def summarized(made: Made, paths: dict[int, str] | None = None) -> dict[str, Any]:
    recording = made.recording()
    return summary.summarize_trace(
        recording, NAMES, tree.make_event_tree(recording, NAMES, SYMBOLS), paths or {}
    )


def test_the_time_of_a_call_is_split_over_the_layers() -> None:
    read = ev(
        EventType.VFS_READ,
        100,
        ev(EventType.PC_MISS, size=1),
        ev(
            EventType.FS_READ_PAGE,
            30,
            ev(EventType.MTD_READ, 7, page_read(), page_read(), size=4096),
        ),
        ANYTHING(3, ev(EventType.FS_READ_PAGE, 4)),
        object=17,
        size=4096,
        result=4096,
    )
    told = summarized(
        Made().task(7, read, read, ev(EventType.VFS_READ, 50, ev(EventType.PC_HIT, size=1)))
    )
    (call,) = told["calls"]
    assert (call["name"], call["kind"], call["count"]) == ("VFS_READ", "system call", 3)
    # a function that the catalog does not know is the VFS's, for it lies there
    expected = {"VFS": 2 * 103 + 50, "file system": 2 * 34, "MTD": 2 * 7, "chip": 100, "other": 0}
    assert call["layers_ns"] == expected
    assert call["ns"] == sum(expected.values())
    assert (call["flash"]["reads"], call["flash"]["ns"]) == (4, 100)
    assert told["amplification"]["read"] == {
        "program_bytes": 8192,
        "file_system_bytes": 0,
        "mtd_bytes": 8192,
        "chip_bytes": 8192,
        "chip_pages": 4,
        "factor": 1.0,
    }
    assert told["amplification"]["write"]["factor"] is None
    assert told["cache"] | {"hits": 1, "misses": 2, "hit_rate": 0.333333} == told["cache"]


def test_a_window_counts_by_its_pages_if_they_were_read_one_by_one() -> None:
    page = ev(EventType.FS_READ_PAGE, 9, size=4096)
    whole, parts = (
        ev(EventType.FS_READAHEAD, 9, size=8),
        ev(EventType.FS_READAHEAD, 9, page, page, size=2),
    )
    told = summarized(Made().task(7, ev(EventType.VFS_READ, 1, whole, parts, result=1), page))
    assert told["amplification"]["read"]["file_system_bytes"] == (8 + 2 + 1) * 4096


def test_functions_are_counted_with_and_without_what_lies_in_them() -> None:
    nested = GC(5, page_read(20), GC(7, program(200)))
    told = summarized(Made().task(7, nested, ANYTHING(3)).task(8, ANYTHING(4)))
    assert told["functions"] == [
        {"name": "fs_gc", "count": 2, "ns": 232 + 207, "ns_self": 12, "ns_max": 232},
        {"name": "anything", "count": 2, "ns": 7, "ns_self": 7, "ns_max": 4},
    ]


def causes(made: Made) -> dict[str, int]:
    return {row["cause"]: row["ns"] for row in summarized(made)["flash_by_cause"]}


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (ev(EventType.VFS_WRITE, 1, program()), "vfs_write"),
        (ev(EventType.VFS_WRITE, 1, ev(EventType.FS_WRITE_END, 1, program())), "vfs_write"),
        (ev(EventType.VFS_WRITE, 1, GC(1, program())), "garbage_collection"),
        (ev(EventType.VFS_WRITE, 1, GC(1, FLUSH(1, program()))), "garbage_collection"),
        (ev(EventType.VFS_FSYNC, 1, FLUSH(1, program())), "vfs_fsync"),
        (FLUSH(1, program()), "write_buffer"),
        (GC(1, ERASE(1, program())), "erase"),
        (ev(EventType.FS_LOOK_UP, 1, page_read(220)), "look_up"),
        (ev(EventType.FS_CREATE, 1, FLUSH(1, program())), "create"),
        (ev(EventType.FS_CREATE, 1, GC(1, program())), "garbage_collection"),
        (ev(EventType.VFS_SYNC, 1, ev(EventType.VFS_WRITEBACK, 1, program())), "write_back"),
        (ANYTHING(1, program()), "outside"),
        (program(), "outside"),
    ],
)  # fmt: skip
def test_each_operation_has_its_cause(event: Event, cause: str) -> None:
    assert causes(Made().task(7, event)) == {cause: 220}


def test_a_task_s_work_causes_nothing_of_another_s() -> None:
    made = Made()
    # the read of task 8 lies in time within the write of task 7
    made.task(7, ev(EventType.VFS_WRITE, 10_000, program()))
    inner = Made(now=1_002_000, seq=made.seq).task(8, page_read())
    made.written = [inner.written[0], *made.written]
    assert causes(made) == {"vfs_write": 220, "outside": 25}
    rows = {row["name"]: row["kind"] for row in summarized(made)["calls"]}
    assert rows == {"VFS_WRITE": "system call", "fs_gcd": "task"}


def test_flash_time_by_file_and_cause() -> None:
    write = ev(
        EventType.VFS_WRITE,
        5,
        program(),
        GC(2, program(), ERASE(1, ev(EventType.FLASH_ERASE, 500))),
    )
    write.fields["object"] = 17
    gone = ev(EventType.VFS_READ, 5, page_read(), page_read(2, flags=EventFlag.OOB), object=99)
    rows = summarized(Made().task(7, write, gone, program()), {17: "/a"})["flash_by_file"]
    assert [(row["path"], row["ns"]) for row in rows] == [
        ("/a", 940),
        ("(no file)", 220),
        ("inode 99, gone at the end", 27),
    ]
    assert rows[0]["causes_ns"] == {"vfs_write": 220, "garbage_collection": 220, "erase": 500}
    assert (rows[0]["programs"], rows[0]["erases"]) == (2, 1)
    assert (rows[2]["reads"], rows[2]["oob_reads"]) == (1, 1)


def reading(page: int, size: int, *inside: Event) -> Event:
    """A read call; what is given is in it."""
    return ev(EventType.VFS_READ, 9, *inside, object=5, offset=page * 4096, size=size * 4096)


def pc(kind: EventType, page: int, size: int) -> Event:
    return ev(kind, 0, object=5, offset=page, size=size)


def test_read_ahead_that_nobody_wanted_is_told() -> None:
    made = Made().task(
        7,
        # asks for page 0, and 4 are read: 3 ahead
        reading(0, 1, pc(EventType.PC_MISS, 0, 1), pc(EventType.RA_SUBMIT, 0, 4)),
        reading(1, 2, pc(EventType.PC_HIT, 1, 2)),
        # page 3 has left the cache meanwhile: it was read for nothing
        reading(3, 1, pc(EventType.PC_MISS, 3, 1), pc(EventType.RA_SUBMIT, 3, 1)),
        # 8 pages ahead, in two windows; one is found
        reading(20, 1, pc(EventType.PC_MISS, 20, 1), pc(EventType.RA_SUBMIT, 20, 5)),
        reading(21, 1, pc(EventType.PC_HIT, 21, 1), pc(EventType.RA_SUBMIT, 25, 4)),
    )
    recording = made.recording()
    found = pagecache.make_page_cache_counts(
        recording, tree.make_event_tree(recording, NAMES, SYMBOLS)
    )
    assert (found.hits, found.misses, found.windows) == (3, 3, 4)
    assert (found.ahead, found.used, found.wasted) == (3 + 4 + 4, 2 + 1, 8)


def test_a_trace_of_nothing_comes_to_nothing() -> None:
    told = summarized(Made())
    assert (told["events"], told["calls"], told["flash_by_file"]) == (0, [], [])
    assert told["cache"]["hit_rate"] is None


def test_flash_time_by_cause_is_all_flash_time() -> None:
    made = Made().task(7, ev(EventType.VFS_WRITE, 5, program(), GC(2, page_read())), page_read())
    made.task(8, FLUSH(1, program()), ev(EventType.FLASH_ERASE, 500))
    told = summarized(made)
    total = told["flash"]["ns"]
    assert total == 220 + 25 + 25 + 220 + 500
    assert sum(row["ns"] for row in told["flash_by_cause"]) == total
    assert sum(row["ns"] for row in told["flash_by_file"]) == total
    assert sum(row["layers_ns"]["chip"] for row in told["calls"]) == total


ON_611 = {"board": {"icount_shift": 2}, "accel": "tcg", "kernel": "6.1.0-44-amd64"}


def test_tracing_costs_its_events_at_their_prices() -> None:
    price = {k: p.instructions for k, p in cost.read_tracing_costs().kernels["6.1"].items()}
    made = Made().task(
        7, ev(EventType.MARK, text=b"m"), ev(EventType.VFS_READ, 90, page_read(10), GC(1))
    )
    made.task(7, ev(EventType.VFS_OPEN, 9), ev(EventType.PC_HIT, size=1))
    told = summarized(made)
    probes = {"VFS_READ": "detour", "VFS_OPEN": "detour", "FUNC": "kretprobe"}
    found = cost.compute_tracing_cost(told["requests"], probes, ON_611, told["trace_ns"])
    each = {row["kind"]: (row["count"], row["instructions_each"]) for row in found["kinds"]}
    assert each == {
        "call of the VFS": (2, price["call"]),
        "page read": (1, price["page_read"]),
        "call of a function": (1, price["function"]),
        "look into the page cache": (1, price["cache"]),
    }
    total = 2 * price["call"] + price["page_read"] + price["function"] + price["cache"]
    assert (found["instructions"], found["ns"]) == (total, 4 * total)
    assert found["share"] == pytest.approx(4 * total / told["trace_ns"])
    assert found["unpriced"] == {}


def test_what_was_not_measured_has_no_price() -> None:
    told = summarized(Made().task(7, ev(EventType.VFS_READ, 90, page_read(10))))
    # the same event by another probe, another kernel, a clock that does not count instructions
    found = cost.compute_tracing_cost(
        told["requests"], {"VFS_READ": "kretprobe"}, ON_611, told["trace_ns"]
    )
    assert found["unpriced"] == {"VFS_READ": 1}
    assert [row["kind"] for row in found["kinds"]] == ["page read"]
    found = cost.compute_tracing_cost(
        told["requests"], {}, ON_611 | {"kernel": "9.9.1"}, told["trace_ns"]
    )
    assert (found["unpriced"], found["instructions"]) == ({"FLASH_READ": 1, "VFS_READ": 1}, 0)
    found = cost.compute_tracing_cost(
        told["requests"], {}, ON_611 | {"accel": "kvm"}, told["trace_ns"]
    )
    assert (found["ns"], found["share"]) == (None, None)


def test_every_event_but_a_mark_has_a_kind() -> None:
    kinds = cost.read_tracing_costs().kinds.values()
    assert {e for k in kinds for e in k.events} == {t.name for t in EventType} - {"MARK"}


def test_probes_are_told_by_status() -> None:
    said = "probe VFS_READ vfs_read detour missed 0\nprobe FUNC f kretprobe missed 2\nmissed 0\n"
    assert cost.parse_probe_kinds(said) == {"VFS_READ": "detour", "FUNC": "kretprobe"}
