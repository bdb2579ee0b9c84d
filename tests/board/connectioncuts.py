# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that are cut at moments drawn by seed, while a board runs a job."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal

from nandlab.board.jobs.job import BoardLost, Job, Step
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.transport import ShellTransport


async def cut(on: ShellTransport, after_s: float) -> None:
    """Kills, after some time, the programs that lead to a board."""
    await asyncio.sleep(after_s)
    for process in list(on.running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def survived(
    board: RemoteBoard, on: ShellTransport, seed: int, within_s: float, stays: str
) -> bool:
    """Runs a job that is cut at some moment, and the next one, which ends well; whether the first
    was lost. It is whole if it was not.

    stays: a word for ``sleep``, whose process the first job leaves running.
    """
    steps = (Step("begin", f"setsid sleep {stays} & sleep 0.2"), Step("end", "echo done"))
    cutting = asyncio.ensure_future(cut(on, random.Random(seed).random() * within_s))
    was_lost = False
    try:
        record = await board.run(Job(steps))
        assert [s.step for s in record.steps] == ["begin", "end"]
        assert record["end"].stdout == "done\n"
    except BoardLost:
        was_lost = True
    await cutting
    record = await board.run(Job((Step("next", "echo on"),)))
    assert record["next"].stdout == "on\n"
    return was_lost
