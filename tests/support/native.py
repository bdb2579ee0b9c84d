# SPDX-License-Identifier: GPL-2.0-or-later
"""Our programs built for this machine by its own compiler, for tests that need no board."""

from __future__ import annotations

import atexit
import fcntl
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from nandlab.base.paths import DEVICE


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


@cache
def _folder(name: str) -> Path:
    """A folder for what this process builds."""
    out = tempfile.mkdtemp(prefix=f"nandlab-{name}-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    return Path(out)


@cache
def native(program: str) -> Path:
    """The program, built once a process."""
    return make(_folder("native"), program, "CC=gcc")


@cache
def dynamic(program: str) -> Path:
    """The program with shared libraries, so that a test's own can stand before the C library's."""
    return make(_folder("dynamic"), program, "CC=gcc", "STATIC=")


@cache
def preload(source: Path) -> Path:
    """A library that stands before the C library's for a program of :func:`dynamic`."""
    library = _folder("preload") / source.with_suffix(".so").name
    flags = ["-shared", "-fPIC", "-O1", "-D_FILE_OFFSET_BITS=64"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-ldl"], check=True)
    return library
