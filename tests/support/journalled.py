# SPDX-License-Identifier: GPL-2.0-or-later
"""The chip and its journal, built in user space."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from nandlab.base.paths import DEVICE

CHIP = DEVICE / "modules" / "simnand"
JOURNAL = DEVICE / "modules" / "powercut"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STRICT = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *SANITIZERS]


def list_chip_sources() -> list[str]:
    """The chip's own files, as Kbuild lists them."""
    listed = re.findall(r"^simnand-chip \S?= (.*)$", (CHIP / "Kbuild").read_text(), re.M)
    return [str(CHIP / name).removesuffix(".o") + ".c" for name in " ".join(listed).split()]


def list_journal_sources(journal: Path = JOURNAL) -> list[str]:
    """The journal, operations that fail once, the tearing of operations, and each way to tear."""
    ways = sorted((journal / "ways").glob("*.c"))
    files = ("journal.c", "once.c", "torn.c")
    return [*map(str, (*(journal / name for name in files), *ways))]


def make_way_list_flag(journal: Path = JOURNAL) -> str:
    """What Kbuild tells torn.c: the ways to tear."""
    names = [path.stem for path in sorted((journal / "ways").glob("*.c"))]
    return f"-DTORN_WAYS={' '.join(f'WAY({name})' for name in names)}"


def build_journalled(source: Path, program: Path, journal: Path = JOURNAL) -> None:
    """The chip with its journal: the pins alone call the journal, as in its Kbuild."""
    renamed = re.findall(r"-Darray_\w+=cut_\w+", (journal / "Kbuild").read_text())
    assert len(renamed) == 3
    pins = program.with_name(f"{program.name}.o")
    argv = ["gcc", *STRICT, "-I", str(CHIP), "-I", str(journal), make_way_list_flag(journal)]
    decode = str(CHIP / "decode.c")
    subprocess.run([*argv, *renamed, "-c", decode, "-o", str(pins)], check=True, timeout=120)
    rest = [each for each in list_chip_sources() if each != decode]
    rest += [*list_journal_sources(journal), str(pins)]
    subprocess.run([*argv, str(source), *rest, "-o", str(program)], check=True, timeout=120)
