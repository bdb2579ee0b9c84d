# SPDX-License-Identifier: GPL-2.0-or-later
"""The two ways nandlab itself can fail; how a trial fails is a result, not an error."""

from __future__ import annotations

from nandlab.base.printable import make_printable


class NandlabError(Exception):
    """Something that nandlab could not do. The message says what, where, and what to do.

    It is of lines, mostly one. Each stays one, whatever is in it, and without control characters.
    """

    exit_code = 1

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = tuple(map(make_printable, lines))

    def __str__(self) -> str:
        return "\n".join(self.lines)


class UsageError(NandlabError):
    """The request cannot be met: bad input, an unknown name, a missing tool."""

    exit_code = 2


class SourceError(UsageError):
    """Sources that the user named are not there, take no patch of the user's, or do not build.

    Then the lines are the compiler's.
    """


class ToolError(NandlabError):
    """A tool that nandlab runs in a root failed, such as the compiler; the lines are its own."""
