# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m fuzz``: all targets in turn; counts and findings at the end, status 1 if any.

``--minutes 60``: for a time, from a seed that is drawn and printed. ``--quick``: the kept cases and
the first few of each target, always the same. ``DEVICE --case SEED``: a case alone, in
this process, with its files left in a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import sys
from pathlib import Path

from fuzz import batch, corpus
from fuzz.rounds import Rounds
from fuzz.target import targets, warm, write
from nandlab.base.errors import NandlabError

SEEDS = 1 << 40


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="DEVICE", help="default: all")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--first", type=int, help="the first seed; default: drawn")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", metavar="SEED", help="a seed, or the name of a kept case")
    parser.add_argument("--json", type=Path, help="write the findings there, and keep none")
    words = parser.parse_args()
    if unknown := set(words.targets) - set(targets()):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are: {', '.join(targets())}")
    if words.case is not None and len(words.targets) != 1:
        parser.error("--case: name its target")
    return words


def _alone(name: str, label: str) -> int:
    """Takes a case in this process: its exception is shown by Python itself."""
    folder = Path("build") / "fuzz" / f"{name}-{label}"
    targets()[name].prepare()
    shutil.rmtree(folder, ignore_errors=True)
    write(batch.files(name, int(label) if label.isdecimal() else label), folder)
    print(f"files: {folder}", flush=True)
    os.chdir(folder)
    try:
        targets()[name].take(Path.cwd())
    except NandlabError as e:
        print(f"refused: {e}")
    else:
        print("well")
    return 0


def _shown(finding: batch.Finding, count: int) -> str:
    again = f"make fuzz TARGETS={finding.target} CASE={finding.case}"
    head = f"{finding.target}: {finding.kind} ({count} times)"
    return f"\n{head}\nagain: {again}\n{finding.what.strip()}"


def main() -> int:
    words = _words()
    if words.case is not None:
        return _alone(words.targets[0], words.case)
    first = 0 if words.quick else words.first
    if first is None:
        first = secrets.randbelow(SEEDS)
    names = words.targets or list(targets())
    if not words.quick:
        print(f"{len(names)} targets, {words.minutes:g} minutes, seeds from {first} on", flush=True)
    warm(names)
    rounds = Rounds(names, first, words.jobs)
    if words.quick:
        rounds.once()
    else:
        rounds.for_seconds(60 * words.minutes)
    for line in rounds.counts():
        print(line)
    for finding, count in rounds.found.values():
        print(_shown(finding, count))
        if words.json is None and isinstance(finding.case, int):
            files = batch.files(finding.target, finding.case)
            print(f"kept: {corpus.keep(finding.target, str(finding.case), files)}")
    if words.json is not None:
        told = [[f.target, f.case, f.kind, f.what] for f, _ in rounds.found.values()]
        words.json.write_text(json.dumps(told))
    return 1 if rounds.found else 0


sys.exit(main())
