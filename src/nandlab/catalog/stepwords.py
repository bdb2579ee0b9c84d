# SPDX-License-Identifier: GPL-2.0-or-later
"""The words that steps bring for what they tell, where the workload's file has none of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nandlab.catalog.step import FillStep, RunStep, WalkStep, WorkloadStep

LOOKUP_CALLS = ("lstat", "open", "readdir", "close")
KINDS: Mapping[str, tuple[str, ...]] = {
    "tree": ("mkdir", "create", "write", "close"),
    "list": LOOKUP_CALLS,
    "find": LOOKUP_CALLS,
    "read": (*LOOKUP_CALLS, "read"),
    "delete": (*LOOKUP_CALLS, "unlink", "rmdir"),
    "fill": ("create", "write", "fsync", "close"),
}
"""The calls that filetree tells, by the step that it does."""
NO_DATA = ("list", "find", "delete", "remove")
"""Steps that move no data of files."""
WRITES = ("mkdir", "create", "write", "unlink", "rmdir", "fsync")
DURABLE = ("fsync",)
FIGURES: Mapping[str, tuple[str, str]] = {
    "folders": ("folders", "count"),
    "files": ("files", "count"),
    "bytes": ("bytes of files", "bytes"),
}
"""Figures that a tree tells and that have words: title, unit. The others are in the result only."""
CACHE = {"title": "cache before"}
"""The attribute of a phase that works on files: cold or warm."""


def format_step_title(step: WorkloadStep) -> str:
    """As tables show the step."""
    return step.title or step.phase.replace("_", " ")


def runs_filetree(step: WorkloadStep) -> bool:
    """Whether our program does it, or may: it then says what it did."""
    if isinstance(step, WalkStep):
        return step.by != "busybox"
    return step.do == "tree" or (isinstance(step, FillStep) and bool(step.file))


def list_step_phases(steps: Iterable[WorkloadStep]) -> list[dict[str, Any]]:
    """A step is a phase, unless it reports phases of its own."""
    phases: dict[str, dict[str, Any]] = {}
    for s in steps:
        if not (isinstance(s, RunStep) and s.tells):
            still = {"moves_data": False} if s.do in NO_DATA else {}
            words = {"name": s.phase, "title": format_step_title(s), "timed": s.counts, **still}
            phases.setdefault(s.phase, words)
    return list(phases.values())


def list_step_operations(steps: Iterable[WorkloadStep]) -> list[dict[str, Any]]:
    """The calls that steps tell, each with its phase's name before its own."""
    operations = {}
    for step in filter(runs_filetree, steps):
        for kind in KINDS[step.do]:
            name = f"{step.phase}_{kind}"
            how = {"writes": kind in WRITES, "durable": kind in DURABLE}
            operations[name] = {"name": name, "title": f"{format_step_title(step)}: {kind}", **how}
    return list(operations.values())


def make_tree_step_figures(steps: Iterable[WorkloadStep]) -> dict[str, dict[str, Any]]:
    """What trees tell of themselves."""
    return {
        f"{step.phase}_{name}": {"title": f"{format_step_title(step)}: {said}", "unit": unit}
        for step in steps
        if step.do == "tree"
        for name, (said, unit) in FIGURES.items()
    }


def add_step_words(file_data: Mapping[str, Any], steps: Sequence[WorkloadStep]) -> dict[str, Any]:
    """A workload's file with the words that its steps bring and it has not."""
    listed = {"phases": list_step_phases(steps), "operations": list_step_operations(steps)}
    result = dict(file_data)
    for key, entries in listed.items():
        file_entries = [] if file_data.get(key) is None else file_data[key]
        if not isinstance(file_entries, list):
            continue  # it is refused later, as each item that is no table
        tables = (item for item in file_entries if isinstance(item, dict))
        file_names = {name for table in tables if isinstance(name := table.get("name"), str)}
        if entries or key == "phases":
            result[key] = [*file_entries, *(p for p in entries if p["name"] not in file_names)]
    if figures := make_tree_step_figures(steps):
        result["figures"] = _merge_words(figures, file_data.get("figures"))
    if any(step.uses_files and not isinstance(step, RunStep) for step in steps):
        result["at"] = _merge_words({"cache": CACHE}, file_data.get("at"))
    return result


def _merge_words(made: dict[str, Any], given: Any) -> Any:
    """The words that steps bring and those of the file; what is no table is refused later."""
    return {**made, **given} if isinstance(given, dict) else given or made


def list_step_word_names(steps: Sequence[WorkloadStep]) -> set[str]:
    """The names of what steps have words for."""
    words = [*list_step_phases(steps), *list_step_operations(steps)]
    return {str(word["name"]) for word in words} | set(make_tree_step_figures(steps))
