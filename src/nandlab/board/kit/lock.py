# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks: which packages boards are made of, each by name, version and SHA-256.

A lock has sets, e.g. "tools bookworm amd64". Boards that ask for the same share one. The file
``boards.lock`` lies in the catalog beside the boards. `nandlab board update` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_toml
from nandlab.base.printable import make_printable
from nandlab.base.strings import PackageFile, PackageSet, Sha256, does_text_fit_type

FILE = "boards.lock"
Files = Mapping[str, str]
"""SHA-256 by the name of a package's file, which has the package's name and version."""
Lock = Mapping[str, Files]
"""Files by the name of their set."""
HEAD = """\
# SHA-256 by package file, in sets: figures hold for these packages. `nandlab board update` makes a
# board's lock anew; its figures then belong to another board.
"""
_KERNEL_VERSION = re.compile(r"-\d+\.[\d.]+[^-_]*(-\d+)?")


def read_package_lock(path: Path) -> Lock:
    """The lock of a file, empty if there is no file; UsageError if it is not one."""
    return validate_package_lock(read_toml(path), str(path)) if path.exists() else {}


def validate_package_lock(data: Any, where: str) -> Lock:
    """What was read, if it has the form of a lock; else UsageError."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: not a lock of packages")
    for name, files in data.items():
        if not does_text_fit_type(PackageSet, name) or not isinstance(files, dict) or not files:
            raise UsageError(f"{where}: {make_printable(str(name))}: not a set of packages")
        for file, sha256 in files.items():
            if not does_text_fit_type(PackageFile, file) or not does_text_fit_type(Sha256, sha256):
                shown = make_printable(str(file))
                raise UsageError(f"{where}: {name}: {shown}: no package file with its SHA-256")
    return data


def write_package_lock(path: Path, lock: Lock, head: str = HEAD) -> None:
    """Writes a lock's file: the same lock gives the same bytes. head: its first lines."""
    write_whole_file(path, format_package_lock(lock, head).encode())


def format_package_lock(lock: Lock, head: str = HEAD) -> str:
    """A lock as its file has it."""
    parts = [head]
    for name, files in sorted(lock.items()):
        lines = [f'"{file}" = "{sha256}"\n' for file, sha256 in sorted(files.items())]
        parts.append("".join([f'\n["{name}"]\n', *lines]))
    return "".join(parts)


def format_package_changes(old: Files, new: Files) -> list[str]:
    """How two sets differ, a line for each package: ``name: old version -> new version``."""
    before, after = _find_versions(old), _find_versions(new)
    names = sorted(set(before.items()) ^ set(after.items()))
    return [
        f"{name}: {before.get(name, 'none')} -> {after.get(name, 'none')}"
        for name in dict.fromkeys(name for name, _ in names)
    ] or [f"{file}: other content" for file in old if old[file] != new.get(file)]


def _find_versions(files: Files) -> dict[str, str]:
    """Versions by the package's name, in which a kernel's version does not count."""
    parts = [file.split("_") for file in files]
    return {_KERNEL_VERSION.sub("", part[0]): unquote(part[1]) for part in parts if len(part) > 1}
