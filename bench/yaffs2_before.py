#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Would power cuts and faults have found what was wrong with the port of YAFFS2 once?

Measures: of each mended fault, how many points were tried until one did not hold, on the port as
it was before the commit that mended them, and on the port as it is. The old port is that commit's
parent's device/modules/yaffs2 in a worktree of today's commit, which is removed.
Needs: QEMU, and this repository's history. Costs: some minutes.

The last line is one JSON object: points until the first finding by fault, on the old port and on
today's; null: none of the points found it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MENDED = "c6f877a"
"""yaffs2: the port loses nothing that it took, and tells what the core loses"""
PORT = "device/modules/yaffs2"
CUT = ("powercut", "--load", "open-files", "--variants", "before,subset")
FAULTY = ("faults", "--load", "rewrite", "--kinds")
TRIED = {
    "a file that stays open": (CUT, "held open"),
    "a remount to read-only": (CUT, "readonly"),
    "an unreadable page": ((*FAULTY, "beyond"), ""),
    "a full disk": ((*FAULTY, "full"), ""),
}
"""Verb and options, and a word of the loads' titles that are about it."""
ERRORS = "MEA"
"""Letters of outcomes that are no loss where a page cannot be read."""


def git(*words: str, at: Path = ROOT) -> str:
    done = subprocess.run(
        ["git", "-C", str(at), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def outcomes(folder: Path, about: str) -> Iterator[str]:
    """The letters of all points of a folder of campaigns, in the order that they were tried."""
    for campaign in sorted(path.parent for path in folder.rglob("powercut.json")):
        for piece in sorted(campaign.glob("[0-9]*.json")):
            for load in json.loads(piece.read_text())["loads"]:
                if about in load["load"] and "outcomes" in load:
                    yield from letters(load["outcomes"])


def letters(by_variant: dict[str, str]) -> Iterator[str]:
    excused = ERRORS if "beyond" in by_variant else ""
    for column in zip(*by_variant.values(), strict=True):
        yield from ("." if letter in excused else letter for letter in column if letter != " ")


def until(told: str) -> int | None:
    """Points until one did not hold, that one counted."""
    return next((i for i, letter in enumerate(told, 1) if letter != "."), None)


def tried(tree: Path, work: Path) -> dict[str, Any]:
    """Points until the first finding by fault, of the port in a tree."""
    first_findings: dict[str, Any] = {}
    for fault, (words, about) in TRIED.items():
        out = work / "-".join(words)
        if not out.exists():
            argv = [sys.executable, "-m", "nandlab", *words, "--fs", "yaffs2", "--out", str(out)]
            env = {**os.environ, "PYTHONPATH": str(tree / "src")}
            process = subprocess.run(argv, cwd=tree, env=env, check=False)
            if process.returncode not in (0, 1):
                sys.exit(f"{' '.join(words)}: exit status {process.returncode}")
        letters = "".join(outcomes(out, about))
        first_findings[fault] = until(letters)
        print(
            f"  {fault}: {len(letters)} points, first finding at {first_findings[fault]}",
            flush=True,
        )
    return first_findings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--mended", default=MENDED, help="the commit that mended the port")
    parser.add_argument("--out", type=Path, help="where to keep the campaigns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nandlab-yaffs2-") as folder:
        work = options.out or Path(folder) / "campaigns"
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), "HEAD")
        try:
            print("the port as it is")
            now = tried(tree, work / "now")
            git("checkout", f"{options.mended}~1", "--", PORT, at=tree)
            print("the port as it was")
            before = tried(tree, work / "before")
        finally:
            git("worktree", "remove", "--force", str(tree))
    print(json.dumps({"before": before, "now": now}))


if __name__ == "__main__":
    main()
