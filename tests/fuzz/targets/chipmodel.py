# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated chip against a naive model (chip_fuzz.c), under sanitizers."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz import sanitized
from fuzz.target import Files, Target

RUNS = 100


def draw(chance: Random) -> Files:
    return {"seed": str(chance.getrandbits(62)).encode()}


def take(folder: Path) -> None:
    argv = [str(sanitized.BUILT / "chip_fuzz"), str(RUNS), (folder / "seed").read_text()]
    assert sanitized.run(argv, folder) == f"{RUNS} runs, all well\n"


DEVICE = Target(draw, take, prepare=sanitized.chip, cases=2)
