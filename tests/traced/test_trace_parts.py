# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's time in parts, on traces whose parts are counted by hand or by whoever made them up."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tracemade import Processor

from nandlab.traced import timeparts
from nandlab.traced.records import EventType

SYMBOLS = {"garbage_collection": ["fs_gc"], "erase": ["fs_erase"]}
PROGRAM, OTHER_PROGRAM, COLLECTOR, FLUSHER = 7, 6, 8, 9
KERNEL = (COLLECTOR, FLUSHER)
COLUMNS = ("seq", "parent", "start_ns", "latency_ns", "pid", "event", "text", "cause")


@cache
def _open_database() -> duckdb.DuckDBPyConnection:
    """One for all traces, which are many and short: to open one takes longer than to read them."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE events (seq UBIGINT, parent UBIGINT, start_ns UBIGINT, "
        "latency_ns UBIGINT, pid UINTEGER, event VARCHAR, text VARCHAR, cause VARCHAR, "
        "cpu UTINYINT DEFAULT 0, flags UTINYINT DEFAULT 0)"
    )
    return con


def split(
    made: Processor, switches: bool = True, lost: bool = False, yield_ns: int = 0
) -> dict[str, Any]:
    """The parts of a trace made up; without switches as if the scheduler were not traced."""
    rows = [row for row in made.rows if switches or row["text"] != "schedule"]
    con = _open_database()
    con.execute("DELETE FROM events")
    if rows:
        marked = ", ".join("?" for _ in COLUMNS)
        con.execute(
            f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES "
            + ", ".join(f"({marked})" for _ in rows),
            [row[k] for row in rows for k in COLUMNS],
        )
    found = dict(con.execute(timeparts._make_query(SYMBOLS)).fetchnumpy())
    marks = [(row["start_ns"], row["text"]) for row in rows if row["event"] == "MARK"]
    return timeparts.compute_time_parts(
        timeparts.make_part_events_from_columns(found, KERNEL, marks, lost, yield_ns)
    )


def checked(found: dict[str, Any]) -> None:
    """Parts are none negative, and add up to the elapsed time; phases add up to the whole."""
    for phase in found["phases"]:
        assert sum(phase["parts_ns"].values()) == phase["elapsed_ns"]
        assert min(phase["parts_ns"].values()) >= 0
        cells = [ns for row in phase["for_ns"].values() for ns in row.values()]
        assert sum(cells) == phase["elapsed_ns"]
        assert min(cells) >= 0
    whole, *phases = found["phases"]
    if phases:
        assert sum(p["elapsed_ns"] for p in phases) == whole["elapsed_ns"]
        for name, ns in whole["parts_ns"].items():
            assert sum(p["parts_ns"][name] for p in phases) == ns


def by_hand() -> Processor:
    """A write with the collector in it; the collector's thread while the chip erases; a sleep."""
    p = Processor().wake(PROGRAM).run(10)
    p.begin("VFS_WRITE").run(20)
    p.begin("MTD_WRITE").run(3).begin("FLASH_PROGRAM", cause="vfs_write").run(220).end().run(2)
    p.end().run(5)
    p.begin("FUNC", text="fs_gc").run(30)
    p.begin("MTD_READ").run(4).begin("FLASH_READ", cause="garbage_collection").run(25).end()
    p.end().begin("FUNC", text="fs_erase").run(6)
    p.begin("FLASH_ERASE", cause="erase").run(500).end().end()
    p.end().run(7).end().run(11).instant("MARK", text="written").sleep()
    p.run(100)  # idle
    p.wake(COLLECTOR).run(8).begin("FUNC", text="fs_gc").run(40)
    p.begin("MTD_WRITE").run(1).begin("FLASH_PROGRAM", cause="garbage_collection").run(9).sleep()
    p.run(50)  # none runs while the chip programs for the collector
    p.wake(PROGRAM).run(60).sleep()  # the program works while the chip does: its time
    p.run(90)  # the chip again
    p.wake(COLLECTOR).run(2).end().end().run(15).end().run(12).sleep()
    p.wake(FLUSHER).run(13).begin("VFS_WRITEBACK").run(14).end().run(16).sleep()
    p.run(1000)  # idle
    return p.wake(PROGRAM).run(17).instant("PC_HIT")


def test_parts_are_those_counted_by_hand() -> None:
    found = split(by_hand())
    checked(found)
    whole, before, after = found["phases"]
    assert whole["parts_ns"] == {
        "application": 10 + 11 + 60 + 17,
        "file_system_in_calls": 20 + 5 + 7,
        "collector_in_calls": 30 + 6,
        "collector_in_threads": 40 + 15,
        "other_threads": 8 + 12 + 13 + 14 + 16,
        "idle": 100 + 1000,
        "mtd": 3 + 2 + 4 + 1,
        "chip": 220 + 25 + 500 + 9 + 50 + 90 + 2,
    }
    assert (before["name"], after["name"]) == (timeparts.BEFORE_MARKS, "written")
    assert before["elapsed_ns"] == 843
    assert before["parts_ns"]["application"] == 21
    assert whole["for_ns"]["collector_in_calls"] == {"processor": 36, "mtd": 4, "chip": 525}
    assert whole["for_ns"]["collector_in_threads"] == {"processor": 55, "mtd": 1, "chip": 151}
    nothing = dict.fromkeys(("reads", "programs", "erases", "spare_reads", "spare_programs"), 0)
    assert whole["operations"] == {
        # an erase inside the collector is the collector's, whatever its own cause
        "collector_in_calls": nothing | {"reads": 1, "erases": 1},
        "collector_in_threads": nothing | {"programs": 1},
        "wear_leveling": nothing,
        "erase": nothing,
        "rest": nothing | {"programs": 1},
    }
    assert after["operations"]["rest"] == nothing


def test_without_switches_application_and_idle_are_one_part() -> None:
    found = split(by_hand(), switches=False)
    checked(found)
    told = found["phases"][0]["parts_ns"]
    assert not found["switches"]
    assert "application" not in told
    assert "idle" not in told
    # what lies around the calls, of program and threads, and no call's
    outside = 10 + 11 + 100 + 8 + 12 + 13 + 16 + 1000 + 17
    assert told["application_or_idle"] == outside
    assert told["chip"] == 220 + 25 + 500 + 9 + 50 + 60 + 90 + 2


def test_a_preemption_that_no_record_tells_leaves_the_time_with_who_was_seen_last() -> None:
    p = Processor().wake(PROGRAM).begin("VFS_WRITE").run(5)
    p.running = None
    p.wake(FLUSHER).run(7).sleep()
    p.running = PROGRAM  # goes on where it was, without an end of its sleep
    p.run(11).end().run(2).instant("PC_HIT")
    found = split(p)
    checked(found)
    told = found["phases"][0]["parts_ns"]
    assert (told["file_system_in_calls"], told["other_threads"]) == (5 + 11, 7)
    assert told["application"] == 2


EVENTS = ("VFS_WRITE", "FS_WRITE_PAGE", "MTD_READ", "FLASH_READ", "FLASH_ERASE", "FUNC")
TASKS = (PROGRAM, OTHER_PROGRAM, COLLECTOR, FLUSHER)
STEP = st.tuples(
    st.sampled_from(["run", "begin", "end", "switch", "instant", "mark"]),
    st.integers(0, 9),
    st.sampled_from(EVENTS),
    st.sampled_from(TASKS),
)


def truth(p: Processor) -> str:
    """The part that has the time right now, by what the maker knows."""
    inner = [row for row in p.stacks.get(p.running or 0, []) if row["text"] != "schedule"]
    if p.running is None:
        # the chip does one thing at a time here: only one task is ever in an operation
        waits = any(r["event"].startswith("FLASH") for s in p.stacks.values() for r in s)
        return "chip" if waits else "idle"
    if inner and inner[-1]["event"].startswith("FLASH"):
        return "chip"
    known = [row for row in inner if row["text"] != "anything"]
    if known and known[-1]["event"].startswith("MTD"):
        return "mtd"
    if any(row["text"] == "fs_gc" for row in inner):
        return "collector_in_threads" if p.running in KERNEL else "collector_in_calls"
    if p.running in KERNEL:
        return "other_threads"
    return "file_system_in_calls" if inner else "application"


def played(steps: list[tuple[str, int, str, int]]) -> tuple[Processor, Counter[str]]:
    """A trace from random steps, and the time of each part as it passed."""
    p, true = Processor(), Counter[str]()

    def run(ns: int) -> None:
        true[truth(p)] += ns
        p.run(ns)

    def busy() -> bool:
        return any(r["event"].startswith("FLASH") for s in p.stacks.values() for r in s)

    for task in TASKS:  # a task is seen to sleep before it is seen to wake
        p.wake(task)
        run(1)
        p.sleep()
    run(1)
    p.wake(PROGRAM)
    for what, ns, event, pid in steps:
        if what == "run":
            run(ns)
        elif what == "switch":
            if p.running is not None:
                p.sleep()
            run(1 + ns)  # two tasks never run at one instant
            p.wake(pid)
        elif p.running is None:
            continue
        elif what == "end" and p.stacks[p.running]:
            p.end()
        elif what == "begin" and not (busy() and event.startswith("FLASH")):
            in_flash = any(r["event"].startswith("FLASH") for r in p.stacks[p.running])
            text = ("fs_gc", "anything")[ns % 2] if event == "FUNC" else ""
            if not in_flash:
                p.begin(event, text=text)
        elif what == "instant":
            p.instant("PC_HIT")
        elif what == "mark":
            p.instant("MARK", text="m")
    _to_the_end(p)
    return p, true


def _to_the_end(p: Processor) -> None:
    """All that is under way ends, in no time: what is not ended has no record."""
    if p.running is not None:
        p.sleep()
    for pid, stack in p.stacks.items():
        p.wake(pid)
        while stack:
            p.end()
        p.instant("PC_HIT")
        p.running = None


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, max_size=60))
def test_the_parts_of_any_trace_are_what_passed(steps: list[tuple[str, int, str, int]]) -> None:
    made, true = played(steps)
    found = split(made)
    checked(found)
    assert found["phases"][0]["elapsed_ns"] == true.total()
    if found["switches"]:
        told = {k: v for k, v in found["phases"][0]["parts_ns"].items() if v}
        assert told == {k: v for k, v in true.items() if v}
    checked(split(made, switches=False))


NUMBER = st.integers(0, 40)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(NUMBER, NUMBER, NUMBER, st.sampled_from(list(EventType)), st.integers(0, 4)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_even_records_that_cannot_be_add_up(
    rows: list[tuple[int, int, int, EventType, int]], phases: bool
) -> None:
    """Lost records, unseen switches, parents that end too early: no time is lost or doubled."""
    column = {
        "seq": np.arange(1, len(rows) + 1),
        "parent": np.array([min(r[0], i) for i, r in enumerate(rows)]),
        "start_ns": np.array([r[1] for r in rows]),
        "latency_ns": np.array([r[2] for r in rows]),
        "pid": np.array([6 + r[4] % 4 for r in rows]),
        "cpu": np.zeros(len(rows)),
        "flags": np.array([r[4] for r in rows]),
        "type": np.array([int(r[3]) for r in rows]),
        "function": np.array([r[4] if r[3] == EventType.FUNC else 0 for r in rows]),
        "cause": np.array([r[4] for r in rows]),
    }
    marks = [(r[1], "m") for r in rows if r[3] == EventType.MARK] if phases else []
    checked(
        timeparts.compute_time_parts(timeparts.make_part_events_from_columns(column, KERNEL, marks))
    )


def test_what_ended_before_records_were_lost_is_not_told_as_idle() -> None:
    p = Processor().wake(PROGRAM).begin("FUNC", text="schedule").run(5000).end()
    p.begin("VFS_WRITE").run(20).end().run(3).instant("PC_HIT")
    p.rows = p.rows[1:]  # the instant at the beginning
    found = split(p, lost=True)
    checked(found)
    assert found["phases"][0]["elapsed_ns"] == 23
    assert found["phases"][0]["parts_ns"]["idle"] == 0
    assert split(p)["phases"][0]["parts_ns"]["idle"] == 5000


def test_a_processor_that_is_offered_and_kept_is_not_idle() -> None:
    p = Processor().wake(PROGRAM).run(5)
    p.begin("FUNC", text="schedule").run(3000).end().run(5)
    p.begin("VFS_WRITE").run(7).begin("FUNC", text="schedule").run(2000).end().end()
    p.begin("FUNC", text="schedule").run(timeparts.YIELD_NS).end().run(1).instant("PC_HIT")
    found = split(p, yield_ns=timeparts.YIELD_NS)
    checked(found)
    told = found["phases"][0]["parts_ns"]
    assert told["application"] == 5 + 3000 + 5 + 1
    assert told["file_system_in_calls"] == 7 + 2000
    assert told["idle"] == timeparts.YIELD_NS


def test_any_names_of_functions_can_be_asked_for() -> None:
    """Names with a quotation mark or none at all do not break the question."""
    assert "NULL" in timeparts._make_query({})
    assert "'a''b'" in timeparts._make_query({"garbage_collection": ["a'b"]})


@pytest.mark.parametrize("name", timeparts.ROWS)
def test_every_part_has_words(name: str) -> None:
    from nandlab.trace import partshow

    assert name in partshow.WORDS
