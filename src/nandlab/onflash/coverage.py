# SPDX-License-Identifier: GPL-2.0-or-later
"""Which bytes of a file newer nodes hold, as its nodes are met from the newest to the oldest."""

from __future__ import annotations

import bisect


class CoveredRanges:
    """Ranges of a file that newer nodes hold, and all that is past its end."""

    def __init__(self, size: int) -> None:
        self.ranges: list[tuple[int, int]] = [(size, 1 << 40)]

    def take(self, start: int, end: int) -> list[tuple[int, int]]:
        """Covers a range; gives what of it was not covered before."""
        ranges = self.ranges
        first = bisect.bisect_left(ranges, (start,))
        if first and ranges[first - 1][1] >= start:
            first -= 1
        seen: list[tuple[int, int]] = []
        at, last = start, first
        low, high = start, end
        while last < len(ranges) and ranges[last][0] <= end:
            begin, to = ranges[last]
            if at < begin:
                seen.append((at, min(begin, end)))
            at = max(at, to)
            low, high = min(low, begin), max(high, to)
            last += 1
        if at < end:
            seen.append((at, end))
        if start < end:
            ranges[first:last] = [(low, high)]
        return [s for s in seen if s[0] < s[1]]
