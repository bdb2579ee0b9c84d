# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel modules of a board: init's are in its image, a job brings those that it names.

The board keeps files in its RAM, so a module that a trial has no use for takes RAM from its page
cache. A module is named by a word of the job's commands or files, as its programs are
(programs.py). With it come those that it depends on, and those that the kernel loads by name when
it is used, which no dependency tells. An interactive shell has all.

The board's image has depmod's index of its modules, and it never changes for one more: each trial's
key has it. So modules that came later lie beside the others, with an index of their own that has
both. A job that names one of them brings that index too, and no other job knows of it.
"""

from __future__ import annotations

import json
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
BESIDE = ("squashfs", "erofs")
"""Modules that the image's index does not have; the modules that these depend on are added."""
LOADED_BESIDE: Mapping[str, tuple[str, ...]] = {"libcrc32c": ("crc32c_generic",)}
"""LOADED_BY_NAME of what comes with them alone."""
INDEXES = ("modules.builtin", "modules.dep", "modules.alias", "modules.softdep")
"""What the board's modprobe reads of depmod's work; the kernel asks for modules by an alias."""
NEEDS = "needs.json"
"""File of the folder beside: what each module there needs."""


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

    @property
    def beside(self) -> Path:
        """The folder of the modules that the image's index does not have, and of their index."""
        return self.folder / "beside"

    def of(self, job: Job) -> dict[str, Path]:
        """The modules that a job brings, by their path on the board."""
        said = words(job)
        names = None if said is None else {name_of(word) for word in said}
        later = self._needs_beside()
        named = {name for name in BESIDE if name in later and (names is None or name in names)}
        needs = {**self.needs, **later} if named else self.needs
        named |= {*self.needs} if names is None else names & {*self.needs}
        brought = [name for name in closed(named, needs.get) if name not in OF_INIT]
        at = {name: self.beside if name in later else self.folder for name in brought}
        index = INDEXES if later.keys() & at.keys() else ()
        found = {f"{self.home}/{name}.ko": at[name] / f"{name}.ko" for name in brought}
        return {**found, **{f"{self.home}/{name}": self.beside / name for name in index}}

    def _needs_beside(self) -> dict[str, tuple[str, ...]]:
        """What each module beside needs; empty: the kernel has none of them as a module."""
        file = self.beside / NEEDS
        told = json.loads(file.read_text()) if file.is_file() else {}
        return {name: tuple(more) for name, more in told.items()}

    def identity(self) -> str:
        """A hash of what each brings along; what they are themselves is in lock and parts."""
        return digest({name: list(needs) for name, needs in self.needs.items()})
