# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual ARM board: it is an ARM, idles, and a job repeats."""

from __future__ import annotations

import asyncio

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import Job, Step
from nandlab.board.virtual.qemu import open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun

pytestmark = [pytest.mark.board, pytest.mark.anew, pytest.mark.timeout(600)]


def test_a_job_repeats_on_an_arm() -> None:
    board = open_board(load_noun("boards", "apf27-arm", BoardModel))
    job = Job(
        steps=(
            Step("machine", "uname -m", 10),
            Step("idle", "sleep 20", 60),
            Step("alone", "grep -c nopidle /proc/modules", 10),
        )
    )
    one, two = (asyncio.run(board.run(job)).steps for _ in range(2))
    assert one == two
    assert [step.stdout for step in one] == ["armv7l\n", "", "1\n"]
    idle = one[1]
    assert 20_000_000_000 <= idle.end_ns - idle.start_ns < 20_100_000_000
    with pytest.raises(UsageError, match="amd64"):
        open_board(board.machine.model, accel="kvm")
