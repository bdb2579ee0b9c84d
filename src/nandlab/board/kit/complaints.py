# SPDX-License-Identifier: GPL-2.0-or-later
"""What an error quotes of the output of a build that failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

LINES_SHOWN_MAX = 12
"""The most lines of the compiler that an error quotes."""
COMPLAINT = re.compile(r"\berror:|^ERROR:|undefined!|No such file|No rule to make target")


def list_complaints(output: Iterable[str]) -> list[str]:
    """The lines of a build's output that say what is wrong, as many as help; else its last."""
    lines = [line.expandtabs().rstrip() for line in output if line.strip()]
    first = [line for line in lines if COMPLAINT.search(line)] or lines[-LINES_SHOWN_MAX:]
    more = len(first) - LINES_SHOWN_MAX
    return [*first[:LINES_SHOWN_MAX], *([f"and {more} more errors"] if more > 0 else [])]
