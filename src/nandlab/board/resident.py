# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory of the host a process holds, as a curve of bounded length.

Of a run that takes days a curve must not take more room than of one that takes seconds: when it is
full, every second sample is dropped and samples are taken half as often.
"""

from __future__ import annotations

import re
from pathlib import Path

MOST = 64
"""Samples that a curve has at the most; at least half as many once it was full."""
_RSS = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


def resident(pid: int) -> int | None:
    """Bytes of a process that are in the host's memory; None when it is gone."""
    try:
        found = _RSS.search(Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[1]) * 1024 if found else None


class Curve:
    """Samples at equal distances, however many are given."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._every = 1
        self._seen = 0

    def add(self, value: int | None) -> None:
        """Takes the next sample in; None and what falls between the distances is left out."""
        if value is None:
            return
        if self._seen % self._every == 0:
            self.samples.append(value)
        self._seen += 1
        if len(self.samples) > MOST:
            self.samples = self.samples[::2]
            self._every *= 2
