# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual board: QEMU, booted once, saved, and restored for every job.

Under TCG the board's clock counts instructions and jumps over idle time (``-icount``), so what a
job measures does not depend on the host. Nothing of the host's timing may reach the guest. There
is no disk, no network, no device that completes work by itself. Console and status channel are
files that never make the guest wait. The guest itself stops the machine, through a doorbell, when
it is ready to be saved and when its job is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from qemu.qmp import EventListener, QMPClient, QMPError

from nandlab.base.cache import entry
from nandlab.base.digest import file_digest
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.scratch import PREFIX, scratch
from nandlab.board import programs, ram
from nandlab.board.build import program
from nandlab.board.cargo import HEAD_BYTES, Store
from nandlab.board.job import BoardLost, ChannelReader, Job, JobRecord
from nandlab.board.kvm import probe
from nandlab.board.machine import HERE, STATE, Machine, assemble
from nandlab.board.ram import OUT_OF_MEMORY, found, too_little
from nandlab.board.resident import Curve, resident
from nandlab.catalog.board import JOB_BYTES, BoardModel
from nandlab.kit.kit import kit
from nandlab.kit.lock import Lock
from nandlab.kit.needs import Brought, bring, material

CONSOLE_TAIL_LINES = 80
CHANNEL_POLL_S = 0.2
ANSWER_S = 30
"""How long QEMU may take to open its monitor."""
SOCKET_FOLDER_MAX = 107 - len(f"/{PREFIX}12345678/qmp")
"""The longest folder that a scratch folder with the monitor's socket may be in: a socket's path has
107 bytes at most."""
NOTHING: Mapping[int, bytes] = MappingProxyType({})


def _lines(console: Path) -> list[str]:
    text = console.read_bytes().decode(errors="replace") if console.exists() else ""
    return text.replace("\r", "").splitlines()


class _Vm:
    """One QEMU process, with its QMP connection, store and files; ended by its context."""

    def __init__(
        self, folder: Path, process: asyncio.subprocess.Process, qmp: QMPClient, store: Store
    ) -> None:
        self.folder = folder
        self.store = store
        self.process = process
        self.qmp = qmp
        self.reader = ChannelReader()
        self.events = EventListener()
        qmp.register_listener(self.events)

    @property
    def console(self) -> Path:
        return self.folder / "console"

    @property
    def channel(self) -> Path:
        return self.folder / "channel"

    def read_channel(self) -> None:
        """Feeds the reader what is new on the status channel."""
        with self.channel.open("rb") as f:
            f.seek(self.reader.taken)
            self.reader.feed(f.read())

    def lost(self, reason: str = "") -> BoardLost:
        """The error that the board is gone: why, by the channel, else by the caller or the console.

        The console comes last: it ends the same way whatever made init end.
        """
        self.read_channel()
        console = _lines(self.console)
        why = self.reader.trouble or reason or _why_gone(console)
        failed = (s.step for s in self.reader.steps if not s.ok)
        step = next(failed, self.reader.running)
        if why == OUT_OF_MEMORY and step:
            why += f" in step {step}"
        return BoardLost(why, console[-CONSOLE_TAIL_LINES:])

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
        raise self.lost()


def _why_gone(console: list[str]) -> str:
    text = "\n".join(console)
    if "System is deadlocked on memory" in text or "panic_on_oom" in text:
        return OUT_OF_MEMORY
    if "Kernel panic" in text:
        line = next(line for line in console if "Kernel panic" in line)
        return "the board's kernel panicked: " + line.partition("Kernel panic - ")[2]
    return "the board stopped by itself"


def _short() -> str | None:
    """A folder for sockets; None: the usual one will do, since its path is not too long."""
    return "/tmp" if len(os.fsencode(tempfile.gettempdir())) > SOCKET_FOLDER_MAX else None


@asynccontextmanager
async def _vm(
    machine: Machine,
    *extra: str,
    state: Path,
    carried: Mapping[int, bytes] = NOTHING,
    on_terminal: bool = False,
    keys: int | None = None,
) -> AsyncIterator[_Vm]:
    with (
        scratch(_short()) as folder,
        Store(machine.model) as store,
    ):
        for address, content in carried.items():
            store.put(address, content)
        console = "mon:stdio" if on_terminal else f"file:{HERE / 'console'}"
        serial = ["-serial", console, "-serial", f"file:{HERE / 'channel'}"]
        qmp = QMPClient("nandlab")
        await qmp.start_server(str(folder / "qmp"))
        process = await asyncio.create_subprocess_exec(
            *machine.command(folder, state, *serial, *extra),
            stdin=keys if on_terminal else subprocess.DEVNULL,
            stdout=None if on_terminal else subprocess.DEVNULL,
            stderr=(folder / "stderr").open("w"),
            start_new_session=True,
            pass_fds=(store.appear(folder),),
        )
        if keys is not None:
            os.close(keys)
        try:
            await _accept(qmp, process, folder)
            yield _Vm(folder, process, qmp, store)
        finally:
            await _end(process, qmp)


async def _accept(qmp: QMPClient, process: asyncio.subprocess.Process, folder: Path) -> None:
    accepting = asyncio.ensure_future(qmp.accept())
    ended = asyncio.ensure_future(process.wait())
    await asyncio.wait({accepting, ended}, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if accepting.done() and not accepting.exception():
        return
    accepting.cancel()
    with contextlib.suppress(asyncio.CancelledError, QMPError, EOFError, OSError):
        await accepting
    said = (folder / "stderr").read_text().strip() or f"no answer within {ANSWER_S} s"
    raise NandlabError(f"QEMU did not start: {said}")


async def _end(process: asyncio.subprocess.Process, qmp: QMPClient) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()
    with contextlib.suppress(QMPError, EOFError, OSError):
        await qmp.disconnect()


class QemuBoard:
    """The virtual board. Construct with :func:`open_board`."""

    def __init__(
        self,
        machine: Machine,
        snapshot: Path,
        bring: Callable[[BoardModel, Path], Brought] = bring,
    ) -> None:
        self.machine = machine
        self.snapshot = snapshot
        self._bring = cache(partial(bring, machine.model))
        """What a program's folder needs of packages, brought."""

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the machine: see Machine.identity."""
        return self.machine.identity()

    @property
    def moved(self) -> tuple[str, ...]:
        """How its packages differ from those that are locked: see Board.moved."""
        return self.machine.kit.moved

    @property
    def deterministic(self) -> bool:
        """Whether the same job gives the same record to the nanosecond."""
        return self.machine.accel == "tcg"

    @property
    def kernel_config(self) -> dict[str, str]:
        """The kernel's configuration: values by symbol."""
        return self.machine.kit.kernel.config

    @property
    def key(self) -> str:
        """The saved state's name in the cache."""
        return self.snapshot.name

    def programs(self, job: Job) -> dict[str, Path]:
        """The programs that a job brings along: see Board.programs."""
        return programs.of(job, self._built)

    def packages(self, job: Job) -> Brought:
        """What a job's programs are built from beside the board's packages: see Board.packages."""
        found = [self._bring(folder) for folder in programs.folders(job).values()]
        lock = {name: dict(files) for each in found for name, files in each.lock.items()}
        moved = dict.fromkeys(line for each in found for line in each.moved)
        return Brought(lock, tuple(moved))

    def _built(self, folder: Path) -> Path:
        made = material(folder, self.machine.model, self._bring(folder).lock)
        return program(self.machine.kit.tools, folder, made)

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """Restores the board with the job in its store, and waits for the job's end."""
        async with self._given(job) as vm:
            vm.reader, memory = ChannelReader(on_step), Curve()
            limit = self.machine.model.trial_deadline_s
            try:
                async with asyncio.timeout(limit):
                    await self._go_on(vm)
                    await _first(vm.doorbell(), _follow(vm, memory))
            except TimeoutError:
                raise vm.lost(f"the board gave no answer within {limit} s of host time") from None
            vm.read_channel()
            if not vm.reader.done:
                raise vm.lost("the board stopped before its job was done")
            brought = vm.store.got(job.cargo.back_address) if job.cargo else None
            steps, available = tuple(vm.reader.steps), vm.reader.available
            return JobRecord(steps, tuple(memory.samples), brought, available)

    async def shell(
        self, keys: int | None = None, ready: Callable[[], None] = lambda: None
    ) -> None:
        """Runs the restored board's interactive shell on this process's terminal, to its end.

        keys: a file descriptor to read what is typed from; it is closed. ready: called when the
        board takes it.
        """
        async with self._given(Job(), on_terminal=True, keys=keys) as vm:
            await self._go_on(vm)
            ready()
            await vm.process.wait()

    def _given(
        self, job: Job, *, on_terminal: bool = False, keys: int | None = None
    ) -> AbstractAsyncContextManager[_Vm]:
        """A machine that awaits the saved state; its store has a job with programs and cargo."""
        brought = self.programs(job)
        taken = sorted(self.machine.commands & brought.keys())
        if taken:
            raise UsageError(f"{taken[0]} is a command of the board itself: rename your program")
        archive = job.archive(brought, self.machine.modules.of(job))
        if len(archive) + HEAD_BYTES > JOB_BYTES:
            raise NandlabError(f"a job of {len(archive)} bytes; a board takes {JOB_BYTES}")
        carried = {self.machine.model.job_start: archive}
        if job.cargo:
            carried |= {job.cargo.at(i): each for i, each in enumerate(job.cargo.contents)}
        words = ("-incoming", "defer")
        return _vm(
            *(self.machine, *words),
            state=self.snapshot,
            carried=carried,
            on_terminal=on_terminal,
            keys=keys,
        )

    async def _go_on(self, vm: _Vm) -> None:
        """Loads the saved state into a waiting machine, and lets it run."""
        await _without_store(vm)
        await vm.qmp.execute("migrate-incoming", {"uri": f"exec:cat {STATE / 'state'}"})
        await _restored(vm)
        await vm.qmp.execute("cont")


async def _without_store(vm: _Vm) -> None:
    """Excludes the store, which is a file of the host's, from a state that is saved or loaded."""
    without = {"capability": "x-ignore-shared", "state": True}
    await vm.qmp.execute("migrate-set-capabilities", {"capabilities": [without]})


async def _restored(vm: _Vm) -> None:
    """Waits until the saved state is loaded."""
    while True:
        status = await vm.qmp.execute("query-status")
        if isinstance(status, dict) and status["status"] != "inmigrate":
            break
        await asyncio.sleep(0.01)


async def _first(*waits: Coroutine[Any, Any, None]) -> None:
    """Waits until one coroutine ends, then cancels the others; raises what that one raised."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    for task in done:
        task.result()


async def _follow(vm: _Vm, memory: Curve) -> None:
    """Feeds the reader while the job runs, so that steps show at once; samples QEMU's memory.

    Ends when the channel tells of trouble: the board may not stop by itself then.
    """
    while vm.reader.trouble is None:
        memory.add(resident(vm.process.pid))
        await asyncio.sleep(CHANNEL_POLL_S)
        vm.read_channel()


async def _boot(
    machine: Machine, work: Path, then: Callable[[_Vm], Coroutine[Any, Any, None]] | None = None
) -> int:
    """Boots the board and does ``then``; the bytes of RAM that were available when it was ready.

    work: the folder that it may save its state in. BoardLost if it does not boot; UsageError if
    that is for want of memory.
    """
    async with _vm(machine, state=work) as vm:
        try:
            async with asyncio.timeout(machine.model.boot_deadline_s):
                await vm.doorbell()
                if then:
                    await then(vm)
        except TimeoutError:
            limit = machine.model.boot_deadline_s
            raise vm.lost(f"the board did not boot within {limit} s of host time") from None
        except BoardLost as lost:
            raise too_little(machine.model, machine.ram, lost) from None
        vm.read_channel()
        if vm.reader.trouble or vm.reader.ready_with is None:
            raise vm.lost()
        return vm.reader.ready_with


async def boot_and_save(machine: Machine, work: Path) -> None:
    """Boots the board and saves its state in the folder ``work``; raises what _boot does."""

    async def save(vm: _Vm) -> None:
        await _without_store(vm)
        await vm.qmp.execute("migrate", {"uri": f"exec:cat > {STATE / 'state'}"})
        await _until_saved(vm, work)
        vm.read_channel()
        (work / "kernel.txt").write_text(f"{vm.reader.kernel}\n")

    await _boot(machine, work, save)


def _with_ram(machine: Machine) -> Machine:
    """The machine with the RAM that leaves available what its model asks for, found or known."""

    def make(work: Path) -> None:
        def available(kib: int) -> int:
            tried = replace(machine, accel="tcg", found_kib=kib)
            with scratch() as nothing:
                return asyncio.run(_boot(tried, nothing))

        (work / "kib").write_text(f"{found(machine.model, available)}\n")

    if machine.model.available_mib is None:
        return machine
    rule = file_digest(Path(ram.__file__))
    exact = replace(machine, accel="tcg", found_kib=0)
    inputs = {**_inputs(exact), "available_mib": exact.model.available_mib, "rule": rule}
    made = entry("ram", inputs, make)
    return replace(machine, found_kib=int((made / "kib").read_text()))


def _inputs(machine: Machine) -> dict[str, str | list[str]]:
    """All that decides the state of a board that has booted."""
    return {
        "command": machine.qemu(),
        "kernel": file_digest(machine.kit.kernel.vmlinuz),
        "initrd": file_digest(machine.initrd),
        "tools": machine.kit.tools.key,
    }


async def _until_saved(vm: _Vm, work: Path) -> None:
    while True:
        state = await vm.qmp.execute("query-migrate")
        status = state["status"] if isinstance(state, dict) and "status" in state else "none"
        if status == "completed":
            return
        if status in ("failed", "cancelled"):
            if shutil.disk_usage(work).free < vm.store.board.kernel_bytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work / "state"))
            raise NandlabError(f"QEMU could not save the board's state: {state}")
        await asyncio.sleep(0.02)


def open_board(
    model: BoardModel,
    accel: str = "tcg",
    yaffs2_source: Path | None = None,
    *,
    locked: bool = False,
    lock: Lock | None = None,
) -> QemuBoard:
    """A board ready to run jobs: assembled, booted and saved, or found in the cache.

    accel: "tcg" (repeats exactly) or "kvm" (fast, does not repeat; UsageError where it cannot
    boot a guest). yaffs2_source: see assemble. locked, lock: see kit. However many processes ask at
    once, the board boots at most once.
    """
    parts = kit(model, locked=locked, lock=lock, yaffs2=yaffs2_source is None)
    machine = assemble(model, parts, accel, yaffs2_source)
    vmlinuz = parts.kernel.vmlinuz
    if accel == "kvm":
        kvm = probe(parts.tools, vmlinuz)
        if not kvm.found:
            raise UsageError(f"--accel kvm does not work here: {kvm.remedy}")
    machine = _with_ram(machine)
    inputs = _inputs(machine)
    snapshot = entry("snapshots", inputs, lambda work: asyncio.run(boot_and_save(machine, work)))
    return QemuBoard(machine, snapshot, partial(bring, locked=locked, lock=lock))
