# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job has left on a user's own board is put away, and nothing that is another's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from boardtables import OURS, ROOT, SYSTEM, Printed, mount

from nandlab.board.own.leftover import BOOT_ID, Leftover, find_job_leftover, make_cleanup_command
from nandlab.board.own.ownboard import HeldBoard
from nandlab.board.own.tables import PRINT_TABLES, Device, Doubt, Mtd, parse_kernel_tables
from nandlab.board.own.transport import Reply, connect_local
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.remote import RemoteModel

MTD = Mtd(1, OURS.size, OURS.erasesize, OURS.name)
FREE = Printed()
MOUNTED = Printed(mounts=(ROOT, mount("31:1", "mtd1", "jffs2", "/mnt", 77)))
ATTACHED = Printed(
    mounts=(ROOT, mount("0:40", "ubi0:v", "ubifs", "/mnt", 78)), ubi={"ubi0": 1, "ubi1": 0}
)
CARD = mount("0:50", "tmpfs", "tmpfs", "/mnt", 79)
MODEL = """
name = "mine"
summary = "it"
kind = "remote"
reach = { ssh = "mine" }
partition = { name = "data", size = 109051904, erasesize = 131072 }
"""


def test_what_is_on_the_partition_where_jobs_mount_is_left_of_a_job() -> None:
    boot = FREE.boot
    assert find_job_leftover(parse_kernel_tables(FREE.text()), MTD) == Leftover(boot)
    assert find_job_leftover(parse_kernel_tables(MOUNTED.text()), MTD) == Leftover(
        boot, ((77, Device(31, 1)),)
    )
    left = Leftover(boot, ((78, Device(0, 40)),), (0,))
    assert find_job_leftover(parse_kernel_tables(ATTACHED.text()), MTD) == left
    assert find_job_leftover(
        parse_kernel_tables(replace(FREE, mounts=(ROOT, CARD)).text()), MTD
    ) == Leftover(boot)


@dataclass
class Scripted:
    """A board that prints tables one after the other, and does what it is told."""

    tables: list[Printed]
    address: str = "a board"
    commands: list[str] = field(default_factory=list)

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = 1) -> Reply:
        if command == PRINT_TABLES:
            return Reply(0, self.tables.pop(0).text().encode())
        self.commands.append(command)
        return Reply(0, b"0\n")

    def did(self, word: str) -> bool:
        return any(word in command for command in self.commands)


def after_a_job(tmp_path: Path, *tables: Printed, ends: bool = True) -> Scripted:
    """What a board was told by a job that began with the first tables, and the last erase."""
    (tmp_path / "my.toml").write_text(MODEL)
    board = Scripted(list(tables))
    model = read_noun_file(tmp_path / "my.toml", RemoteModel)

    async def all_of_it() -> None:
        own = HeldBoard(board, model, "me", "data", MTD)  # type: ignore[arg-type]
        await own.before()
        if ends:
            await own.after()
        await own.tidy()
        await own.erased()

    try:
        asyncio.run(all_of_it())
    except Doubt:
        assert not board.did("flash_erase")
    assert not board.tables
    return board


def test_what_a_job_left_is_put_away_before_the_guard_is_asked(tmp_path: Path) -> None:
    for ends in (True, False):
        board = after_a_job(tmp_path, FREE, MOUNTED, FREE, ends=ends)
        assert board.did("umount /mnt") and board.did("flash_erase")
        board = after_a_job(tmp_path, FREE, ATTACHED, FREE, ends=ends)
        assert board.did("ubidetach -d 0") and not board.did("ubidetach -d 1")


def test_what_came_after_a_job_is_left_alone_and_nothing_is_erased(tmp_path: Path) -> None:
    for others in (MOUNTED, ATTACHED):
        board = after_a_job(tmp_path, FREE, FREE, others)
        assert not board.did("umount") and not board.did("ubidetach")
        assert not board.did("flash_erase")


def test_after_a_boot_nothing_is_a_jobs(tmp_path: Path) -> None:
    """It may have other numbers, and mount by itself what is on the partition."""
    for others in (MOUNTED, ATTACHED):
        again = replace(others, boot="another")
        board = after_a_job(tmp_path, FREE, again, again, ends=False)
        assert not board.did("umount") and not board.did("ubidetach")
    renumbered = replace(
        FREE,
        parts=(replace(SYSTEM, number=1, path=""), replace(OURS, number=0, path="")),
        mounts=(ROOT,),
        boot="another",
    )
    board = after_a_job(tmp_path, FREE, renumbered, renumbered, ends=False)
    assert not board.did("flash_erase")


@pytest.mark.parametrize("boot", ["right", "another"])
def test_only_the_very_same_is_put_away(boot: str) -> None:
    """By this machine: its boot is another, or its mounts and UBI devices are."""
    here = Path(BOOT_ID).read_text().strip() if boot == "right" else boot
    left = Leftover(here, ((1 << 30, Device(31, 1)),), (987,))
    done = asyncio.run(
        connect_local().call(f"umount() {{ echo umount; }}; {make_cleanup_command(left, MTD)}")
    )
    assert done.text == ""
