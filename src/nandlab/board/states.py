# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved states of a board after a job's setup, in the cache.

A state is named by all that led there: the booted board, and the job's first piece with its
programs, modules and cargo, byte for byte. It is used only if its files have the digests that they
were saved with. States are large, so those that were not used for longest make room for others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base import cache
from nandlab.base.digest import file_digest
from nandlab.base.errors import UsageError
from nandlab.board.vm import Vm
from nandlab.catalog.chip import MIB

KIND = "states"
"""Their folder in the cache."""
LIMIT = "NANDLAB_STATES_MIB"
"""The environment's variable with the MiB that they may take; 0: none is kept."""
LIMIT_MIB = 8192
SAVED, STORE, CONSOLE, CHANNEL = "state", "store", "console", "channel"
"""Files of a state: QEMU's, the store's, what the board had said."""
SUMS = "sums"
"""The file with the SHA-256 of each of them."""


def limit_bytes() -> int:
    """The most that states may take; UsageError if the environment says no number."""
    told = os.environ.get(LIMIT, "")
    if told and not (told.isascii() and told.isdigit()):
        raise UsageError(
            f"{LIMIT} is {told!r}: give the MiB that saved states may take, 0 for none"
        )
    return int(told or LIMIT_MIB) * MIB


@dataclass(frozen=True)
class State:
    """A saved state, whole, which stays while it is used."""

    folder: Path

    def lay_out(self, vm: Vm) -> None:
        """Gives a machine that is to be restored the state's store, and what the board had said."""
        vm.store.load(self.folder / STORE)
        console, channel = ((self.folder / name).read_bytes() for name in (CONSOLE, CHANNEL))
        vm.before = console, channel
        vm.reader.feed(channel)


@contextmanager
def found(inputs: Any) -> Iterator[State | None]:
    """The state that ``inputs`` led to; None: there is none that can be used."""
    with cache.reading(KIND, inputs) as folder:
        yield State(folder) if folder is not None and _as_saved(folder) else None


async def save(vm: Vm, work: Path) -> None:
    """Saves a machine that stands still in a folder, which it sees as SAVES."""
    await vm.save(work)
    vm.store.save(work / STORE)
    (work / CONSOLE).write_bytes(vm.console)
    (work / CHANNEL).write_bytes(vm.channel)
    names = (SAVED, STORE, CONSOLE, CHANNEL)
    (work / SUMS).write_text("".join(f"{file_digest(work / name)} {name}\n" for name in names))


_sound: dict[Path, int] = {}
"""States whose files this process has found as they were saved, by the time of their list."""


def _as_saved(folder: Path) -> bool:
    made_ns = (folder / SUMS).stat().st_mtime_ns
    if _sound.get(folder) != made_ns:
        lines = (folder / SUMS).read_text().splitlines()
        told = (line.split(" ") for line in lines)
        if not all(file_digest(folder / name) == sha256 for sha256, name in told):
            return False
        _sound[folder] = made_ns
    return True
