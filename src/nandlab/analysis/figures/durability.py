# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of operation that stand for several: those that write, and those that are durable."""

from __future__ import annotations

from nandlab.analysis.figures.workloadwords import Words
from nandlab.catalog.demands import matches_parameters
from nandlab.catalog.words import OperationWords
from nandlab.results.record import Trial

WRITES_GROUP, DURABLE_GROUP = "writes", "durable"
"""Stand for all kinds of operation that write, and for those that are durable."""


def expand_operation_kind(kind: str, words: Words, trial: Trial) -> list[str]:
    """The kinds of operation that a kind stands for in a trial: itself, or those of a group."""
    if kind == WRITES_GROUP:
        return [o.name for o in words.operations if o.writes]
    if kind == DURABLE_GROUP:
        return [o.name for o in words.operations if is_operation_durable(o, trial)]
    return [kind]


def is_operation_durable(operation: OperationWords, trial: Trial) -> bool:
    """Whether what the operation returned from was on flash: by itself, or by the mount's sync."""
    unless = any(matches_parameters(when, trial.parameters) for when in operation.durable_unless)
    return (operation.durable and not unless) or (operation.writes and is_mounted_sync(trial))


def is_mounted_sync(trial: Trial) -> bool:
    """Whether an option of the file system mounted it sync, as its catalog file has it."""
    options = trial.find_source("filesystem").get("options", {})
    for name, chosen in trial.options.items():
        value = (options.get(name) or {}).get("values", {}).get(chosen) or {}
        if "sync" in str(value.get("mount", "")).split(","):
            return True
    return False
