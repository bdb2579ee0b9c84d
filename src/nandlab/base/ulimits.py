# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shell lets this process have (``ulimit``), where libraries abort if it is too little."""

from __future__ import annotations

import resource
import sys

from nandlab.base.errors import UsageError
from nandlab.base.printer import guard_standard_streams, print_note

OPEN_FILES_MIN = 64
"""Files that may be open at once; Vega's runtime has a dozen, beside those of the process."""
ADDRESSES_GIB_MIN = 68
"""Addresses that drawing takes. Vega's runtime sets 64 GiB aside, and uses next to none of them."""

ADDRESSES_MIB_MIN = 256
"""Addresses that a command takes; within fewer than 140 MiB numpy or pydantic abort."""


def exit_below_memory_limits() -> None:
    """Ends the process with a line if libraries might abort while they are loaded."""
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= addresses < ADDRESSES_MIB_MIN << 20:
        guard_standard_streams()
        print_note(
            f"nandlab: {addresses >> 20} MiB may be mapped, and a command maps up to "
            f"{ADDRESSES_MIB_MIN} MiB: raise it with ulimit -v {ADDRESSES_MIB_MIN << 10}"
        )
        sys.exit(2)


def refuse_drawing_below_limits() -> None:
    """UsageError if the process may have so little that Vega's runtime would abort."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < OPEN_FILES_MIN:
        raise UsageError(
            f"charts: {files} files may be open at once, and drawing takes {OPEN_FILES_MIN}: "
            f"raise it with ulimit -n {OPEN_FILES_MIN}"
        )
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= addresses < ADDRESSES_GIB_MIN << 30:
        raise UsageError(
            f"charts: {addresses >> 20} MiB may be mapped, and drawing maps {ADDRESSES_GIB_MIN} "
            "GiB, most of which it never uses: raise it with ulimit -v unlimited"
        )


def has_address_space_limit() -> bool:
    """Whether the addresses that this process may map have a limit."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
