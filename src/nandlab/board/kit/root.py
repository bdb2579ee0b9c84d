# SPDX-License-Identifier: GPL-2.0-or-later
"""Roots: packages unpacked together, and programs run in them as if the host were nothing else.

A program in a root takes its libraries, and every program that it starts, from there. From the host
it has the kernel's /proc and /dev, and the folders that it is given.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandlab.base.cache import has_entry, make_entry, verify_entry_files
from nandlab.base.errors import ToolError, UsageError
from nandlab.base.printer import print_note
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.kit import deb, enter, packages
from nandlab.board.kit.lock import Files

FORM = 3
"""Part of a root's key: raise it when the same packages are unpacked in another way."""
DISK_FULL = os.strerror(errno.ENOSPC)
OUT_OF_MEMORY = re.compile(
    r"Killed signal terminated program|Cannot allocate memory|virtual memory exhausted"
)
"""What compiler and linker print where the machine has no memory left for them."""
HOST = Path("/")
LINKS = {
    **{name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")},
    "usr/bin/sh": "dash",  # Debian makes these two when it installs the packages
    "usr/bin/awk": "mawk",
}
"""What a root has besides its packages; a link to what no package has is left out."""
ENTRY_REMEDY = (
    "nandlab runs the board in a root of its own, and this machine lets it make none: run it as "
    "root; or allow user namespaces (sysctl user.max_user_namespaces above 0, "
    "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"
    "; or in a container with --privileged; in a chroot, bind its folder on itself first"
)


@dataclass(frozen=True)
class Root:
    """Unpacked packages. Construct with :func:`prepare_package_root`.

    A root has tens of thousands of files, so a process reads only those that it uses to see whether
    they are as they were unpacked: see check().
    """

    folder: Path
    """Has ``root``, and ``stage``, an empty folder."""

    @property
    def path(self) -> Path:
        """The root folder itself, to read files from."""
        return self.folder / "root"

    @property
    def key(self) -> str:
        """A name for the packages and how they are unpacked."""
        return self.folder.name

    def check(self, files: Iterable[Path] | None = None) -> None:
        """Sees that files below ``path`` are as they were unpacked, or unpacks all anew.

        Who reads files, has them seen by a build, or runs command() asks before. None: all files.
        """
        inside = None if files is None else [str(f.relative_to(self.folder)) for f in files]
        verify_entry_files(self.folder, inside)

    def command(self, argv: Sequence[str], see: Mapping[str, Path]) -> list[str]:
        """A command line that runs ``argv`` in the root; see: the host's folders, by where.

        A place that begins with enter.READ_ONLY is for reading only.
        """
        return _make_entry_command(self.path, self.folder / "stage", see, argv)

    def run(
        self, argv: Sequence[str], see: Mapping[str, Path] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end; see: the host's folders, by where it sees them."""
        self.check()
        words = self.command(argv, see or {})
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def checked(self, argv: Sequence[str], see: Mapping[str, Path] | None = None) -> str:
        """What the command prints; ToolError with what it complains of if it fails."""
        result = self.run(argv, see)
        raise_disk_full(result, argv[0])
        if result.returncode:
            lines = f"{result.stdout}{result.stderr}".expandtabs().rstrip().split("\n")
            raise ToolError(f"{' '.join(argv)} failed:", *filter(None, lines))
        return result.stdout


def raise_disk_full(done: subprocess.CompletedProcess[str], program: str) -> None:
    """OSError if a command in a root says that the disk is full."""
    if DISK_FULL in done.stdout + done.stderr:
        raise OSError(errno.ENOSPC, DISK_FULL, f"{program}, in a root")


def is_fault_of_machine(lines: Iterable[str]) -> bool:
    """Whether what a build printed tells of this machine, and nothing of the sources."""
    return any(OUT_OF_MEMORY.search(line) for line in lines)


def _make_entry_command(
    path: Path, stage: Path, see: Mapping[str, Path], argv: Sequence[str]
) -> list[str]:
    """The command line that enters a root; see enter.py."""
    folders = [word for to, source in see.items() for word in (to, str(source))]
    return [
        sys.executable,
        "-I",
        "-S",
        enter.__file__,
        *map(str, (path, stage)),
        *folders,
        "--",
        *argv,
    ]


def prepare_package_root(files: Files) -> Root:
    """The root of a set, unpacked from the cache's package files, or found there unpacked."""
    return Root(
        make_entry(
            "roots", _list_inputs(files), lambda work: _unpack_packages(files, work), lazy=True
        )
    )


def find_unpacked_root(files: Files) -> Root | None:
    """The root of a set if it is unpacked already."""
    return prepare_package_root(files) if has_entry("roots", _list_inputs(files)) else None


def _list_inputs(files: Files) -> dict[str, object]:
    return {"files": dict(files), "form": FORM}


def _unpack_packages(files: Files, work: Path) -> None:
    if damaged := packages.list_missing_packages(files):
        raise UsageError(f"{damaged[0]}: it was damaged in the cache and is removed: run again")
    print_note(f"unpacking {len(files)} packages")
    top = work / "root"
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "tmp"):
        (top / folder).mkdir(parents=True)
    # lzma and writing leave Python's lock; packages have no file in common
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(
            lambda sha256: deb.unpack_package(packages.make_cached_package_path(sha256), top),
            files.values(),
        ):
            pass
    for name, to in LINKS.items():
        link = top / name
        if not link.exists() and (link.parent / to).exists():
            link.symlink_to(to)
    (work / "stage").mkdir()


@cache
def find_root_entry_hindrance(path: Path = HOST) -> str | None:
    """Why no root can be entered on this machine, in the system's words; None: it can.

    path: the root to try it with; it must have ``true``.
    """
    with hold_scratch_folder() as stage:
        words = _make_entry_command(path, stage, {}, ["true"])
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def require_root_entry(tools: Root) -> None:
    """UsageError with what to do if this machine lets nobody enter a root."""
    if why := find_root_entry_hindrance(tools.path):
        raise UsageError(f"{ENTRY_REMEDY} ({why})")
