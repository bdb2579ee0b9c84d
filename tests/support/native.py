# SPDX-License-Identifier: GPL-2.0-or-later
"""Our programs built for this machine by its own compiler, for tests that need no board.

They are in build/, for all processes and runs of the tests, and built anew where sources changed.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from nandlab.base.paths import DEVICE, ROOT

BUILT = ROOT / "build" / "tests"


def make(out: Path, program: str, *words: str) -> Path:
    """A program of ours that make builds in a folder, if what is there is older than its sources.

    Programs of one folder share the objects of lib/: one process at a time builds there.
    """
    out.mkdir(parents=True, exist_ok=True)
    argv = ["make", "-s", "-C", str(DEVICE / "programs"), f"OUT={out}", *words]
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([*argv, str(out / program)], check=True)
    return out / program


def build_if_older(out: Path, sources: Iterable[Path], build: Callable[[Path], None]) -> Path:
    """A program that ``build`` makes, if it is not there or older than its sources.

    It is made under a name of this process, so that others find it whole or not at all.
    """
    if out.exists() and out.stat().st_mtime > max(p.stat().st_mtime for p in sources):
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part-{os.getpid()}")
    build(part)
    return part.rename(out)


@cache
def native(program: str) -> Path:
    """The program; a process looks once whether it is older than its sources."""
    return make(BUILT / "native", program, "CC=gcc")


@cache
def dynamic(program: str) -> Path:
    """The program with shared libraries, so that a test's own can stand before the C library's."""
    return make(BUILT / "dynamic", program, "CC=gcc", "STATIC=")


@cache
def sanitized(program: str) -> Path:
    """The program under AddressSanitizer and UBSan, which end it."""
    extra = "EXTRA=-fsanitize=address,undefined -fno-sanitize-recover"
    return make(BUILT / "sanitized", program, "CC=gcc", "STATIC=", extra)


@cache
def preload(source: Path) -> Path:
    """A library that stands before the C library's for a program of :func:`dynamic`."""
    flags = ["-shared", "-fPIC", "-O1", "-D_FILE_OFFSET_BITS=64"]

    def build(library: Path) -> None:
        subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-ldl"], check=True)

    library = BUILT / "preload" / f"{source.parent.name}-{source.stem}.so"
    return build_if_older(library, [source, Path(__file__)], build)
