# SPDX-License-Identifier: GPL-2.0-or-later
"""What the board's kernel says where a point does not hold: its errors, or how it died.

A verdict has a class and errno's words alone; the reason is in the kernel's log, such as which of
UBIFS's checks fails, and on what node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PRINT_ERRORS = "dmesg -r | grep '^<[0-3]>' || true"
"""Prints the kernel's errors since the board's start; it says none while it starts."""
LINES_MAX = 12
ERROR_LINE = re.compile(r"<\d+>\[ *[\d.]+\] (?P<text>\S.*?: +\S.*)")
"""Who says it, a colon, and what; dumps of nodes have no speaker."""
TRACE_END = "---[ end trace"


def parse_kernel_errors(log: str) -> list[str]:
    """The first different errors of what :data:`PRINT_ERRORS` prints."""
    told = (ERROR_LINE.fullmatch(line) for line in log.splitlines())
    return list(dict.fromkeys(each["text"] for each in told if each))[:LINES_MAX]


def find_kernel_crash_lines(console: Sequence[str], point: str) -> list[str]:
    """The console from the line that names the point at which the kernel died to the end of the
    trace; what follows repeats the registers."""
    at = max((i for i, line in enumerate(console) if line.strip() == point), default=-1)
    after = [line.rstrip() for line in console[at + 1 :] if line.strip()]
    end = next((i for i, line in enumerate(after) if TRACE_END in line), len(after))
    return after[:end]
