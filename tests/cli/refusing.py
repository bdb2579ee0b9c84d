# SPDX-License-Identifier: GPL-2.0-or-later
"""What refuses bad input is held to the same everywhere: exit status 2, a line a mistake, no
traceback, and nothing written. Each try runs in this process, so all of them take seconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from nandlab.cli.main import main

LIMIT_S = 2
"""Most of the processor's time that a refusal may take; a busy host is not its fault."""
NEVER = ("Traceback", "pydantic", "[type=", "input_value", "coroutine", " at 0x")


def there(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their contents, and its folders."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b""
        for p in folder.rglob("*")
    }


def ended(argv: list[str]) -> str | int | None:
    """The exit status of a command, run in this process."""
    old, sys.argv = sys.argv, ["nandlab", *argv]
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv = old
    return left.value.code


def refused(capsys: pytest.CaptureFixture[str], argv: list[str], *, usage: bool = False) -> str:
    """What a command says as it is refused; usage: by the parser, which draws a box."""
    before, began = there(Path.cwd()), time.process_time()
    code = ended(argv)
    took = time.process_time() - began
    out, err = capsys.readouterr()
    assert code == 2, (argv, err)
    assert took < LIMIT_S, (argv, took)
    assert err.strip(), argv
    assert not [word for word in NEVER if word in out + err], (argv, err)
    assert there(Path.cwd()) == before, argv
    if not usage:
        assert out == "", argv
        assert err.startswith("nandlab: "), (argv, err)
        assert all(line.strip() for line in err.splitlines()), (argv, err)
    return err


def refused_or_good(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    """A refusal as all are, or a study that is good after all, such as one with a space more."""
    code = ended(argv)
    capsys.readouterr()
    if code != 0:
        refused(capsys, argv)
