# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds what runs on the board: init, programs, our kernel modules.

Sources are in ``target/``; what is built is in the cache, named by the hash of sources, compiler
and headers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nandlab.base.digest import file_digest, tree_digest
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import TARGET
from nandlab.board.cache import entry
from nandlab.board.debian import Packages
from nandlab.board.loader import check

MODULE_FLAGS = ("CONFIG_DEBUG_INFO_BTF_MODULES=",)
"""Turns off BTF type information: it needs pahole and a vmlinux, and nothing here reads it."""
MODULE_C_FLAGS = "-g0 -fmacro-prefix-map={build}/="
"""Keeps this machine's paths out of a module: wherever it is built, it has the same bytes and so
the same timing."""


def _make(folder: Path, *args: str) -> None:
    _run("make", "-s", "-C", str(folder), *args)


def _run(*argv: str) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=clean)
    if done.returncode:
        raise NandlabError(f"{' '.join(argv)} failed:\n{done.stdout}{done.stderr}".rstrip())


@cache
def compiler() -> str:
    """The C compiler and its version, in a line."""
    try:
        done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise UsageError("no C compiler here (gcc); run `nandlab doctor`") from None
    return done.stdout.splitlines()[0]


def init() -> Path:
    """The static program that is the board's first process."""

    def make(work: Path) -> None:
        _make(TARGET / "init", f"OUT={work}")

    sources = tree_digest(TARGET / "init")
    return entry("init", {"sources": sources, "compiler": compiler()}, make) / "init"


@cache
def program(folder: Path) -> Path:
    """The static program built from a folder of C sources and our ``programs/lib``.

    A process builds each once: an edit while a study runs does not change its later trials.
    """
    ours = TARGET / "programs"

    def make(work: Path) -> None:
        _make(ours, f"OUT={work}", f"FROM={folder.parent}", f"{work}/{folder.name}")

    inputs = {
        "name": folder.name,
        "own": tree_digest(folder),
        "lib": tree_digest(ours / "lib"),
        "rules": file_digest(ours / "Makefile"),
        "compiler": compiler(),
    }
    return entry("program", inputs, make) / folder.name


def modules(
    folder: str, packages: Packages, foreign: Mapping[str, Path] | None = None
) -> list[Path]:
    """Paths of the .ko files built from ``target/modules/FOLDER`` for the packages' kernel.

    foreign: folders of sources that are not ours, by the subfolder that each is copied to.
    """
    source = TARGET / "modules" / folder
    foreign = foreign or {}

    def make(work: Path) -> None:
        check(packages.root)
        build = work / "build"
        shutil.copytree(source, build)
        for subfolder, there in foreign.items():
            shutil.copytree(there, build / subfolder)
        flags = MODULE_C_FLAGS.format(build=build)
        _make(
            packages.headers, f"M={build}", "CC=gcc", *MODULE_FLAGS, f"KCFLAGS={flags}", "modules"
        )
        # nothing reads debug symbols, and the board keeps its modules in RAM
        for built in sorted(build.glob("*.ko")):
            _run("strip", "--strip-debug", "-o", str(work / built.name), str(built))
        shutil.rmtree(build)

    inputs: dict[str, Any] = {
        "sources": tree_digest(source),
        "compiler": compiler(),
        "packages": packages.versions,
        "flags": [*MODULE_FLAGS, MODULE_C_FLAGS],
    }
    if foreign:
        inputs["foreign"] = {k: tree_digest(there) for k, there in foreign.items()}
    return sorted(entry("modules", inputs, make).glob("*.ko"))
