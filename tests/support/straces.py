# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of strace for tests: recordings that lie here, small ones made, real ones taken."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from nandlab.catalog.from_strace.workload import TraceWorkload

RECORDINGS = Path(__file__).parents[1] / "catalog" / "from_strace" / "recordings"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C"}


def recording(name: str) -> Path:
    return RECORDINGS / f"{name}.strace"


def trace(folder: Path, *calls: str, pid: int = 7) -> Path:
    """A trace of these calls, 1 ms after each other; "8| close(3) = 0" is of process 8."""
    lines = []
    for i, call in enumerate(calls):
        who, bar, what = call.partition("| ")
        of, text = (who, what) if bar and who.isdigit() else (str(pid), call)
        lines.append(f"{of:<5} {1_700_000_000 + i * 1e-3:.6f} {text}\n")
    path = folder / "made.strace"
    path.write_bytes("".join(lines).encode("latin-1"))
    return path


def load(path: Path, below: str | None = "/data", name: str = "made") -> list[str]:
    """The lines of a trace's recorded load, without times."""
    text = TraceWorkload(path, below, name).recorded.text
    return [line.partition(" ")[2] if line[:1] == "+" else line for line in text.splitlines()]


def config(text: str) -> str:
    """The recorded load in a workload's file, as the board has it."""
    told: str = tomllib.loads(text)["config"]
    return told.format()


def take(out: Path, argv: Sequence[str | Path], cwd: Path, stdin: str = "") -> Path:
    """Runs a command under strace; the test fails, and says so, where that is not allowed."""
    strace = ["strace", "-f", "-ttt", "-T", "-y", "-o", str(out)]
    done = subprocess.run(
        [*strace, *map(str, argv)],
        input=stdin,
        cwd=cwd,
        env={**ENVIRONMENT, "TMPDIR": os.environ.get("TMPDIR", "/tmp")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.fail(f"processes may not be traced (ptrace) here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return out
