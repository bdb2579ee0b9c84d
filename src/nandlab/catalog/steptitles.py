# SPDX-License-Identifier: GPL-2.0-or-later
"""The words that steps bring for what they tell, where the workload's file has none of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nandlab.catalog.step import Fill, Run, StepWords, Walk

LOOKS = ("lstat", "open", "readdir", "close")
KINDS: Mapping[str, tuple[str, ...]] = {
    "tree": ("mkdir", "create", "write", "close"),
    "list": LOOKS,
    "find": LOOKS,
    "read": (*LOOKS, "read"),
    "delete": (*LOOKS, "unlink", "rmdir"),
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


def title(step: StepWords) -> str:
    """As tables show the step."""
    return step.title or step.phase.replace("_", " ")


def by_filetree(step: StepWords) -> bool:
    """Whether our program does it, or may: it then says what it did."""
    if isinstance(step, Walk):
        return step.by != "busybox"
    return step.do == "tree" or (isinstance(step, Fill) and bool(step.file))


def phases(steps: Iterable[StepWords]) -> list[dict[str, Any]]:
    """A step is a phase, unless it reports phases of its own."""
    made: dict[str, dict[str, Any]] = {}
    for s in steps:
        if not (isinstance(s, Run) and s.tells):
            still = {"moves_data": False} if s.do in NO_DATA else {}
            words = {"name": s.phase, "title": title(s), "timed": s.counts, **still}
            made.setdefault(s.phase, words)
    return list(made.values())


def operations(steps: Iterable[StepWords]) -> list[dict[str, Any]]:
    """The calls that steps tell, each with its phase's name before its own."""
    made = {}
    for step in filter(by_filetree, steps):
        for kind in KINDS[step.do]:
            name = f"{step.phase}_{kind}"
            how = {"writes": kind in WRITES, "durable": kind in DURABLE}
            made[name] = {"name": name, "title": f"{title(step)}: {kind}", **how}
    return list(made.values())


def figures(steps: Iterable[StepWords]) -> dict[str, dict[str, Any]]:
    """What trees tell of themselves."""
    return {
        f"{step.phase}_{name}": {"title": f"{title(step)}: {said}", "unit": unit}
        for step in steps
        if step.do == "tree"
        for name, (said, unit) in FIGURES.items()
    }


def with_words(told: Mapping[str, Any], steps: Sequence[StepWords]) -> dict[str, Any]:
    """A workload's file with the words that its steps bring and it has not."""
    listed = {"phases": phases(steps), "operations": operations(steps)}
    found = dict(told)
    for key, made in listed.items():
        given = [] if told.get(key) is None else told[key]
        if not isinstance(given, list):
            continue  # it is refused later, as each item that is no table
        tables = (item for item in given if isinstance(item, dict))
        known = {name for table in tables if isinstance(name := table.get("name"), str)}
        if made or key == "phases":
            found[key] = [*given, *(p for p in made if p["name"] not in known)]
    if own := figures(steps):
        found["figures"] = _joined(own, told.get("figures"))
    if any(step.of_files and not isinstance(step, Run) for step in steps):
        found["at"] = _joined({"cache": CACHE}, told.get("at"))
    return found


def _joined(made: dict[str, Any], given: Any) -> Any:
    """The words that steps bring and those of the file; what is no table is refused later."""
    return {**made, **given} if isinstance(given, dict) else given or made


def names(steps: Sequence[StepWords]) -> set[str]:
    """The names of what steps have words for."""
    words = [*phases(steps), *operations(steps)]
    return {str(word["name"]) for word in words} | set(figures(steps))
