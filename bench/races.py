#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In how many of 1,000 schedules of each race does something come about?

Measures: each load of ``races``, and of ``gc-passes`` those that drop caches, is recorded on a
board. Those whose fault shows only after a cut are cut behind operations of the sync beside them. A
finding's class, the number of schedules that show it, and the first and last of them are printed
for each race and board.
Needs: QEMU. Costs: two minutes a race and board without cuts, some ten with them.

The last line is one JSON object: by board and race the schedules that were tried, and by class the
microseconds of those that show it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut import campaign, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport
from nandlab.powercut.job import CutPoints
from nandlab.powercut.loads import LoadSet
from nandlab.powercut.states import NO_POINT

PARTITION_MIB = 8
NO_CUT = CutPoints(variants=("before",), first=NO_POINT)


@dataclass(frozen=True)
class Race:
    """Where its schedules are, and what of them is cut."""

    loads: Callable[[], LoadSet]
    filesystem: str
    points: CutPoints


RACES = {
    "link": Race(
        wideloads.make_race_loads,
        "ubifs",
        CutPoints(variants=("before",), first=76, last=92, every=4),
    ),
    "link and unlink": Race(wideloads.make_race_loads, "ubifs", NO_CUT),
    "tmpfile": Race(wideloads.make_race_loads, "ubifs", NO_CUT),
    "dropcaches": Race(wideloads.make_gc_pass_loads, "jffs2", NO_CUT),
}
"""U4, U5, U2 and J5 of known_bugs.toml. The sync beside "link" begins behind some 72 operations,
which write the file, and each schedule has ended by 93; that of 1,500 us shows it behind four
operations in a row. What the others do wrong is seen without a cut."""


def make_medium(board: QemuBoard, race: Race) -> Medium:
    system = load_noun("filesystems", race.filesystem, FilesystemModel)
    chip = load_noun("chips", "apf27", ChipModel)
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=PARTITION_MIB * MIB // chip.geometry.erasesize,
        filesystem=system,
        options=system.resolve_values({}, "races"),
    )


def select_loads(name: str, every: int) -> LoadSet:
    """The schedules of a race, each so many-th."""
    whole = RACES[name].loads()
    named = [load for load in whole.loads if load.title.startswith(f"{name} after ")]
    return replace(whole, loads=tuple(named[::every]))


def parse_wait_us(report: LoadReport) -> int:
    return int(report.load.split()[-2])


async def try_schedules(board: QemuBoard, name: str, loads: LoadSet) -> list[LoadReport]:
    found: list[LoadReport] = []
    whole = Campaign(make_medium(board, RACES[name]), loads, RACES[name].points)
    for points in whole.pieces():
        found += await campaign.run_piece(whole, points, board)
        print(f"\r  {len(found)} of {len(loads.loads)}", end="", flush=True)
    print()
    return found


def collect_waits(reports: list[LoadReport]) -> dict[str, list[int]]:
    """Microseconds of the schedules that show a class of finding, by class."""
    found: dict[str, list[int]] = {}
    for report in reports:
        for finding in report.findings:
            found.setdefault(finding.name, []).append(parse_wait_us(report))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--board", action="append", help="may be repeated; default: apf27")
    parser.add_argument("--race", choices=list(RACES), action="append", help="default: all")
    parser.add_argument("--every", type=int, default=1, help="only each so many-th schedule")
    options = parser.parse_args()
    told: dict[str, dict[str, object]] = {}
    for name in options.board or ["apf27"]:
        board = open_board(load_noun("boards", name, BoardModel))
        for race in options.race or RACES:
            print(f"{name}, {race}:", flush=True)
            loads = select_loads(race, options.every)
            reports = asyncio.run(try_schedules(board, race, loads))
            waits = collect_waits(reports)
            points = sum(report.points for report in reports)
            refused = sum(report.refused is not None for report in reports)
            print(f"  {len(reports)} schedules, {points} points, {refused} refused")
            for kind, us in waits.items():
                print(f"  {kind}: {len(us)} schedules, {us[0]} to {us[-1]} us")
            told.setdefault(name, {})[race] = {
                "schedules": len(reports),
                "points": points,
                "refused": refused,
                "found": waits,
            }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
