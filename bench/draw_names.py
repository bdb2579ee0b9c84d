#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws public functions by chance, for a reader who says from module and name what each does.

    bench/draw_names.py [ROOM...]      25 of these rooms, or of all; the commit is the seed

A name passes if a reader who has seen nothing else says what the function does. 20 of 25 are to.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "nandlab"


def public_functions(rooms: list[str]) -> list[str]:
    """Module and name of every public function of these rooms; of all, if none is named."""
    names = []
    for path in sorted(SOURCES.rglob("*.py")):
        module = path.relative_to(SOURCES).with_suffix("").parts
        if rooms and module[0] not in rooms:
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not node.name.startswith("_"):
                names.append(".".join([*module, node.name]))
    return names


def main() -> None:
    """Prints the names drawn, one a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM")
    parser.add_argument("--count", type=int, default=25)
    options = parser.parse_args()
    head = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    functions = public_functions(options.rooms)
    drawn = random.Random(commit).sample(functions, min(options.count, len(functions)))
    print(f"{len(drawn)} of {len(functions)} public functions, seed {commit[:12]}")
    print("\n".join(sorted(drawn)))


if __name__ == "__main__":
    main()
