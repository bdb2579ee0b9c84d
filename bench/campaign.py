#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What many workers gain, and what the coordinator costs.

Measures, in one run: the same trials by one worker and by two (the engine of ``run --on``), and by
two processes that run half of them each and know of nobody, which tells what this machine has to
give; in turns, each process warm by a trial of each file system. The processor's time of the
coordinator with Dask's scheduler, and the bytes of batches and answers, by trial. The processor's
time of trials of 1000 files that run their setup, and of the same from its saved state: JFFS2 and
UBIFS, fresh and aged.
``--fleet N``: N trials on 100 workers that sleep instead of running a board, and leave and join at
random. Coordinator, scheduler and workers are one process then: its memory has all of them, and
whatever they compute takes from the same core.
Needs: a board (the virtual one of catalog/boards), two idle cores. --members 0: the fleet alone.
Costs: a boot if the board is not in the cache, 9 times 24 short trials, 4 times 3 longer ones: some
eight minutes. A fleet of 10,000 takes four more with naps of 2 s. Four saved states stay in the
cache.

The last line is one JSON object. two_workers: median time of one worker by that of two.
two_that_know_of_nobody: the same of the two processes. Both are good if other programs took little
of the two processors, which each line tells.
setup_state: processor time of the trials from saved states by that of the same with their setups.
coordinator_share: its processor time for a trial, as a share of what one takes a worker.
fleet_share_of_ideal: the naps of all trials, by the time that workers were there, from the run's
begin to its end, summed over them. What is lost: batches of workers that left, and waiting.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

import dask
from distributed import Client, LocalCluster, get_worker

from nandlab.board.jobs.job import Board
from nandlab.board.opening import open_board
from nandlab.board.virtual import states
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial
from nandlab.trial import execution, runner
from nandlab.trial.workers import batch, cluster, connection, worker
from nandlab.trial.workers.address import CampaignAddress

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
SHARED = """\
name = "shared"
question = "What does a saved state save?"
board = "apf27"
[matrix]
workloads = [{ name = "ffsmark", files = 1000, transactions = 1000 }]
filesystems = [{ name = "jffs2" }, { name = "ubifs" }]
chips = [{ part = "apf27", partition_mib = 32 }]
states = [{ name = "fresh" }, { name = "aged", valid = 0.3, invalid = 0.2, mix = 1 }]
seeds = [2]
setup_seed = 1
"""
NAP_S = 2.0
"""How long a stand-in of a board takes a trial."""
FLEET = 100
QUIET = {
    **connection.DASK_SETTINGS,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "10s",
}
"""Real workers watch themselves, each on a machine of its own: here 100 would on one core."""
MIB = 1 << 20
WARM_S = 300
HALVES = "two processes, half each"
WORKERS = {1: "one worker", 2: "two workers"}


def planned(home: Path, members: int) -> tuple[study.Study, list[TrialSpec]]:
    path = home / "campaign.toml"
    path.write_text(STUDY.format(seeds=list(range(1, members + 1))))
    read = study.read_study_file(path)
    return read, study.plan_trials(read)


async def over(
    processes: int, folder: RunFolder, specs: list[TrialSpec], board: Board
) -> tuple[float, float]:
    """Wall seconds and the coordinator's processor seconds of a run, its workers warm."""
    async with connection.open_scheduler_client(CampaignAddress(processes=processes)) as client:
        engine = await cluster.make_cluster_engine(client, board, specs[0].virtual, {})
        first = one_of_each(specs)
        keys = [runner.hash_trial(spec, board) for spec in first]
        asked = batch.make_board_request(board, specs[0].virtual, {})
        warm = batch.make_batch_json(first, keys, "warm", asked)
        there = list(await client.nthreads())
        await client.gather(
            [client.submit(worker.run_batch, warm, workers=[w], pure=False) for w in there]
        )
        began, used = time.monotonic(), time.process_time()
        await runner.run_trials(folder, specs, board, engine, SilentWatcher())
        return time.monotonic() - began, time.process_time() - used


def one_of_each(specs: list[TrialSpec]) -> list[TrialSpec]:
    """A trial of each file system: who has run these is warm."""
    return list({spec.filesystem.name: spec for spec in specs}.values())


def halves(specs: list[TrialSpec]) -> float:
    """Wall seconds of two processes that run half of the trials each and know of nobody."""
    context = multiprocessing.get_context("spawn")
    warm = context.Barrier(3)
    processes = [context.Process(target=half, args=(specs[i::2], warm)) for i in range(2)]
    for process in processes:
        process.start()
    warm.wait(WARM_S)
    began = time.monotonic()
    for process in processes:
        process.join()
    assert not any(process.exitcode for process in processes)
    return time.monotonic() - began


def half(specs: list[TrialSpec], warm: Barrier) -> None:
    board = open_board(specs[0].virtual)
    for spec in one_of_each(specs):
        asyncio.run(execution.run_trial(spec, board, "warm"))
    warm.wait(WARM_S)
    for spec in specs:
        asyncio.run(execution.run_trial(spec, board, "campaign"))


class Turns:
    """Runs of the same trials in turns, by what ran them: wall seconds of each."""

    def __init__(self) -> None:
        self._took: dict[str, list[float]] = {}

    @contextmanager
    def counted(self, label: str) -> Iterator[list[float]]:
        """Adds the seconds that are put into the list; prints them, and what other programs took.

        These are counted from before the workers begin until they have ended.
        """
        seconds: list[float] = []
        others = _busy_s() - _processor_s()
        yield seconds
        others = max(0.0, _busy_s() - _processor_s() - others)
        self._took.setdefault(label, []).append(seconds[0])
        print(f"{label}: {seconds[0]:.1f} s; other programs took {others:.1f} s", flush=True)

    def median(self, what: str) -> float:
        """The median of what these took; printed with the least and the most."""
        took = self._took[what]
        print(f"{what}: median of {len(took)}: {median(took):.1f} s, {min(took):.1f} to ", end="")
        print(f"{max(took):.1f} s", flush=True)
        return median(took)


def speed(members: int, turns: int) -> dict[str, float]:
    """One process against two, in turns; and what the coordinator took."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        home = Path(scratch)
        read, specs = planned(home, members)
        board = open_board(specs[0].virtual)
        head = runner.make_run_head(read, specs, board)
        took, cpu_s, ran = Turns(), 0.0, 0.0
        for turn in range(turns):
            with took.counted(HALVES) as seconds:
                seconds.append(halves(specs))
            for processes, label in WORKERS.items():
                folder = RunFolder.create(home / f"{turn}-{processes}", head)
                with took.counted(label) as seconds:
                    wall, cpu = asyncio.run(over(processes, folder, specs, board))
                    seconds.append(wall)
                cpu_s += cpu
                busy = sum(trial.host.seconds for trial in folder.trials() if trial.host)
                ran += busy / processes
                share = f"{busy / processes / wall:.1%}"
                print(f"  workers ran trials {share} of it, coordinator {cpu:.2f} s", flush=True)
        alone, two = (took.median(label) for label in WORKERS.values())
        return {
            "two_workers": round(alone / two, 3),
            "two_that_know_of_nobody": round(alone / took.median(HALVES), 3),
            "coordinator_share": round(cpu_s / (2 * turns) / alone, 4),
            **bytes_by_trial(specs, board, folder),
        }


def bytes_by_trial(specs: list[TrialSpec], board: Board, folder: RunFolder) -> dict[str, float]:
    """Of a whole batch and of the answers, uncompressed."""
    most = specs[: cluster.BATCH_MAX]
    keys = [runner.hash_trial(spec, board) for spec in most]
    sent = batch.make_batch_json(
        most, keys, "campaign", batch.make_board_request(board, most[0].virtual, {})
    )
    back = sum(len(trial.model_dump_json()) for trial in folder.trials())
    return {
        "bytes_sent_a_trial": len(sent) // len(most),
        "bytes_back_a_trial": back // len(specs),
    }


def setup_state() -> dict[str, float]:
    """Trials from a saved state against the same with their setups."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
        path = Path(scratch) / "shared.toml"
        path.write_text(SHARED)
        specs = study.plan_trials(study.read_study_file(path))
    board, took = open_board(specs[0].virtual), {"with": 0.0, "without": 0.0}

    def timed(spec: TrialSpec, limit_mib: int) -> tuple[float, dict[str, object]]:
        os.environ[states.LIMIT] = f"{limit_mib}"
        began = _processor_s()
        result = asyncio.run(execution.run_trial(spec, board, "shared"))
        assert result.ok, result.error
        return _processor_s() - began, result.model_dump(exclude={"host"})

    for spec in specs:
        timed(spec, states.LIMIT_MIB)  # makes the state
        without, alone = timed(spec, 0)
        restored, member = timed(spec, states.LIMIT_MIB)
        assert member == alone
        took["with"] += restored
        took["without"] += without
        print(f"{spec.id}: {without:.1f} s, from its state {restored:.1f} s", flush=True)
    return {"setup_state": round(took["with"] / took["without"], 3)}


def sleeping(result: Trial, nap_s: float) -> Callable[[str], tuple[str, batch.ArtefactContents]]:
    """What a stand-in does with a batch: it sleeps, and gives this result for each trial."""

    def work(text: str) -> tuple[str, batch.ArtefactContents]:
        ids = [asked["spec"] for asked in json.loads(text)["trials"]]
        specs = [TrialSpec.model_validate(spec).id for spec in ids]
        time.sleep(nap_s * len(specs))
        trials = [result.model_copy(update={"id": i}) for i in specs]
        answer = batch.WorkerAnswer(by=get_worker().address, trials=trials)
        return answer.model_dump_json(), {}

    return work


class Watch(SilentWatcher):
    """Measures a fleet: the seconds that workers were there, and memory as trials end."""

    def __init__(self, there: LocalCluster, trials: int) -> None:
        self.worker_s = 0.0
        self.grown_mib = 0.0
        self._there = there
        self._warm = trials // 5
        self._ended = 0
        self._warm_mib = 0.0

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None:
        self._ended += 1
        if self._ended % self._warm == 0:
            print(f"{self._ended} trials: {_rss_mib():.0f} MiB", flush=True)
        if self._ended == self._warm:
            self._warm_mib = _rss_mib()

    def ends(self) -> None:
        self.grown_mib = _rss_mib() - self._warm_mib

    async def count(self) -> None:
        """Sums the workers up until it is cancelled."""
        last = time.monotonic()
        while True:
            assert self._there.scheduler is not None
            there = len(self._there.scheduler.workers)
            await asyncio.sleep(0.2)
            now = time.monotonic()
            self.worker_s += there * (now - last)
            last = now

    changes = 0

    async def come_and_go(self) -> None:
        """Lets workers leave and join at random until it is cancelled."""
        rng = random.Random(1)
        while True:
            await asyncio.sleep(5)
            self._there.scale(FLEET - rng.randrange(6))
            self.changes += 1


def fleet(trials: int, nap_s: float) -> dict[str, float]:
    """A fleet of sleepers: how much of its time was used, and by how much its memory grew, MiB."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch, dask.config.set(QUIET):
        read, specs = planned(Path(scratch), trials // 2)
        board = open_board(specs[0].virtual)  # boots it where the cache lacks it
        return asyncio.run(_fleet(Path(scratch), read, specs, board, nap_s))


async def _fleet(
    home: Path, read: study.Study, specs: list[TrialSpec], board: Board, nap_s: float
) -> dict[str, float]:
    result = await execution.run_trial(specs[0], board, "campaign")
    assert result.host is not None
    host = result.host.model_copy(update={"seconds": nap_s})
    result = result.model_copy(update={"host": host})
    head = runner.make_run_head(read, specs[:1], board).model_copy(
        update={"trials": [spec.id for spec in specs]}
    )
    folder = RunFolder.create(home / "fleet", head)
    async with (
        LocalCluster(
            n_workers=FLEET,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,
            dashboard_address=None,
            asynchronous=True,
        ) as local_cluster,
        Client(local_cluster, asynchronous=True) as client,
    ):
        request = batch.make_board_request(board, specs[0].virtual, {})
        engine = cluster.Cluster(client, board, request, FLEET, sleeping(result, nap_s))
        watch, cpu_s, began = (
            Watch(local_cluster, len(specs)),
            time.process_time(),
            time.monotonic(),
        )
        watch_tasks = [asyncio.create_task(watch.count()), asyncio.create_task(watch.come_and_go())]
        await runner.run_trials(folder, specs, board, engine, watch)
        watch.ends()
        wall, cpu_s = time.monotonic() - began, time.process_time() - cpu_s
        for task in watch_tasks:
            task.cancel()
    assert not folder.missing()
    return {
        "fleet_trials": len(specs),
        "fleet_share_of_ideal": round(len(specs) * nap_s / watch.worker_s, 3),
        "fleet_s": round(wall, 1),
        "fleet_workers": round(watch.worker_s / wall, 1),
        "fleet_changes": watch.changes,
        "fleet_grown_mib": round(watch.grown_mib, 1),
        "fleet_cpu_ms_a_trial": round(1000 * cpu_s / len(specs), 1),
    }


def _processor_s() -> float:
    """Seconds of the processor that this process and its children that have ended took."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _busy_s() -> float:
    """Seconds of the processors that all programs took since the machine began."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def _rss_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--members", type=int, default=12, help="trials of each file system")
    parser.add_argument("--turns", type=int, default=3, help="runs by each number of workers")
    parser.add_argument("--fleet", type=int, default=0, metavar="TRIALS", help="sleepers too")
    parser.add_argument("--nap", type=float, default=NAP_S, metavar="S", help="a sleeper's trial")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    if options.members:
        figures = {**speed(options.members, options.turns), **setup_state()}
    if options.fleet:
        figures |= fleet(options.fleet, options.nap)
    json.dump(figures, sys.stdout)
    print()


if __name__ == "__main__":
    main()
