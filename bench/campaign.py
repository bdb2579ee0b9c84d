#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What many workers gain, and what the coordinator costs.

Measures, in one run: the same trials by one process and by two (the engine of ``run --on``), each
with its board prepared before; the processor's time of the coordinator, and the bytes of batches
and answers, by trial. ``--fleet N``: N trials on 100 workers that sleep instead of running a board,
and leave and join at random: the ideal time as a share of the time taken, and how the memory of
scheduler, workers and coordinator grew, which are one process.
Needs: a board (the virtual one of catalog/boards), two idle cores.
Costs: a boot if the board is not in the cache, then 3 times 24 short trials; a fleet of 10,000 some
four minutes.

The last line is one JSON object. two_workers: time of one process by that of two.
coordinator_share: its processor time for a trial, as a share of what one takes a worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from distributed import Client, LocalCluster, get_worker

from nandlab.board.job import Board
from nandlab.board.opening import open_board
from nandlab.campaign import batch, cluster, worker
from nandlab.campaign.address import Address
from nandlab.cli.progress import Silent
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.trial import one
from nandlab.trial import run as runner

STUDY = """\
name = "campaign"
question = "What do workers gain?"
board = "apf27"
[matrix]
workloads = [{{ name = "ffsmark", files = 200, transactions = 400 }}]
filesystems = [{{ name = "jffs2" }}, {{ name = "ubifs" }}]
chips = [{{ part = "apf27", partition_mib = 16 }}]
states = [{{ name = "fresh" }}]
seeds = {seeds}
"""
NAP_S = 2.0
"""How long a stand-in of a board takes a trial."""
FLEET = 100
MIB = 1 << 20


def planned(home: Path, members: int) -> tuple[study.Study, list[TrialSpec]]:
    path = home / "campaign.toml"
    path.write_text(STUDY.format(seeds=list(range(1, members + 1))))
    read = study.read(path)
    return read, study.plan(read)


async def over(
    processes: int, folder: RunFolder, specs: list[TrialSpec], board: Board
) -> tuple[float, float]:
    """Wall seconds and the coordinator's processor seconds of a run, its workers warm."""
    async with cluster.connected(Address(processes=processes)) as client:
        engine = await cluster.engine(client, board, specs[0].board, {})
        warm = batch.batch(
            specs[:1], [runner.key(specs[0], board)], "warm", batch.asked(board, specs[0].board, {})
        )
        there = list(await client.nthreads())
        await client.gather(
            [client.submit(worker.work, warm, workers=[w], pure=False) for w in there]
        )
        began, used = time.monotonic(), time.process_time()
        await runner.execute(folder, specs, board, engine, Silent())
        return time.monotonic() - began, time.process_time() - used


def speed(members: int) -> dict[str, float]:
    """One process against two, in turns; and what the coordinator took."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        home = Path(scratch)
        read, specs = planned(home, members)
        board = open_board(specs[0].board)
        head = runner.head(read, specs, board)
        took: dict[int, list[float]] = {1: [], 2: []}
        used = 0.0
        for turn, processes in enumerate((1, 2, 1)):
            folder = RunFolder.create(home / f"{turn}", head)
            wall, cpu = asyncio.run(over(processes, folder, specs, board))
            took[processes].append(wall)
            used += cpu
            print(f"{processes} process: {wall:.1f} s, coordinator {cpu:.2f} s", flush=True)
        alone = sum(took[1]) / 2
        sent = len(
            batch.batch(
                specs[:8],
                [runner.key(s, board) for s in specs[:8]],
                "campaign",
                batch.asked(board, specs[0].board, {}),
            )
        )
        back = sum(len(t.model_dump_json()) for t in folder.trials())
        return {
            "two_workers": round(alone / took[2][0], 3),
            "coordinator_share": round(used / 3 / alone, 4),
            "bytes_sent_a_trial": sent // 8,
            "bytes_back_a_trial": back // len(specs),
        }


def sleeping(result: Trial) -> Callable[[str], tuple[str, worker.Brought]]:
    """What a stand-in does with a batch: it sleeps, and gives this result for each trial."""

    def work(text: str) -> tuple[str, worker.Brought]:
        ids = [asked["spec"] for asked in json.loads(text)["trials"]]
        specs = [TrialSpec.model_validate(spec).id for spec in ids]
        time.sleep(NAP_S * len(specs))
        trials = [result.model_copy(update={"id": i}) for i in specs]
        answer = batch.Answer(by=get_worker().address, trials=trials)
        return answer.model_dump_json(), {}

    return work


async def come_and_go(there: LocalCluster, done: asyncio.Event) -> int:
    """Lets workers leave and join at random until the run is done; how many changes."""
    rng, changes = random.Random(1), 0
    while not done.is_set():
        await asyncio.sleep(5)
        there.scale(FLEET - rng.randrange(6))
        changes += 1
    return changes


async def fleet(trials: int) -> dict[str, float]:
    """A fleet of sleepers: the ideal time by the time taken, and memory grown, MiB."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        home = Path(scratch)
        read, specs = planned(home, trials // 2)
        board = open_board(specs[0].board)
        result = await one.run(specs[0], board, "campaign")
        folder = RunFolder.create(home / "fleet", runner.head(read, specs, board))
        async with (
            LocalCluster(
                n_workers=FLEET,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,
                dashboard_address=None,
                asynchronous=True,
            ) as there,
            Client(there, asynchronous=True) as client,
        ):
            asked = batch.asked(board, specs[0].board, {})
            engine = cluster.Cluster(client, board, asked, FLEET, sleeping(result))
            before, done = _rss_mib(), asyncio.Event()
            coming = asyncio.create_task(come_and_go(there, done))
            began = time.monotonic()
            await runner.execute(folder, specs, board, engine, Silent())
            wall = time.monotonic() - began
            done.set()
            changes = await coming
        assert not folder.missing()
        return {
            "fleet_trials": len(specs),
            "fleet_share_of_ideal": round(len(specs) * NAP_S / FLEET / wall, 3),
            "fleet_grown_mib": round(_rss_mib() - before),
            "fleet_changes": changes,
        }


def _rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--members", type=int, default=12, help="trials of each file system")
    parser.add_argument("--fleet", type=int, default=0, metavar="TRIALS", help="sleepers too")
    options = parser.parse_args()
    told: dict[str, float] = speed(options.members)
    if options.fleet:
        told |= asyncio.run(fleet(options.fleet))
    json.dump(told, sys.stdout)
    print()


if __name__ == "__main__":
    main()
