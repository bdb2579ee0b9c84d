# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract of a board, held by the virtual one, by the fake, and by a user's own alike."""

from __future__ import annotations

import asyncio

import pytest

from nandlab.board.jobs.fake import FakeBoard
from nandlab.board.jobs.job import OUTPUT_MAX, Board, ChannelReader, Job, JobRecord, Setup, Step

pytestmark = pytest.mark.anew
SECOND = 1_000_000_000


def run(board: Board, *steps: Step, **rest: object) -> JobRecord:
    return asyncio.run(board.run(Job(steps, **rest)))  # type: ignore[arg-type]


def test_steps_run_in_order_in_the_jobs_folder_with_its_files(any_board: Board) -> None:
    begun: list[str] = []
    job = Job(
        (Step("one", "cat note"), Step("two", "echo err >&2")),
        files={"note": b'a "quoted"\\ line\n'},
    )
    record = asyncio.run(any_board.run(job, begun.append))
    assert [s.step for s in record.steps] == begun == ["one", "two"]
    assert record["one"].stdout == 'a "quoted"\\ line\n'
    assert (record["two"].stdout, record["two"].stderr) == ("", "err\n")
    assert record.failed() is None


def test_the_first_step_starts_at_its_offset_after_a_whole_second(any_board: Board) -> None:
    """How late another board is hangs on what else it does; test_remote.py has its moment."""
    for offset_ns in (0, 123_000_000):
        record = run(any_board, Step("now", "true"), start_offset_ns=offset_ns)
        late_ns = record["now"].start_ns % SECOND - offset_ns
        assert not any_board.deterministic or 0 <= late_ns < 5_000_000


def test_what_follows_a_setup_starts_at_its_offset_after_a_whole_second(any_board: Board) -> None:
    steps = (Step("before", "cat first"), Step("after", "cat first then"))
    files = {"first": b"1", "then": b"2"}
    starts = []
    for offset_ns in (0, 123_000_000):
        setup = Setup(1, frozenset({"first"}), 1000, offset_ns)
        record = run(any_board, *steps, files=files, setup=setup)
        assert [s.stdout for s in record.steps] == ["1", "12"]
        starts.append(record["after"].start_ns)
        if not any_board.deterministic:  # its clock goes on between the jobs
            assert starts[-1] - record["before"].end_ns > SECOND + offset_ns
    if any_board.deterministic:
        assert abs(starts[1] - starts[0] - 123_000_000) < 5_000_000


def test_the_ram_that_is_available_as_a_job_begins_is_told(any_board: Board) -> None:
    """It is what the job's first step finds, but for what the step itself takes."""
    look = "grep MemAvailable /proc/meminfo || true"
    record = run(any_board, Step("look", look))
    assert record.available is not None and record.available % 1024 == 0
    if not isinstance(any_board, FakeBoard):  # others may take RAM of a board that is shared
        near = 1 << 20 if any_board.deterministic else record.available // 2
        found = int(record["look"].stdout.split()[1]) * 1024
        assert abs(record.available - found) < near


def test_times_do_not_overlap(any_board: Board) -> None:
    record = run(any_board, Step("a", "true"), Step("b", "true"))
    a, b = record.steps
    assert a.start_ns < a.end_ns <= b.start_ns < b.end_ns


def test_a_step_that_may_fail_ends_nothing_and_says_so(any_board: Board) -> None:
    may = Step("may", "echo why; exit 3", may_fail=True)
    record = run(any_board, may, Step("then", "true"))
    assert [(s.step, s.rc) for s in record.steps] == [("may", 0), ("then", 0)]
    assert record["may"].stdout == "why\n"
    assert record["may"].stderr == "it may fail, and exited with 3\n"


def test_a_failure_skips_to_the_steps_that_always_run(any_board: Board) -> None:
    last = Step("last", "true", always=True)
    record = run(any_board, Step("bad", "echo why >&2; exit 3"), Step("not", "true"), last)
    assert [s.step for s in record.steps] == ["bad", "last"]
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


def test_the_same_job_gives_the_same_record_but_for_times_that_do_not_repeat(
    any_board: Board,
) -> None:
    steps = [Step("work", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo $i")]
    a, b = run(any_board, *steps), run(any_board, *steps)
    if any_board.deterministic:
        assert a == b
    else:
        assert a["work"].stdout == b["work"].stdout == "300\n"


def test_large_output_comes_whole(any_board: Board) -> None:
    record = run(any_board, Step("many", "seq 1 20011"))
    assert record["many"].stdout.split() == [str(n) for n in range(1, 20012)]


@pytest.mark.parametrize(
    "printed",
    [
        "é, ß and \N{PUNCTUATION SPACE}\N{LINE SEPARATOR}\n".encode(),
        b"no text: \xff\xc3\xed\xa0\x80\x85",
        bytes(range(256)),
        b"a\0b\r\x1b\x7f\\u00e9 no newline",
    ],
)
def test_what_a_step_prints_comes_as_it_was(any_board: Board, printed: bytes) -> None:
    job = Job((Step("it", "cat file; cat file file >&2"),), files={"file": printed})
    step = asyncio.run(any_board.run(job))["it"]
    assert step.stdout.encode(errors="surrogateescape") == printed
    assert step.stderr.encode(errors="surrogateescape") == 2 * printed
    assert step.cut() == []


@pytest.mark.parametrize(
    "kind", ["fake", pytest.param("qemu", marks=[pytest.mark.board, pytest.mark.long])]
)
def test_output_that_is_cut_is_told_with_its_size(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Long on the virtual board, where each byte goes through a serial port."""
    any_board: Board = request.getfixturevalue("board") if kind == "qemu" else FakeBoard()
    command = f"head -c {OUTPUT_MAX + 1009} /dev/zero | tr '\\0' x; echo little >&2"
    step = run(any_board, Step("it", command))["it"]
    assert step.ok
    assert (len(step.stdout), step.stdout_bytes) == (OUTPUT_MAX, OUTPUT_MAX + 1009)
    assert (step.stderr, step.stderr_bytes) == ("little\n", None)
    assert len(step.cut()) == 1
    assert all(
        part in step.cut()[0] for part in ("step it ", " 8389617 bytes on stdout;", " 8388608 ")
    )


def test_a_record_that_init_cut_short_does_not_hide_why() -> None:
    reader = ChannelReader()
    reader.feed(b'{"event":"end","step":"it"\n{"event":"failed","what":"a \\u00e9","why":"b"}\n')
    assert reader.trouble == "init on the board: a \\xe9: b"
    assert (reader.steps, reader.is_done) == ([], False)
