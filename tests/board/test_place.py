# SPDX-License-Identifier: GPL-2.0-or-later
"""A board that stands at a place of labgrid: acquired, released, and switched by its client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import BoardLost
from nandlab.board.own import labgrid, ownboard
from nandlab.board.own.tables import Mtd
from nandlab.board.own.transport import Reply
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.remote import RemoteModel

CLIENT = """#!/bin/sh
echo "$@" >>"$0.log"
[ "$2" != taken ] || { echo "labgrid-client: Error: Place taken already acquired by a@b"; exit 1; }
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What labgrid's client was asked, a line each; it is a stand-in."""
    client = tmp_path / labgrid.CLIENT
    client.write_text(CLIENT)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / f"{labgrid.CLIENT}.log"


async def used(name: str | None) -> None:
    async with labgrid.hold_labgrid_place(name):
        pass


def test_a_place_is_acquired_and_released(log: Path) -> None:
    asyncio.run(used("desk"))
    assert log.read_text().splitlines() == ["-p desk acquire", "-p desk release"]


def test_without_a_place_nobody_is_asked(log: Path) -> None:
    asyncio.run(used(None))
    assert not log.exists()


def test_a_place_that_another_has_is_refused_in_labgrids_words(log: Path) -> None:
    with pytest.raises(UsageError, match=r"taken is not .*acquired by a@b"):
        asyncio.run(used("taken"))
    assert log.read_text().splitlines() == ["-p taken acquire"]


def test_without_labgrids_client_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"pip install 'nandlab\[labgrid\]'"):
        asyncio.run(used("desk"))


@pytest.mark.parametrize(
    ("more", "switched"),
    [("", ["-p desk power cycle"]), ("power = 'true'\n", [])],
    ids=["labgrid's", "a command's"],
)
def test_a_lost_board_has_labgrids_power_where_no_command_is_given(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, switched: list[str]
) -> None:
    monkeypatch.setattr(ownboard, "BOOT_S", 0.0)
    path = tmp_path / "my.toml"
    path.write_text(
        'name = "mine"\nsummary = "it"\nkind = "remote"\n'
        f'[reach]\nssh = "mine"\nlabgrid = "desk"\n{more}'
        '[partition]\nname = "data"\nsize = 1048576\nerasesize = 131072\n'
    )
    model = read_noun_file(path, RemoteModel)

    class Off:
        address = "a board"

        async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = 1) -> Reply:
            raise BoardLost("no answer", [])

        def forget(self) -> None:
            """It has nothing of its own there."""

    mtd = Mtd(1, 1 << 20, 128 << 10, "data")
    held = ownboard.HeldBoard(Off(), model, "me", "data", mtd)  # type: ignore[arg-type]
    with pytest.raises(BoardLost):
        asyncio.run(held.recover())
    assert (log.read_text().splitlines() if log.exists() else []) == switched
