# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of a command line: those that verbs share, and ``NAME=VALUE``, typed values, lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from nandlab.base.errors import UsageError

Style = Literal["auto", "bar", "plain", "json", "none"]
"""How progress is shown on standard error."""


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """Values of ``NAME=VALUE`` words by name; UsageError for another form or a name twice."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {word}: expected NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} {name}: given twice")
        found[name] = value
    return found


def scalar(text: str) -> bool | int | float | str:
    """A value in the type that it looks like, as in TOML."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def listed(text: str) -> tuple[str, ...]:
    """The words of a text, which commas separate."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
