# SPDX-License-Identifier: GPL-2.0-or-later
"""The known name that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_nearest_name(word: str, known: Iterable[str]) -> str:
    """``; nearest: NAME`` to end a refusal with; empty if no known name is like the word."""
    found = get_close_matches(word, list(known), n=1)
    return f"; nearest: {found[0]}" if found else ""
