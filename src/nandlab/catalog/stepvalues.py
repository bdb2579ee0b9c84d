# SPDX-License-Identifier: GPL-2.0-or-later
"""What the templates of steps give with a workload's parameters, and what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from nandlab.catalog import draws
from nandlab.catalog.step import DRAWN, AnyStep, Fill, Find, Read, Remove, StepWords, Tree, Walk

ENTRIES_MAX = 10_000_000
"""Of filetree, in one tree."""
DEPTH_MAX = 2048
"""The most levels of a tree: more do not fit in a path."""
PAYLOADS = {"random": 1.0, "postmark": 0.8}
"""Values of bytes that filetree writes, and the share of them that no compressor takes out."""
NAME_MAX = 255
"""The most bytes of a name, on every file system."""
PATH_MAX = 4095
"""The most bytes of a path that the kernel takes."""


def filled(step: StepWords, words: Mapping[str, str]) -> dict[str, str]:
    """What each of a step's templates gives, by field."""
    return {field: template.format(**words) for field, template in step.templates().items()}


def misfits(steps: Sequence[StepWords], words: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the values of steps that are all there and settled."""
    for step in steps:
        yield from (f"step {step.phase}: {text}" for text in _of_one(step, filled(step, words)))


def _of_one(step: StepWords, values: Mapping[str, str]) -> Iterator[str]:
    yield from (
        f"{field} must be one line, is {value!r}"
        for field, value in values.items()
        if "\n" in value or "\0" in value
    )
    yield from (
        text for field in ("folder", "file") if (text := _path(field, values.get(field, "")))
    )
    if isinstance(step, Tree):
        yield from _of_a_tree(values)
    if isinstance(step, Tree | Remove) and not values["folder" if step.do == "tree" else "file"]:
        yield "it needs a name below the mountpoint"
    if isinstance(step, Find):
        yield from _of_a_target(values["target"])
    if isinstance(step, Fill) and step.file:
        yield from _of_a_share(values["share"])
    if isinstance(step, Read) and step.list and step.by == "busybox":
        yield "list is of by = filetree"


def _path(field: str, value: str) -> str | None:
    """What is wrong with a path below the mountpoint."""
    parts = value.split("/")
    if value and (value.startswith("/") or {"", ".", ".."} & set(parts)):
        return f"{field} must be a path below the mountpoint, such as a/b, is {value!r}"
    if any(len(part.encode()) > NAME_MAX for part in parts):
        return f"{field} has a name of more than {NAME_MAX} bytes"
    if len(value.encode()) > PATH_MAX:
        return f"{field} is a path of more than {PATH_MAX} bytes"
    return None


def _of_a_tree(values: Mapping[str, str]) -> Iterator[str]:
    depth = values["depth"]
    if not (depth.isascii() and depth.isdigit() and 1 <= int(depth) <= DEPTH_MAX):
        yield f"depth must be a whole number of 1 to {DEPTH_MAX}, is {depth!r}"
    wrong = [(field, said) for field in DRAWN if (said := draws.mistake(values[field]))]
    yield from (f"{field}: {said}" for field, said in wrong)
    if not wrong and depth.isdigit() and (said := _too_many(values)):
        yield said
    if values["payload"] not in PAYLOADS:
        yield f"payload must be one of {', '.join(PAYLOADS)}, is {values['payload']!r}"
    if not 0 <= _number(values["compressibility"]) <= 1:
        yield f"compressibility must be 0 to 1, is {values['compressibility']!r}"
    seed = values["seed"]
    if not (seed.isascii() and seed.isdigit()):
        yield f"seed must be a whole number, is {seed!r}"


def _too_many(values: Mapping[str, str]) -> str | None:
    """What is wrong with a tree that is expected to have more than filetree makes."""
    try:
        found = draws.expected(min(int(values["depth"]), DEPTH_MAX), *(values[n] for n in DRAWN))
        entries = found.folders + found.files
    except OverflowError:
        entries = math.inf
    if entries <= ENTRIES_MAX:
        return None
    return (
        f"some {entries:.3g} folders and files are expected, and filetree makes {ENTRIES_MAX:,} at "
        "the most: make depth, dirs or files smaller"
    )


def _of_a_target(name: str) -> Iterator[str]:
    if not name or "/" in name or name in (".", ".."):
        yield f"target must be a name without a slash, is {name!r}"
    elif len(name.encode()) > NAME_MAX:
        yield f"target is a name of more than {NAME_MAX} bytes"
    elif set(name) & set("*?[\\"):
        yield f"target must be a plain name, not a pattern, is {name!r}"


def _of_a_share(text: str) -> Iterator[str]:
    if not 0 < _number(text) <= 1:
        yield f"share must be more than 0 and at most 1, is {text!r}"


def _number(text: str) -> float:
    """A number; NaN: it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def emptied(steps: Sequence[StepWords], words: Mapping[str, str]) -> list[str]:
    """The steps in which filetree deletes all that is in the mountpoint."""
    deletes = (s for s in steps if isinstance(s, Walk) and s.do == "delete")
    return [s.phase for s in deletes if s.by == "filetree" and not filled(s, words)["folder"]]


def most_bytes(steps: Sequence[AnyStep], words: Mapping[str, str]) -> tuple[str, int] | None:
    """The step after which the trees of a list are largest, and their expected bytes then.

    A tree that may fail may be as large as it likes. None: the list makes no other tree.
    """
    there: dict[str, int] = {}
    found: tuple[str, int] | None = None
    for step in steps:
        values = filled(step, words)
        if isinstance(step, Tree) and not step.may_fail:
            there[values["folder"]] = expected_bytes(values)
        elif isinstance(step, Walk) and step.do == "delete":
            there = {f: n for f, n in there.items() if not _within(f, values["folder"])}
        held = sum(there.values())
        if held and (found is None or held > found[1]):
            found = step.phase, held
    return found


def _within(folder: str, top: str) -> bool:
    """Whether a folder is another or below it."""
    return not top or folder == top or folder.startswith(f"{top}/")


def expected_bytes(values: Mapping[str, str]) -> int:
    """Bytes that a tree's files are expected to take at the least, by its templates' values: what
    a compressor may take out is left out."""
    found = draws.expected(int(values["depth"]), *(values[name] for name in DRAWN))
    left = PAYLOADS[values["payload"]] * (1 - float(values["compressibility"]))
    return int(found.bytes * left)
