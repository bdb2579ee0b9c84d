#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many power cuts are judged an hour and core, by file system, and against a fresh board each.

Measures: the processor time of the host for all points of one load (board, record and all), and for
a few of the same points, each on a restored board of its own that records the load first. Points
are each n-th operation's "before", "prefix", "subset", "few" and "unstable". Beside the points it
counts the distinct states of the chip: two points of one state count once. A state is what the chip
holds: data and spare area of every page, which pages no ECC corrects, and of unstable cells where
they are and how often they still read right (``nandlab.powercut.statedigest``). They are counted on
the
host when all that is timed is over, from the journal of one more board for each load.
Needs: QEMU. Costs: some minutes.

The last line is one JSON object: points an hour and core by file system, distinct states an hour
and core, and how many times the points of the way by fresh boards any of them is at the least.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from dataclasses import replace

from nandlab.board.virtual.qemu import QemuBoard, open_board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.chip import ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.plan.medium import Medium
from nandlab.powercut import campaign, requests, states
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.job import CutPoints, select_single_cut_point

CHIPS = {"jffs2": "apf27", "ubifs": "apf27", "yaffs2": "apf27", "nftl-fat32": "nandsim-small"}
"""A chip for each file system: NFTL needs small blocks that take four programs a page."""
MIBS = {"apf27": 8, "nandsim-small": 4}
HOUR_S = 3600


def read_cpu_s() -> float:
    """Processor time of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def measure_job(
    trial_campaign: Campaign, points: CutPoints, board: QemuBoard
) -> tuple[float, float, int, int]:
    """CPU seconds, seconds, points and operations of a job."""
    began, start = read_cpu_s(), time.perf_counter()
    reports = asyncio.run(campaign.run_piece(trial_campaign, points, board))
    seconds = time.perf_counter() - start
    tried_points = sum(report.points for report in reports)
    operations = max((report.operations or 0 for report in reports), default=0)
    return read_cpu_s() - began, seconds, tried_points, operations


def count_distinct_states(trial_campaign: Campaign, board: QemuBoard, tried: int) -> int:
    """States of the chip among the points of a job, of which so many were tried."""
    states_by_load = [
        list(states.list_point_states(recording, trial_campaign.points))
        for index in range(len(trial_campaign.loads.loads))
        if (recording := asyncio.run(states.record_load(trial_campaign, index, board)))
    ]
    if sum(map(len, states_by_load)) != tried:
        raise SystemExit(f"{tried} points were tried, and {sum(map(len, states_by_load))} counted")
    return len({state for load in states_by_load for _, state in load})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--load", default="small-files")
    parser.add_argument("--every", type=int, default=1, help="cut after each n-th operation")
    parser.add_argument("--fresh", type=int, default=20, help="points on boards of their own")
    parser.add_argument("--fs", nargs="+", default=list(CHIPS))
    options = parser.parse_args()
    board = open_board(load_noun("boards", "apf27", BoardModel))
    load_set = requests.find_load_set_named(options.load)
    rates, ratios, of_states = {}, [], {}
    heads = f"{'CPU s':>7} {'points/h/core':>14} {'fresh':>7} {'ratio':>6}"
    print(f"{'':12} {'points':>7} {'states':>7} {heads}")
    for name in options.fs:
        system = load_noun("filesystems", name, FilesystemModel)
        chip = load_noun("chips", CHIPS[name], ChipModel)
        medium = Medium(
            board=board.machine.model,
            chip=chip,
            partition_blocks=chip.partition_blocks(MIBS[chip.name]),
            filesystem=system,
            options=system.resolve_values({}, "the bench"),
        )
        points = CutPoints(every=options.every)
        trial_campaign = Campaign(medium, load_set, points)
        operations = measure_job(trial_campaign, replace(points, first=states.NO_POINT), board)[-1]
        step = max(1, operations // (options.fresh + 1))
        lone = [
            select_single_cut_point(replace(points, last_load=0), 0, k * step, "subset", 1)
            for k in range(1, options.fresh + 1)
        ]
        # half before and half after: a busy machine's processors differ from minute to minute
        half = len(lone) // 2
        fresh_cpu_s = [measure_job(trial_campaign, point, board)[0] for point in lone[:half]]
        cpu_used_s, _, tried_points, _ = measure_job(trial_campaign, points, board)
        fresh_cpu_s += [measure_job(trial_campaign, point, board)[0] for point in lone[half:]]
        rate, slow = (
            tried_points * HOUR_S / cpu_used_s,
            HOUR_S * len(fresh_cpu_s) / sum(fresh_cpu_s),
        )
        rates[name], distinct_states = (
            round(rate),
            count_distinct_states(trial_campaign, board, tried_points),
        )
        of_states[name] = round(rate * distinct_states / tried_points)
        ratios.append(rate / slow)
        print(
            f"{name:12} {tried_points:7} {distinct_states:7} {cpu_used_s:7.1f} {rate:14.0f} "
            f"{slow:7.0f} {rate / slow:6.1f}"
        )
    rates_by_kind = {"points_per_hour": rates, "distinct_states_per_hour": of_states}
    print(json.dumps({**rates_by_kind, "ratio_to_fresh_board": round(min(ratios), 1)}))


if __name__ == "__main__":
    main()
