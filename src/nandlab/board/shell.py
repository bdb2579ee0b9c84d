# SPDX-License-Identifier: GPL-2.0-or-later
"""An interactive shell on the virtual board, on this terminal."""

from __future__ import annotations

import asyncio
import sys
import termios

from nandlab.board.qemu import QemuBoard


def interactive(board: QemuBoard) -> None:
    """Joins the board's console to this terminal until either ends, then restores the terminal."""
    print("leave with exit or Ctrl-A X; modprobe simnand adds a chip", file=sys.stderr)
    if not sys.stdin.isatty():
        asyncio.run(board.shell())
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        asyncio.run(board.shell())
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
