#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The release run of power cuts: all loads, at every operation, on three kernels.

Measures: each load on each file system, cut at each of its operations, clean and in four torn ways;
each kernel with seeds of its own. A seed tears each page in one way. NFTL hangs on Linux 5.10, so
it is not there. The load collect is on small partitions, for collectors to work.
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

SEEDS = {"apf27": (1, 2, 3), "apf27-5.10": (4, 5, 6), "apf27-6.12": (7, 8, 9)}
"""Board -> the seeds of its kernel; the first of each has the state before each operation too."""
LOADS = [
    *("ace1", "small-files", "open-files", "config", "logger", "ffsmark", "update", "collect"),
    *("ace3", "ace2"),
]
TORN = "prefix,subset,few,unstable"


class Where(NamedTuple):
    """A file system's chip, and MiB of its partition."""

    chip: str
    mib: float
    collect_mib: float


SYSTEMS = {
    "jffs2": Where("apf27", 8, 3),
    "ubifs": Where("apf27", 8, 8),
    "yaffs2": Where("apf27", 8, 3),
    "nftl-fat32": Where("nandsim-small", 4, 3),
}
HANG = {("apf27-5.10", "nftl-fat32")}


def campaigns() -> Iterator[tuple[str, str, str, int]]:
    """Board, file system, load and seed: every kernel's first seed comes before the second ones."""
    for round_of in zip(*SEEDS.values(), strict=True):
        for board, seed in zip(SEEDS, round_of, strict=True):
            for load in LOADS:
                for system in SYSTEMS:
                    if (board, system) not in HANG:
                        yield board, system, load, seed


def cut(out: Path, board: str, system: str, load: str, seed: int) -> None:
    """Cuts a load on a file system, or goes on with it."""
    where = SYSTEMS[system]
    mib = where.collect_mib if load == "collect" else where.mib
    variants = f"before,{TORN}" if seed == SEEDS[board][0] else TORN
    words = ["--fs", system, "--load", load, "--board", board, "--chip", where.chip]
    words += ["--partition-mib", f"{mib}", "--variants", variants, "--seed", f"{seed}"]
    words += ["--out", f"{out / f'{board}-{system}-{load}-{seed}'}"]
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
