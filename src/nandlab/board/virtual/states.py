# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved states of a board after a job's setup, in the cache.

A state is named by all that led there: the booted board, and the job's first piece with its
programs, modules and cargo, byte for byte. States are large, so those that were not used for
longest make room for others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.base import cache
from nandlab.base.errors import UsageError
from nandlab.board.virtual.vm import CHANNEL, CONSOLE, Vm
from nandlab.catalog.chip import MIB

KIND = "states"
"""Their folder in the cache."""
LIMIT = "NANDLAB_STATES_MIB"
"""The environment's variable with the MiB that they may take; 0: none is kept."""
LIMIT_MIB = 8192
FORM = 2
"""Part of a state's name: raise it when its files are others."""
STORE = "store"
"""The store's file, beside QEMU's, the RAM's and what the board had said."""


def read_states_limit_bytes() -> int:
    """The most that states may take; UsageError if the environment says no number."""
    limit_text = os.environ.get(LIMIT, "")
    if limit_text and not (limit_text.isascii() and limit_text.isdigit()):
        raise UsageError(
            f"{LIMIT} is {limit_text!r}: give the MiB that saved states may take, 0 for none"
        )
    return int(limit_text or LIMIT_MIB) * MIB


@dataclass(frozen=True)
class SavedState:
    """A saved state, whole, which stays while it is used."""

    folder: Path

    def lay_out(self, vm: Vm) -> None:
        """Gives a machine that is to be restored the state's store, and what the board had said."""
        vm.store.load(self.folder / STORE)
        console, channel = ((self.folder / name).read_bytes() for name in (CONSOLE, CHANNEL))
        vm.before = console, channel
        vm.reader.feed(channel)


@contextmanager
def hold_saved_state(inputs: Any) -> Iterator[SavedState | None]:
    """The state that ``inputs`` led to; None: there is none that is as it was saved."""
    with cache.hold_entry(KIND, inputs) as folder:
        yield None if folder is None else SavedState(folder)


async def save_vm_state(vm: Vm, work: Path) -> None:
    """Saves a machine that stands still in a folder, which it sees as SAVES."""
    await vm.save(work)
    vm.store.save(work / STORE)
    (work / CONSOLE).write_bytes(vm.console)
    (work / CHANNEL).write_bytes(vm.channel)
