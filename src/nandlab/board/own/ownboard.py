# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board, opened from its file, held, and left as nandlab found it."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.base.printer import STDERR_NUMBER, print_note
from nandlab.board.jobs.job import BoardLost
from nandlab.board.own import flashcounts, labgrid
from nandlab.board.own.boardlock import (
    acquire_board_lock,
    break_board_lock,
    format_this_process,
    reacquire_board_lock,
    read_erasable_partition,
    read_kernel_tables,
    release_board_lock,
)
from nandlab.board.own.crossbuild import CrossCompiler
from nandlab.board.own.flash import (
    PartitionFlash,
    format_health_losses,
    is_partition_erased,
    make_partition_erase_command,
    read_flash_properties,
    read_health_counters,
    refuse_missing_tools,
)
from nandlab.board.own.guard import PartitionSpec, find_erasable_partition
from nandlab.board.own.leftover import MOUNTPOINT, Leftover, find_job_leftover, make_cleanup_command
from nandlab.board.own.remote import FOLDERS, RemoteBoard
from nandlab.board.own.serialline import SerialLine
from nandlab.board.own.tables import Doubt, Mtd, Tables
from nandlab.board.own.transport import QUIET_S, Transport, connect_ssh
from nandlab.catalog.files import read_noun_file
from nandlab.catalog.remote import RemoteModel

BOOT_S = 180.0
"""How long a board may take to answer after its power was switched."""
ENDS_S = QUIET_S + 10
"""The agent ends by itself when it has heard nothing of the host for QUIET_S."""
ERASE_S = 3600
COUNT_AGENTS = (
    f"for p in /proc/[0-9]*; do readlink $p/exe; done 2>/dev/null | grep -c '^{FOLDERS}[^/]*/agent'"
)
REMOVE_STALE_FOLDERS = f'for d in {FOLDERS}*; do [ -O "$d" ] && [ ! -L "$d" ] && rm -rf "$d"; done'
"""Takes away what runs that were killed have left; the board is used by one at a time."""


def open_board_transport(model: RemoteModel) -> Transport:
    """The way to a board."""
    reach = model.reach
    if reach.serial is not None:
        return SerialLine(Path(reach.serial), reach.baud)
    if reach.ssh is None:
        raise UsageError(f"board {model.name}: no way to reach it")
    return connect_ssh(reach.ssh)


@dataclass
class HeldBoard:
    """A board that is this process's for now, and the partition that may be erased."""

    transport: Transport
    model: RemoteModel
    holder: str
    erase: str | None
    mtd: Mtd
    was_switched: bool = False
    """Whether its power was switched since it last answered."""
    boot: str = ""
    """The boot in which the last job began."""
    leftover: Leftover | None = field(default_factory=Leftover)
    """What the last job left; None: it is not known yet."""

    async def before(self) -> None:
        """Asks the guard before a job; Doubt if anything is in doubt now."""
        self.boot = (await self._guarded()).boot
        self.leftover = None

    async def after(self) -> None:
        """Sees what a job has left that has ended; later, if the board does not answer now."""
        with contextlib.suppress(BoardLost, Doubt):
            self.leftover = await self._leftover()

    async def _guarded(self) -> Tables:
        """The board's tables, by which the guard lets the partition be erased; else Doubt."""
        await reacquire_board_lock(self.transport, self.holder)
        now = await read_kernel_tables(self.transport)
        mtd = find_erasable_partition(make_partition_spec(self.model), self.erase, now)
        if mtd != self.mtd:
            raise Doubt(f"{mtd.name!r} is mtd{mtd.number} now, and was mtd{self.mtd.number}")
        return now

    async def _leftover(self) -> Leftover:
        """What the last job left: nothing, if the board has booted since."""
        now = await read_kernel_tables(self.transport)
        return find_job_leftover(now, self.mtd) if now.boot == self.boot else Leftover()

    async def recover(self) -> None:
        """Has a board that was lost answer again, with its partition unused; else BoardLost."""
        self.transport.forget()
        reach = self.model.reach
        power = reach.power or (reach.labgrid and labgrid.make_power_cycle_command(reach.labgrid))
        if power and not self.was_switched:
            self.was_switched = True
            switching = await asyncio.create_subprocess_shell(power, stdout=STDERR_NUMBER)
            await switching.wait()
        await self._answered(BOOT_S if self.was_switched else 0)
        self.was_switched = False
        await self.tidy()

    async def _answered(self, limit_s: float) -> None:
        """Waits until the board answers; BoardLost if it does not."""
        until = time.monotonic() + limit_s
        while True:
            try:
                await self.transport.call("true")
                return
            except BoardLost:
                if time.monotonic() > until:
                    raise
                self.transport.forget()
                await asyncio.sleep(1)

    async def tidy(self) -> None:
        """Waits until no agent runs there, and takes away what the last job has left mounted."""
        until = time.monotonic() + ENDS_S
        while (await self.transport.call(COUNT_AGENTS)).text != "0" and time.monotonic() < until:
            await asyncio.sleep(1)
        if self.leftover is None:
            await reacquire_board_lock(self.transport, self.holder)
            self.leftover = await self._leftover()
        await self.transport.call(make_cleanup_command(self.leftover, self.mtd))
        self.leftover = Leftover()
        if self.model.programs.kdir is not None:
            await self.transport.call(flashcounts.STOP_COMMAND)

    async def erased(self) -> None:
        """Erases the partition, if the guard lets it."""
        await self._guarded()
        blocks = self.mtd.size // self.mtd.erasesize
        await self.transport.call(
            make_partition_erase_command(self.mtd.number, blocks), limit_s=ERASE_S
        )


def make_partition_spec(model: RemoteModel) -> PartitionSpec:
    """What the board's file says of its partition."""
    return PartitionSpec(**model.partition.model_dump(exclude={"part"}))


@asynccontextmanager
async def hold_board(path: Path, erase: str | None) -> AsyncIterator[HeldBoard]:
    """The board of a file, held, with the partition that may be erased; Doubt if none may."""
    model = read_noun_file(path, RemoteModel)
    transport, who = open_board_transport(model), format_this_process()
    async with labgrid.hold_labgrid_place(model.reach.labgrid):
        try:
            await acquire_board_lock(transport, who)
            try:
                yield HeldBoard(
                    transport,
                    model,
                    who,
                    erase,
                    await read_erasable_partition(transport, make_partition_spec(model), erase),
                )
            finally:
                with contextlib.suppress(BoardLost):
                    await release_board_lock(transport, who)
        finally:
            with contextlib.suppress(BoardLost):
                await transport.close()


async def find_erasable_board_partition(path: Path, erase: str | None) -> Mtd:
    """The partition that may be erased, by the board's file and tables; Doubt if none may.

    The board is held meanwhile; UsageError if it is another's. Nothing is written to flash.
    """
    async with hold_board(path, erase) as board:
        return board.mtd


async def break_own_board_lock(path: Path) -> str | None:
    """Takes the board from whoever has it; who that was, None: nobody."""
    model = read_noun_file(path, RemoteModel)
    transport = open_board_transport(model)
    async with labgrid.hold_labgrid_place(model.reach.labgrid):
        try:
            return await break_board_lock(transport)
        finally:
            await transport.close()


@asynccontextmanager
async def prepare_held_board(
    board: HeldBoard, *, discard: bool
) -> AsyncIterator[tuple[RemoteBoard, PartitionFlash]]:
    """A held board that runs jobs on its partition, and what it tells of its flash.

    discard: what the partition holds may be lost; else UsageError unless it is erased. At the end
    it is erased, so that the next use finds nothing that is not ours, and what of its health has
    become worse is told.
    """
    transport, number = board.transport, board.mtd.number
    await _refuse_mountpoint(transport)
    await refuse_missing_tools(transport, ("flash_erase", "nanddump"))
    flash = await read_flash_properties(transport, number)
    compiler = CrossCompiler(board.model.programs.cross)
    compiler.refuse_another(flash.machine)
    kdir = board.model.programs.kdir
    modules = (
        flashcounts.build_counting_modules(compiler, Path(kdir), flash.machine) if kdir else ()
    )
    if not discard and not await is_partition_erased(transport, number):
        raise UsageError(
            f"{board.mtd.name!r} is not erased: keep what it has by nandlab board save, then give "
            "--discard, which has it lost there; nandlab board restore brings it back"
        )
    remote = RemoteBoard(
        transport,
        compiler.agent(),
        compiler.program,
        before=board.before,
        after=board.after,
        recover=board.recover,
        modules=modules,
        identity_facts={"name": board.model.name, "kind": board.model.kind, **flash.identity()},
    )
    before = await read_health_counters(transport, number)
    await transport.call(REMOVE_STALE_FOLDERS)
    try:
        yield remote, flash
    finally:
        try:
            await _erase_at_end(board)
            for line in format_health_losses(before, await read_health_counters(transport, number)):
                print_note(f"{board.mtd.name!r}: {line}")
            await transport.call(f"rm -rf {shlex.quote(remote.folder)}")
        except BoardLost as lost:
            print_note(f"the board could not be left erased: {lost.reason}")


async def _erase_at_end(board: HeldBoard) -> None:
    """Erases the partition at the end, unless somebody has begun to use it."""
    try:
        await board.tidy()
        await board.erased()
    except UsageError as e:
        print_note(f"the partition is left as it is, not erased: {e}")


async def _refuse_mountpoint(transport: Transport) -> None:
    """UsageError unless jobs can mount where they do."""
    free = await transport.call(
        f"[ -d {MOUNTPOINT} ] && ! grep -q ' {MOUNTPOINT}[ /]' /proc/mounts"
    )
    if free.rc:
        raise UsageError(
            f"{transport.address}: {MOUNTPOINT} is no folder there, or something is mounted"
        )
