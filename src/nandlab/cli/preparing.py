# SPDX-License-Identifier: GPL-2.0-or-later
"""What is told while a board is made ready: what the first time costs, and that it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from nandlab.base.errors import UsageError
from nandlab.base.printer import note

if TYPE_CHECKING:
    from nandlab.catalog.board import BoardModel

BEAT_S = 8
"""Seconds of silence after which a line tells that work goes on."""
PACKAGES_MB, CACHE_GB, MINUTES = 200, 1.2, "2 to 10"
"""What the first board of a machine takes: to fetch, on disk, and of time beside fetching."""


@contextmanager
def preparing(model: BoardModel) -> Iterator[None]:
    """Around the opening of a board."""
    note("preparing the board")
    if line := costs(model):
        note(line)
    with alive("preparing the board"):
        yield


def costs(model: BoardModel) -> str:
    """What the first board on this machine takes; empty: its packages are here, or not known."""
    from nandlab.base.paths import cache_dir
    from nandlab.kit.kit import lock_of, seen, wanted

    try:
        lock = lock_of(model)
    except UsageError:  # of a run whose board is in no catalog any more
        return ""
    if all(seen(each, lock.get(each.name, {})) for each in wanted(model)):
        return ""
    return (
        f"the first time: some {PACKAGES_MB} MB of packages are fetched, {CACHE_GB:g} GB are taken "
        f"in {cache_dir()}, and it takes {MINUTES} minutes and the fetching; then seconds"
    )


@contextmanager
def alive(what: str) -> Iterator[None]:
    """Tells every few seconds that something is still done, and for how long."""
    over, began = Event(), time.monotonic()

    def beat() -> None:
        while not over.wait(BEAT_S):
            note(f"{what}: {time.monotonic() - began:.0f} s")

    beating = Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield
    finally:
        over.set()
        beating.join()
