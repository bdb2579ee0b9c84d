# SPDX-License-Identifier: GPL-2.0-or-later
"""Scores on a made board's traces, whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import boardmade as made
from support.boardmade import Flash, closed, opened, read, written
from support.fitting import fits

from nandlab.analysis.curves.readahead import CACHE_PAGE_BYTES
from nandlab.flash.reading import boardscore, boardwords, pagecache
from nandlab.flash.reading.boardscore import TABLE_US
from nandlab.flash.reading.boardscores import ModelBoard
from nandlab.flash.reading.pagecache import CacheChoice
from nandlab.traced.boardtraces import (
    STEP_S,
    BoardTraces,
    FlashStart,
    FunctionCall,
    SystemCall,
    TraceRun,
    read_board_traces_of_loads,
)

AHEAD = CacheChoice(128, True)
SELECT = [
    *(opened(), read(0, 100), closed()),
    *(opened(), *(read(at * 1024, 1024) for at in range(103)), closed()),
]
"""A file of 26 pages: its first four at each open, and then windows of 8 and 16."""
SELECT_BURSTS = [4, 4, 8, 14]
STEP_US = STEP_S * 1e6


def score(
    tmp_path: Path,
    calls: Sequence[Sequence[str]] = (SELECT,),
    functions: Sequence[Sequence[str]] = (["1;1;0;jffs2_readpage;7"],),
    flash: Sequence[Sequence[str]] = (["1;R;7;load"],),
) -> dict[str, Any]:
    folder = made.write(tmp_path / "load", [made.syscalls(c) for c in calls], functions, flash)
    (load,) = read_board_traces_of_loads(folder)
    found = boardscore.score_traced_load(load)
    assert all("\n" not in line for line in boardwords.format_load_scores(found))
    return found.model_dump(mode="json")


def bursts(calls: Sequence[int], took: int = 20) -> list[str]:
    return made.functions([[took] * count for count in calls])


def test_read_calls_follow_from_the_system_calls(tmp_path: Path) -> None:
    traced = [bursts(SELECT_BURSTS), bursts(SELECT_BURSTS), bursts([4, 4, 8, 15]), bursts([30])]
    found = score(tmp_path, [SELECT] * 4, traced)["read_calls"]
    assert found["fitted"].endswith("read-ahead 128 KiB, cache emptied between opens")
    assert (found["fitted_on"], found["scored_on"]) == ("made_1.csv", 3)
    assert [r["foretold"] for r in found["runs"]] == [30] * 4
    assert [r["traced"] for r in found["runs"]] == [30, 30, 31, 30]
    assert (found["exact"], found["bursts_exact"]) == (2, 1)
    assert found["as_good_there"] == []
    assert list(found["runs"][0]["of_choices"].values()) == [30, 26, 27, 26]


def test_the_choice_is_the_first_runs(tmp_path: Path) -> None:
    found = score(tmp_path, [SELECT] * 2, [bursts([1] * 27), bursts(SELECT_BURSTS)])["read_calls"]
    assert found["fitted"].endswith("read-ahead off, cache emptied between opens")
    assert (found["exact"], found["scored_on"]) == (0, 1)
    alike = score(tmp_path / "b", [SELECT] * 2, [bursts([5, 21])] * 2)["read_calls"]
    assert alike["fitted"].endswith("read-ahead 128 KiB, cache kept between opens")
    assert alike["as_good_there"] == ["read-ahead off, cache kept between opens"]
    told = score(tmp_path / "c", [SELECT] * 2, [bursts([1] * 26)] * 2)["read_calls"]
    assert told["fitted"].endswith("read-ahead off, cache kept between opens")
    assert told["as_good_there"] == []


def test_runs_without_a_pair_are_told(tmp_path: Path) -> None:
    found = score(tmp_path, [SELECT] * 3, [bursts(SELECT_BURSTS)])["read_calls"]
    assert (found["scored_on"], found["not_paired"]) == (0, 2)


def rows(calls: Sequence[str]) -> list[SystemCall]:
    found = []
    for i, call in enumerate(calls):
        name, _, *numbers, file, elapsed = call.split(";")
        moved = [int(n) for n in numbers] if name in {"read", "write"} else []
        found.append(SystemCall(i, name, file, float(elapsed), *moved))
    return found


@pytest.mark.parametrize(
    ("calls", "pages"),
    [
        ([opened(), read(0, 0)], []),
        ([opened(), written(1, 0), read(0, 1)], [1]),
        ([opened(), read(0, 100), read(50, 10), read(0, 4096)], [1]),
        # What is written is in the cache, and the file as long as it then is.
        ([opened(), written(0, 1024), read(0, 1024)], []),
        ([opened(), written(0, 1024), written(4096, 4096), read(0, 8192)], []),
        ([opened(), read(0, 2048), written(0, 1024), written(4096, 9000), read(0, 8192)], [1]),
        # A folder and a journal that is opened meanwhile do not empty the cache.
        ([opened(), read(0, 9), opened("j"), written(0, 9, "j"), closed("j"), read(0, 9)], [1]),
        ([opened(), read(0, 9), closed(), opened("/flash"), closed("/flash"), read(0, 9)], [1, 1]),
        # The file's length is what is read later.
        ([opened(), read(0, 9), read(5 * CACHE_PAGE_BYTES, 1)], [4, 1]),
        # Two streams in one file, of which the second is at random.
        ([opened(), read(0, 4096 * 64), read(40 * CACHE_PAGE_BYTES, 9)], [64]),
    ],
)
def test_small_loads_worked_by_hand(calls: list[str], pages: list[int]) -> None:
    assert pagecache.count_page_reads_per_call(rows(calls), AHEAD) == pages


def test_pages_of_writes_are_counted_at_their_edges() -> None:
    calls = [written(0, 1024), written(4090, 12), written(4096, 8192), written(7, 0)]
    assert pagecache.count_page_writes(rows(calls)) == 1 + 2 + 2


offsets = st.tuples(st.integers(0, 40 * CACHE_PAGE_BYTES), st.integers(0, 3 * CACHE_PAGE_BYTES))
some_calls = st.lists(
    st.one_of(
        st.sampled_from([opened(), closed(), opened("b"), closed("b")]),
        offsets.map(lambda o: read(*o)),
        offsets.map(lambda o: written(*o)),
        offsets.map(lambda o: read(*o, "b")),
    )
)


@given(some_calls)
def test_a_page_is_read_once_while_it_is_kept(calls: list[str]) -> None:
    """Without reading ahead, exactly the pages that reads touch and no write or read before did."""
    found = pagecache.count_page_reads_per_call(rows(calls), CacheChoice(0, False))
    known: set[tuple[str, int]] = set()
    touched = []
    for call in rows(calls):
        pages = range(
            call.offset // CACHE_PAGE_BYTES, -(-(call.offset + call.size) // CACHE_PAGE_BYTES)
        )
        new = {(call.file, page) for page in (pages if call.size else ())} - known
        known |= new
        if new and call.call == "read":
            touched.append(len(new))
    assert found == touched
    for cache in pagecache.CACHE_CHOICES:
        assert sum(found) <= sum(pagecache.count_page_reads_per_call(rows(calls), cache))


def overheads(us: float, pages: Sequence[int], calls: Sequence[int]) -> list[list[float]]:
    """Bursts in steps of the clock, of calls that take such an overhead each."""
    return [[(n / c * TABLE_US["R"] + us) / STEP_US] * c for n, c in zip(pages, calls, strict=True)]


def run(us: float, pages: Sequence[int], calls: Sequence[int]) -> list[str]:
    return made.functions(overheads(us, pages, calls))  # type: ignore[arg-type]


def flash(pages: Sequence[int]) -> list[str]:
    found = Flash()
    for count in pages:
        found.burst(count)
    return found.rows


def test_the_overhead_is_fitted_on_one_run_and_scored_on_the_others(tmp_path: Path) -> None:
    pages, calls = [10, 16, 36], [4, 8, 14]
    traced = [run(80, pages, calls), run(80, pages, calls), run(40, pages, calls)]
    looked_up = flash([25, *pages])
    found = score(tmp_path, [SELECT] * 3, traced, [looked_up, flash(pages), flash(pages)])
    times = found["burst_times"]
    assert times["overhead_us"] == pytest.approx(80, abs=0.1)
    assert (times["fitted_on"], times["scored_on"]) == ("made_1.csv", 2)
    same, less = (r["errors"]["total"] for r in times["runs"][1:])
    assert same == pytest.approx(0, abs=1e-4)
    assert less == pytest.approx(26 * 40 / (62 * TABLE_US["R"] + 26 * 40), rel=1e-3)
    both = times["fitted_overhead"]["total"]
    assert same < both < less
    assert times["paper_overhead"]["total"] < 0
    assert [r["n"] for r in times["runs"]] == [62] * 3


def test_a_run_with_pages_of_something_else_is_scored_but_not_fitted(tmp_path: Path) -> None:
    pages, calls = [10, 16, 36], [4, 8, 14]
    traced = [run(80, pages, calls)] * 3
    with_a_look_up = flash([10 + 25, 16, 36])
    found = score(tmp_path, [SELECT] * 3, traced, [with_a_look_up, flash(pages), flash(pages)])
    times = found["burst_times"]
    assert (times["fitted_on"], times["scored_on"], times["impossible"]) == ("made_2.csv", 2, 1)
    assert times["overhead_us"] == pytest.approx(80, abs=0.1)
    assert times["runs"][0]["errors"]["total"] > 0.2
    assert times["fitted_overhead"]["max"] == times["runs"][0]["errors"]["max"]


def test_bursts_that_do_not_pair_are_not_scored(tmp_path: Path) -> None:
    pages, calls = [10, 16], [4, 8]
    traced = [run(80, pages, calls)] * 3
    found = score(tmp_path, [SELECT] * 3, traced, [flash([26]), flash(pages)])["burst_times"]
    assert (found["fitted_on"], found["scored_on"], found["not_paired"]) == ("made_2.csv", 0, 3)
    assert found["fitted_overhead"] is None
    alone = score(tmp_path / "b", [SELECT], traced[:1], [flash([26])])["burst_times"]
    assert "no run has as many bursts" in alone["not_scored"]


def test_a_load_that_writes_has_no_times_of_reads(tmp_path: Path) -> None:
    found = score(tmp_path, [[opened(), read(0, 9), written(0, 9)]])["burst_times"]
    assert "the load writes" in found["not_scored"]


def test_a_background_tasks_reads_are_no_bursts_of_the_load() -> None:
    made_ = Flash()
    made_.burst(10)
    made_.burst(3, "other")
    made_.erase(7)
    made_.burst(4)
    reads = [row.split(";") for row in made_.rows]
    parsed = [FlashStart(float(r[0]), r[1], int(r[2]), r[3]) for r in reads]
    assert boardscore.count_burst_pages(parsed) == [10, 4]
    assert boardscore.count_burst_pages([]) == []


def test_a_pages_time_is_the_usual_pause_to_the_next_start(tmp_path: Path) -> None:
    run_ = Flash()
    for then in [6] * 30 + [7] * 10 + [9] * 8 + [40]:
        run_.operation("R", 1, "load", then)
    for then in [14] * 12 + [12] * 3:
        run_.operation("W", 1, "load", then)
    run_.operation("E", 1, "load", 20)
    run_.operation("R", 1, "other", 6)
    kinds = score(tmp_path, flash=[run_.rows])["page_times"]["kinds"]
    reads, writes, erases = (kinds[k] for k in "RWE")
    assert reads["us"] == pytest.approx((30 * 6 + 10 * 7) / 40 * STEP_US, abs=0.01)
    assert reads["mode_us"] == pytest.approx(6 * STEP_US, abs=0.01)
    assert reads["near_mode"] == pytest.approx(40 / 49, abs=1e-4)
    assert reads["off"] == pytest.approx(reads["us"] / 182.66 - 1, abs=1e-4)
    assert reads["too_short"] == 0
    assert (writes["us"], writes["too_short"]) == (pytest.approx(14 * STEP_US, abs=0.01), 3)
    assert (erases["us"], erases["pauses"]) == (None, 0)


def test_the_collectors_reads_are_64_an_erase(tmp_path: Path) -> None:
    whole, cut = Flash(), Flash()
    for block in (9, 8, 7):
        whole.erase(block)
        whole.burst(5)
    cut.erase(9)
    cut.erase(8, reads=63)
    cut.operation("R", 3, "gc", 6)
    found = score(tmp_path, flash=[whole.rows, cut.rows, flash([3])])["collector"]
    first, second, none = found["runs"]
    assert (first["erases"], first["foretold"], first["traced"]) == (3, 192, 192)
    assert first["in_order"] == 3
    assert (second["foretold"], second["traced"], second["in_order"]) == (128, 128, 1)
    assert none["traced"] == 0
    assert (found["exact"], found["scored_on"], found["in_order"]) == (3, 3, 4)


def test_without_an_erase_the_collector_is_not_scored(tmp_path: Path) -> None:
    assert score(tmp_path)["collector"] == {"not_scored": "nothing was erased"}


moments = st.lists(st.integers(0, 200_000), min_size=1, max_size=30).map(sorted)
starts = moments.flatmap(
    lambda at: st.tuples(*(st.tuples(st.just(t), st.integers(0, 500)) for t in at))
)
kinds = st.lists(st.sampled_from("RRRWE"), min_size=30, max_size=30)
tasks = st.lists(st.sampled_from(["load", "gc"]), min_size=30, max_size=30)


@given(st.lists(some_calls.filter(bool), min_size=1, max_size=3), starts, kinds, tasks)
def test_whatever_is_traced_has_a_score_that_fits_its_schema(
    calls: list[list[str]], times: tuple[tuple[int, int], ...], kinds: list[str], tasks: list[str]
) -> None:
    functions = [FunctionCall(a * STEP_S, (a + n) * STEP_S, "jffs2_readpage") for a, n in times]
    flash = [
        FlashStart(a * STEP_S, kind, n, task)
        for (a, n), kind, task in zip(times, kinds, tasks, strict=False)
    ]
    load = BoardTraces(
        "made",
        tuple(TraceRun(str(i), tuple(rows(each))) for i, each in enumerate(calls)),
        (TraceRun("f", tuple(functions)), TraceRun("g", tuple(functions))),
        (TraceRun("h", tuple(flash)), TraceRun("k", tuple(reversed(flash)))),
    )
    found = boardscore.score_traced_load(load)
    fits("model-board", ModelBoard(loads=[found]).model_dump_json())
    assert list(boardwords.format_load_scores(found))
