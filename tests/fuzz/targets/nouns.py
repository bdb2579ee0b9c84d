# SPDX-License-Identifier: GPL-2.0-or-later
"""A project's own chip, board, file system, workload and so on, whose values are changed."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import toml, values
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.base.paths import CATALOG
from nandlab.catalog.files import load_noun
from nandlab.catalog.instrument import InstrumentModel
from nandlab.catalog.noun import Noun
from nandlab.catalog.paper import PaperModel
from nandlab.catalog.profile import EnergyProfile
from nandlab.catalog.tables import TableModel
from nandlab.catalog.tree import TreeModel

PLANNED = {
    "chips": 'chips = [{ part = "mine", partition_mib = 16 }]',
    "filesystems": 'filesystems = [{ name = "mine" }]',
    "workloads": 'workloads = [{ name = "mine" }]',
}
"""What a study says in which a noun of a kind is ``mine``."""
SHIPPED = {
    "chips": 'chips = [{ part = "apf27", partition_mib = 16 }]',
    "filesystems": 'filesystems = [{ name = "jffs2" }]',
    "workloads": 'workloads = [{ name = "ffsmark" }]',
}
LOADED: dict[str, type[Noun]] = {
    "papers": PaperModel,
    "tables": TableModel,
    "instruments": InstrumentModel,
    "trees": TreeModel,
    "energy-profiles": EnergyProfile,
}
"""Kinds whose nouns no plan reads."""
KINDS = (*PLANNED, "boards", *LOADED)


@cache
def sound(kind: str) -> list[dict[str, Any]]:
    return [tomllib.loads(p.read_text()) for p in sorted((CATALOG / kind).glob("*.toml"))]


def study(kind: str) -> bytes:
    board = "mine" if kind == "boards" else "apf27"
    lines = [f'name = "s"\nquestion = "?"\nboard = "{board}"\n[matrix]\nseeds = [1]']
    lines += (SHIPPED | ({kind: PLANNED[kind]} if kind in PLANNED else {})).values()
    lines += ["phase_offsets_ms = [0]", 'states = [{ name = "fresh" }]', ""]
    return "\n".join(lines).encode()


def draw(chance: Random) -> Files:
    kind = chance.choice(KINDS)
    told = {**chance.choice(sound(kind))}
    told = {**told, ("part" if kind == "chips" else "name"): "mine"}
    return {
        f"catalog/{kind}/mine.toml": toml.text(values.changed(told, chance), chance),
        "s.toml": study(kind),
        "kind.json": json.dumps(kind).encode(),
    }


def take(folder: Path) -> None:
    kind = json.loads((folder / "kind.json").read_text())
    if kind in LOADED:
        load_noun(kind, "mine", LOADED[kind])
    else:
        command("plan", "s.toml")


DEVICE = Target(draw, take)
