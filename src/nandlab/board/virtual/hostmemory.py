# SPDX-License-Identifier: GPL-2.0-or-later
"""The host memory that a process holds over time, as a curve of bounded length.

The curve of a run of days must take no more room than that of a run of seconds. So when a curve is
full, every second sample is dropped, and samples are taken half as often from then on.
"""

from __future__ import annotations

import re
from pathlib import Path

SAMPLES_MAX = 64
"""The most samples of a curve; once it was full, it always has half as many or more."""
_RSS = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


def read_resident_bytes(pid: int) -> int | None:
    """Bytes of a process that are in the host's memory; None if it has ended."""
    try:
        found = _RSS.search(Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[1]) * 1024 if found else None


class MemoryCurve:
    """Samples at equal intervals; their number is bounded, however many values are added."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._interval = 1
        self._value_count = 0

    def add(self, value: int | None) -> None:
        """Adds the next value; None is ignored, and so is a value between two samples."""
        if value is None:
            return
        if self._value_count % self._interval == 0:
            self.samples.append(value)
        self._value_count += 1
        if len(self.samples) > SAMPLES_MAX:
            self.samples = self.samples[::2]
            self._interval *= 2
