# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs programs of fetched packages with the libraries fetched beside them, and with no others.

This machine may be of another release, so the dynamic loader comes from the packages too. It
searches the packages' folders first and then this machine's; no option turns that off. A library
that is not among the packages could be found there in another version. So the loader is first asked
which files it would take, and each must be from the packages.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from nandlab.base.errors import NandlabError

LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
LOADER = f"{LIBRARIES[0]}/ld-linux-x86-64.so.2"
"""Not lib64/ld-linux-x86-64.so.2: in the packages that is a link to this machine's own loader."""
PROGRAMS = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/lib/linux-kbuild-*/**")
"""Where packages have programs; kernel headers bring their own."""
WRAPPER = """#!/bin/sh
# runs {name} with the libraries fetched beside it
root=${{0%/*}}/{up}
exec "$root/{loader}" --inhibit-cache --library-path "{path}" "${{0%/*}}/{name}{suffix}" "$@"
"""
SUFFIX = ".elf"
"""Ends the new name of a program that a wrapper has replaced."""


def command(root: Path, program: Path) -> list[str]:
    """The first words of a command line that runs a program of the packages in ``root``."""
    return _loader(root, str(program)) if libraries(root, program) else [str(program)]


def libraries(root: Path, program: Path) -> list[Path]:
    """The libraries that a program loads, and its loader; NandlabError unless all are packaged.

    The list is empty for a static program and for a script.
    """
    if subprocess.run([root / LOADER, "--verify", program], check=False).returncode:
        return []
    asked = subprocess.run(
        _loader(root, "--list", str(program)), capture_output=True, text=True, check=False
    )
    absent = re.findall(r"libraries: ([^:]+): cannot open", asked.stderr)
    found = re.findall(r"^\t(\S+) => (.+?)(?: \(0x\w+\))?$", asked.stdout, re.MULTILINE)
    inside = root.resolve()
    absent += [name for name, path in found if not Path(path).resolve().is_relative_to(inside)]
    if absent or not found:
        what = ", ".join(absent) or asked.stderr.strip() or "what it needs cannot be told"
        raise NandlabError(
            f"{program.name}: {what}: not among the packages fetched for it in {root}; remove the "
            f"folder `{root.parent.parent.name}` of the cache and run again, to fetch them anew"
        )
    return [Path(path) for _, path in found]


def check(root: Path) -> None:
    """Checks that every program has its libraries; NandlabError names the first that lacks one."""
    for program in _programs(root):
        libraries(root, program)


def wrap(root: Path, folders: str) -> None:
    """Replaces each program in some folders that loads libraries by a wrapper.

    This is for programs that others start by their path. The wrapper finds program and libraries
    relative to its own path.
    """
    for program in [p for p in _programs(root, (folders,)) if libraries(root, p)]:
        up = "/".join([".."] * len(program.parent.relative_to(root).parts))
        path = ":".join(f"$root/{folder}" for folder in LIBRARIES)
        program.rename(f"{program}{SUFFIX}")
        program.write_text(
            WRAPPER.format(name=program.name, up=up, loader=LOADER, path=path, suffix=SUFFIX)
        )
        program.chmod(0o755)
        # Debian's modpost and objtool start NAME.real-ARCH; NAME is the name they were started by
        if ".real-" in program.name:
            asked = program.with_name(program.name.replace(".real-", f"{SUFFIX}.real-"))
            asked.symlink_to(program.name)


def _loader(root: Path, *words: str) -> list[str]:
    path = ":".join(str(root / folder) for folder in LIBRARIES)
    return [str(root / LOADER), "--inhibit-cache", "--library-path", path, *words]


def _programs(root: Path, folders: tuple[str, ...] = PROGRAMS) -> Iterator[Path]:
    for folder in folders:
        for path in sorted(root.glob(f"{folder}/*")):
            if path.is_file() and not path.is_symlink() and os.access(path, os.X_OK):
                yield path
