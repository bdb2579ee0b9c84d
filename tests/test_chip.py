# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip compiles in user space and counts exactly (tests/c/test_chip.c)."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "target" / "modules" / "simnand"
SOURCE = ROOT / "tests" / "c" / "test_chip.c"


def test_chip_counts_times_and_refuses(tmp_path: Path) -> None:
    program = tmp_path / "test_chip"
    build = ["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    build += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    build += ["-I", str(MODULE), str(SOURCE), str(MODULE / "chip.c"), "-o", str(program)]
    subprocess.run(build, check=True, timeout=120)

    result = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)

    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "all well\n"
