# SPDX-License-Identifier: GPL-2.0-or-later
"""What the templates of steps give with a workload's parameters, and what is wrong with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from nandlab.catalog import distributions
from nandlab.catalog.step import (
    DISTRIBUTION_FIELDS,
    AnyStep,
    CopyStep,
    FillStep,
    FindStep,
    ReadStep,
    RemoveStep,
    TreeStep,
    WalkStep,
    WorkloadStep,
)

ENTRIES_MAX = 10_000_000
"""Of filetree, in one tree."""
DEPTH_MAX = 2048
"""The most levels of a tree: more do not fit in a path."""
PAYLOADS = {"random": 1.0, "postmark": 0.8}
"""Values of bytes that filetree writes, and the share of them that no compressor takes out."""
FILE_NAMES = re.compile(r"[A-Za-z]0{1,19}", re.ASCII)
"""How filetree is told what to call files."""
NAME_MAX = 255
"""The most bytes of a name, on every file system."""
PATH_MAX = 4095
"""The most bytes of a path that the kernel takes."""


def fill_step_templates(step: WorkloadStep, words: Mapping[str, str]) -> dict[str, str]:
    """What each of a step's templates gives, by field."""
    return {field: template.format(**words) for field, template in step.templates().items()}


def check_step_values(steps: Sequence[WorkloadStep], words: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the values of steps that are all there and settled."""
    for step in steps:
        yield from (
            f"step {step.phase}: {text}"
            for text in _check_step(step, fill_step_templates(step, words))
        )


def _check_step(step: WorkloadStep, values: Mapping[str, str]) -> Iterator[str]:
    yield from (
        f"{field} must be one line, is {value!r}"
        for field, value in values.items()
        if "\n" in value or "\0" in value
    )
    places = (_check_path(field, values.get(field, "")) for field in ("folder", "file", "to"))
    yield from filter(None, places)
    if isinstance(step, TreeStep):
        yield from _check_tree(values)
    if (
        isinstance(step, TreeStep | RemoveStep)
        and not values["folder" if step.do == "tree" else "file"]
    ):
        yield "it needs a name below the mountpoint"
    if isinstance(step, CopyStep) and _is_within(values["to"], values["folder"]):
        yield f"to must not be the folder or in it, is {values['to']!r}"
    if isinstance(step, FindStep):
        yield from _check_target(values["target"])
    if isinstance(step, FillStep) and step.file:
        yield from _check_share(values["share"])
    if isinstance(step, ReadStep) and step.list and step.by == "busybox":
        yield "list is of by = filetree"


def _check_path(field: str, value: str) -> str | None:
    """What is wrong with a path below the mountpoint."""
    parts = value.split("/")
    if value and (value.startswith("/") or {"", ".", ".."} & set(parts)):
        return f"{field} must be a path below the mountpoint, such as a/b, is {value!r}"
    if any(len(part.encode()) > NAME_MAX for part in parts):
        return f"{field} has a name of more than {NAME_MAX} bytes"
    if len(value.encode()) > PATH_MAX:
        return f"{field} is a path of more than {PATH_MAX} bytes"
    return None


def _check_tree(values: Mapping[str, str]) -> Iterator[str]:
    depth = values["depth"]
    if not (depth.isascii() and depth.isdigit() and 1 <= int(depth) <= DEPTH_MAX):
        yield f"depth must be a whole number of 1 to {DEPTH_MAX}, is {depth!r}"
    wrong = [
        (field, mistake)
        for field in DISTRIBUTION_FIELDS
        if (mistake := distributions.check_distribution(values[field]))
    ]
    yield from (f"{field}: {mistake}" for field, mistake in wrong)
    if not wrong and depth.isdigit() and (mistake := _check_tree_size(values)):
        yield mistake
    if not FILE_NAMES.fullmatch(values["names"]):
        yield f"names must be a letter and 1 to 19 zeros, such as f0000, is {values['names']!r}"
    if values["payload"] not in PAYLOADS:
        yield f"payload must be one of {', '.join(PAYLOADS)}, is {values['payload']!r}"
    if not 0 <= _parse_number(values["compressibility"]) <= 1:
        yield f"compressibility must be 0 to 1, is {values['compressibility']!r}"
    seed = values["seed"]
    if not (seed.isascii() and seed.isdigit()):
        yield f"seed must be a whole number, is {seed!r}"


def _check_tree_size(values: Mapping[str, str]) -> str | None:
    """What is wrong with a tree that is expected to have more than filetree makes."""
    try:
        found = distributions.compute_expected_tree(
            min(int(values["depth"]), DEPTH_MAX), *(values[n] for n in DISTRIBUTION_FIELDS)
        )
        entries = found.folders + found.files
    except OverflowError:
        entries = math.inf
    if entries <= ENTRIES_MAX:
        return None
    return (
        f"some {entries:.3g} folders and files are expected, and filetree makes {ENTRIES_MAX:,} at "
        "the most: make depth, dirs or files smaller"
    )


def _check_target(name: str) -> Iterator[str]:
    if not name or "/" in name or name in (".", ".."):
        yield f"target must be a name without a slash, is {name!r}"
    elif len(name.encode()) > NAME_MAX:
        yield f"target is a name of more than {NAME_MAX} bytes"
    elif set(name) & set("*?[\\"):
        yield f"target must be a plain name, not a pattern, is {name!r}"


def _check_share(text: str) -> Iterator[str]:
    if not 0 < _parse_number(text) <= 1:
        yield f"share must be more than 0 and at most 1, is {text!r}"


def _parse_number(text: str) -> float:
    """A number; NaN: it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def list_emptying_steps(steps: Sequence[WorkloadStep], words: Mapping[str, str]) -> list[str]:
    """The steps in which filetree deletes all that is in the mountpoint."""
    deletes = (s for s in steps if isinstance(s, WalkStep) and s.do == "delete")
    return [
        s.phase
        for s in deletes
        if s.by == "filetree" and not fill_step_templates(s, words)["folder"]
    ]


def find_largest_tree_step(
    steps: Sequence[AnyStep], words: Mapping[str, str]
) -> tuple[str, int] | None:
    """The step after which the trees of a list are largest, and their expected bytes then.

    A tree that may fail may be as large as it likes. None: the list makes no other tree.
    """
    tree_bytes: dict[str, int] = {}
    largest: tuple[str, int] | None = None
    for step in steps:
        values = fill_step_templates(step, words)
        if isinstance(step, TreeStep) and not step.may_fail:
            tree_bytes[values["folder"]] = compute_expected_tree_bytes(values)
        elif isinstance(step, CopyStep):
            copied = [n for f, n in tree_bytes.items() if _is_within(f, values["folder"])]
            tree_bytes |= {values["to"]: sum(copied)} if copied else {}
        elif isinstance(step, WalkStep) and step.do == "delete":
            tree_bytes = {
                f: n for f, n in tree_bytes.items() if not _is_within(f, values["folder"])
            }
        held = sum(tree_bytes.values())
        if held and (largest is None or held > largest[1]):
            largest = step.phase, held
    return largest


def _is_within(folder: str, top: str) -> bool:
    """Whether a folder is another or below it."""
    return not top or folder == top or folder.startswith(f"{top}/")


def compute_expected_tree_bytes(values: Mapping[str, str]) -> int:
    """Bytes that a tree's files are expected to take at the least, by its templates' values: what
    a compressor may take out is left out."""
    found = distributions.compute_expected_tree(
        int(values["depth"]), *(values[name] for name in DISTRIBUTION_FIELDS)
    )
    left = PAYLOADS[values["payload"]] * (1 - float(values["compressibility"]))
    return int(found.bytes * left)
