# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a file system did what the reference did, but for what its catalog file declares.

A declared difference is applied to the sequence before it is played (``adapted``,
``for_reference``) and to the lines that are compared (``_alike``, ``_excused``), nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from support.sequences import CUT, REMOUNT, Sequence

PATHLESS = {
    *("close", "write", "put", "read", "mapread", "mapshared", "mapwrite", "ftrunc", "fsync"),
    "fstat",
    *("readdir", "enddir"),
}
"""Operations without a name of a file."""
SOME_TIME = 1_234_567_890
REFUSED = {
    "link": ("hard_links", "EPERM"),
    "symlink": ("symbolic_links", "EPERM"),
    "setxattr": ("attributes", "EOPNOTSUPP"),
}
"""Operation -> the difference by which a file system refuses it, and with which error."""
NEVER = ("", "")


def adapted(sequence: Sequence, differs: Collection[str]) -> Sequence:
    """The sequence without what the file system does otherwise, for both to play."""
    return tuple(new for op in sequence for new in _adapted(op, differs))


def _adapted(op: str, differs: Collection[str]) -> list[str]:
    kind, *words = op.split()
    if "case" in differs and kind not in PATHLESS:
        kind, *words = op.lower().split()
    if "empty_writes" in differs and kind in ("write", "put") and words[-2] == "0":
        words[-2] = "1"
    if "shared_writable_maps" in differs and kind == "mapwrite":
        kind = "write"
    op = " ".join([kind, *words])
    if "truncate_times" in differs and kind == "trunc":
        return [op, f"utime {words[0]} {SOME_TIME}"]
    return [op]


def for_reference(sequence: Sequence, differs: Collection[str]) -> Sequence:
    """The sequence as the reference plays it: what the subject refuses is taken back.

    The reference keeps its power: all of it lies in RAM.
    """
    kept = ("sync" if op == CUT else op for op in sequence)
    return tuple("?" + op if REFUSED.get(op.split()[0], NEVER)[0] in differs else op for op in kept)


def parts(sequence: Sequence) -> list[Sequence]:
    """A sequence, cut at its remounts."""
    found: list[list[str]] = [[]]
    for op in sequence:
        if op == REMOUNT:
            found.append([])
        else:
            found[-1].append(op)
    return [tuple(part) for part in found]


def outcomes(text: str) -> dict[str, list[str]]:
    """What fsops printed, by sequence: an outcome for each operation, a check's with its tree."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("seq "):
            current = found.setdefault(line.removeprefix("seq "), [])
        elif line.startswith("\t"):
            current[-1] += "\n" + line
        else:
            current.append(line)
    return found


@dataclass(frozen=True)
class Mismatch:
    """The first operation that two file systems did not do alike."""

    at: int
    """Its place among the operations; remounts count."""
    operation: str
    subject: str
    reference: str

    def __str__(self) -> str:
        said, should = _only_differing(self.subject, self.reference)
        return f"operation {self.at}, `{self.operation}`\n  said:     {said}\n  expected: {should}"


def _only_differing(a: str, b: str) -> tuple[str, str]:
    """Of two outcomes of several lines, those lines that the other has not."""
    mine, yours = a.splitlines(), b.splitlines()
    if len(mine) < 2 and len(yours) < 2:
        return a, b
    only = (
        [line for line in mine if line not in yours],
        [line for line in yours if line not in mine],
    )
    return " | ".join(map(str.strip, only[0])) or "-", " | ".join(map(str.strip, only[1])) or "-"


def compare(
    sequence: Sequence, subject: list[str], reference: list[str], differs: Collection[str] = ()
) -> Mismatch | None:
    """The first operation whose outcomes differ by more than is declared."""
    numbered = [(at, op) for at, op in enumerate(sequence) if op != REMOUNT]
    for i, (at, op) in enumerate(numbered):
        said = subject[i] if i < len(subject) else "nothing: fsops had ended"
        should = reference[i] if i < len(reference) else "nothing: fsops had ended"
        if not _alike(op, said, should, differs):
            return Mismatch(at, op, said, should)
    return None


def _alike(op: str, said: str, should: str, differs: Collection[str]) -> bool:
    kind = op.split(maxsplit=1)[0]
    difference, error = REFUSED.get(kind, NEVER)
    if difference in differs and should == "0":
        return said == error
    if kind == "chmod" and "modes" in differs and should == "0":
        return said in ("0", "EPERM")
    return _excused(said, differs) == _excused(should, differs)


OTHER_NUMBER = ": its entry has another inode's number"
STAT = re.compile(r"\b(?P<type>[dfl]) (?P<mode>[0-7]{4}) (?P<links>\d+)(?P<rest>.*)")


def _excused(outcome: str, differs: Collection[str]) -> str:
    """An outcome without what the file system may do otherwise."""
    if "steady_directories" in differs and outcome.startswith("read"):
        outcome = re.sub(r" (repeated|missing):\S+", "", outcome)
    if "inode_numbers" in differs:
        lines = outcome.splitlines()
        outcome = "\n".join(line for line in lines if not line.endswith(OTHER_NUMBER))

    def stat(m: re.Match[str]) -> str:
        mode = "-" if "modes" in differs else m["mode"]
        rest = m["rest"]
        if "precise_times" in differs:
            rest = re.sub(r" at (\d+)", lambda t: f" at {int(t[1]) // 2 * 2}", rest)
        links = "-" if "folder_links" in differs and m["type"] == "d" else m["links"]
        return f"{m['type']} {mode} {links}{rest}"

    return STAT.sub(stat, outcome) if differs else outcome
