# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures files, plain and packed: shown, and up to where a board would run them again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from support import hostile

from fuzz import values, xz
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.analysis.differences.baselines import read_baseline
from nandlab.base import xzpack
from nandlab.base.gate import read_packed_json
from nandlab.results.folder import hash_provenance_content
from nandlab.trial import reproduction

SHIPPED = Path(__file__).parents[3] / "docs" / "studies" / "quickstart.figures.json.xz"
TRIALS = 2
PACKED_SHARE = 0.3
"""Of cases that are spoiled in their packing; of all others, of those that are packed."""
AGAIN = ["reproduce", "f.json"]
WORDS = (
    *(AGAIN, AGAIN, ["show", "f.json"], ["show", "f.json", "--format", "csv"]),
    *(["show", "f.json", "--json"], ["advise", "f.json"], ["compare", "f.json", "sound.json"]),
)


@cache
def sound() -> str:
    """The quickstart's figures, of few trials, with what the first ran with."""
    told = read_packed_json(SHIPPED)
    told["trials"] = told["trials"][:TRIALS]
    sources = hostile.whole_sources()
    told["trials"][0]["provenance"] = {
        what: hash_provenance_content(s) for what, s in sources.items()
    }
    told["sources"] = {hash_provenance_content(s): s for s in sources.values()}
    return json.dumps(told)


def draw(chance: Random) -> Files:
    words = chance.choice(WORDS)
    files = {"words.json": json.dumps(words).encode(), "f.json": _figures(chance)}
    return files | {"sound.json": sound().encode()} if "sound.json" in words else files


def _figures(chance: Random) -> bytes:
    if chance.random() < PACKED_SHARE:
        return xz.spoiled(sound().encode(), chance)
    told: Any = json.loads(sound())
    head, source = told["run"], chance.choice(sorted(told["sources"]))
    part = chance.choice(
        (told, head, head["provenance"], head["spec"], told["trials"][0], told["sources"][source])
    )
    changed = values.changed(part, chance)
    if part is told:
        told = changed
    elif isinstance(changed, dict):
        part.clear()
        part.update(changed)
        if chance.random() < 0.9:
            told = _renamed(told, source)
    content = values.as_json(told, chance)
    return xzpack.pack_xz(content) if chance.random() < PACKED_SHARE else content


def _renamed(told: Any, old: str) -> Any:
    """The figures with a source under the name that its content has now."""
    new = hash_provenance_content(told["sources"][old])
    return json.loads(json.dumps(told).replace(old, new)) if new != old else told


def take(folder: Path) -> None:
    words = json.loads((folder / "words.json").read_text())
    if words == AGAIN:
        reproduction.plan_reproduction(read_baseline(folder / "f.json"))
    else:
        command(*words)


DEVICE = Target(draw, take, cases=20)
