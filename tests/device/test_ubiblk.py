# SPDX-License-Identifier: GPL-2.0-or-later
"""ubiblk's command line; what it does to a volume, tests/image/test_readonly_board.py shows."""

from __future__ import annotations

import subprocess

import pytest
from support.native import native


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "expected create or remove, and a volume"),
        (["create"], 2, "expected create or remove, and a volume"),
        (["make", "/dev/ubi0_0"], 2, "make: expected create or remove"),
        (["create", "/dev/ubi0_0", "/dev/ubi0_1"], 2, "/dev/ubi0_1: one volume is enough"),
        (["create", "/dev/no-such"], 1, "cannot open '/dev/no-such': No such file or directory"),
        (["remove", "/dev/null"], 1, "cannot take away the block device of '/dev/null': "),
    ],
)
def test_what_is_wrong_is_told(words: list[str], status: int, said: str) -> None:
    done = subprocess.run([native("ubiblk"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stderr.startswith(f"ubiblk: {said}")
