# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent of a user's own board under sanitizers: its jobs, its line from the host, its words."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from fuzz import sanitized
from fuzz.target import Files, Target
from fuzz.targets.init import machine, steps

NUMBERS = ("0", "1", "-1", "1000", "x", "", "99999999999999999999", "9223372036855", "1e3")


def draw(chance: Random) -> Files:
    words = ["at"]
    if chance.random() < 0.15:
        words = ["await", *(chance.choice(NUMBERS) for _ in range(chance.choice((1, 2, 2, 2, 3))))]
    given = chance.randbytes(chance.choice((0, 1, 255, 256, 257, 5000)))
    told = {"words": words, "keep_open": chance.random() < 0.8}
    job = {f"at/{name}": text for name, text in steps(chance).items()}
    kernel = {f"at/job/{name}": text for name, text in machine(chance).items()}
    return {**job, **kernel, "given": given, "told.json": json.dumps(told).encode()}


def take(folder: Path) -> None:
    told = json.loads((folder / "told.json").read_text())
    argv = [sanitized.BUILT / "agent", *told["words"]]
    sanitized.run(argv, folder, (folder / "given").read_bytes(), keep_open=told["keep_open"])


DEVICE = Target(draw, take, prepare=sanitized.agent, cases=8)
