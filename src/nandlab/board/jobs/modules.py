# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel modules of a board: init's are in its image, a job brings those that it names.

Init loads the NAND core too: every trial's chip is built on it, so the saved state has it. The
chip's module itself takes its parameters when it is loaded. The board keeps files in its RAM, so a
module that a trial has no use for takes RAM from its page cache, and no file system's module is in
the image. A module is named by a word of the job's commands or files, as its programs are
(programs.py). With it come those that it depends on, and those that the kernel loads by name when
it is used, which no dependency tells. An interactive shell has all.

The kernel's own come without their signatures: a board of one user loads what it was given, and to
verify a signature took four fifths of a module's loading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.digest import digest_json_value
from nandlab.board.jobs.job import Job
from nandlab.board.jobs.programs import list_job_words

INIT_MODULES = ("doorbell", "nopidle", "nand")
"""Modules that init loads before there is a job; those that these depend on are added."""
LOADED_BY_NAME: Mapping[str, tuple[str, ...]] = {
    "libcrc32c": ("crc32c_generic",),
    "ubifs": ("deflate", "lzo", "zstd"),
    "vfat": ("nls_cp437", "nls_ascii", "nls_utf8"),
}
"""By module, those that the kernel loads when it is used. Some kernels have them built in."""
MODULES = (
    *("mtd", "nand", "jffs2", "ubi", "ubifs", "nftl", "vfat", "squashfs", "erofs"),
    "nandsim",  # bench/virtual_time.py compares simnand with it
)
"""Kernel modules that a board may load; those that these need are added. The image has one index of
all, so a new one makes another board."""
INDEXES = ("modules.builtin", "modules.dep", "modules.alias", "modules.softdep")
"""What the board's modprobe reads of depmod's work; the kernel asks for modules by an alias."""
SIGNATURE_MARK = b"~Module signature appended~\n"
"""How a signed module ends."""
SIGNATURE_INFO_BYTES = 12
"""The kernel's struct module_signature before that; its last four bytes are the signature's size,
and the signature lies before it."""


def normalize_module_name(word: str) -> str:
    """A module's name as its file has it here; the kernel takes - and _ for the same."""
    return word.replace("-", "_")


def parse_module_dependencies(module: bytes) -> list[str]:
    """What the module's own .modinfo says it depends on."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [normalize_module_name(d) for d in found[1].decode().split(",") if d] if found else []


def strip_module_signature(module: bytes) -> bytes:
    """The module without the signature that is appended to it, if there is one."""
    if not module.endswith(SIGNATURE_MARK):
        return module
    info = len(module) - len(SIGNATURE_MARK) - SIGNATURE_INFO_BYTES
    size = int.from_bytes(module[: info + SIGNATURE_INFO_BYTES][-4:], "big")
    return module[: info - size]


def add_module_dependencies(
    names: Iterable[str], needs: Callable[[str], Iterable[str] | None]
) -> list[str]:
    """The names with all that these need, sorted; needs: None if there is no such module."""
    todo, all_names = [*names], set[str]()
    while todo:
        name = todo.pop()
        dependencies = None if name in all_names else needs(name)
        if dependencies is not None:
            all_names.add(name)
            todo += dependencies
    return sorted(all_names)


@dataclass(frozen=True)
class ModuleSet:
    """All modules that a board may load, outside its image."""

    folder: Path
    """Has NAME.ko for each."""
    home: str
    """The folder of the board that they belong in."""
    needs: Mapping[str, tuple[str, ...]]
    """For each, those that must be there too when it is used."""

    @property
    def in_image(self) -> list[str]:
        """The modules that the board's image has, sorted: init's, with those that they need."""
        return add_module_dependencies(INIT_MODULES, self.needs.get)

    def find_job_modules(self, job: Job) -> dict[str, Path]:
        """The modules that a job brings, by their path on the board."""
        said = list_job_words(job)
        named = self.needs if said is None else {normalize_module_name(word) for word in said}
        there = self.in_image
        brought = [
            name for name in add_module_dependencies(named, self.needs.get) if name not in there
        ]
        return {f"{self.home}/{name}.ko": self.folder / f"{name}.ko" for name in brought}

    def identity(self) -> str:
        """A hash of what each brings along; what they are themselves is in lock and parts."""
        return digest_json_value({name: list(needs) for name, needs in self.needs.items()})
