# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands before a call in a trace's line: a process, and a time in any of strace's forms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

NS_PER_S = 1_000_000_000
DAY_NS = 86400 * NS_PER_S
STAMPED_LINE = re.compile(
    r" *(?:(?P<pid>\d{1,10})(?:<[^>]*>)? |\[pid +(?P<bracketed>\d{1,10})(?:<[^>]*>)?\] )? *"
    r"(?:(?P<epoch>\d{9,12}\.\d{3,9})|(?P<clock>[012]\d:[0-5]\d:[0-6]\d(?:\.\d{3,9})?)"
    r"|(?P<relative>\d{1,7}\.\d{3,9})) "
    r"(?:\(\+ *\d+\.\d+\) )?(?:\[[^\]]*\] )*(?P<text>.*)"
)


class Clock(Enum):
    """A form of the time; its value is the option of strace that gives it."""

    EPOCH = "-ttt"
    DAY = "-tt"
    SECONDS = "-t"
    RELATIVE = "-r"


@dataclass(frozen=True, slots=True)
class StampedLine:
    """A line of strace."""

    pid: int | None
    """None: the line names no process."""
    bracketed: bool
    """The process is named as on a terminal, ``[pid N]``."""
    ns: int
    """Since 1970; since the midnight before or since the first line, where no date is there."""
    text: str


@dataclass
class StampReader:
    """Takes lines in their order, and makes one time of all their times."""

    clock: Clock | None = None
    """Of the lines so far; the coarsest, where they differ."""
    _days: int = 0
    _last: int = field(default=0)

    @property
    def is_past_midnight(self) -> bool:
        """Whether times of the day have begun anew."""
        return self._days > 0

    def read(self, line: str) -> StampedLine | None:
        """A line; None: it has no time of strace."""
        match = STAMPED_LINE.fullmatch(line)
        if match is None:
            return None
        pid = match["pid"] or match["bracketed"]
        return StampedLine(
            int(pid) if pid else None,
            bool(match["bracketed"]),
            self._read_time(match),
            match["text"],
        )

    def _read_time(self, match: re.Match[str]) -> int:
        if match["epoch"]:
            self.clock = self.clock or Clock.EPOCH
            self._last = parse_ns(match["epoch"])
        elif match["relative"]:
            self.clock = Clock.RELATIVE
            self._last += parse_ns(match["relative"])
        else:
            self._last = self._read_day_time(match["clock"])
        return self._last

    def _read_day_time(self, text: str) -> int:
        self.clock = Clock.DAY if "." in text and self.clock is not Clock.SECONDS else Clock.SECONDS
        hours, minutes, seconds = text.split(":")
        now = (int(hours) * 60 + int(minutes)) * 60 * NS_PER_S + parse_ns(seconds)
        if now + self._days * DAY_NS < self._last - DAY_NS // 2:  # past midnight
            self._days += 1
        return now + self._days * DAY_NS


def is_stack_line(line: str) -> bool:
    """Whether a line is of the stack that ``strace -k`` writes below a call, and of no call."""
    return line.startswith(" > ")


def parse_ns(time: str) -> int:
    """Seconds with a fraction, as ns."""
    seconds, _, part = time.partition(".")
    return int(seconds) * NS_PER_S + int(part.ljust(9, "0")[:9])
