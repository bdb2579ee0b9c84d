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
import errno
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from nandlab.base.cache import fill_entry, make_entry, trim_cache_kind
from nandlab.base.digest import digest_bytes, digest_file, digest_known_file
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs import programs, stagedjob
from nandlab.board.jobs.build import build_program
from nandlab.board.jobs.cargo import HEAD_BYTES
from nandlab.board.jobs.job import BEGIN_MEMBER, BoardLost, ChannelReader, Job, JobRecord, Setup
from nandlab.board.kit.kit import fetch_board_kit
from nandlab.board.kit.lock import Lock
from nandlab.board.kit.needs import FetchedPackages, fetch_program_needs, unpack_build_material
from nandlab.board.kit.partsource import Requests
from nandlab.board.virtual import ram, states
from nandlab.board.virtual.kvm import probe_kvm
from nandlab.board.virtual.machine import NO_SOURCES, Machine, assemble_machine
from nandlab.board.virtual.partset import (
    add_board_sources,
    needs_kernel_source,
    refuse_absent_package,
)
from nandlab.board.virtual.ram import find_ram_kib, make_boot_error
from nandlab.board.virtual.vm import Vm, start_vm
from nandlab.catalog.arch import HOST_ARCH
from nandlab.catalog.board import JOB_BYTES, BoardModel

BOOTED = "booted"
"""The folder in the cache of the states of boards that have booted."""


class QemuBoard:
    """The virtual board. Construct with :func:`open_board`."""

    def __init__(
        self,
        machine: Machine,
        snapshot: Path,
        bring: Callable[[BoardModel, Path], FetchedPackages] = fetch_program_needs,
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
    def lock_differences(self) -> tuple[str, ...]:
        """How its packages differ from those that are locked: see Board.lock_differences."""
        return self.machine.kit.lock_differences

    @property
    def deterministic(self) -> bool:
        """Whether the same job gives the same record to the nanosecond."""
        return self.machine.accel == "tcg"

    @property
    def kernel_config(self) -> dict[str, str]:
        """The kernel's configuration: values by symbol."""
        return self.machine.kernel_config

    @property
    def key(self) -> str:
        """The saved state's name in the cache."""
        return self.snapshot.name

    def programs(self, job: Job) -> dict[str, Path]:
        """The programs that a job brings along: see Board.programs."""
        return programs.build_job_programs(job, self._built)

    def packages(self, job: Job) -> FetchedPackages:
        """What a job's programs are built from beside the board's packages: see Board.packages."""
        found = [self._bring(folder) for folder in programs.find_job_program_folders(job).values()]
        lock = {name: dict(files) for each in found for name, files in each.lock.items()}
        moved = dict.fromkeys(line for each in found for line in each.lock_differences)
        return FetchedPackages(lock, tuple(moved))

    def _built(self, folder: Path) -> Path:
        made = unpack_build_material(folder, self.machine.model, self._bring(folder).lock)
        return build_program(self.machine.kit.tools, folder, made, self.machine.model.arch_traits)

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """Restores the board with the job in its store, and waits for the job's end."""
        if job.setup is not None:
            return await self._run_member(job, job.setup, on_step)
        async with self._restored(self._carried(job), on_step) as vm:
            await vm.rung(self._limit_s)
            return _make_record(vm, job)

    @property
    def _limit_s(self) -> int:
        return self.machine.model.trial_deadline_s

    async def _run_member(
        self, job: Job, setup: Setup, on_step: Callable[[str], None] | None
    ) -> JobRecord:
        """Runs a job from the saved state after its setup, which is made if it can be.

        Where another process makes it, where there is no room for it, and on a board that does not
        repeat, the job runs its setup itself: its record is the same.
        """
        model = self.machine.model
        carried = self._carried(job, stagedjob.make_first_piece_job(job, setup, model))
        piece = stagedjob.make_second_piece_archive(job, setup)
        if len(piece) + HEAD_BYTES > stagedjob.SECOND_PIECE_BYTES:
            raise NandlabError(
                f"what a job brings after its setup is {len(piece)} bytes; a board takes "
                f"{stagedjob.SECOND_PIECE_BYTES}"
            )
        later = {stagedjob.compute_second_piece_address(model): piece}
        try:
            if self.deterministic and states.read_states_limit_bytes():
                inputs = self._led_to(carried)
                record = await self._from_state(job, inputs, later, on_step)
                if record is None and await self._save_state(job, inputs, carried, on_step):
                    record = await self._from_state(job, inputs, later, on_step)
                if record is not None:
                    return record
            async with self._restored({**carried, **later}, on_step) as vm:
                await self._to_state(vm, job)
                await vm.resume()
                await vm.rung(self._limit_s)
                return _make_record(vm, job)
        except _SetupFailed as failed:
            return failed.record

    def _led_to(self, carried: Mapping[int, bytes]) -> dict[str, Any]:
        """All that decides the state after a setup."""
        given = {f"{address:#x}": digest_bytes(content) for address, content in carried.items()}
        return {"booted": _list_inputs(self.machine), "given": given, "form": states.FORM}

    async def _from_state(
        self,
        job: Job,
        inputs: dict[str, Any],
        later: Mapping[int, bytes],
        on_step: Callable[[str], None] | None,
    ) -> JobRecord | None:
        """Runs what follows a job's setup from the saved state; None: there is none."""
        async with AsyncExitStack() as stack:
            with states.hold_saved_state(inputs) as state:
                if state is None:
                    return None
                incoming = start_vm(self.machine, state=state.folder)
                vm = await stack.enter_async_context(incoming)
                vm.reader = ChannelReader(on_step)
                state.lay_out(vm)
                for address, content in later.items():
                    vm.store.put(address, content)
                await vm.restore()
            await vm.resume()
            await vm.rung(self._limit_s)
            return _make_record(vm, job)

    async def _save_state(
        self,
        job: Job,
        inputs: dict[str, Any],
        carried: Mapping[int, bytes],
        on_step: Callable[[str], None] | None,
    ) -> bool:
        """Runs a job's setup and saves the state after it; whether there is one now."""
        try:
            with fill_entry(states.KIND, inputs) as work:
                if work is None:
                    return False
                async with self._restored(carried, on_step, saves=work) as vm:
                    await self._to_state(vm, job)
                    await states.save_vm_state(vm, work)
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            return False
        trim_cache_kind(states.KIND, states.read_states_limit_bytes())
        return True

    async def _to_state(self, vm: Vm, job: Job) -> None:
        """Waits until the setup of a running job is over; _SetupFailed if it does not end well."""
        await vm.rung(self._limit_s)
        if vm.reader.is_done:
            raise _SetupFailed(_make_record(vm, job))
        if vm.reader.trouble or vm.reader.running != BEGIN_MEMBER:
            raise vm.make_loss_error("the board stopped before its job was done")

    async def shell(
        self, keys: int | None = None, ready: Callable[[], None] = lambda: None
    ) -> None:
        """Runs the restored board's interactive shell on this process's terminal, to its end.

        keys: a file descriptor to read what is typed from; it is closed. ready: called when the
        board takes it.
        """
        carried = self._carried(Job())
        async with self._restored(carried, on_terminal=True, keys=keys) as vm:
            ready()
            await vm.process.wait()

    def _carried(self, job: Job, piece: Job | None = None) -> dict[int, bytes]:
        """A job's archive and cargo, by physical address; piece: what its archive has of it."""
        brought = self.programs(job)
        taken = sorted(self.machine.commands & brought.keys())
        if taken:
            raise UsageError(f"{taken[0]} is a command of the board itself: rename your program")
        archive = (piece or job).archive(brought, self.machine.modules.find_job_modules(job))
        most = JOB_BYTES - (stagedjob.SECOND_PIECE_BYTES if piece else 0)
        if len(archive) + HEAD_BYTES > most:
            raise NandlabError(f"a job of {len(archive)} bytes; a board takes {most}")
        carried = {self.machine.model.job_start: archive}
        if job.cargo:
            carried |= {
                job.cargo.find_content_address(i): each for i, each in enumerate(job.cargo.contents)
            }
        return carried

    @asynccontextmanager
    async def _restored(
        self,
        carried: Mapping[int, bytes],
        on_step: Callable[[str], None] | None = None,
        *,
        saves: Path | None = None,
        on_terminal: bool = False,
        keys: int | None = None,
    ) -> AsyncIterator[Vm]:
        """The booted board, restored and running, with these contents in its store; see begun()."""
        async with start_vm(
            self.machine,
            state=self.snapshot,
            saves=saves,
            carried=carried,
            on_terminal=on_terminal,
            keys=keys,
        ) as vm:
            vm.reader = ChannelReader(on_step)
            await vm.restore()
            await vm.resume()
            yield vm


class _SetupFailed(Exception):
    """A step of a job's setup failed: the job is over, and this is its record."""

    def __init__(self, record: JobRecord) -> None:
        super().__init__()
        self.record = record


def _make_record(vm: Vm, job: Job) -> JobRecord:
    """The record of a job that is done; BoardLost if it is not."""
    if not vm.reader.is_done:
        raise vm.make_loss_error("the board stopped before its job was done")
    for step in vm.reader.steps:
        if step.step == BEGIN_MEMBER and not step.ok:
            raise vm.make_loss_error(step.failure())
    brought = vm.store.read_put_content(job.cargo.back_address) if job.cargo else None
    returned_memory = (
        vm.store.read_memory(*job.cargo.returned_memory)
        if job.cargo and job.cargo.returned_memory
        else None
    )
    steps = tuple(step for step in vm.reader.steps if step.step != BEGIN_MEMBER)
    return JobRecord(steps, tuple(vm.memory.samples), brought, vm.reader.available, returned_memory)


async def _boot_board(
    machine: Machine, work: Path, then: Callable[[Vm], Coroutine[Any, Any, None]] | None = None
) -> int:
    """Boots the board and does ``then``; the bytes of RAM that were available when it was ready.

    work: the folder that it may save its state in. BoardLost if it does not boot; UsageError if
    that is for want of memory.
    """
    async with start_vm(machine, saves=work) as vm:
        try:
            async with asyncio.timeout(machine.model.boot_deadline_s):
                await vm.doorbell()
                if then:
                    await then(vm)
        except TimeoutError:
            limit = machine.model.boot_deadline_s
            raise vm.make_loss_error(
                f"the board did not boot within {limit} s of host time"
            ) from None
        except BoardLost as lost:
            raise make_boot_error(machine.model, machine.ram, lost) from None
        vm.read_channel()
        if vm.reader.trouble or vm.reader.ready_with is None:
            raise vm.make_loss_error()
        return vm.reader.ready_with


async def boot_and_save_state(machine: Machine, work: Path) -> None:
    """Boots the board and saves its state in the folder ``work``; raises what _boot does."""

    async def save(vm: Vm) -> None:
        await vm.save(work)
        vm.read_channel()
        (work / "kernel.txt").write_text(f"{vm.reader.kernel}\n")

    await _boot_board(machine, work, save)


def _set_ram(machine: Machine) -> Machine:
    """The machine with the RAM that leaves available what its model asks for, found or known."""

    def make(work: Path) -> None:
        def available(kib: int) -> int:
            tried = replace(machine, accel="tcg", measured_ram_kib=kib)
            with hold_scratch_folder() as nothing:
                return asyncio.run(_boot_board(tried, nothing))

        (work / "kib").write_text(f"{find_ram_kib(machine.model, available)}\n")

    if machine.model.available_mib is None:
        return machine
    rule = digest_file(Path(ram.__file__))
    exact = replace(machine, accel="tcg", measured_ram_kib=0)
    inputs = {**_list_inputs(exact), "available_mib": exact.model.available_mib, "rule": rule}
    made = make_entry("ram", inputs, make)
    return replace(machine, measured_ram_kib=int((made / "kib").read_text()))


def _list_inputs(machine: Machine) -> dict[str, str | list[str]]:
    """All that decides the state of a board that has booted."""
    return {
        "command": machine.qemu(),
        "kernel": digest_known_file(machine.kit.kernel.vmlinuz),
        "initrd": digest_known_file(machine.initrd),
        "tools": machine.kit.tools.key,
    }


def open_board(
    model: BoardModel,
    accel: str = "tcg",
    sources: Requests = NO_SOURCES,
    *,
    locked: bool = False,
    lock: Lock | None = None,
) -> QemuBoard:
    """A board ready to run jobs: assembled, booted and saved, or found in the cache.

    accel: "tcg" (repeats exactly) or "kvm" (fast, does not repeat; UsageError where it cannot
    boot a guest). sources: parts of the kernel that are built from another source, beside those
    that the board's file names. locked, lock: see kit. However many processes ask at once, the
    board boots at most once.
    """
    if accel == "kvm" and model.arch != HOST_ARCH:
        raise UsageError(
            f"--accel kvm: board {model.name} is of {model.arch}, and KVM runs amd64 here"
        )
    requests = add_board_sources(model, sources)
    refuse_absent_package(model, requests)
    core = requests.get("yaffs2")
    parts = fetch_board_kit(
        model,
        locked=locked,
        lock=lock,
        yaffs2=core is None or core.tree is None,
        source=needs_kernel_source(requests),
    )
    machine = assemble_machine(model, parts, accel, requests)
    vmlinuz = parts.kernel.vmlinuz
    if accel == "kvm":
        kvm = probe_kvm(parts.tools, vmlinuz)
        if not kvm.result:
            raise UsageError(f"--accel kvm does not work here: {kvm.remedy}")
    machine = _set_ram(machine)
    inputs = _list_inputs(machine)
    snapshot = make_entry(
        BOOTED, inputs, lambda work: asyncio.run(boot_and_save_state(machine, work))
    )
    return QemuBoard(machine, snapshot, partial(fetch_program_needs, locked=locked, lock=lock))
