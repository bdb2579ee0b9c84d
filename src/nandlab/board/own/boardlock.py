# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board is used by one at a time: a folder on it, with who has it and since when."""

from __future__ import annotations

import getpass
import os
import shlex
import socket
from datetime import UTC, datetime

from nandlab.base.errors import UsageError
from nandlab.board.own.guard import PartitionSpec, find_erasable_partition
from nandlab.board.own.tables import PRINT_TABLES, Mtd, Tables, parse_kernel_tables
from nandlab.board.own.transport import Transport

LOCK_FOLDER = "/tmp/nandlab.lock"
TAKEN_STATUS = 9
"""The exit status of a lock that is another's."""


def format_this_process() -> str:
    """Who this process is, and when, in a line."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return f"{getpass.getuser()}@{socket.gethostname()}, process {os.getpid()}, since {now}"


async def acquire_board_lock(transport: Transport, who: str, lock: str = LOCK_FOLDER) -> None:
    """Takes the board; UsageError names who has it, and how to take it from them."""
    folder = shlex.quote(lock)
    mine = f"mkdir {folder} 2>/dev/null && echo {shlex.quote(who)} >{folder}/owner"
    reply = await transport.call(f"{mine} || {{ cat {folder}/owner; exit {TAKEN_STATUS}; }}")
    if reply.rc:
        raise UsageError(
            f"{transport.address}: the board is taken by {reply.text or 'somebody'}: wait; or if "
            "nobody runs there any more, nandlab board unlock FILE"
        )


async def reacquire_board_lock(transport: Transport, who: str, lock: str = LOCK_FOLDER) -> None:
    """Takes the board again if a boot has lost the lock; UsageError if it is another's now."""
    folder = shlex.quote(lock)
    if (await transport.call(f'[ "$(cat {folder}/owner 2>/dev/null)" = {shlex.quote(who)} ]')).rc:
        await acquire_board_lock(transport, who, lock)


async def release_board_lock(transport: Transport, who: str, lock: str = LOCK_FOLDER) -> None:
    """Gives the board back, if it still is this owner's."""
    folder = shlex.quote(lock)
    await transport.call(f'[ "$(cat {folder}/owner)" = {shlex.quote(who)} ] && rm -r {folder}')


async def break_board_lock(transport: Transport, lock: str = LOCK_FOLDER) -> str | None:
    """Takes the board from whoever has it; who that was, None: nobody."""
    folder = shlex.quote(lock)
    reply = await transport.call(f"[ -d {folder} ] && {{ cat {folder}/owner; rm -r {folder}; }}")
    return None if reply.rc else reply.text or "somebody"


async def read_kernel_tables(transport: Transport) -> Tables:
    """The board's tables; Doubt if they did not come whole."""
    reply = await transport.call(PRINT_TABLES)
    return parse_kernel_tables(reply.out.decode(errors="surrogateescape"))


async def read_erasable_partition(
    transport: Transport, spec: PartitionSpec, erase: str | None
) -> Mtd:
    """Asks the board for its tables: the partition that may be erased; Doubt if none may."""
    return find_erasable_partition(spec, erase, await read_kernel_tables(transport))
