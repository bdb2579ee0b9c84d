# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of texts in models: what each may hold, so that none can become more than a text.

Every ``str`` of a model has a pattern, is one of a list (Literal), or is marked as free text or as
a command: tests/catalog/test_strings.py walks them all. A text that reaches apt, QEMU, a shell, a
file's name or a path has the narrowest pattern that its uses need. A text of a file system, a
workload or a root file system that is a command may be anything: who writes it writes a program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError


@dataclass(frozen=True)
class FreeMark:
    """The mark of a text that may hold any character: nandlab shows it, escaped, and no more."""


@dataclass(frozen=True)
class ShellMark:
    """The mark of a text that is run, or given to a program that is run."""


FreeText = Annotated[str, FreeMark()]
"""Any characters, of any length: what a program printed, what a kernel logged."""
FreeValue = Annotated[Any, FreeMark()]
"""Any value: another model has checked it, or will where it is used; else it is only shown."""
Command = Annotated[str, ShellMark()]
"""A line for a shell, a template that it is made of, or a program's input, by whoever wrote the
file system, the workload, the tree or the board that has it. It comes from a catalog or with a
trial for this machine's own workers, never from a figures file, a run or a trace."""

Colour = Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$")]
"""A colour, as in CSS: its red, green and blue in two hexadecimal digits each."""
Empty = Literal[""]
"""Beside a pattern: the text may be left out."""
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""One line without control characters: titles, units, names that a program on a board gives."""
NUMBER = "(0|[1-9][0-9]{0,9})"
POINT = f"{NUMBER}:([a-z]{{1,20}}):(0|[1-9][0-9]{{0,19}})(?: recovery {NUMBER}(?:, {NUMBER})?)?"
Point = Annotated[str, Field(pattern=f"^{POINT}$")]
"""A point of a campaign: :class:`PointName` as text."""
Lines = Annotated[str, Field(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""Lines without control characters but line end and tab: sentences, sources, parameters."""
WORD = r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"
Word = Annotated[str, Field(pattern=WORD, max_length=120)]
"""A name that may be part of a file's name or of a command: no path, no option, no quoting."""
FigureName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_*][A-Za-z0-9_.+*{}-]*$")]
"""A figure of the registry, or several added up; ``{}`` and ``*`` stand for parts of phases."""
FileName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][^/\x00-\x1f\x7f-\x9f\u2028\u2029]*$", max_length=240)
]
"""An id that a file is named after."""
StudyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=100)]
"""A study; folders are named after it."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A digest: it may name a file."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
"""A digest, or the begin of one that is its name."""

Release = Annotated[str, Field(pattern=r"^[a-z]+(-backports)?$", max_length=40)]
"""A release of Debian, as in apt's lists: bookworm, bookworm-backports."""
DebianArch = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
"""An architecture of Debian, as in apt's lists."""
KernelFlavour = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
"""What follows linux-image- in a package's name."""
PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$", max_length=120)]
"""A Debian package."""
PackageFile = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*_([A-Za-z0-9.+~_-]|%3a)+$", max_length=240)
]
"""The file of a Debian package, by its name, version and architecture; or one of its source."""
PackageSet = Annotated[str, Field(pattern=r"^[a-z]+( [A-Za-z0-9][A-Za-z0-9_.+-]*)*$")]
"""A set of packages in a lock: what they are for, their release, and whose they are."""
PackageSets = dict[PackageSet, dict[PackageFile, Sha256]]
"""A lock: kit.lock.checked() reads one with the same types."""

MachineType = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9._-]+(,[a-z][a-z0-9-]*=(on|off))*$", max_length=120)
]
"""A machine type of QEMU and its switches; none of its options that name a file."""
Cpu = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9._-]+(,[+-][a-z0-9._-]+|,[a-z0-9._-]+=(on|off))*$", max_length=400),
]
"""A processor of QEMU, with features switched on or off."""
Accel = Literal["tcg", "kvm"]
"""What QEMU runs a board by."""
KernelWords = Annotated[str, Field(pattern=r"^[ -~]*$", max_length=1000)]
"""Words of a kernel's command line."""
MountWords = Annotated[str, Field(pattern=r"^[A-Za-z0-9_=.:,{}+-]*$")]
"""Words of mount -o, with braces where another word is put in."""


MEANING = {
    Line: "one line, without control characters",
    Lines: "text without control characters",
    Point: "a point, OPERATION:VARIANT:SEED, with ' recovery N' or ' recovery N, M' at most",
    Word: "a name of A-Z a-z 0-9 _ . + -, with a letter or a digit first",
    StudyName: "a name of a-z 0-9 . _ -, with a letter or a digit first",
    Sha256: "a SHA-256 of 64 digits 0-9 a-f",
    Digest: "a digest of digits 0-9 a-f",
    Release: "a release of Debian, such as bookworm",
    PackageName: "the name of a Debian package",
    MachineType: "a machine type of QEMU, with switches at most: TYPE,NAME=on",
    Cpu: "a processor of QEMU, with switches at most: NAME,+FEATURE",
    KernelWords: "words of plain ASCII",
}
"""What texts must be, for who wrote one that is not."""


def describe_pattern(pattern: str) -> str | None:
    """What a text of this pattern is, in words; None: the pattern must do."""
    return _MEANINGS.get(pattern)


def _find_pattern(kind: Any) -> str:
    found: str = next(m.pattern for m in kind.__metadata__[0].metadata if hasattr(m, "pattern"))
    return found


_MEANINGS = {_find_pattern(kind): words for kind, words in MEANING.items()}


def does_text_fit_type(kind: Any, text: object) -> bool:
    """Whether a text is of one of these types."""
    try:
        _make_adapter(kind).validate_python(text, strict=True)
    except ValidationError:
        return False
    return True


@dataclass(frozen=True)
class PointName:
    """A point of a campaign: where the power goes, or what fails, and how."""

    operation: int
    """Flash operations before it."""
    variant: str
    """How the operation is torn, or which fault it has."""
    seed: int
    recovery: tuple[int, ...] = ()
    """Operations of the recovery before it is cut, and of the recovery from that cut."""

    @property
    def without_recovery(self) -> PointName:
        """The point after which the recovery is cut."""
        return replace(self, recovery=())

    def __str__(self) -> str:
        cuts = f" recovery {', '.join(map(str, self.recovery))}" if self.recovery else ""
        return f"{self.operation}:{self.variant}:{self.seed}{cuts}"


def parse_cut_point_name(text: str) -> PointName:
    """A :data:`Point`; ValueError if it is none."""
    match = _POINT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no point of a campaign")
    operation, variant, seed, *recovery = match.groups()
    return PointName(int(operation), variant, int(seed), tuple(int(n) for n in recovery if n))


_POINT = re.compile(POINT, re.ASCII)


@cache
def _make_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
