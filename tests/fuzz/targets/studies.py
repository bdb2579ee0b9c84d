# SPDX-License-Identifier: GPL-2.0-or-later
"""Study files whose values are changed, planned; nothing is run."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import toml, values
from fuzz.command import command
from fuzz.target import Files, Target
from nandlab.base.paths import STUDIES

MOST = 5000
"""Bytes of a study that is taken: planning a larger one takes its time."""


@cache
def sound() -> list[Path]:
    return sorted(p for p in STUDIES.glob("*.toml") if p.stat().st_size < MOST)


@cache
def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def draw(chance: Random) -> Files:
    return {"s.toml": toml.text(values.changed(read(chance.choice(sound())), chance), chance)}


def take(folder: Path) -> None:
    command("plan", "s.toml")


DEVICE = Target(draw, take, cases=12)
