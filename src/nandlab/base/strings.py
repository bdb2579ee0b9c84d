# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of texts in models: what each may hold, so that none can become more than a text.

Every ``str`` of a model has a pattern, is one of a list (Literal), or is marked as free text:
tests/catalog/test_strings.py walks them all. A text that reaches apt, QEMU, a shell, a file's name
or a path has the narrowest pattern that its uses need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True)
class Free:
    """The mark of a text that may hold any character: nandlab shows it, escaped, and no more."""


@dataclass(frozen=True)
class Shell:
    """The mark of a text that is run: whoever gives it to nandlab gives it a program."""


FreeText = Annotated[str, Free()]
"""Any characters, of any length: what a program printed, what a kernel logged."""
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""One line without control characters: titles, reasons, units, words."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A digest: it may name a file."""
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=120)]
"""A name that may be part of a file's name or of a command: no path, no option, no quoting."""
Release = Annotated[str, Field(pattern=r"^[a-z]+(-backports)?$", max_length=40)]
"""A release of Debian, as in apt's lists: bookworm, bookworm-backports."""
PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$", max_length=120)]
"""A Debian package."""
Command = Annotated[str, Shell()]
"""A line for a shell, or a template that one is made of, by the author of a project."""
