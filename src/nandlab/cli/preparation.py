# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told while work goes on: what a board costs the first time, and that all is well."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from nandlab.base.errors import UsageError
from nandlab.base.printer import NOTES, print_note

if TYPE_CHECKING:
    from nandlab.catalog.board import BoardModel

HEARTBEAT_S = 8
"""Seconds of silence after which a line tells that work goes on."""
PACKAGES_MB, CACHE_GB, MINUTES = 200, 1.2, "2 to 10"
"""What the first board of a machine takes: to fetch, on disk, and of time beside fetching."""


@contextmanager
def announce_board_preparation(model: BoardModel) -> Iterator[None]:
    """Around the opening of a board."""
    print_note("preparing the board")
    if line := format_first_board_costs(model):
        print_note(line)
    with print_heartbeats("preparing the board"):
        yield


def format_first_board_costs(model: BoardModel) -> str:
    """What the first board on this machine takes; empty: its packages are here, or not known."""
    from nandlab.base.paths import find_cache_folder
    from nandlab.board.kit.kit import (
        list_board_package_sets,
        read_board_package_lock,
        seems_to_have_package_set,
    )

    try:
        lock = read_board_package_lock(model)
    except UsageError:  # of a run whose board is in no catalog any more
        return ""
    if all(
        seems_to_have_package_set(each, lock.get(each.name, {}))
        for each in list_board_package_sets(model)
    ):
        return ""
    return (
        f"the first time: some {PACKAGES_MB} MB of packages are fetched, {CACHE_GB:g} GB are taken "
        f"in {find_cache_folder()}, and it takes {MINUTES} minutes and the fetching; then seconds"
    )


@dataclass
class Beat:
    """Tells what is being done whenever nothing was told for BEAT_S."""

    say: Callable[[], str]
    began: float = field(default_factory=time.monotonic)

    def tick(self) -> float:
        """Tells it if it is due; the seconds until it is due next, if nothing else is told."""
        if self._compute_wait_s() <= 0:
            print_note(self.say())
        return self._compute_wait_s()

    def _compute_wait_s(self) -> float:
        return max(self.began, NOTES.last_note_s) + HEARTBEAT_S - time.monotonic()


@contextmanager
def print_heartbeats(activity: str | Callable[[], str]) -> Iterator[None]:
    """Tells whenever there was silence for BEAT_S that something is still done.

    activity: a name, beside which the seconds are told, or what tells all of it.
    """
    over, began = Event(), time.monotonic()
    say = (
        activity if callable(activity) else lambda: f"{activity}: {time.monotonic() - began:.0f} s"
    )
    beat = Beat(say)

    def print_beats() -> None:
        while not over.wait(beat.tick()):
            pass

    beat_thread = Thread(target=print_beats, daemon=True)
    beat_thread.start()
    try:
        yield
    finally:
        over.set()
        beat_thread.join()
