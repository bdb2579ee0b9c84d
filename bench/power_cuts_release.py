#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The release run of power cuts: all loads, at every operation, on three kernels.

Measures: each load on each file system, cut at each of its operations, clean and in four torn ways;
each kernel with a seed of its own, by which each page is torn in one way. NFTL, which promises
nothing, is on one kernel, and without ace2. The load collect is on small partitions, for collectors
to work. UBIFS, whose points take longest, comes last of each load.
Needs: a board (the virtual one of catalog/boards), and all cores for many hours.

A campaign is a folder in --out, and what is there is not run again: so interrupt it, and run it
again. --summary only tells what is there. Prints a row for each kernel, file system and seed; the
last line is one JSON object, the sums.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nandlab.powercut.found import summary
from nandlab.results.cuts import Cuts

SEEDS = {"apf27": 1, "apf27-5.10": 2, "apf27-6.12": 3}
"""Board -> the seed of its kernel: each tears the same page in a way of its own."""
LOADS = (
    *("ace1", "small-files", "open-files", "holes", "config", "logger", "ffsmark", "update"),
    *("collect", "ace3", "ace2"),
)


class Where(NamedTuple):
    """A file system's chip, MiB of its partition, and those where collectors are to work."""

    chip: str
    mib: float
    collect_mib: float
    boards: tuple[str, ...] = tuple(SEEDS)
    loads: tuple[str, ...] = LOADS


SYSTEMS = {
    "jffs2": Where("apf27", 4, 3),
    "ubifs": Where("apf27", 8, 8),
    "yaffs2": Where("apf27", 8, 3),
    "nftl-fat32": Where("nandsim-small", 4, 3, ("apf27",), LOADS[:-1]),
}


def campaigns() -> Iterator[tuple[str, str, str]]:
    """Load, board and file system: all kernels have a load before the next one begins."""
    for load in LOADS:
        for system, where in sorted(SYSTEMS.items(), key=lambda each: each[0] == "ubifs"):
            if load in where.loads:
                yield from ((load, board, system) for board in where.boards)


def cut(out: Path, load: str, board: str, system: str) -> None:
    """Cuts a load on a file system, or goes on with it."""
    where = SYSTEMS[system]
    mib = where.collect_mib if load == "collect" else where.mib
    words = ["--fs", system, "--load", load, "--board", board, "--chip", where.chip]
    words += ["--partition-mib", f"{mib}", "--seed", f"{SEEDS[board]}"]
    words += ["--out", f"{out / f'{load}-{board}-{system}'}"]
    nandlab = Path(sys.executable).parent / "nandlab"
    done = subprocess.run([nandlab, "powercut", *words], check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)


def row(of: list[Cuts]) -> str:
    """A row of docs/power-cuts.md."""
    lost, excused = Counter[str](), Counter[str]()
    for one in of:
        lost.update(one.lost)
        excused.update(one.excused)
    told = ", ".join(f"{count} {name}" for name, count in sorted(lost.items()))
    done = f"{sum(c.cut for c in of):,} / {sum(c.operations for c in of):,}"
    head = f"| {of[0].kernel} | {of[0].filesystem} | {of[0].seeds[0]} | {done} "
    return f"{head}| {sum(c.points for c in of):,} | {told} | {excused.total():,} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder of campaigns")
    parser.add_argument("--summary", action="store_true", help="only tell what is there")
    given = parser.parse_args()
    if not given.summary:
        given.out.mkdir(parents=True, exist_ok=True)
        for campaign in campaigns():
            cut(given.out, *campaign)
    every = summary(given.out)
    groups: dict[tuple[str, str, int], list[Cuts]] = {}
    for one in every:
        groups.setdefault((one.kernel, one.filesystem, one.seeds[0]), []).append(one)
    for _, of in sorted(groups.items()):
        print(row(of))
    names = ("points", "cut", "operations", "done", "pieces")
    print(json.dumps({name: sum(getattr(c, name) for c in every) for name in names}))


if __name__ == "__main__":
    main()
