#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The release run of power cuts: all loads, at every operation, on three kernels.

Measures: each load on each file system, cut at each of its operations, clean and in four torn ways;
each kernel with a seed of its own, by which each page is torn in one way; JFFS2, whose loads have
few operations, with four, and YAFFS2 with three. NFTL, which promises nothing, is on one kernel and
without ace2; UBIFS, whose points take longest, has ace2 on one kernel. The load collect is on small
partitions, for collectors to work. It and UBIFS's ace2 come when all else is there.
Needs: a board (the virtual one of catalog/boards), and all cores for many hours.

A campaign is a folder in --out, and what is there is not run again: so interrupt it, and run it
again. --summary only tells what is there. Prints what did not hold by file
system and kernel, and by file system and way to tear; the last line is one JSON object, the sums.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nandlab.powercut import samplefile
from nandlab.powercut.campaign import CRASH, HANG
from nandlab.powercut.campaignresult import CLASSES, CampaignResult, read_campaign_result

SEEDS = {"apf27": 1, "apf27-5.10": 2, "apf27-6.12": 3}
"""Board -> the seed of its kernel: each tears the same page in a way of its own. In a later round
each has another."""
PAIRS, FULL = "ace2", "collect"
LOADS = (
    *("ace1", "small-files", "open-files", "holes", "config", "logger", "ffsmark", "update"),
    *("ace3", PAIRS, FULL),
)


UNSTABLE = "unstable"
DEAD = (CRASH, HANG, *(f"{name} (unstable cells)" for name in (CRASH, HANG)))


class Where(NamedTuple):
    """A file system's chip, MiB of its partition, and those where collectors are to work."""

    chip: str
    mib: float
    collect_mib: float
    rounds: int = 1
    boards: tuple[str, ...] = tuple(SEEDS)
    pairs_on: tuple[str, ...] = tuple(SEEDS)
    """Boards that have all pairs of calls."""


SYSTEMS = {
    "jffs2": Where("apf27", 4, 3, rounds=4),
    "ubifs": Where("apf27", 8, 8, pairs_on=("apf27",)),
    "yaffs2": Where("apf27", 8, 3, rounds=3),
    "nftl-fat32": Where("nandsim-small", 4, 3, boards=("apf27",), pairs_on=()),
}


def campaigns() -> Iterator[tuple[str, str, str, int]]:
    """Load, board, file system and seed: all kernels have a load before the next one begins, and
    all loads are cut once before any is torn anew; the slow ones are last."""
    last = []
    systems = sorted(SYSTEMS.items(), key=lambda each: each[0] == "ubifs")
    rounds = range(max(where.rounds for where in SYSTEMS.values()))
    for turn, load, (system, where) in itertools.product(rounds, LOADS, systems):
        if turn >= where.rounds:
            continue
        for board in where.pairs_on if load == PAIRS else where.boards:
            campaign = load, board, system, SEEDS[board] + turn * len(SEEDS)
            if load == FULL or (system, load) == ("ubifs", PAIRS):
                last.append(campaign)
            else:
                yield campaign
    yield from last


def folder(out: Path, load: str, board: str, system: str, seed: int) -> Path:
    """Where a campaign is."""
    return out / f"{load}-{board}-{system}-{seed}"


def is_whole(at: Path) -> bool:
    """Whether all of a campaign is there."""
    return (at / "powercut.json").exists() and read_campaign_result(at).is_complete


def cut(out: Path, load: str, board: str, system: str, seed: int) -> None:
    """Cuts a load on a file system, or goes on with it; what is there must be of this board."""
    where = SYSTEMS[system]
    mib = where.collect_mib if load == FULL else where.mib
    words = ["--fs", system, "--load", load, "--board", board, "--chip", where.chip]
    words += ["--partition-mib", f"{mib}", "--seed", f"{seed}"]
    words += ["--out", f"{out}"]
    nandlab = Path(sys.executable).parent / "nandlab"
    process = subprocess.run([nandlab, "powercut", *words], check=False)
    if process.returncode not in (0, 1):
        sys.exit(process.returncode)


class Row:
    """Points of several campaigns together."""

    def __init__(self) -> None:
        self.operations = self.cut = self.points = 0
        self.erases = 0
        """Points within an erase."""
        self.found = Counter[str]()
        self.unstable = Counter[str]()

    def add(self, variant: str, letters: str, kinds: str) -> None:
        """The outcomes of a load's operations, torn in one way; what kind each operation is."""
        counts = Counter(CLASSES[each] for each in letters if each != " ")
        self.points += counts.total()
        if variant != "before":
            of = zip(letters, kinds, strict=False)
            self.erases += sum(each != " " and kind == "e" for each, kind in of)
        del counts[samplefile.POINT_HELD]
        if variant == UNSTABLE:
            self.unstable += counts
        else:
            self.found += counts

    def by_board(self) -> str:
        """Columns of docs/power-cuts-counts.md."""
        cut = f"{self.cut:,} / {self.operations:,} | {self.points:,}"
        return f"{cut} | {self.erases:,} | {_told(self.found)} | {self.unstable.total():,}"

    def by_variant(self) -> str:
        """The same, of one way to tear."""
        return f"{self.points:,} | {_told(self.found + self.unstable)}"


def _told(found: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in found.most_common()) or "none"


def tables(results: list[CampaignResult]) -> Iterator[str]:
    """What did not hold, by board and by way to tear; points at which a kernel died are apart."""
    by_board: dict[tuple[str, str], Row] = defaultdict(Row)
    by_variant: dict[tuple[str, str], Row] = defaultdict(Row)
    for result in results:
        system = result.head.filesystem
        row = by_board[system, result.head.board]
        row.cut += sum(result.cut_operations.values())
        row.operations += sum(result.recorded_operations.values())
        for load, variants in result.outcomes.items():
            for variant, letters in variants.items():
                for table_row in (row, by_variant[system, variant]):
                    table_row.add(variant, letters, result.kinds[load])
    for (system, board), row in sorted(by_board.items()):
        yield f"| {system} | `{board}` | {row.by_board()} |"
    for (system, variant), row in sorted(by_variant.items()):
        yield f"| {system} | `{variant}` | {row.by_variant()} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder of campaigns")
    parser.add_argument("--summary", action="store_true", help="only tell what is there")
    options = parser.parse_args()
    if not options.summary:
        options.out.mkdir(parents=True, exist_ok=True)
        folders = [(folder(options.out, *each), each) for each in campaigns()]
        for out, campaign in sorted(folders, key=lambda each: is_whole(each[0])):
            cut(out, *campaign)
    results = [
        read_campaign_result(path.parent) for path in sorted(options.out.glob("*/powercut.json"))
    ]
    print("\n".join(tables(results)))
    died = sum(c.count for e in results for name, c in e.classes.items() if name in DEAD)
    summary = {"points": sum(e.points for e in results), "died": died}
    summary |= {"operations": sum(sum(e.recorded_operations.values()) for e in results)}
    summary |= {"cut": sum(sum(e.cut_operations.values()) for e in results)}
    summary |= {"whole": sum(e.is_complete for e in results), "campaigns": len(list(campaigns()))}
    print(json.dumps(summary))
    if not options.summary and summary["whole"] < summary["campaigns"]:
        sys.exit("campaigns are incomplete: run it again")


if __name__ == "__main__":
    main()
