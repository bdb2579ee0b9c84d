# SPDX-License-Identifier: GPL-2.0-or-later
"""What a target is, and the case that a seed stands for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import fuzz.targets
import nandlab

Files = dict[str, bytes]
"""A case's files by their names below its folder."""
APART = ("nandlab.__main__", "nandlab.trial.workers")
"""Modules that no target needs."""


@dataclass(frozen=True)
class Target:
    """Something that reads foreign files."""

    draw: Callable[[Random], Files]
    """The files of a case, of these chances alone."""
    take: Callable[[Path], None]
    """Has the files of a folder read; raises what is wrong, or NandlabError as it refuses them."""
    prepare: Callable[[], object] = int
    """Builds what cases need, once."""
    cases: int = 40
    """How many ``make test`` tries."""
    cpu_s: float = 5
    """Most of the processor's time that a case may take."""


@cache
def targets() -> dict[str, Target]:
    """Each target by the name of its file."""
    names = sorted(m.name for m in pkgutil.iter_modules(fuzz.targets.__path__))
    return {n: importlib.import_module(f"fuzz.targets.{n}").DEVICE for n in names}


def warm(names: Iterable[str]) -> None:
    """Imports and draws what each process of a batch would have to again."""
    for module in pkgutil.walk_packages(nandlab.__path__, "nandlab."):
        if not module.name.startswith(APART):
            importlib.import_module(module.name)
    for name in names:
        targets()[name].prepare()
        case(name, 0)


def case(name: str, seed: int) -> Files:
    """The files of a target's case."""
    return targets()[name].draw(Random(f"{name} {seed}"))


def write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
