# SPDX-License-Identifier: GPL-2.0-or-later
"""A user's own board: the contract of job.py, kept through a transport.

On the board there is a folder of ours for as long as it is open: the agent, which runs a job's
steps as the virtual board's init does (device/agent), and the job. Nothing is installed. No other
user of the board can know the folder's name before it is there, nor look into it then.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nandlab.base.digest import digest_file
from nandlab.base.errors import NandlabError
from nandlab.board.jobs import programs
from nandlab.board.jobs.job import BoardLost, ChannelReader, Job, JobRecord, Step
from nandlab.board.kit.needs import FetchedPackages
from nandlab.board.own.transport import (
    Transport,
    list_possible_digests,
    read_file_digests_on_board,
    write_file_on_board,
)

FOLDERS = "/tmp/nandlab.job-"
"""How the names of what is ours on a board begin."""
AWAIT = "await-moment"
"""The step between a job's setup and what follows; no step of a workload has a hyphen."""


def make_temporary_path() -> str:
    """A name below a board's /tmp that nobody can know."""
    return FOLDERS + secrets.token_hex(8)


def _add_wait_step(job: Job, folder: str) -> Job:
    """The job with a step that waits where its setup ends: no state of such a board is saved."""
    if job.setup is None:
        return job
    period, offset, at = job.setup.period_ms, job.setup.offset_ns, job.setup.steps
    wait = Step(AWAIT, f"{shlex.quote(folder)}/agent await {period} {offset}", beside=True)
    return replace(job, steps=(*job.steps[:at], wait, *job.steps[at:]), setup=None)


async def do_nothing() -> None:
    """Refuses no job, and sees nothing after it."""


def _make_lost_error(reader: ChannelReader, why: str) -> BoardLost:
    step = f" in step {reader.running}" if reader.running else ""
    return BoardLost(reader.trouble or f"{why}{step}", [])


@dataclass
class RemoteBoard:
    """A board that is reached by a transport, one job at a time."""

    transport: Transport
    agent: Path
    """The agent, built for the board."""
    build: Callable[[Path], Path]
    """Builds a program for the board from its folder of sources."""
    before: Callable[[], Awaitable[None]] = do_nothing
    """Called before each job; it raises an error to refuse it."""
    after: Callable[[], Awaitable[None]] = do_nothing
    """Called after each job that has ended."""
    recover: Callable[[], Awaitable[None]] = do_nothing
    """Called before the job that follows a loss, to have the board answer again."""
    modules: Sequence[Path] = ()
    """Modules of its kernel that its jobs load, from ``modules`` beside the job."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the steps find in their environment."""
    folder: str = field(default_factory=make_temporary_path)
    """The folder on the board; it must not be there."""
    kernel_config: Mapping[str, str] = field(default_factory=dict)
    identity_facts: dict[str, Any] = field(default_factory=dict)
    """What is known of the board beside its address, for its identity."""
    deterministic: bool = False
    lock_differences: tuple[str, ...] = ()
    _digests_on_board: dict[str, str] = field(default_factory=dict)
    """The digests of our files on the board, by their paths; those that were asked for or brought
    since it was lost."""
    _is_lost: bool = False
    _may_have_folder: bool = False
    """Whether the folder was made; it may have gone since with a boot."""

    @property
    def identity(self) -> dict[str, Any]:
        """What runs the jobs: see Board.identity."""
        modules = {"modules": [digest_file(p) for p in self.modules]} if self.modules else {}
        return {
            "board": self.transport.address,
            "agent": digest_file(self.agent),
            **self.identity_facts,
            **modules,
        }

    @property
    def key(self) -> str:
        """The board's address: see Board.key."""
        return self.transport.address

    def programs(self, job: Job) -> dict[str, Path]:
        """The programs that a job brings along: see Board.programs."""
        return programs.build_job_programs(job, self.build)

    def packages(self, job: Job) -> FetchedPackages:
        """The user's own compiler builds them, from no package of ours."""
        return FetchedPackages({})

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """Runs a job to its end: see Board.run."""
        if job.cargo is not None:
            raise NandlabError(
                f"{self.transport.address}: no chip image can be carried to such a board"
            )
        try:
            reader = await self._ran(
                _add_wait_step(job, self.folder), on_step or (lambda step: None)
            )
        except BoardLost:
            self._is_lost = True
            self._digests_on_board.clear()  # it may boot, and our folder is in its RAM
            raise
        steps = tuple(step for step in reader.steps if step.step != AWAIT)
        return JobRecord(steps, available=reader.available)

    async def _ran(self, job: Job, report_step: Callable[[str], None]) -> ChannelReader:
        """Brings a job and has it run: what its records tell; BoardLost if it was not done."""
        if self._is_lost:
            await self.recover()
            self._is_lost = False
        await self.before()
        await self._bring(job)
        reader = ChannelReader(lambda step: report_step(step) if step != AWAIT else None)
        try:
            await self.transport.stream(self._command(), reader.feed)
        except BoardLost as lost:
            raise _make_lost_error(reader, lost.reason) from None
        if reader.trouble or not reader.is_done:
            raise _make_lost_error(reader, "the agent ended before its job was done")
        await self.after()
        return reader

    async def close(self) -> None:
        """Takes our folder away and leaves the board."""
        await self.transport.call(f"rm -rf {shlex.quote(self.folder)}")
        self._digests_on_board.clear()
        self._may_have_folder = False
        await self.transport.close()

    def _command(self) -> str:
        words = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        at = shlex.quote(self.folder)
        return " ".join([*words, f"{at}/agent", at])

    async def _bring(self, job: Job) -> None:
        """Brings the agent, the job's programs and its files, whatever is not there already."""
        folder = shlex.quote(self.folder)
        await self._make_folder()
        parts = await self.transport.call(
            f"rm -rf {folder}/job; mkdir -p {folder}/job {folder}/bin {folder}/modules"
        )
        if parts.rc:
            raise NandlabError(f"{self.transport.address}: {parts.text}")
        paths_by_name = {"agent": self.agent}
        paths_by_name |= {f"bin/{name}": path for name, path in self.programs(job).items()}
        paths_by_name |= {f"modules/{path.name}": path for path in self.modules}
        if unknown := paths_by_name.keys() - self._digests_on_board.keys():
            self._digests_on_board |= await read_file_digests_on_board(
                self.transport, self.folder, sorted(unknown)
            )
        for name, path in paths_by_name.items():
            await self._put_once(name, path.read_bytes())
        for name, content in {**job.files, **job.texts()}.items():
            await write_file_on_board(self.transport, f"{self.folder}/job/{name}", content, "755")

    async def _make_folder(self) -> None:
        """Makes our folder, unless it is there and this board's; NandlabError if it is another's.

        After a boot its name is known to who saw it before, so it must still be our user's. A
        connection may be cut when the folder is made and nothing has said so yet: then it may be
        ours the next time.
        """
        at = shlex.quote(self.folder)
        make = f"mkdir -m 700 {at}"
        if self._may_have_folder:
            is_ours = f"[ -d {at} ] && [ ! -L {at} ] && [ -O {at} ]"
            make = f"{is_ours} || {make} || {is_ours}"
        try:
            reply = await self.transport.call(make)
        except BoardLost:
            self._may_have_folder = True
            raise
        if reply.rc:
            raise NandlabError(
                f"{self.transport.address}: {self.folder} is not to be made: {reply.text}"
            )
        self._may_have_folder = True

    async def _put_once(self, name: str, content: bytes) -> None:
        """Brings a file, unless it is there."""
        right = list_possible_digests(content)
        if self._digests_on_board.get(name) not in right:
            await write_file_on_board(self.transport, f"{self.folder}/{name}", content, "755")
            self._digests_on_board[name] = right[0]
