# SPDX-License-Identifier: GPL-2.0-or-later
"""How a user's own board is reached: a shell on it, by ssh or on this machine.

A transport does two things, :meth:`Transport.call` and :meth:`Transport.stream`;
:func:`write_file_on_board` is
made of the first. How a command ended is told by the board's own output: ssh ends with 255 for
failures of its own, and so do commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import BoardLost

QUIET_S = 15.0
"""A board that says nothing for so long is lost, and for it so is the host: agent/watch.c."""
TELL_S = 4.0
"""How often the host lets the board know that it is there."""
ALIVE = b"\x06"
"""What the agent writes now and then; no record has it; agent/watch.c has it too."""
LEAVE_S, KILLED_S = 2.0, 0.5
"""How long the program may take to end when the host has gone, and when it is killed."""
CHUNK = 1 << 16
DIGEST = "sha256sum < {0} 2>/dev/null || md5sum < {0}"
"""Prints the digest of a file."""


@dataclass(frozen=True)
class Reply:
    """How a command on the board ended."""

    rc: int
    out: bytes
    """What it printed, on both streams."""

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace").strip()


class Transport(Protocol):
    """A shell on the board. Its methods raise BoardLost if the board does not answer."""

    @property
    def address(self) -> str:
        """The board's address in words."""

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = QUIET_S) -> Reply:
        """Runs a shell command with ``input_bytes`` as its standard input, to its end."""

    async def stream(self, command: str, take: Callable[[bytes], None]) -> None:
        """Runs a command that says ALIVE now and then, and gives what it prints to ``take``."""

    def forget(self) -> None:
        """Forgets what the board had of the transport's own: it may have booted."""

    async def close(self) -> None:
        """Leaves the board."""


async def write_file_on_board(
    transport: Transport, path: str, content: bytes, mode: str = "644"
) -> None:
    """Writes a file on the board and reads its digest back; NandlabError if it is another.

    The board compares it too, before the file has its name.
    """
    target, new = shlex.quote(path), shlex.quote(f"{path}.new")
    right = list_possible_digests(content)
    reply = await transport.call(
        f"cat > {new} && told=$({DIGEST.format(new)}) && echo $told && "
        f"case $told in {'*|'.join(right)}*) chmod {mode} {new} && mv {new} {target};; esac",
        content,
    )
    if reply.rc or reply.text.partition(" ")[0] not in right:
        why = reply.text[:200] or "nothing"
        raise NandlabError(
            f"{transport.address}: {path} did not arrive whole: the board says {why}"
        )


def list_possible_digests(content: bytes) -> tuple[str, ...]:
    """What a board may say of a file of this content, as :func:`read_file_digests_on_board` asks
    it."""
    return hashlib.sha256(content).hexdigest(), hashlib.md5(content).hexdigest()


async def read_file_digests_on_board(
    transport: Transport, folder: str, names: Sequence[str]
) -> dict[str, str]:
    """The digests of those of a folder's files that are there, by name."""
    files = " ".join(map(shlex.quote, names))
    tell = f"[ -f $f ] && echo $f $({DIGEST.format('$f')})"
    reply = await transport.call(f"cd {shlex.quote(folder)} && for f in {files}; do {tell}; done")
    rows = [line.split() for line in reply.text.split("\n")]
    return {row[0]: row[1] for row in rows if len(row) > 1}


@dataclass
class ShellTransport:
    """A transport by a program that gives its last argument to a shell on the board."""

    argv: Sequence[str]
    address: str
    running: set[asyncio.subprocess.Process] = field(default_factory=set)

    async def call(self, command: str, input_bytes: bytes = b"", limit_s: float = QUIET_S) -> Reply:
        """See Transport.call."""
        mark = secrets.token_hex(8)
        # the newline before the mark ends a line that the command left open
        script = f"( {command}\n) 2>&1; printf '\\n%s=%d\\n' {mark} $?"
        process = await self._start(script)
        try:
            async with asyncio.timeout(limit_s) as limit:
                out, err = await _exchange(
                    process, input_bytes, lambda: _restart_limit(limit, limit_s)
                )
        except TimeoutError:
            raise self._lost(f"no answer within {limit_s:g} s") from None
        finally:
            await self._end(process)
        status = re.search(rb"\n%s=(\d+)\n\Z" % mark.encode(), out)
        if status is None:
            raise self._lost(_last_line(err) or "the connection ended in the middle of a command")
        return Reply(int(status[1]), out[: status.start()])

    async def stream(self, command: str, take: Callable[[bytes], None]) -> None:
        """See Transport.stream."""
        process = await self._start(command)
        assert process.stdout is not None
        telling = asyncio.ensure_future(_send_heartbeats(process))
        try:
            while True:
                async with asyncio.timeout(QUIET_S):
                    said = await process.stdout.read(CHUNK)
                if not said:
                    return
                take(said.replace(ALIVE, b""))
        except TimeoutError:
            raise self._lost(f"no answer within {QUIET_S:g} s") from None
        finally:
            telling.cancel()
            await self._end(process)

    def forget(self) -> None:
        """See Transport.forget."""

    async def close(self) -> None:
        """See Transport.close."""
        for process in list(self.running):
            await self._end(process)

    async def _start(self, script: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(*self.argv, f"exec sh -c {shlex.quote(script)}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self.running.add(process)
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Ends the program if it still runs; the board's end sees first that the host is gone.

        It is not waited for as long as others may hold its output open: such a board hangs.
        """
        self.running.discard(process)
        if process.stdin is not None:
            process.stdin.close()
        for limit_s in (LEAVE_S, KILLED_S):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await process.wait()
                    return
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        process._transport.close()  # type: ignore[attr-defined]  # nothing public closes its pipes

    def _lost(self, why: str) -> BoardLost:
        return BoardLost(f"{self.address}: {why}", [])


async def _exchange(
    process: asyncio.subprocess.Process, input_bytes: bytes, moved: Callable[[], None]
) -> tuple[bytes, bytes]:
    """Gives a program its input: both its outputs. ``moved`` is called whenever bytes move."""
    assert process.stdin and process.stdout and process.stderr

    async def give(to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            for offset in range(0, len(input_bytes), CHUNK):
                to.write(input_bytes[offset : offset + CHUNK])
                await to.drain()
                moved()
        to.close()

    async def take(reader: asyncio.StreamReader) -> bytes:
        output = b""
        while more := await reader.read(CHUNK):
            output += more
            moved()
        return output

    out, err, _ = await asyncio.gather(
        take(process.stdout), take(process.stderr), give(process.stdin)
    )
    return out, err


def _restart_limit(limit: asyncio.Timeout, limit_s: float) -> None:
    """Has a limit begin anew."""
    limit.reschedule(asyncio.get_running_loop().time() + limit_s)


async def _send_heartbeats(process: asyncio.subprocess.Process) -> None:
    """Lets the board know that the host is there."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        while True:
            process.stdin.write(b"\n")
            await process.stdin.drain()
            await asyncio.sleep(TELL_S)


def _last_line(err: bytes) -> str:
    """The last line that the program complained with."""
    return err.decode(errors="replace").strip().rpartition("\n")[2]


def connect_local() -> ShellTransport:
    """This machine as a board: for tests, and to try a job out."""
    # the shell stays: what is killed when a board is lost is not what runs on the board
    return ShellTransport(("sh", "-c", 'sh -c "$0"; exit $?'), "this machine")


def connect_ssh(host: str) -> ShellTransport:
    """A board by its name in the user's ssh_config, which decides all else; nobody is asked.

    What ssh itself fails for (no such host, another host key) is told as BoardLost, in its words.
    """
    return ShellTransport(("ssh", "-T", "-o", "BatchMode=yes", "--", host), f"ssh {host}")
