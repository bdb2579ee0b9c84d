# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the kernel that switch a file system's own checks on: what they have, and when."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from nandlab.base.paths import DEVICE

ROOM_BYTES = 8192
"""More than a ``struct knobs``, which begins with all zero."""


@pytest.mark.parametrize(
    ("given", "mount", "mounted"), [("", "1", "1"), ("=5", "5", "5"), ("=5,7", "5", "7")]
)
def test_a_check_has_a_value_at_the_mount_another_after_it_and_its_own_again(
    tmp_path: Path, given: str, mount: str, mounted: str
) -> None:
    lib = DEVICE / "programs" / "lib"
    made = tmp_path / "knobs.so"
    flags = ["-std=gnu11", "-shared", "-fPIC", "-D_GNU_SOURCE", "-I", str(lib)]
    sources = [str(lib / "cuts" / "knobs.c"), str(lib / "diag.c")]
    subprocess.run(["gcc", *flags, '-DMOUNTPOINT="mnt"', *sources, "-o", str(made)], check=True)
    program = ctypes.CDLL(str(made))
    knobs, switch = ctypes.create_string_buffer(ROOM_BYTES), tmp_path / "switch"
    switch.write_text("0")
    word = ctypes.create_string_buffer(f"{switch}{given}".encode())
    assert program.knobs_take(knobs, word) == 0
    had = []
    for step in (("set", True), ("mounted",), ("set", False)):
        getattr(program, f"knobs_{step[0]}")(knobs, *step[1:])
        had.append(switch.read_text())
    assert had == [mount, mounted, "0"]
