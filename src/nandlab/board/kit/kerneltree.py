# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's tree of the user's: looked through before it is built, and again after it.

A build sees the tree for reading only. What was built of a tree that was edited meanwhile is not
kept. Links of a tree lead to nothing of the host in a build's root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nandlab.base.digest import digest_file, digest_json_value
from nandlab.base.errors import UsageError
from nandlab.board.kit.partsource import read_tree_version
from nandlab.catalog.arch import Arch

OLDEST = (5, 10)
"""The oldest version that nandlab's modules are built for."""
TREE_FILES_MAX = 200_000
"""Of a tree; Linux 6.12 has 87,000."""
TREE_BYTES_MAX = 4 << 30
LEFT_OUT = (".git", "tools/testing", "tools/perf")
"""Folders of a tree that no build of a kernel reads."""
DOCUMENTATION = "Documentation"
"""Of this folder, and of other architectures, only the files of the configuration are read."""
KCONFIG = "Kconfig"
"""How their names begin."""
BUILT = (".config", "include/config", "include/generated", "vmlinux")
"""What a tree has that was built in."""
NEEDED = ("Makefile", "Kconfig", "scripts/Kconfig.include", "init/main.c")
"""What every tree has, beside its architecture's folder."""


@dataclass(frozen=True)
class KernelTree:
    """The files of a tree that a build needs, as they were read."""

    top: Path
    version: str
    """By its Makefile, such as 6.1.176."""
    files: dict[str, str]
    """Regular files: SHA-256 of the content, with a + where the file can be run; by path."""
    links: dict[str, str]
    """Where each link leads."""
    marks: dict[str, tuple[int, int, int]]
    """Time, size and mode of each, when it was read."""
    arch: Arch
    """What it is built for."""

    @property
    def sha256(self) -> str:
        """Of all that is built."""
        return digest_json_value([self.files, self.links])

    def refuse_changed(self) -> None:
        """UsageError if a file is not as it was read, by its time and its size."""
        now = {path: entry.stat(follow_symlinks=False) for path, entry in self._list_entries()}
        changed = {path for path, told in now.items() if _mark(told) != self.marks.get(path)}
        if changed := changed | (self.marks.keys() - now.keys()):
            raise UsageError(f"{self.top / min(changed)}: changed while the tree was built: again")

    def _list_entries(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        return _list_entries(self.top, "", self.arch)


def _mark(told: os.stat_result) -> tuple[int, int, int]:
    """What of a file changes when it is written."""
    return told.st_mtime_ns, told.st_size, told.st_mode


def read_kernel_tree(top: Path, arch: Arch) -> KernelTree:
    """Reads a tree for a board's architecture; UsageError if it is none that can be built."""
    if not top.is_dir():
        raise UsageError(f"{top}: no such folder; name the top folder of a kernel's tree")
    needed = (*NEEDED, f"arch/{arch.source}/Makefile")
    if absent := next((name for name in needed if not (top / name).is_file()), None):
        raise UsageError(f"{top}: no kernel's tree: {absent} is not there; name its top folder")
    version = read_tree_version(top)
    if version is None:
        raise UsageError(f"{top}: its Makefile has no version of a kernel")
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UsageError(f"{top}: Linux {version}: nandlab's modules need {oldest} or newer")
    built = (*BUILT, f"arch/{arch.source}/include/generated")
    if there := next((name for name in built if (top / name).exists()), None):
        raise UsageError(
            f"{top}: it was built in: it has {there}: give a clean tree, by `make mrproper`, or by "
            "`git worktree add` beside it"
        )
    return _read_files(top, version, arch)


def _read_files(top: Path, version: str, arch: Arch) -> KernelTree:
    files: list[str] = []
    links: dict[str, str] = {}
    marks: dict[str, tuple[int, int, int]] = {}
    size = 0
    for path, entry in _list_entries(top, "", arch):
        status = entry.stat(follow_symlinks=False)
        size += status.st_size
        if entry.is_symlink():
            links[path] = str((top / path).readlink())
        elif stat.S_ISREG(status.st_mode):
            files.append(path)
        else:
            raise UsageError(f"{entry.path}: neither a file nor a folder nor a link")
        marks[path] = _mark(status)
        if len(marks) > TREE_FILES_MAX or size > TREE_BYTES_MAX:
            raise UsageError(f"{top}: it has more than a kernel's tree has")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = pool.map(lambda path: digest_file(top / path), files)
        found = dict(zip(files, digests, strict=True))
    runs = {path: "+" for path in files if marks[path][2] & 0o100}
    digested = {path: digest + runs.get(path, "") for path, digest in found.items()}
    return KernelTree(top, version, digested, links, marks, arch)


def _list_entries(top: Path, folder: str, arch: Arch) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files and links below a folder that a build may read, with their paths in the tree."""
    with os.scandir(top / folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            path = f"{folder}/{entry.name}".lstrip("/")
            if entry.is_dir(follow_symlinks=False):
                if path not in LEFT_OUT:
                    yield from _list_entries(top, path, arch)
            elif entry.name.startswith(KCONFIG) or not _is_only_configured(path, arch):
                yield path, entry


def _is_only_configured(path: str, arch: Arch) -> bool:
    """Whether a file is in a folder of which a build for an architecture reads Kconfig alone."""
    first, _, below = path.partition("/")
    other_arch = first == "arch" and "/" in below and below.partition("/")[0] != arch.source
    return first == DOCUMENTATION or other_arch
