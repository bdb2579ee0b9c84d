# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that has other things to do."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

from support.outcomes import without_outcomes


def _spin() -> None:
    while True:
        pass


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes compute for nothing meanwhile; boards run, and take no kept outcome."""
    spinning = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for process in spinning:
        process.start()
    try:
        with without_outcomes():
            yield
    finally:
        for process in spinning:
            process.kill()
            process.join()
