# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads results of format 1, from before workloads had words of their own, as if they were today's.

In format 1, FFSMark's four phases and four kinds of operation were keys, a life was a list of
rounds, and each trial held all that it ran with.
"""

from __future__ import annotations

from typing import Any

from nandlab.base.errors import UsageError
from nandlab.catalog.files import load, names
from nandlab.catalog.words import WorkloadWords
from nandlab.catalog.workload import WorkloadModel

FORMAT = 1
SOURCES = ("chip", "filesystem", "workload")
"""What a trial's provenance held beside the board and the trial's own steps and config."""
OWN = ("steps", "config")
WORDS = tuple(WorkloadWords.model_fields)
"""Fields that a workload's catalog file has now and did not have then."""
FIGURES = ("phase_ns", "sync_ns", "step_ns", "ops", "flash", "flash_sync", "lifetime")
INSTRUMENTS = ("memory", "counters")
TOTALS = {"t_ns": "time", "bytes_written": "bytes", "programs": "count", "erases": "count"}
ROUND = {**TOTALS, "dead_blocks": "count"}
"""The totals of a round, each with its quantity."""
UNPHASED = "transactions"
"""The phase given to operations that were counted only in total."""

Sources = dict[str, dict[str, Any]]


def trial(old: dict[str, Any]) -> tuple[dict[str, Any], Sources]:
    """A trial's fields as they are today, and what it ran with."""
    told = dict(old.pop("provenance", {}))
    own = {key: told.pop(key, None) for key in OWN}
    sources: Sources = {what: told.pop(what) for what in SOURCES if what in told}
    sources["board"] = told
    sources["workload"] = _with_words(old["workload"], sources.get("workload", {}))
    config_file = sources["workload"].get("config_file", "config")
    new = {k: v for k, v in old.items() if k not in (*FIGURES, *INSTRUMENTS)}
    new |= fields(old)
    new["format"] = 2
    new["steps"] = [
        {"name": name, "ns": ns, "command": (own["steps"] or {}).get(name)}
        for name, ns in (old.get("step_ns") or {}).items()
    ]
    if own["config"] is not None:
        new["files"] = {config_file: own["config"]}
    new["measured"] = {i: old[i] for i in INSTRUMENTS if old.get(i) is not None}
    return new, sources


def run(old: dict[str, Any]) -> dict[str, Any]:
    """A run's head as it is today."""
    return {**old, "format": 2}


def fields(told: dict[str, Any]) -> dict[str, Any]:
    """What a workload measured, from the keys that it printed then."""
    ops = told.get("ops") or {}
    new: dict[str, Any] = {
        "phases": _phases(told),
        "operations": {kind: counts["total"] for kind, counts in ops.items() if "total" in counts},
    }
    new |= {key: told[key] or {} for key in ("bytes", "latency_ns") if key in told}
    if told.get("lifetime"):
        new |= life(told["lifetime"])
    return new


def _phases(told: dict[str, Any]) -> list[dict[str, Any]]:
    parts = {key: told.get(key) or {} for key in ("phase_ns", "sync_ns", "flash", "flash_sync")}
    names_ = dict.fromkeys(name for part in parts.values() for name in part)
    return [
        {
            "name": name,
            "ns": parts["phase_ns"].get(name),
            "sync_ns": parts["sync_ns"].get(name),
            "operations": _operations(told.get("ops") or {}, name),
            "chip": parts["flash"].get(name),
            "chip_sync": parts["flash_sync"].get(name),
        }
        for name in names_
    ]


def _operations(ops: dict[str, dict[str, int]], phase: str) -> dict[str, int]:
    found = {}
    for kind, counts in ops.items():
        if phase in counts:
            found[kind] = counts[phase]
        elif phase == UNPHASED and set(counts) == {"total"}:
            found[kind] = counts["total"]
    return found


def life(told: dict[str, Any]) -> dict[str, Any]:
    """A chip's life: totals after each round, last those after the round that failed."""
    rounds: list[dict[str, int]] = list(told["rounds"])
    end = told.get("end")
    points = [*rounds, end] if end else rounds
    new: dict[str, Any] = {
        "series": [
            {
                "name": name,
                "unit": ROUND[name],
                "t_ns": [p["t_ns"] for p in points],
                "values": [p[name] for p in points],
            }
            for name in ROUND
            if name != "t_ns"
        ],
        "figures": {"rounds": len(rounds)},
        "open_ended": told["gave_up"] is None,
    }
    if told["gave_up"] is not None:
        new["texts"] = {"gave_up": told["gave_up"]}
    return new


def _with_words(name: str, workload: dict[str, Any]) -> dict[str, Any]:
    """The workload as it was, with the words that today's catalog has for it."""
    if name not in names("workloads"):
        return workload
    try:
        today = load("workloads", name, WorkloadModel).model_dump(mode="json")
    except UsageError:
        return workload
    return {**{key: today[key] for key in WORDS}, **workload}
