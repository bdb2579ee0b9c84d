# SPDX-License-Identifier: GPL-2.0-or-later
"""An interactive shell on the virtual board, on this terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import threading
from collections.abc import Callable

from nandlab.base.printer import print_note
from nandlab.board.virtual.qemu import QemuBoard

GOODBYE = b"\nexit\n"
"""What ends a shell; Ctrl-D is lost if it comes before the shell does."""


def open_shell_input_pipe() -> tuple[int, Callable[[], None]]:
    """A pipe for what standard input gives, and then what ends a shell; and what begins to feed it.

    Not at once: what reaches the board before its state is restored is lost.
    """
    read_end, write_end = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(write_end, "wb", buffering=0) as pipe:
            while typed := os.read(0, 4096):
                pipe.write(typed)
            pipe.write(GOODBYE)

    return read_end, threading.Thread(target=feed, daemon=True).start


def run_interactive_shell(board: QemuBoard) -> None:
    """Joins the board's console to this terminal until either ends, then restores the terminal."""
    print_note("leave with exit or Ctrl-A X; modprobe simnand adds a chip")
    if not sys.stdin.isatty():
        asyncio.run(board.shell(*open_shell_input_pipe()))
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        asyncio.run(board.shell())
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
