# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``begin-member`` refuses what it cannot do; tests/board/test_states.py runs it."""

from __future__ import annotations

import subprocess

import pytest
from support.native import native


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say ADDRESS PERIOD_MS"),
        (("0x1000",), "say ADDRESS PERIOD_MS"),
        (("here", "100"), "here: expected a whole number"),
        (("0x1000", "0"), "0: expected 1 ms to 1 h"),
        (("0x1000", "3600001"), "3600001: expected 1 ms to 1 h"),
        (("0x1000", "100", "more"), "more: one argument too many"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: tuple[str, ...], said: str) -> None:
    argv = [str(native("begin-member")), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert (done.stdout, done.stderr) == ("", f"begin-member: {said}\n")
