# SPDX-License-Identifier: GPL-2.0-or-later
"""The known name that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_nearest_name(word: str, names: Iterable[str]) -> str:
    """``; nearest: NAME`` to end a refusal with; empty if no known name is like the word.

    Letters in another case make a name no less like it.
    """
    folded = {name.casefold(): name for name in names}
    nearest = get_close_matches(word, folded.values(), n=1)
    if not nearest:
        nearest = [folded[name] for name in get_close_matches(word.casefold(), folded, n=1)]
    return f"; nearest: {nearest[0]}" if nearest else ""
