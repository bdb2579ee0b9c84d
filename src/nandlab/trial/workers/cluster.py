# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine of many machines: trials in batches to the workers of a Dask scheduler.

Dask sees to the workers: it gives a batch to another one when one goes, and takes in those that
come. Here it is seen to that no more is under way than keeps all workers busy, that each result is
taken once, and that a worker which cannot run the trials is let go and its reason told.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from distributed import Client
from distributed.client import FutureCancelledError

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.printer import print_note
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import Board
from nandlab.board.kit.exchange import write_board_file_from_cache
from nandlab.board.kit.lock import Lock
from nandlab.catalog.board import BoardModel
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial
from nandlab.trial import execution
from nandlab.trial.runner import Watcher, hash_trial
from nandlab.trial.workers import pickles
from nandlab.trial.workers.batch import (
    ArtefactContents,
    BoardRequest,
    WorkerAnswer,
    make_batch_json,
    make_board_request,
    parse_worker_answer,
)
from nandlab.trial.workers.worker import PackagePlugin, run_batch

BATCH_MAX = 8
"""The most trials of a batch."""
BATCH_S = 10
"""About how long a batch takes, at most: a worker that goes takes one with it, to be run again."""
BATCH_ROUNDS = 4
"""Batches that each worker could still be given of what waits, at least: so batches get smaller
towards the end, and all workers end at about one time."""
BATCHES_AHEAD = 2
"""Batches under way for each of the workers' threads: one that runs, and one that waits there."""
GO_ON_HINT = "run again to go on: what has ended is kept"
PACE_S = 0.5
"""How often the workers are counted, at most."""


class Cluster:
    """Trials over the workers of a Dask client; keeps trial.run.Engine."""

    def __init__(
        self,
        client: Client,
        board: Board,
        request: BoardRequest,
        jobs: int,
        work: Callable[[str], tuple[str, ArtefactContents]] = run_batch,
    ) -> None:
        """request: the board as workers are told of it. work: what a worker does with a batch."""
        self.jobs = jobs
        self._client = client
        self._board = board
        self._request = request
        self._work = work
        self._sending = asyncio.Lock()
        self._sent = False
        self._unfit: dict[str, str] = {}
        self._sources: dict[str, dict[str, Any]] = {}
        self._took = TrialDurations()

    async def run(
        self,
        todo: Sequence[TrialSpec],
        study: str,
        watcher: Watcher,
        keep_result: Callable[[TrialSpec, Trial], None],
        take_stored: Callable[[TrialSpec], bool],
    ) -> None:
        """See Engine. The watcher hears that a trial begins when its result has come."""

        async def send_batch(specs: Sequence[TrialSpec]) -> None:
            specs_to_run = [spec for spec in specs if not take_stored(spec)]
            for spec, result in await self._results(specs_to_run, study) if specs_to_run else ():
                watcher.trial_begins(spec)
                self._took.add(result)
                keep_result(spec, result)

        waiting = deque(todo)
        under_way: set[asyncio.Task[None]] = set()
        try:
            while waiting or under_way:
                threads = await self._threads()
                while waiting and len(under_way) < BATCHES_AHEAD * threads:
                    fits = min(BATCH_MAX, self._took.within(BATCH_S))
                    size = max(1, min(fits, len(waiting) // (BATCH_ROUNDS * threads)))
                    specs = [waiting.popleft() for _ in range(size)]
                    under_way.add(asyncio.create_task(send_batch(specs)))
                    await asyncio.sleep(0)  # it is sent before the next one is made
                under_way = await _wait_for_some(under_way)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _threads(self) -> int:
        """How many trials the workers that there are now run at once."""
        now = time.monotonic()
        if now - self._counted[0] < PACE_S or self._client.status != "running":
            return self._counted[1]
        async with self._asking():
            there = await self._client.nthreads()
            threads = sum(n for by, n in there.items() if by not in self._unfit)
            if not threads and self._unfit:
                why = "; ".join(f"{by}: {why}" for by, why in self._unfit.items())
                raise UsageError(f"no worker is left that can run the trials: {why}; {GO_ON_HINT}")
            if not threads and self._counted[1]:
                print_note("no worker is there; waiting for one")
            self._counted = now, threads
        return self._counted[1]

    _counted = (0.0, 1)

    async def _results(
        self, specs: Sequence[TrialSpec], study: str
    ) -> list[tuple[TrialSpec, Trial]]:
        """The results of a batch, from whichever worker can run it."""
        keys = [hash_trial(spec, self._board) for spec in specs]
        text = make_batch_json(specs, keys, study, self._request)
        while True:
            sent = self._sent
            answer, brought = await self._answered(text, specs)
            if answer.trials:
                break
            if answer.lacks and not sent:
                await self._send_board()
            else:
                await self._let_go(answer)
        results = []
        for spec, k, result in zip(specs, keys, answer.trials, strict=True):
            names = {artefact.sha256 for artefact in result.artefacts}
            kept = {name: content for name, content in brought.items() if name in names}
            whole = self._knowing(spec, result).add_contents(kept)
            results.append((spec, whole.model_copy(update={"key": k})))
        return results

    def _knowing(self, spec: TrialSpec, result: Trial) -> Trial:
        """A result with what its provenance names, which is worked out once for each content."""
        if not all(name in self._sources for name in result.provenance.values()):
            whole = result.add_sources(execution.collect_trial_provenance(spec, self._board))
            self._sources |= {whole.provenance[what]: told for what, told in whole.sources.items()}
            return whole
        return result.add_sources({w: self._sources[name] for w, name in result.provenance.items()})

    async def _answered(
        self, text: str, specs: Sequence[TrialSpec]
    ) -> tuple[WorkerAnswer, ArtefactContents]:
        """A worker's answer. Dask gives the batch to others while workers go, then KilledWorker.

        A connection that was lost and is back has dropped all that was under way: it is sent again.
        """
        ids = [spec.id for spec in specs]
        try:
            while True:
                future = self._client.submit(self._work, text, pure=False)
                try:
                    sent = await future
                    break
                except FutureCancelledError:
                    await self._back()
            future.release()
        except UsageError:
            raise
        except Exception as e:  # whatever a worker could not do, such as import nandlab
            raise _make_no_answer_error(e, ids) from None
        return parse_worker_answer(sent, ids)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        """The scheduler is asked here; what a lost connection leaves out is to be asked again.

        UsageError if the scheduler is gone, or cannot do it.
        """
        try:
            yield
        except NandlabError:
            raise
        except OSError:
            await self._back()
        except Exception as e:  # whatever a scheduler may answer
            why = "{}: {}".format(*pickles.describe_exception(e))
            raise UsageError(f"the scheduler could not do it: {why}; {GO_ON_HINT}") from None

    async def _back(self) -> None:
        """Waits until the client has its scheduler again; UsageError if that does not come back."""
        while self._client.status == "connecting":
            await asyncio.sleep(PACE_S / 5)
        if self._client.status != "running":
            raise UsageError(f"the scheduler is gone; {GO_ON_HINT}")

    async def _send_board(self) -> None:
        """Sends the board's packages to all workers, and to all that will come; once."""
        async with self._sending:
            if self._sent:
                return
            print_note("a worker lacks packages of the board: sending them")
            with hold_scratch_folder() as scratch:
                file = scratch / "board"
                write_board_file_from_cache(self._request.model, self._request.lock, file)
                board = PackagePlugin(file.read_bytes())
            async with self._asking():
                await self._client.register_plugin(board)
                self._sent = True

    async def _let_go(self, answer: WorkerAnswer) -> None:
        """Lets a worker go that cannot run the trials, and tells why, once.

        Dask may keep one that has results which are not fetched yet: it is asked again then.
        """
        if answer.by in self._unfit:
            await asyncio.sleep(PACE_S)
        else:
            why = answer.unfit or "it does not keep the board's packages in its cache"
            self._unfit[answer.by] = why
            print_note(f"worker {answer.by} is let go: {why}")
        async with self._asking():
            await self._client.retire_workers([answer.by], close_workers=True, remove=True)


class TrialDurations:
    """How long the trials took so far."""

    def __init__(self) -> None:
        self._trials, self._seconds = 0, 0.0

    def add(self, result: Trial) -> None:
        if result.host is not None:
            self._trials += 1
            self._seconds += result.host.seconds

    def within(self, seconds: float) -> int:
        """Trials that end within so long, by what they took on average; 1 while none has ended."""
        if not self._trials:
            return 1
        return int(seconds * self._trials / max(self._seconds, 1e-3))


def _make_no_answer_error(error: Exception, ids: Sequence[str]) -> UsageError:
    """Why there is no answer for these trials."""
    kind, why = pickles.describe_exception(error)
    names = ", ".join(ids)
    if kind == "KilledWorker":
        return UsageError(
            f"worker after worker was lost with these trials: {names}; to see why, run them on "
            "one machine, by the same command without --on"
        )
    return UsageError(f"a worker could not take these trials: {names}: {kind}: {why}; {GO_ON_HINT}")


async def _wait_for_some(tasks: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Waits until some tasks have ended, or the workers are to be counted; those still running."""
    if not tasks:
        await asyncio.sleep(PACE_S)
        return tasks
    done, left = await asyncio.wait(tasks, timeout=PACE_S, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    return left


async def make_cluster_engine(
    client: Client, board: Board, model: BoardModel, packages: Lock
) -> Cluster:
    """The engine on a client's workers; packages: sets that programs need beside the board's."""
    jobs = sum((await client.nthreads()).values())
    return Cluster(client, board, make_board_request(board, model, packages), max(1, jobs))
