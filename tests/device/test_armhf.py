# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on boards builds for a 32-bit ARM, without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import armhf

from nandlab.base.paths import DEVICE

ALONE = {"powercut", "yaffs2"}
"""Modules that take sources from elsewhere: their own Kbuild files say how."""


def elf_machine(path: Path) -> tuple[int, int]:
    """Class (1: 32 bits) and machine (40: ARM) of an ELF file."""
    head = path.read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    return head[4], int.from_bytes(head[18:20], "little")


@pytest.mark.long
def test_the_kernels_modules_build_for_arm(tmp_path: Path) -> None:
    folders = {p.parent.name for p in (DEVICE / "modules").glob("*/Kbuild")} - ALONE
    assert {"doorbell", "flashcounts", "fsram", "nopidle", "simnand", "tracers"} <= folders
    all_of_them = shutil.copytree(DEVICE / "modules", tmp_path / "modules")
    for folder in sorted(folders):
        work = all_of_them / folder
        armhf.module(work)
        built = {p.stem: elf_machine(p) for p in work.glob("*.ko")}
        assert set(built.values()) == {(1, 40)}, folder


@pytest.mark.long
def test_programs_build_for_arm(tmp_path: Path) -> None:
    armhf.make(DEVICE / "programs", tmp_path, f"CROSS_COMPILE={armhf.CROSS}")
    built = {p.name: elf_machine(p) for p in tmp_path.iterdir() if p.is_file()}
    assert {"ffsmark", "settle", "fileload"} <= set(built)
    assert "begin-member" not in built  # it needs device/arm, which the board's own build gives it
    assert set(built.values()) == {(1, 40)}


def test_the_agent_builds_for_arm(tmp_path: Path) -> None:
    armhf.make(DEVICE / "agent", tmp_path, f"CROSS={armhf.CROSS}")
    assert elf_machine(tmp_path / "agent") == (1, 40)


def test_random_places_are_the_same_on_a_machine_without_numbers_of_128_bits(
    tmp_path: Path,
) -> None:
    """A number below any count is the upper half of a product."""
    (tmp_path / "try.c").write_text(
        '#include "payload.h"\n#include <stdio.h>\n'
        "int main(void) { uint64_t s = 7, c = 3; for (int i = 0; i < 100000; i++) {\n"
        "uint64_t d = s, got = payload_below(c, &s), drawn = payload_draw(&d);\n"
        "if (got != (uint64_t)((unsigned __int128)drawn * c >> 64)) return 1;\n"
        'c = (c ^ s) >> (s & 63); c += !c; } puts("equal"); return 0; }\n'
    )
    lib = DEVICE / "programs/lib"
    sources = [tmp_path / "try.c", lib / "payload.c", lib / "diag.c"]
    argv = ["gcc", "-D_GNU_SOURCE", "-I", str(lib), "-o", str(tmp_path / "try")]
    subprocess.run([*argv, *map(str, sources)], check=True)
    done = subprocess.run([str(tmp_path / "try")], check=True, capture_output=True, text=True)
    assert done.stdout == "equal\n"
