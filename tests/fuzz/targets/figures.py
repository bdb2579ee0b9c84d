# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures files, up to the moment at which a board would be made to run them again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import values
from fuzz.target import Files, Target
from nandlab.analysis.expected import expected
from nandlab.trial import reproduce

SHIPPED = Path(__file__).parents[3] / "docs" / "studies" / "quickstart.figures.json"
TRIALS = 2


@cache
def sound() -> str:
    """The quickstart's figures, of few trials."""
    told = json.loads(SHIPPED.read_text())
    told["trials"] = told["trials"][:TRIALS]
    return json.dumps(told)


def draw(chance: Random) -> Files:
    told: Any = json.loads(sound())
    part = chance.choice((told, told["run"], told["run"]["provenance"], told["run"]["spec"]))
    changed = values.changed(part, chance)
    if part is told:
        told = changed
    elif isinstance(changed, dict):
        part.clear()
        part.update(changed)
    return {"f.json": values.as_json(told, chance)}


def take(folder: Path) -> None:
    reproduce.again(expected(folder / "f.json"))


TARGET = Target(draw, take)
