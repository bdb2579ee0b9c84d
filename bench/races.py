#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In how many of 1,000 schedules of each race does something come about?

Measures: each load of ``races``, ``levelling`` and ``nearly-full``, and of ``gc-passes`` those that
drop caches, is recorded on a board. Those whose fault shows only after a cut are cut behind
operations of the sync beside them; of those whose fault the kernel only speaks of, its words are
looked for ("check fails"). A finding's class, the number of schedules that show it, and the first
and last of them are printed for each race and board.
Needs: QEMU. Costs: two minutes a race and board without cuts, some ten with them.

The last line is one JSON object: by board and race the schedules that were tried, and by class the
microseconds of those that show it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from nandlab.board.kit.partsource import parse_source_words
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

NO_CUT = CutPoints(variants=("before",), first=NO_POINT)
LOADS_A_BOARD = 100


def make_log_points(*words: str) -> CutPoints:
    """One point before all operations: what the kernel said while a load was recorded counts there.
    words: those that are no fault elsewhere."""
    plant = tuple(option for each in words for option in ("--check-says", each))
    return CutPoints(variants=("before",), first=0, last=0, plant=plant)


@dataclass(frozen=True)
class Race:
    """Where its schedules are, what of them is cut, and on what they are played."""

    loads: Callable[[], LoadSet]
    filesystem: str
    points: CutPoints
    chip: str = "apf27"
    partition_mib: int = 8
    options: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    """Words of --source: what of the kernel is built otherwise."""


RACES = {
    "link": Race(
        wideloads.make_race_loads,
        "ubifs",
        CutPoints(variants=("before",), first=76, last=92, every=4),
    ),
    "link and unlink": Race(wideloads.make_race_loads, "ubifs", NO_CUT),
    "tmpfile": Race(wideloads.make_race_loads, "ubifs", NO_CUT),
    "dropcaches": Race(wideloads.make_gc_pass_loads, "jffs2", NO_CUT),
    "level": Race(
        wideloads.make_levelling_loads,
        "ubifs",
        make_log_points("scrubbed PEB"),
        sources=("ubi=package,wl_threshold=2",),
    ),
    "reserve": Race(
        wideloads.make_nearly_full_loads,
        "ubifs",
        make_log_points("cannot reserve", "space allocation"),
        chip="nandsim-small",
        partition_mib=5,
        options={"compression": "none"},
    ),
}
"""U4, U5, U2, J5, B1 and U7 of known_bugs.toml. The sync beside "link" begins behind some 72
operations, which write the file, and each schedule has ended by 93; that of 1,500 us shows it
behind four operations in a row. What the others do wrong is seen without a cut: UBI says of each
block that it scrubs, and no bit of this chip is wrong; UBIFS says of each reservation that it gives
up, or that it tries for the 33rd time."""


def make_medium(board: QemuBoard, race: Race) -> Medium:
    system = load_noun("filesystems", race.filesystem, FilesystemModel)
    chip = load_noun("chips", race.chip, ChipModel)
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=race.partition_mib * MIB // chip.geometry.erasesize,
        filesystem=system,
        options=system.resolve_values(race.options, "races"),
    )


def select_loads(name: str, every: int) -> LoadSet:
    """The schedules of a race, each so many-th."""
    whole = RACES[name].loads()
    named = [load for load in whole.loads if load.title.startswith(f"{name} after ")]
    return replace(whole, loads=tuple(named[::every]))


def parse_wait_us(report: LoadReport) -> int:
    return int(report.load.split()[-2])


async def try_schedules(board: QemuBoard, name: str, loads: LoadSet) -> list[LoadReport]:
    reports: list[LoadReport] = []
    race_campaign = Campaign(make_medium(board, RACES[name]), loads, RACES[name].points)
    last = len(loads.loads) - 1
    for first in range(0, last + 1, LOADS_A_BOARD):
        end = min(first + LOADS_A_BOARD - 1, last)
        points = replace(race_campaign.points, first_load=first, last_load=end)
        reports += await campaign.run_piece(race_campaign, points, board)
        print(f"\r  {len(reports)} of {len(loads.loads)}", end="", flush=True)
    print()
    return reports


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
    summary: dict[str, dict[str, object]] = {}
    for name in options.board or ["apf27"]:
        model = load_noun("boards", name, BoardModel)
        for race in options.race or RACES:
            sources = parse_source_words(RACES[race].sources, "races")
            board = open_board(model, sources=sources)
            print(f"{name}, {race}:", flush=True)
            loads = select_loads(race, options.every)
            reports = asyncio.run(try_schedules(board, race, loads))
            waits = collect_waits(reports)
            points = sum(report.points for report in reports)
            refused = sum(report.refused is not None for report in reports)
            print(f"  {len(reports)} schedules, {points} points, {refused} refused")
            for kind, us in waits.items():
                print(f"  {kind}: {len(us)} schedules, {us[0]} to {us[-1]} us")
            summary.setdefault(name, {})[race] = {
                "schedules": len(reports),
                "points": points,
                "refused": refused,
                "found": waits,
            }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
