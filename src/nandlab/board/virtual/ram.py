# SPDX-License-Identifier: GPL-2.0-or-later
"""How much RAM a board is given, where its file says how much of it shall be available.

The kernel keeps a share of its RAM for itself, so the ``mem=`` of its command line is found: the
board boots with a guess, tells what is available when it is ready, and the guess is corrected by
what is amiss. The kernel's share hardly depends on the RAM, so the second boot is mostly the last.
The same board begins from the same guess and boots the same each time, so every machine finds the
same ``mem=``. Costs two boots or three; the cache keeps what was found.
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.base.errors import UsageError
from nandlab.board.jobs.job import BoardLost
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB

KIB = 1024
STEP = 256 * KIB
"""``mem=`` is a whole multiple of this many bytes."""
ERROR_SHARE_MAX = 0.01
"""How far what is available may be from what is asked for: a share of it, or half a STEP. Where a
kernel takes a step of its own there, the nearest is taken."""
SHARE_MIB = 76
"""The first guess of the kernel's share: Linux 5.10, 6.1 and 6.12 keep 70 to 75 MiB of 128."""
ENOUGH_RAM_MIB = 96
"""The least ``ram_mib`` in which all kernels of the catalog's boards were found to boot."""
OUT_OF_MEMORY = "the board ran out of memory"
"""The reason of a board that is lost for want of memory."""


def find_ram_kib(model: BoardModel, available: Callable[[int], int]) -> int:
    """The KiB of RAM with which a board of ``available_mib`` has so much available.

    available: boots the board with so many KiB, and returns the bytes that are available then.
    UsageError if so little does not boot, or the board's memory has no room for so much.
    """
    assert model.available_mib is not None
    asked = model.available_mib * MIB
    ram, tried = asked + SHARE_MIB * MIB, dict[int, int]()
    while ram not in tried:
        tried[ram] = asked - available(ram // KIB)
        if abs(tried[ram]) <= max(ERROR_SHARE_MAX * asked, STEP / 2):
            break
        ram += round(tried[ram] / STEP) * STEP
        if ram > model.kernel_bytes:
            most = f"{model.kernel_bytes // MIB} MiB of RAM"
            raise UsageError(f"board {model.name}: {most} leave less than available_mib asks for")
    return min(tried, key=lambda r: (abs(tried[r]), r)) // KIB


def make_boot_error(model: BoardModel, ram: str, lost: BoardLost) -> UsageError | BoardLost:
    """The error for a board that did not boot: what to do, if it was for want of memory."""
    if lost.reason != OUT_OF_MEMORY:
        return lost
    if model.available_mib is None:
        todo = f"every kernel here boots in {ENOUGH_RAM_MIB} MiB: raise ram_mib"
    else:
        todo = (
            f"raise available_mib, which is {model.available_mib}, or leave out what the kernel "
            'does at boot alone: cmdline = "cryptomgr.notests" saves its tests of ciphers'
        )
    return UsageError(f"board {model.name} does not boot in {ram} of RAM: {lost.reason}; {todo}")
