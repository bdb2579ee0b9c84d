# SPDX-License-Identifier: GPL-2.0-or-later
"""This machine as a user's own board: by a shell, or on a pty whose line loses bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import random
import select
import subprocess
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nandlab.base.paths import DEVICE
from nandlab.board.own.remote import RemoteBoard
from nandlab.board.own.transport import Transport
from support.native import make


def agent(out: Path) -> Path:
    """The agent, built for this machine; small, so that a line of 1 % loss brings it in time."""
    argv = ["make", "-s", "-C", str(DEVICE / "agent"), f"OUT={out}", "STATIC=-s", "CC=gcc"]
    subprocess.run(argv, check=True)
    return out / "agent"


def program(folder: Path) -> Path:
    """A program of ours, built for this machine beside the others."""
    return make(DEVICE.parent / "build", folder.name, "STATIC=")


def no_program(folder: Path) -> Path:
    """For jobs that name none of ours."""
    raise AssertionError(f"the job names {folder.name}")


def running(word: str) -> list[int]:
    """The processes whose command line has a word."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                pids.append(int(path.parent.name))
    return pids


def remotely(on: Transport, folder: Path) -> Iterator[RemoteBoard]:
    """A board reached by a transport, with our folder on it below ``folder``."""
    board = RemoteBoard(on, agent(folder), program, folder=str(folder / "on board"))
    yield board
    asyncio.run(board.close())
    assert not (folder / "on board").exists()


PROMPT = b"board# "


@contextmanager
def lossy_line(folder: Path, lost: float, seed: int) -> Iterator[Path]:
    """The host's end of a serial line with a shell at the other; a share of the bytes is lost.

    The seed decides which, of those of each direction.
    """
    (host, host_tty), (far, far_tty) = pty.openpty(), pty.openpty()
    tty.setraw(host)
    # a job in the background ignores interrupts, and so would a shell of its; a board's does not
    shell = subprocess.Popen(
        ["env", "--default-signal=INT", "setsid", "--ctty", "sh", "-i"],
        stdin=far_tty,
        stdout=far_tty,
        stderr=far_tty,
        cwd=folder,
        env={**os.environ, "PS1": PROMPT.decode()},
    )
    said = b""
    while PROMPT not in said:  # an interrupt that comes sooner would end it
        said += os.read(far, 4096)
    stop = threading.Event()
    pump = threading.Thread(target=_pump, args=(host, far, lost, seed, stop))
    pump.start()
    try:
        yield Path(os.ttyname(host_tty))
    finally:
        shell.kill()
        shell.wait()
        stop.set()
        pump.join()
        for fd in (host, host_tty, far, far_tty):
            os.close(fd)


def _pump(host: int, far: int, lost: float, seed: int, stop: threading.Event) -> None:
    """Copies both ways, but for the bytes that are lost."""
    ways = {host: (far, random.Random(seed)), far: (host, random.Random(seed + 1))}
    while not stop.is_set():
        ready, _, _ = select.select(list(ways), [], [], 0.1)
        for fd in ready:
            to, luck = ways[fd]
            said = bytes(b for b in os.read(fd, 4096) if luck.random() >= lost)
            os.write(to, said)
