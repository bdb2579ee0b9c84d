# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing that a worker or a scheduler sends becomes code, or a file's name, on the coordinator."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hostileworkers
import pytest
from distributed import Client
from support.smallruns import fake, read
from test_cluster import specs  # noqa: F401 - a fixture

from nandlab.base.errors import UsageError
from nandlab.cli.progress import SilentWatcher
from nandlab.plan.trialspec import TrialSpec
from nandlab.trial import runner
from nandlab.trial.workers import address, batch, cluster, connection

WAIT_S = 60
Way = Callable[[str], object]


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Path]:
    """A folder with the address of a farm that means harm."""
    folder = tmp_path / "farm"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, hostileworkers.__file__, str(folder)], stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + WAIT_S
        while not (folder / "address").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield folder
    finally:
        process.kill()
        process.wait()


def ran_here(farm: Path) -> bool:
    return (farm / f"{os.getpid()}").exists()


def test_a_client_that_unpickles_is_caught(farm: Path) -> None:
    """The traps work: this is what the others would see."""

    async def go() -> None:
        async with Client((farm / "address").read_text(), asynchronous=True) as client:
            await client.submit(hostileworkers.an_object, "", pure=False)

    asyncio.run(asyncio.wait_for(go(), WAIT_S))
    assert ran_here(farm)


@pytest.mark.parametrize("way", hostileworkers.WAYS)
def test_what_a_farm_sends_runs_nothing_and_ends_the_run_with_a_line(
    tmp_path: Path,
    specs: list[TrialSpec],  # noqa: F811
    farm: Path,
    way: Way,
    capfd: pytest.CaptureFixture[str],
) -> None:
    board = fake()
    folder = runner.open_run_folder(
        runner.make_run_head(read(tmp_path), specs, board), tmp_path / "run"
    )

    async def go() -> None:
        there = address.parse_campaign_address((farm / "address").read_text())
        async with connection.open_scheduler_client(there) as client:
            asked = batch.make_board_request(board, specs[0].virtual, {})
            engine = cluster.Cluster(client, board, asked, 1, way)  # type: ignore[arg-type]
            await runner.run_trials(folder, specs, board, engine, SilentWatcher())

    with pytest.raises(UsageError) as raised:
        asyncio.run(asyncio.wait_for(go(), WAIT_S))
    assert not ran_here(farm)
    assert len(folder.missing()) == len(specs)
    shown = [str(raised.value), *capfd.readouterr().err.splitlines()]
    assert all(line.isprintable() for line in shown), shown
