# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures files, plain and packed: shown, and up to where a board would run them again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import values, xz
from fuzz.target import Files, Target
from nandlab.analysis.expected import expected
from nandlab.base import packed
from nandlab.base.gate import read_packed_json
from nandlab.trial import reproduce
from nandlab.trial.published import PublishedRun

SHIPPED = Path(__file__).parents[3] / "docs" / "studies" / "quickstart.figures.json.xz"
TRIALS = 2
PACKED_SHARE = 0.3
"""Of cases that are spoiled in their packing; of all others, of those that are packed."""


@cache
def sound() -> str:
    """The quickstart's figures, of few trials."""
    told = read_packed_json(SHIPPED)
    told["trials"] = told["trials"][:TRIALS]
    return json.dumps(told)


def draw(chance: Random) -> Files:
    if chance.random() < PACKED_SHARE:
        return {"f.json": xz.spoiled(sound().encode(), chance)}
    told: Any = json.loads(sound())
    part = chance.choice((told, told["run"], told["run"]["provenance"], told["run"]["spec"]))
    changed = values.changed(part, chance)
    if part is told:
        told = changed
    elif isinstance(changed, dict):
        part.clear()
        part.update(changed)
    content = values.as_json(told, chance)
    return {"f.json": packed.pack(content) if chance.random() < PACKED_SHARE else content}


def take(folder: Path) -> None:
    for trial in PublishedRun(folder / "f.json").trials():
        assert trial.study
    reproduce.again(expected(folder / "f.json"))


TARGET = Target(draw, take)
