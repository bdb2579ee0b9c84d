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
MOVES = {"rename", "move"}
NAMES = {"link", "unlink", *MOVES}
"""Operations on a file's names alone."""


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
    groups: list[list[str]] = [[]]
    for op in sequence:
        if op == REMOUNT:
            groups.append([])
        else:
            groups[-1].append(op)
    return [tuple(part) for part in groups]


def outcomes(text: str) -> dict[str, list[str]]:
    """What fsops printed, by sequence: an outcome for each operation, a check's with its tree."""
    lines_by_name: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("seq "):
            current = lines_by_name.setdefault(line.removeprefix("seq "), [])
        elif line.startswith("\t"):
            current[-1] += "\n" + line
        else:
            current.append(line)
    return lines_by_name


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
        if not _alike(op, said, should, differs, sequence):
            return Mismatch(at, op, said, should)
    return None


def _alike(
    op: str, outcome: str, should: str, differs: Collection[str], sequence: Sequence
) -> bool:
    kind = op.split(maxsplit=1)[0]
    difference, error = REFUSED.get(kind, NEVER)
    if difference in differs and should == "0":
        return outcome == error
    if kind == "chmod" and "modes" in differs and should == "0":
        return outcome in ("0", "EPERM")
    outcome, should = _excused(outcome, differs), _excused(should, differs)
    return outcome == (_leave_times(outcome, should, differs, sequence) if differs else should)


OTHER_NUMBER = ": its entry has another inode's number"
STAT = re.compile(r"\b(?P<type>[dfl]) (?P<mode>[0-7]{4}|-) (?P<links>\d+|-)(?P<rest>.*)")
TIME = re.compile(r" (?P<which>[mc])(?P<at>\d+)\b")
"""What fsops prints of a time: which it is, and the number of the operation that set it."""


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
        if "change_times" in differs:
            gone = "mc" if m["links"] == "0" else "c"
            rest = re.sub(rf" ([{gone}])-?\d+", r" \1-", rest)
        links = "-" if "folder_links" in differs and m["type"] == "d" else m["links"]
        return f"{m['type']} {mode} {links}{rest}"

    return STAT.sub(stat, outcome) if differs else outcome


def _leave_times(said: str, should: str, differs: Collection[str], sequence: Sequence) -> str:
    """The reference's outcome, with the subject's earlier times where an operation may leave them:
    one that the subject refuses, or, of the time of change alone, one on a name of the file."""
    mine, yours = said.splitlines(), should.splitlines()
    if len(mine) != len(yours):
        return should
    return "\n".join(
        _leave_times_of_line(a, b, differs, sequence) for a, b in zip(mine, yours, strict=True)
    )


def _leave_times_of_line(
    said: str, should: str, differs: Collection[str], sequence: Sequence
) -> str:
    own, stat = {m["which"]: int(m["at"]) for m in TIME.finditer(said)}, STAT.search(should)
    changed = {m["which"]: int(m["at"]) for m in TIME.finditer(should)}

    def leave(m: re.Match[str]) -> str:
        which, at = m["which"], int(m["at"])
        if not stat or own.get(which, at) >= at or at >= len(sequence):
            return m[0]
        kind = sequence[at].split()[0]
        refused = REFUSED.get(kind, NEVER)[0] in differs
        if stat["type"] == "d":
            left = "folder_times" in differs and kind in MOVES
            # renamed itself: a folder of a renamed entry has both times of it
            itself = "name_times" in differs and kind in MOVES and changed.get("m") != at
            left = left or (which == "c" and itself)
        else:
            left = which == "c" and "name_times" in differs and kind in NAMES
        return f" {which}{own[which]}" if left or refused else m[0]

    return TIME.sub(leave, should)
