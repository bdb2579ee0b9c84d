# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel says of itself: which checks it makes, and what these found while a trial ran.

A check reports in the kernel's log, in tens of lines. The first line of a report that says what it
is of is a finding of the trial. Any kernel can warn; KASAN, lockdep and UBSAN need one that was
built with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

DEBUG_SETTINGS: Mapping[str, str] = {
    "CONFIG_KASAN": "KASAN",
    "CONFIG_KMSAN": "KMSAN",
    "CONFIG_KCSAN": "KCSAN",
    "CONFIG_UBSAN": "UBSAN",
    "CONFIG_PROVE_LOCKING": "lockdep",
    "CONFIG_DEBUG_ATOMIC_SLEEP": "sleeps in atomic context",
    "CONFIG_DEBUG_KMEMLEAK": "kmemleak",
    "CONFIG_DEBUG_PAGEALLOC": "page allocation",
    "CONFIG_SLUB_DEBUG_ON": "SLUB",
    "CONFIG_FAULT_INJECTION": "fault injection",
}
"""Checks of a kernel that cost time, and what a result calls them; Debian's kernels have none."""
STAMP = re.compile(r"^\[ *[0-9.]+\] ?(\[ *[CT][0-9]+\] ?)?")
"""The time before a line of the log, and in some kernels who wrote it."""
REPORT_HEADS = re.compile(
    r"BUG:? .+"
    r"|UBSAN: .+"
    r"|WARNING: .+"
    r"|INFO: (?:possible|trying to register|task) .+"
    r"|kmemleak: [1-9][0-9]* new suspected memory leaks.*"
    r"|Oops: .+"
)
"""First lines of reports of KASAN, KCSAN, UBSAN, lockdep, SLUB, kmemleak, and of WARN()."""


def list_debug_checks(config: Mapping[str, str]) -> list[str]:
    """The checks that a kernel of this configuration makes while it runs; empty: it has none."""
    return [name for symbol, name in DEBUG_SETTINGS.items() if config.get(symbol) == "y"]


def list_kernel_findings(log: Iterable[str]) -> list[str]:
    """The reports in a trial's part of the kernel's log: a line for each, each once."""
    lines = (STAMP.sub("", line).strip() for line in log)
    return list(dict.fromkeys(line for line in lines if REPORT_HEADS.fullmatch(line)))
