# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of operation that stand for several: those that write, and those that are durable."""

from __future__ import annotations

from nandlab.analysis.words import Words
from nandlab.catalog.asks import matches
from nandlab.catalog.words import OperationWords
from nandlab.results.record import Trial

WRITES, DURABLE = "writes", "durable"
"""Stand for all kinds of operation that write, and for those that are durable."""


def kinds_of(kind: str, of: Words, trial: Trial) -> list[str]:
    """The kinds of operation that a kind stands for in a trial: itself, or those of a group."""
    if kind == WRITES:
        return [o.name for o in of.operations if o.writes]
    if kind == DURABLE:
        return [o.name for o in of.operations if durable(o, trial)]
    return [kind]


def durable(operation: OperationWords, trial: Trial) -> bool:
    """Whether what the operation returned from was on flash: by itself, or by the mount's sync."""
    unless = any(matches(when, trial.parameters) for when in operation.durable_unless)
    return (operation.durable and not unless) or (operation.writes and mounted_sync(trial))


def mounted_sync(trial: Trial) -> bool:
    """Whether an option of the file system mounted it sync, as its catalog file has it."""
    options = trial.about("filesystem").get("options", {})
    for name, chosen in trial.options.items():
        value = (options.get(name) or {}).get("values", {}).get(chosen) or {}
        if "sync" in str(value.get("mount", "")).split(","):
            return True
    return False
