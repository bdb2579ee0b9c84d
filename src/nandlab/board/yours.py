# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board, opened from its file."""

from __future__ import annotations

from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.guard import Mtd, Partition
from nandlab.board.held import erasable, leave, owner, take, unlock
from nandlab.board.reach import Transport, ssh
from nandlab.board.serialline import SerialLine
from nandlab.catalog.files import parse
from nandlab.catalog.remote import RemoteModel


def transport(model: RemoteModel) -> Transport:
    """The way to a board."""
    reach = model.reach
    if reach.serial is not None:
        return SerialLine(Path(reach.serial), reach.baud)
    if reach.ssh is None:
        raise UsageError(f"board {model.name}: no way to reach it")
    return ssh(reach.ssh)


async def look(path: Path, erase: str | None) -> Mtd:
    """The partition that may be erased, by the board's file and tables; Doubt if none may.

    The board is held meanwhile; UsageError if it is another's. Nothing is written to flash.
    """
    model = parse(path, RemoteModel)
    on, who = transport(model), owner()
    try:
        await take(on, who)
        try:
            return await erasable(on, Partition(**model.partition.model_dump()), erase)
        finally:
            await leave(on, who)
    finally:
        await on.close()


async def freed(path: Path) -> str | None:
    """Takes the board from whoever has it; who that was, None: nobody."""
    on = transport(parse(path, RemoteModel))
    try:
        return await unlock(on)
    finally:
        await on.close()
