# SPDX-License-Identifier: GPL-2.0-or-later
"""FFSMark built and run, and what it and postmark report."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]


PROGRAMS = REPO / "device" / "programs"


TIMEOUT_S = 120


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        value: dict[str, Any] = json.loads(lines[0])
        return value


def phases(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The phases of a result, by name."""
    return {phase["name"]: phase for phase in result["phases"]}


def run(
    program: Path | str, commands: str, *arguments: str, env: dict[str, str] | None = None
) -> Ran:
    done = subprocess.run(
        [str(program), *arguments],
        input=commands,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def commands(work: Path | None, **settings: object) -> str:
    lines = [f"set location {work}"] if work else []
    for name, value in settings.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"set {name.replace('_', ' ')} {one}" for one in values]
    return "\n".join([*lines, "run", "quit", ""])


REPORT = {
    "created": r"\t(\d+) created",
    "creation": r"Creation alone: (\d+)",
    "create_mixed": r"deleted|Creation alone.*\n\t\tMixed with transactions: (\d+)",
    "read": r"\t(\d+) read",
    "appended": r"\t(\d+) appended",
    "deleted": r"\t(\d+) deleted",
    "deletion": r"Deletion alone: (\d+)",
    "delete_mixed": r"Deletion alone.*\n\t\tMixed with transactions: (\d+)",
    "bytes_read": r"\t([\d.]+ \w+) read",
    "bytes_written": r"\t([\d.]+ \w+) written",
}


def figures(report: str) -> dict[str, str]:
    """Every figure of a report that does not depend on time."""
    found = {name: re.search(pattern, report) for name, pattern in REPORT.items()}
    return {name: match.group(1) for name, match in found.items() if match}
