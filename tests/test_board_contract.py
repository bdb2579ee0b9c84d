# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract of a board, held by the virtual one and by the fake alike."""

from __future__ import annotations

import asyncio

from nandlab.board.job import Board, Job, JobRecord, Step

SECOND = 1_000_000_000


def run(board: Board, *steps: Step, **rest: object) -> JobRecord:
    return asyncio.run(board.run(Job(steps, **rest)))  # type: ignore[arg-type]


def test_steps_run_in_order_in_the_jobs_folder_with_its_files(any_board: Board) -> None:
    begun: list[str] = []
    job = Job(
        (Step("one", "cat note"), Step("two", "echo err >&2")),
        files={"note": b'a "quoted"\\ line\nand \xc3\xa9\n'},
    )
    record = asyncio.run(any_board.run(job, begun.append))
    assert [s.step for s in record.steps] == begun == ["one", "two"]
    assert record["one"].stdout.startswith('a "quoted"\\ line\nand ')
    assert (record["two"].stdout, record["two"].stderr) == ("", "err\n")
    assert record.failed() is None


def test_the_first_step_starts_at_its_offset_after_a_whole_second(any_board: Board) -> None:
    for offset_ns in (0, 123_000_000):
        record = run(any_board, Step("now", "true"), start_offset_ns=offset_ns)
        late_ns = record["now"].start_ns % SECOND - offset_ns
        assert 0 <= late_ns < 5_000_000


def test_times_do_not_overlap(any_board: Board) -> None:
    record = run(any_board, Step("a", "true"), Step("b", "true"))
    a, b = record.steps
    assert a.start_ns < a.end_ns <= b.start_ns < b.end_ns


def test_a_failure_skips_to_the_steps_that_always_run(any_board: Board) -> None:
    steps = Step("bad", "echo why >&2; exit 3"), Step("not", "true"), Step("always-last", "true")
    record = run(any_board, *steps)
    assert [s.step for s in record.steps] == ["bad", "always-last"]
    failed = record.failed()
    assert failed is not None
    assert failed.failure() == "step bad exited with 3: why"


def test_a_step_past_its_deadline_is_killed(any_board: Board) -> None:
    record = run(any_board, Step("slow", "sleep 100", deadline_s=1))
    assert record["slow"].timed_out
    assert "passed its deadline" in record["slow"].failure()


def test_a_step_ended_by_a_signal_says_so(any_board: Board) -> None:
    record = run(any_board, Step("hit", "kill -9 $$"))
    assert record["hit"].signal == 9
    assert not record["hit"].ok


def test_the_same_job_gives_the_same_record(any_board: Board) -> None:
    steps = [Step("work", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i")]
    assert run(any_board, *steps) == run(any_board, *steps)


def test_large_output_comes_whole(any_board: Board) -> None:
    record = run(any_board, Step("many", "seq 1 20011"))
    assert record["many"].stdout.split() == [str(n) for n in range(1, 20012)]
