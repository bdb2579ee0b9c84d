# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that are cut, and boards that are lost, on this machine: the run goes on."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

import connectioncuts
import pytest
from support.remotes import agent, program, running

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import BoardLost, Job, Step
from nandlab.board.own import ownboard
from nandlab.board.own.ownboard import HeldBoard
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.tables import Mtd
from nandlab.board.own.transport import Reply, ShellTransport
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.remote import RemoteModel

CABLE = ("sh", "-c", 'cat | setsid sh -c "$0" | cat')
"""A shell in a session of its own: it stays when the group that leads to it is killed."""
CUTS, AT_ONCE = 50, 12
WITHIN_S = 2.0
"""A job takes about so long, with all that is brought for it."""


def test_cuts_at_any_moment_lose_no_finished_job_and_leave_no_process(tmp_path: Path) -> None:
    """Whatever is being brought or done then; the next job on the same board runs."""
    built, stays = agent(tmp_path), f"87654.{os.getpid()}"

    async def one(number: int, free: asyncio.Semaphore) -> bool:
        on = ShellTransport(CABLE, "a cable")
        board = RemoteBoard(on, built, program, folder=str(tmp_path / f"board {number}"))
        async with free:
            return await connectioncuts.survived(board, on, number, WITHIN_S, stays)

    async def all_of_them() -> list[bool]:
        free = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(one(number, free) for number in range(CUTS)))

    lost = asyncio.run(all_of_them())
    assert any(lost)
    until = time.monotonic() + 30
    while (left := running(stays) + running(f"{tmp_path}/board")) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


class CutOnce(ShellTransport):
    """A connection that is cut once a folder is made, before the board has said so."""

    cuts = 0

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = 60) -> Reply:
        reply = await super().call(command, input_bytes, limit_s)
        if "mkdir -m 700" in command and not self.cuts:
            self.cuts += 1
            raise BoardLost("cut", [])
        return reply


def test_a_folder_that_was_made_as_the_connection_was_cut_is_ours(tmp_path: Path) -> None:
    folder = tmp_path / "board"
    board = RemoteBoard(CutOnce(CABLE, "a cable"), agent(tmp_path), program, folder=str(folder))

    async def run_twice() -> str:
        with pytest.raises(BoardLost):
            await board.run(Job((Step("first", "echo on"),)))
        assert folder.is_dir()
        record = await board.run(Job((Step("next", "echo on"),)))
        return record["next"].stdout

    assert asyncio.run(run_twice()) == "on\n"


def test_a_folder_that_was_there_before_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    on = ShellTransport(CABLE, "a cable")
    board = RemoteBoard(on, agent(tmp_path), program, folder=str(tmp_path / "board"))
    with pytest.raises(NandlabError):
        asyncio.run(board.run(Job((Step("first", "echo on"),))))


@dataclass
class Silent:
    """A board that does not answer as long as it is off."""

    address: str = "a board"
    is_off: bool = True

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = 1) -> Reply:
        if self.is_off:
            raise BoardLost("no answer", [])
        return Reply(0, b"0\n")

    def forget(self) -> None:
        """It has nothing of its own there."""


def test_power_is_switched_once_for_a_board_that_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownboard, "BOOT_S", 0.0)
    log = tmp_path / "switched"
    (tmp_path / "my.toml").write_text(
        'name = "mine"\nsummary = "it"\nkind = "remote"\n'
        f'[reach]\nssh = "mine"\npower = \'echo on >>"{log}"\'\n'
        '[partition]\nname = "data"\nsize = 1048576\nerasesize = 131072\n'
    )
    on = Silent()
    model = read_noun_file(tmp_path / "my.toml", RemoteModel)
    held = HeldBoard(on, model, "me", "data", Mtd(1, 1 << 20, 128 << 10, "data"))  # type: ignore[arg-type]
    for _ in range(3):  # trials that are lost one after the other
        with pytest.raises(BoardLost):
            asyncio.run(held.recover())
    assert log.read_text() == "on\n"
    on.is_off = False
    asyncio.run(held.recover())
    on.is_off = True  # lost anew, after it had answered
    with pytest.raises(BoardLost):
        asyncio.run(held.recover())
    assert log.read_text() == "on\non\n"
