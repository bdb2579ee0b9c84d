#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many known bugs of the file systems do the shipped loads show?

Measures: of each bug of known_bugs.toml, whether its command (or its test) finds it on each board
whose kernel has it, and finds nothing on boards whose kernel has the fix. A bug counts as shown if
both hold everywhere. Each command is printed as it can be repeated.
Needs: QEMU. Costs: half a minute a command and board, some minutes the first time.

--page FILE writes what was found as a page: docs/known-bugs.md is such. Where bugs are named and
the page is there, it replaces their chapters alone. The last line is one JSON object: bugs by
outcome, and their count.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
SHOWN, NOT_SHOWN, NOT_TRIED = "shown", "not shown", "not tried"
HELD, FINDING = 0, 1
"""Exit statuses of a campaign."""
CHAPTER = re.compile(r"^## (\w+): .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""Of a page, and its bug."""
RESULT_MAX = 160
"""Letters of what a command found that are kept."""


@dataclass
class BugOutcome:
    """A bug, and what its command found on each board."""

    bug: dict[str, Any]
    outcome: str = NOT_TRIED
    results: list[tuple[str, str]] = field(default_factory=list)
    """Board, and what was found there."""


def run_test(node: str) -> bool:
    """Whether a test passes."""
    argv = [sys.executable, "-m", "pytest", "-m", "board or not board", node]
    print(f"  pytest {node}", flush=True)
    done = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    print("".join(f"    {line}\n" for line in done.stdout.splitlines()[-1:]), end="", flush=True)
    return done.returncode == 0


def run_command(tried: BugOutcome, board: str, *, is_mended: bool) -> bool:
    """Whether the command finds what it must on a board, or nothing where the bug is mended."""
    bug = tried.bug
    words = [*bug["command"], "--board", board]
    print(f"  nandlab {shlex.join(words)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nandlab-known-") as folder:
        argv = [sys.executable, "-m", "nandlab", *words]
        if "--point" not in words:  # which leaves no folder
            argv += ["--jobs", "1", "--out", f"{folder}/out"]
        process = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = [line.strip() for line in process.stdout.splitlines() if "nandlab " not in line]
    showing = [line for line in lines if any(name in line for name in bug["classes"])]
    found = process.returncode == FINDING and bool(showing)
    right = process.returncode == HELD if is_mended else found
    word = "the kernel has the fix" if is_mended else "the kernel has the bug"
    last = [*lines, *process.stderr.splitlines()][-1:]
    result = showing[0] if showing else f"exit status {process.returncode}: {''.join(last)}"
    print(f"    {board}, {word}: {result[:RESULT_MAX]}", flush=True)
    tried.results.append((board, "holds" if is_mended and right else result[:RESULT_MAX]))
    return right


def try_bug(bug: dict[str, Any]) -> BugOutcome:
    tried = BugOutcome(bug)
    if "test" in bug:
        tried.outcome = SHOWN if run_test(bug["test"]) else NOT_SHOWN
    elif "command" in bug:
        right = [run_command(tried, board, is_mended=False) for board in bug["on"]]
        right += [run_command(tried, board, is_mended=True) for board in bug.get("mended", [])]
        tried.outcome = SHOWN if all(right) else NOT_SHOWN
    else:
        print(f"  lacks {bug['lacks']}", flush=True)
    return tried


def render_chapter(tried: BugOutcome) -> str:
    """What was found of a bug, as a chapter in Markdown."""
    bug = tried.bug
    lines = [f"## {bug['id']}: {bug['title']}", "", f"{tried.outcome.capitalize()}."]
    if "command" in bug:
        lines += ["", "```", f"nandlab {shlex.join(bug['command'])} --board BOARD", "```", ""]
        lines += [f"- {board}: {escape_markdown(found)}" for board, found in tried.results]
    elif "test" in bug:
        lines += ["", f"By `{bug['test'].partition('::')[0]}`."]
    else:
        lines += ["", f"It lacks {bug['lacks']}."]
    return "\n".join(lines) + "\n"


def render_page(chapters: list[str]) -> str:
    """The chapters of all bugs as a page in Markdown."""
    shown = sum(f"\n\n{SHOWN.capitalize()}.\n" in chapter for chapter in chapters)
    head = [
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->",
        "<!-- written by bench/known_bugs.py --page -->",
        f"# Known bugs: {shown} of {len(chapters)} are shown",
        "",
        "What they are, and who found them: `bench/known_bugs.toml`; what this says:",
        "[power-cuts.md](power-cuts.md#known-bugs).",
    ]
    return "\n".join(["\n".join(head) + "\n", *chapters])


def write_page(path: Path, every: list[BugOutcome]) -> None:
    """Writes the page of what was tried; chapters of other bugs stay as they are."""
    tried = {each.bug["id"]: render_chapter(each) for each in every}
    text = path.read_text() if path.exists() else ""
    kept = {found[1]: found[0] for found in CHAPTER.finditer(f"{text.rstrip()}\n")}
    known = [bug["id"] for bug in tomllib.loads(TABLE.read_text())["bug"]]
    chapters = {**{name: f"{chapter.rstrip()}\n" for name, chapter in kept.items()}, **tried}
    path.write_text(render_page([chapters[name] for name in known if name in chapters]))


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("ids", nargs="*", help="bugs, such as U1; default: all")
    parser.add_argument("--page", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    bugs = tomllib.loads(TABLE.read_text())["bug"]
    unknown = set(options.ids) - {bug["id"] for bug in bugs}
    if unknown:
        parser.error(f"no such bug: {', '.join(sorted(unknown))}; {TABLE.name} has them")
    outcomes: list[BugOutcome] = []
    for bug in bugs:
        if not options.ids or bug["id"] in options.ids:
            print(f"{bug['id']}: {bug['title']}", flush=True)
            outcomes.append(try_bug(bug))
            print(f"  {outcomes[-1].outcome}", flush=True)
    tried = {
        outcome: [
            bug_outcome.bug["id"] for bug_outcome in outcomes if bug_outcome.outcome == outcome
        ]
        for outcome in (SHOWN, NOT_SHOWN, NOT_TRIED)
    }
    if options.page:
        write_page(options.page, outcomes)
    count = sum(map(len, tried.values()))
    print(f"{len(tried[SHOWN])} of {count} known bugs are shown")
    print(json.dumps({**tried, "count": count}))


if __name__ == "__main__":
    main()
