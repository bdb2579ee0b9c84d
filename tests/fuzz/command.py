# SPDX-License-Identifier: GPL-2.0-or-later
"""A command of nandlab in this process, as who runs it sees it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from nandlab.cli import exits
from nandlab.cli.main import make_parser


@contextlib.contextmanager
def _words(argv: tuple[str, ...]) -> Iterator[None]:
    old, sys.argv = sys.argv, ["nandlab", *argv]
    os.environ["NANDLAB_CACHE"] = str(Path.cwd() / "cache")
    try:
        yield
    finally:
        sys.argv = old


def command(*argv: str) -> str:
    """What a command prints; whatever it raises but SystemExit is raised.

    Status 0, 1 (a difference, a failure) or 2 (a refusal) is one of nandlab's; a refusal has a
    message.
    """
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with _words(argv), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exits.run_command_line(make_parser())
        except SystemExit as e:
            code = e.code or 0
    assert code in (0, 1, 2), (argv, code)
    assert code != 2 or err.getvalue().strip(), (argv, "a refusal without a message")
    assert exits.LITTLE_MEMORY not in err.getvalue(), (argv, "memory ran out")
    return out.getvalue()
