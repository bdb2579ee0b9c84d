# SPDX-License-Identifier: GPL-2.0-or-later
"""Our programs built for this machine by its own compiler, for tests that need no board."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from nandlab.base.paths import TARGET


@cache
def native(program: str) -> Path:
    """The program, built once a process."""
    out = tempfile.mkdtemp(prefix="nandlab-native-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    make = ["make", "-s", "-C", str(TARGET / "programs"), f"OUT={out}", "CC=gcc"]
    subprocess.run([*make, f"{out}/{program}"], check=True)
    return Path(out) / program


@cache
def dynamic(program: str) -> Path:
    """The program with shared libraries, so that a test's own can stand before the C library's."""
    out = tempfile.mkdtemp(prefix="nandlab-dynamic-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    make = ["make", "-s", "-C", str(TARGET / "programs"), f"OUT={out}", "CC=gcc", "STATIC="]
    subprocess.run([*make, f"{out}/{program}"], check=True)
    return Path(out) / program


@cache
def preload(source: Path) -> Path:
    """A library that stands before the C library's for a program of :func:`dynamic`."""
    out = tempfile.mkdtemp(prefix="nandlab-preload-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    library = Path(out) / source.with_suffix(".so").name
    flags = ["-shared", "-fPIC", "-O1", "-D_FILE_OFFSET_BITS=64"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-ldl"], check=True)
    return library
