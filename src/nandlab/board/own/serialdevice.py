# SPDX-License-Identifier: GPL-2.0-or-later
"""A serial device of this machine: bytes that go out and come in, whatever they are."""

from __future__ import annotations

import asyncio
import os
import termios
import tty
from pathlib import Path

from nandlab.base.errors import UsageError

CHUNK = 1 << 16


class SerialDevice:
    """A serial device that is open. Its methods raise OSError where it is no more."""

    def __init__(self, path: Path, baud: int) -> None:
        """Opens it; OSError if it cannot be, UsageError if no line has that speed."""
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise UsageError(f"{path}: no serial line has {baud} baud")
        self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            tty.setraw(self._fd)
            mode = termios.tcgetattr(self._fd)
            mode[4] = mode[5] = speed
            termios.tcsetattr(self._fd, termios.TCSANOW, mode)
        except termios.error as e:
            self.close()
            raise OSError(*e.args) from None

    async def send(self, data: bytes, limit_s: float) -> None:
        """Sends bytes, however long the line takes; TimeoutError if none leaves for so long."""
        loop = asyncio.get_running_loop()
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                ready = loop.create_future()
                loop.add_writer(self._fd, _settle_future, ready)
                try:
                    async with asyncio.timeout(limit_s):
                        await ready
                finally:
                    loop.remove_writer(self._fd)

    async def heard(self, limit_s: float) -> bytes:
        """The bytes that came; empty: none within the limit."""
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._fd, _settle_future, ready)
        try:
            async with asyncio.timeout(max(limit_s, 0)):
                await ready
        except TimeoutError:
            return b""
        finally:
            loop.remove_reader(self._fd)
        came = os.read(self._fd, CHUNK)
        if not came:
            raise OSError("the line was closed")
        return came

    def close(self) -> None:
        """Closes it."""
        os.close(self._fd)


def _settle_future(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
