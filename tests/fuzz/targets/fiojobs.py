# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files of fio with words and lines exchanged, made a workload."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from fuzz import texts
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.catalog.from_fio.options import (
    ALIASES,
    FIXED_OPTIONS,
    IGNORED_OPTIONS,
    OPTIONS,
    REFUSAL_REASONS,
)

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "fio" / "device.fio"
NAMES = sorted({*OPTIONS, *ALIASES, *IGNORED_OPTIONS, *FIXED_OPTIONS, *REFUSAL_REASONS})
VALUES = (
    *(
        b"4k",
        b"1m",
        b"512-4k",
        b"0",
        b"100%",
        b"randrw",
        b"readwrite",
        b"write",
        b"1",
        b"16g",
        b"5s",
    ),
    *(b"4k,8k", b"4k/50:8k/50", b"1e3", b"0x10", b"-1", b"zipf:1.2", b"${X}", b"", b"none", b"2:1"),
)


@cache
def sound() -> bytes:
    return EXAMPLE.read_bytes()


def draw(chance: Random) -> Files:
    lines = sound().split(b"\n")
    for _ in range(chance.randint(0, 4)):
        option = chance.choice(NAMES).encode() + b"=" + chance.choice(VALUES)
        lines.insert(chance.randrange(len(lines) + 1), option)
    text = b"\n".join(lines)
    return {"j.fio": texts.lines_changed(text, chance, VALUES) if chance.random() < 0.7 else text}


def take(folder: Path) -> None:
    command("workload", "from-fio", "j.fio")


DEVICE = Target(draw, take)
