# SPDX-License-Identifier: GPL-2.0-or-later
"""The two ways nandlab itself can fail; how a trial fails is a result, not an error."""

from __future__ import annotations


class NandlabError(Exception):
    """Something that nandlab could not do. The message says what, where, and what to do."""

    exit_code = 1


class UsageError(NandlabError):
    """The request cannot be met: bad input, an unknown name, a missing tool."""

    exit_code = 2
