# SPDX-License-Identifier: GPL-2.0-or-later
"""An emulated ARM board that stops, and connections to it that are cut: the run goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import connectioncuts
import pytest
from standinssh import SLOW_S, SSH, board_file, reached
from support import armhf, standin
from support.remotes import no_program

from nandlab.board.jobs.job import BoardLost, Job, Step
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.transport import connect_ssh
from nandlab.results.folder import RunFolder

CUTS = 50
WITHIN_S = 8.0
"""A job takes about so long, with all that is brought for it."""
LOST_S = 30
STAYS = "87654"
STUDY = """
name = "stopped"
question = "Does a run go on when a board was lost?"
board = "apf27"
[matrix]
filesystems = [{ name = "jffs2" }]
chips = [{ part = "apf27", partition_mib = 32 }]
states = [{ name = "fresh" }]
seeds = [1, 2]
workloads = [{ name = "ffsmark", files = 200, transactions = 4000, size_max = 4096 }]
"""


@pytest.mark.long
@pytest.mark.timeout(CUTS * 60)
def test_fifty_cuts_lose_no_finished_job_and_leave_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = armhf.agent(tmp_path)

    async def all_of_them() -> list[bool]:
        on = connect_ssh(standin.HOST)
        board = RemoteBoard(on, built, no_program)
        told = []
        for seed in range(CUTS):
            told.append(await connectioncuts.survived(board, on, seed, WITHIN_S, STAYS))
        await board.close()
        return told

    with reached(tmp_path, monkeypatch) as there:
        lost = asyncio.run(all_of_them())
        assert any(lost) and not all(lost)
        # not ps: the stand-in's first process reaps none that ended
        left = "grep -lE '[a]gent|8765[4]' /proc/[0-9]*/cmdline"
        until = time.monotonic() + LOST_S
        while told := there.says(f"{left} || true"):
            assert time.monotonic() < until, told
            time.sleep(1)
        assert there.says("ls /tmp") == ""


@pytest.mark.long
@pytest.mark.timeout(4 * SLOW_S)
def test_a_board_that_stops_in_a_step_is_lost_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it goes on again, so do its jobs."""
    built = armhf.agent(tmp_path)
    steps = (Step("begin", "true"), Step("long", "sleep 1000"))
    stopped: list[float] = []

    async def stopping(pid: int) -> float:
        def stop(step: object) -> None:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(time.monotonic())

        board = RemoteBoard(connect_ssh(standin.HOST), built, no_program)
        with pytest.raises(BoardLost):
            await board.run(Job(steps), stop)
        lost_s = time.monotonic() - stopped[0]
        os.kill(pid, signal.SIGCONT)
        record = await board.run(Job((Step("next", "echo on"),)))
        assert record["next"].stdout == "on\n"
        await board.close()
        return lost_s

    with reached(tmp_path, monkeypatch) as there:
        assert asyncio.run(stopping(there.board.pid)) < LOST_S


@pytest.mark.long
@pytest.mark.timeout(10 * SLOW_S)
def test_a_run_goes_on_after_a_board_that_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board's power, which is switched once, brings it back; the next trial ends well."""
    study, run, log = tmp_path / "study.toml", tmp_path / "run", tmp_path / "switched"
    study.write_text(STUDY)
    with reached(tmp_path, monkeypatch) as there:
        pid = there.board.pid
        power = f"power = 'kill -CONT {pid}; echo on >>{log}'"
        mine = board_file(tmp_path, reach=f"{SSH}\n{power}")

        def stop() -> None:
            while not (run / "run.json").exists():
                time.sleep(0.1)
            time.sleep(5)
            os.kill(pid, signal.SIGSTOP)

        threading.Thread(target=stop, daemon=True).start()
        words = ["run", study, "--board", mine, "--erase", standin.DATA, "--out", run]
        argv = [sys.executable, "-m", "nandlab", *map(str, words)]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert log.exists() and there.says("ls /tmp") == "", ran.stderr
    assert [t.status for t in RunFolder(run).trials()] == ["board_lost", "ok"]
    assert log.read_text() == "on\n"
