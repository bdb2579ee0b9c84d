# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board: what it does beyond the contract, on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.native import preload
from support.remotes import agent, lossy_line, program, running

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import BoardLost, Job, Setup, Step
from nandlab.board.own import transport
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.serialline import SerialLine
from nandlab.board.own.transport import ShellTransport, connect_local, write_file_on_board

TESTS = Path(__file__).parents[1]
SECOND = 1_000_000_000
LONG = f"98765.{os.getpid()}"
"""Seconds of sleep that tell this process's from others."""


@pytest.fixture
def here(tmp_path: Path) -> RemoteBoard:
    return RemoteBoard(connect_local(), agent(tmp_path), program, folder=str(tmp_path / "on board"))


def until_gone(word: str, limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while running(word) and time.monotonic() < end:
        time.sleep(0.05)
    return not running(word)


@pytest.mark.parametrize("rc", [0, 1, 255])
def test_a_commands_exit_status_is_the_boards_word(rc: int) -> None:
    reply = asyncio.run(connect_local().call(f"echo it; exit {rc}"))
    assert (reply.rc, reply.text) == (rc, "it")


def test_a_command_that_is_cut_off_is_no_reply() -> None:
    with pytest.raises(BoardLost, match=r"ended in the middle|Killed"):
        asyncio.run(connect_local().call("kill -9 $$"))


def test_what_ssh_itself_complains_of_is_told() -> None:
    with pytest.raises(BoardLost, match="name: no such name in ssh_config"):
        refuses = ("sh", "-c", "echo name: no such name in ssh_config >&2; exit 255")
        asyncio.run(ShellTransport(refuses, "ssh name").call("true"))


def test_a_file_that_arrives_as_another_is_refused(tmp_path: Path) -> None:
    torn = ShellTransport(("sh", "-c", 'case "$0" in *"cat >"*) echo x >in; exec sh -c "$0" <in;; '
                  '*) exec sh -c "$0";; esac'), "a line")  # fmt: skip
    with contextlib.chdir(tmp_path), pytest.raises(NandlabError, match="did not arrive whole"):
        asyncio.run(write_file_on_board(torn, str(tmp_path / "it"), b"what was sent"))
    assert not (tmp_path / "it").exists()


def test_a_connection_that_is_cut_leaves_no_process(here: RemoteBoard) -> None:
    """Wherever a step is then, and though it has started others in sessions of their own."""
    busy = f"setsid sleep {LONG} & (sleep {LONG} &) ; sleep {LONG}"

    async def cut(after_s: float) -> None:
        begun = asyncio.Event()
        job = Job((Step("busy", busy),))
        task = asyncio.ensure_future(here.run(job, lambda step: begun.set()))
        await begun.wait()
        await asyncio.sleep(after_s)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    for after_s in (0, 0.01, 0.3):
        asyncio.run(cut(after_s))
        assert until_gone(LONG, 5), after_s


def test_what_a_job_leaves_running_is_ended(here: RemoteBoard) -> None:
    record = asyncio.run(here.run(Job((Step("it", f"setsid sleep {LONG} & echo left"),))))
    assert record["it"].stdout == "left\n"
    assert until_gone(LONG, 5)


def test_a_board_that_falls_silent_in_a_step_is_lost(
    here: RemoteBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "QUIET_S", 3.0)
    agents = f"{here.folder}/agent"
    stopped: list[int] = []

    def stop(step: str) -> None:
        stopped.extend(running(agents))
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    with pytest.raises(BoardLost, match="within 3 s in step it"):
        asyncio.run(here.run(Job((Step("it", f"sleep {LONG}"),)), stop))
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert stopped and until_gone(LONG, 5)
    record = asyncio.run(here.run(Job((Step("next", "echo on"),))))
    assert record["next"].stdout == "on\n"


def test_a_board_that_was_lost_is_given_all_anew(here: RemoteBoard) -> None:
    """It may have booted since, and our folder is in its RAM."""
    gone = f"rm -rf '{here.folder}/agent'; kill -9 $PPID"
    with pytest.raises(BoardLost):
        asyncio.run(here.run(Job((Step("it", gone),))))
    record = asyncio.run(here.run(Job((Step("next", "echo on"),))))
    assert record["next"].stdout == "on\n"


def test_a_job_waits_for_the_very_moments_that_are_asked_for(
    here: RemoteBoard, tmp_path: Path
) -> None:
    """How late it then begins is up to the board; never before."""
    log, shim = tmp_path / "moments", preload(TESTS / "c/moments.c")
    here.environment = {"LD_PRELOAD": str(shim), "MOMENTS": str(log)}
    job = Job(
        (Step("before", "true"), Step("after", "true")),
        start_offset_ns=345_000_000,
        setup=Setup(1, frozenset(), 1000, 123_000_000),
    )
    record = asyncio.run(here.run(job))
    first, then = map(int, log.read_text().split())
    assert (first % SECOND, then % SECOND) == (345_000_000, 123_000_000)
    assert record["before"].start_ns >= first and record["after"].start_ns >= then
    assert then - record["before"].end_ns > SECOND


def test_a_job_has_a_second_to_be_read_on_a_slow_board(here: RemoteBoard) -> None:
    """It begins at a whole second, which may be over before the board comes to wait for it."""
    here.environment = {"LD_PRELOAD": str(preload(TESTS / "c/slowclock.c"))}
    record = asyncio.run(here.run(Job((Step("it", "echo on"),))))
    assert record["it"].stdout == "on\n"


@pytest.fixture
def line(tmp_path: Path) -> Iterator[SerialLine]:
    with lossy_line(tmp_path, lost=0, seed=1) as tty:
        yield SerialLine(tty, kernel_quiet=False)


def test_a_serial_line_runs_a_command_once_however_often_it_is_asked(line: SerialLine) -> None:
    async def three() -> list[bytes]:
        one = await line.call("echo again >>count; cat count")
        ask = line._tag  # the same question, as if its answer had been lost
        told = await line._ended(5, 1, "38")
        two = await line.call("cat count")
        assert line._tag > ask and told[0] == "r"
        await line.close()
        return [one.out, two.out]

    assert asyncio.run(three()) == [b"again\n", b"again\n"]


def test_a_serial_line_is_left_as_it_was_found(line: SerialLine) -> None:
    async def used() -> None:
        assert (await line.call("pwd")).text == line.place
        await line.close()

    asyncio.run(used())
    assert not Path(line.place).exists()
