# SPDX-License-Identifier: GPL-2.0-or-later
"""An interactive shell on the virtual board, on this terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import threading

from nandlab.board.qemu import QemuBoard

GOODBYE = b"\n\x04\nexit\n"
"""What ends a program that reads the terminal, and then the shell."""


def fed() -> int:
    """A pipe that gives what standard input does, and at its end what ends a shell."""
    read_end, write_end = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(write_end, "wb", buffering=0) as pipe:
            while typed := os.read(0, 4096):
                pipe.write(typed)
            pipe.write(GOODBYE)

    threading.Thread(target=feed, daemon=True).start()
    return read_end


def interactive(board: QemuBoard) -> None:
    """Joins the board's console to this terminal until either ends, then restores the terminal."""
    print("leave with exit or Ctrl-A X; modprobe simnand adds a chip", file=sys.stderr)
    if not sys.stdin.isatty():
        asyncio.run(board.shell(fed()))
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        asyncio.run(board.shell())
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
