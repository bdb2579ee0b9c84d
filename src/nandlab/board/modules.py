# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel modules of a board: init's are in its image, a job brings those that it names.

The board keeps files in its RAM, so a module that a trial has no use for takes RAM from its page
cache. A module is named by a word of the job's commands or files, as its programs are
(programs.py). With it come those that it depends on, and those that the kernel loads by name when
it is used, which no dependency tells. An interactive shell has all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.digest import digest
from nandlab.board.job import Job
from nandlab.board.programs import words

OF_INIT = ("doorbell", "nopidle")
"""Modules that init loads before there is a job."""
LOADED_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "ubifs": ("deflate", "lzo", "zstd"),
    "vfat": ("nls_cp437", "nls_ascii", "nls_utf8"),
}
"""By module, those that the kernel loads when it is used. Some kernels have them built in."""


def name_of(word: str) -> str:
    """A module's name as its file has it here; the kernel takes - and _ for the same."""
    return word.replace("-", "_")


def depends(module: bytes) -> list[str]:
    """What the module's own .modinfo says it depends on."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [name_of(d) for d in found[1].decode().split(",") if d] if found else []


def closed(names: Iterable[str], needs: Callable[[str], Iterable[str] | None]) -> list[str]:
    """The names with all that these need, sorted; needs: None if there is no such module."""
    todo, found = [*names], set[str]()
    while todo:
        name = todo.pop()
        more = None if name in found else needs(name)
        if more is not None:
            found.add(name)
            todo += more
    return sorted(found)


@dataclass(frozen=True)
class Modules:
    """All modules that a board may load, outside its image."""

    folder: Path
    """Has NAME.ko for each."""
    home: str
    """The folder of the board that they belong in."""
    needs: Mapping[str, tuple[str, ...]]
    """For each, those that must be there too when it is used."""

    def of(self, job: Job) -> dict[str, Path]:
        """The modules that a job brings, by their path on the board."""
        said = words(job)
        named = self.needs if said is None else {name_of(word) for word in said} & {*self.needs}
        brought = [name for name in closed(named, self.needs.get) if name not in OF_INIT]
        return {f"{self.home}/{name}.ko": self.folder / f"{name}.ko" for name in brought}

    def identity(self) -> str:
        """A hash of what each brings along; what they are themselves is in lock and parts."""
        return digest({name: list(needs) for name, needs in self.needs.items()})
