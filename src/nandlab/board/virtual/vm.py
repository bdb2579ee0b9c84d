# SPDX-License-Identifier: GPL-2.0-or-later
"""One QEMU process of the virtual board: begun, restored, waited for, saved, ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from qemu.qmp import EventListener, QMPClient, QMPError

from nandlab.base.errors import NandlabError
from nandlab.base.scratch import PREFIX, hold_scratch_folder
from nandlab.board.jobs.cargo import Store
from nandlab.board.jobs.job import BoardLost, ChannelReader
from nandlab.board.jobs.memoryfile import MemoryFile
from nandlab.board.virtual.hostmemory import MemoryCurve, read_resident_bytes
from nandlab.board.virtual.machine import (
    RAM,
    SAVED_RAM,
    SAVES,
    SHARED_RAM,
    STATE,
    WORK_FOLDER,
    Machine,
)
from nandlab.board.virtual.ram import OUT_OF_MEMORY

CHANNEL_POLL_S = 0.2
ANSWER_S = 30
"""How long QEMU may take to open its monitor."""
SOCKET_FOLDER_MAX = 107 - len(f"/{PREFIX}12345678/qmp")
"""The longest folder that a scratch folder with the monitor's socket may be in: a socket's path has
107 bytes at most."""
CONSOLE, CHANNEL = "console", "channel"
"""QEMU's files of what the board says."""
SAVED = "state"
"""The file of a state that has all of the machine but RAM and store."""
NO_CONTENTS: Mapping[int, bytes] = MappingProxyType({})


class Vm:
    """One QEMU process, with its QMP connection, memory and files; ended by its context."""

    def __init__(self, files: _Files, process: asyncio.subprocess.Process, qmp: QMPClient) -> None:
        self.store = files.store
        self._console = files.console
        self._channel = files.channel
        self._ram = files.ram
        self._state = files.state
        self.process = process
        self.qmp = qmp
        self.reader = ChannelReader()
        self.memory = MemoryCurve()
        """Of the host, that the process holds while it is waited for."""
        self.before: tuple[bytes, bytes] = (b"", b"")
        """Console and channel from before the state that it was restored from."""
        self.events = EventListener()
        self._read = 0
        qmp.register_listener(self.events)

    @property
    def console(self) -> bytes:
        """What the board has said on its console."""
        return self.before[0] + self._console.read()

    @property
    def channel(self) -> bytes:
        """What the board has said on its status channel."""
        return self.before[1] + self._channel.read()

    def read_channel(self) -> None:
        """Feeds the reader what is new on the status channel."""
        told = self._channel.read(self._read)
        self._read += len(told)
        self.reader.feed(told)

    def make_loss_error(self, reason: str = "") -> BoardLost:
        """The error that the board is gone: why, by the channel, else by the caller or the console.

        The console comes last: it ends the same way whatever made init end.
        """
        self.read_channel()
        console = self.console.decode(errors="replace").replace("\r", "").splitlines()
        why = self.reader.trouble or reason or _explain_end(console)
        failed = (s.step for s in self.reader.steps if not s.ok)
        step = next(failed, self.reader.running)
        if why == OUT_OF_MEMORY and step:
            why += f" in step {step}"
        return BoardLost(why, console)

    async def doorbell(self) -> None:
        """Waits until the guest rings; BoardLost if it stops without ringing."""
        try:
            async for event in self.events:
                if event["event"] == "GUEST_PANICKED":
                    return
                if event["event"] in ("SHUTDOWN", "RESET"):
                    break
        except (QMPError, EOFError):
            pass
        raise self.make_loss_error()

    async def rung(self, limit_s: float) -> None:
        """Waits until the guest rings, and takes in what it tells until then.

        BoardLost if it does not within this limit of host time.
        """
        try:
            async with asyncio.timeout(limit_s):
                await _await_first(self.doorbell(), self._follow())
        except TimeoutError:
            raise self.make_loss_error(
                f"the board gave no answer within {limit_s} s of host time"
            ) from None
        self.read_channel()

    async def _follow(self) -> None:
        """Feeds the reader while the job runs, so that steps show at once; samples QEMU's memory.

        Ends when the channel tells of trouble: the board may not stop by itself then.
        """
        while self.reader.trouble is None:
            self.memory.add(read_resident_bytes(self.process.pid))
            await asyncio.sleep(CHANNEL_POLL_S)
            self.read_channel()

    async def restore(self) -> None:
        """Loads the saved state into a machine that waits for one."""
        await self._without_shared_memory()
        await self.qmp.execute("migrate-incoming", {"uri": f"fd:{self._state}"})
        while True:
            status = await self.qmp.execute("query-status")
            if isinstance(status, dict) and status["status"] != "inmigrate":
                break
            await asyncio.sleep(0.01)

    async def resume(self) -> None:
        """Lets the machine run."""
        await self.qmp.execute("cont")

    async def save(self, work: Path) -> None:
        """Saves state and RAM, without the store, in a folder, which the machine sees as SAVES."""
        assert self._ram is not None, "begun without a folder to save in"
        await self._without_shared_memory()
        await self.qmp.execute("migrate", {"uri": f"exec:cat > {SAVES / SAVED}"})
        while True:
            state = await self.qmp.execute("query-migrate")
            status = state["status"] if isinstance(state, dict) and "status" in state else "none"
            if status == "completed":
                self._ram.copy_to(work / RAM)
                return
            if status in ("failed", "cancelled"):
                if shutil.disk_usage(work).free < self.store.board.kernel_bytes:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work / SAVED))
                raise NandlabError(f"QEMU could not save the board's state: {state}")
            await asyncio.sleep(0.02)

    async def _without_shared_memory(self) -> None:
        """Excludes store and RAM, files of the host's, from a state that is saved or loaded."""
        without = {"capability": "x-ignore-shared", "state": True}
        await self.qmp.execute("migrate-set-capabilities", {"capabilities": [without]})


def _explain_end(console: list[str]) -> str:
    text = "\n".join(console)
    if "System is deadlocked on memory" in text or "panic_on_oom" in text:
        return OUT_OF_MEMORY
    if "Kernel panic" in text:
        line = next(line for line in console if "Kernel panic" in line)
        return "the board's kernel panicked: " + line.partition("Kernel panic - ")[2]
    return "the board stopped by itself"


def _find_short_folder() -> str | None:
    """A folder for sockets; None: the usual one will do, since its path is not too long."""
    return "/tmp" if len(os.fsencode(tempfile.gettempdir())) > SOCKET_FOLDER_MAX else None


@dataclass(frozen=True)
class _Files:
    """What a QEMU process has of the host's."""

    folder: Path
    """Which it sees as WORK_FOLDER."""
    store: Store
    console: MemoryFile
    channel: MemoryFile
    ram: MemoryFile | None
    """RAM that may be saved; None: it begins as a saved state has it, and is QEMU's own."""
    state: int | None
    """The open file of the state that it waits for."""
    inherited: tuple[int, ...]
    """The files that it has open from the beginning."""


@contextmanager
def _open_files(machine: Machine, state: Path | None, saves: Path | None) -> Iterator[_Files]:
    """The files of a QEMU process; state, saves: see start_vm()."""
    with ExitStack() as stack:
        folder = stack.enter_context(hold_scratch_folder(_find_short_folder()))
        store = stack.enter_context(Store(machine.model))
        console = stack.enter_context(MemoryFile(CONSOLE))
        channel = stack.enter_context(MemoryFile(CHANNEL))
        inherited = [each.appear(folder) for each in (store, console, channel)]
        ram = saved = None
        if state is None or saves is not None:
            ram = stack.enter_context(MemoryFile(RAM, machine.model.kernel_bytes))
            inherited.append(ram.appear(folder))
        if state is not None:
            saved = stack.enter_context((state / SAVED).open("rb")).fileno()
            inherited.append(saved)
            if ram is not None:
                ram.copy_from(state / RAM)
        yield _Files(folder, store, console, channel, ram, saved, tuple(inherited))


@asynccontextmanager
async def start_vm(
    machine: Machine,
    state: Path | None = None,
    saves: Path | None = None,
    carried: Mapping[int, bytes] = NO_CONTENTS,
    on_terminal: bool = False,
    keys: int | None = None,
) -> AsyncIterator[Vm]:
    """A machine whose QEMU has begun.

    state: folder of the state that it waits for; None: it boots. saves: the folder that it can save
    its state in. carried: contents of its store, by physical address. on_terminal, keys: see
    QemuBoard.shell.
    """
    with _open_files(machine, state, saves) as files:
        for address, content in carried.items():
            files.store.put(address, content)
        console = "mon:stdio" if on_terminal else f"file:{WORK_FOLDER / CONSOLE}"
        serial = machine.serial(console)
        waits = [] if state is None else ["-incoming", "defer"]
        see = {WORK_FOLDER: files.folder, STATE: state, SAVES: saves}
        ram = SAVED_RAM if files.ram is None else SHARED_RAM
        qmp = QMPClient("nandlab")
        await _listen(qmp, str(files.folder / "qmp"))
        process = await asyncio.create_subprocess_exec(
            *machine.command({at: p for at, p in see.items() if p}, ram, *serial, *waits),
            stdin=keys if on_terminal else subprocess.DEVNULL,
            stdout=None if on_terminal else subprocess.DEVNULL,
            stderr=(files.folder / "stderr").open("w"),
            start_new_session=True,
            pass_fds=files.inherited,
        )
        if keys is not None:
            os.close(keys)
        try:
            await _accept(qmp, process, files.folder)
            yield Vm(files, process, qmp)
        finally:
            await _end_process(process, qmp)


async def _listen(qmp: QMPClient, path: str) -> None:
    """Opens the monitor's socket, whole or not at all.

    QMPClient that is cancelled halfway leaves a coroutine that nobody awaits, which Python tells.
    """
    listening = asyncio.ensure_future(qmp.start_server(path))
    try:
        await asyncio.shield(listening)
    except asyncio.CancelledError:
        await listening
        await qmp.disconnect()
        raise


async def _accept(qmp: QMPClient, process: asyncio.subprocess.Process, folder: Path) -> None:
    accepting = asyncio.ensure_future(qmp.accept())
    ended = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait(
            {accepting, ended}, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED
        )
        if accepting.done() and not accepting.exception():
            return
    finally:  # if this is cancelled too: QMPClient cannot be disconnected twice at once
        ended.cancel()
        accepting.cancel()
        with contextlib.suppress(asyncio.CancelledError, QMPError, EOFError, OSError):
            await accepting
    said = (folder / "stderr").read_text().strip() or f"no answer within {ANSWER_S} s"
    raise NandlabError(f"QEMU did not start: {said}")


async def _end_process(process: asyncio.subprocess.Process, qmp: QMPClient) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
    with contextlib.suppress(QMPError, EOFError, OSError):
        await qmp.disconnect()


async def _await_first(*waits: Coroutine[Any, Any, None]) -> None:
    """Waits until one coroutine ends, then cancels the others; raises what that one raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    for task in done:
        task.result()
