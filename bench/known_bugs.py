#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many known bugs of the file systems do the shipped loads show?

Measures: of each bug of known_bugs.toml, whether its command (or its test) finds it on each board
whose kernel has it, and finds nothing on boards whose kernel has the fix. A bug counts as shown if
both hold everywhere. Each command is printed as it can be repeated.
Needs: QEMU. Costs: half a minute a command and board, some minutes the first time.

The last line is one JSON object: bugs by outcome, and their count.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
SHOWN, NOT_SHOWN, NOT_TRIED = "shown", "not shown", "not tried"
HELD, FINDING = 0, 1
"""Exit statuses of a campaign."""


def run_test(node: str) -> bool:
    argv = [sys.executable, "-m", "pytest", "-m", "board or not board", node]
    print(f"  pytest {node}", flush=True)
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    print("".join(f"    {line}\n" for line in done.stdout.splitlines()[-1:]), end="", flush=True)
    return done.returncode == 0


def run_command(bug: dict[str, Any], board: str, *, mended: bool) -> bool:
    """Whether the command finds what it must on a board, or nothing where the bug is mended."""
    words = [*bug["command"], "--board", board]
    print(f"  nandlab {shlex.join(words)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nandlab-known-") as folder:
        argv = [sys.executable, "-m", "nandlab", *words]
        if "--point" not in words:  # which leaves no folder
            argv += ["--jobs", "1", "--out", f"{folder}/out"]
        done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = [line.strip() for line in done.stdout.splitlines() if "nandlab " not in line]
    showing = [line for line in lines if any(name in line for name in bug["classes"])]
    found = done.returncode == FINDING and bool(showing)
    right = done.returncode == HELD if mended else found
    word = "the kernel has the fix" if mended else "the kernel has the bug"
    last = [*lines, *done.stderr.splitlines()][-1:]
    result = showing[0] if showing else f"exit status {done.returncode}: {''.join(last)}"
    print(f"    {board}, {word}: {result[:160]}", flush=True)
    return right


def try_bug(bug: dict[str, Any]) -> str:
    if "test" in bug:
        return SHOWN if run_test(bug["test"]) else NOT_SHOWN
    if "command" not in bug:
        print(f"  lacks {bug['lacks']}", flush=True)
        return NOT_TRIED
    right = [run_command(bug, board, mended=False) for board in bug["on"]]
    right += [run_command(bug, board, mended=True) for board in bug.get("mended", [])]
    return SHOWN if all(right) else NOT_SHOWN


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("ids", nargs="*", help="bugs, such as U1; default: all")
    options = parser.parse_args()
    bugs = tomllib.loads(TABLE.read_text())["bug"]
    unknown = set(options.ids) - {bug["id"] for bug in bugs}
    if unknown:
        parser.error(f"no such bug: {', '.join(sorted(unknown))}; {TABLE.name} has them")
    tried: dict[str, list[str]] = {SHOWN: [], NOT_SHOWN: [], NOT_TRIED: []}
    for bug in bugs:
        if not options.ids or bug["id"] in options.ids:
            print(f"{bug['id']}: {bug['title']}", flush=True)
            outcome = try_bug(bug)
            print(f"  {outcome}", flush=True)
            tried[outcome].append(bug["id"])
    count = sum(map(len, tried.values()))
    print(f"{len(tried[SHOWN])} of {count} known bugs are shown")
    print(json.dumps({**tried, "count": count}))


if __name__ == "__main__":
    main()
