# SPDX-License-Identifier: GPL-2.0-or-later
"""The half of a campaign that runs on its workers: a batch of trials in, their results out.

A worker needs Python with nandlab and what QEMU's root needs of a host, as `nandlab doctor` says.
The board's packages it takes from its cache, or from the board file that the coordinator sends to
all workers once one has told that it lacks some.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache

from distributed import Worker, WorkerPlugin, get_worker

from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.scratch import hold_scratch_folder
from nandlab.board.jobs.job import Board
from nandlab.board.kit import packages
from nandlab.board.opening import open_board
from nandlab.results.record import Trial
from nandlab.trial import execution
from nandlab.trial.runner import hash_trial
from nandlab.trial.workers.batch import (
    ArtefactContents,
    BoardRequest,
    TrialBatch,
    WorkerAnswer,
    hash_code,
)


class PackagesMissing(Exception):
    """The cache has not all packages of a board."""


def run_batch(text: str) -> tuple[str, ArtefactContents]:
    """Runs a batch, given and answered as JSON (see batch.py); with what its trials left.

    Whatever keeps this worker from running trials is an answer, so that others can run them.
    """
    try:
        answer, brought = _answer_batch(_parse_batch(text))
    except PackagesMissing:
        sent = get_worker().plugins.get(PackagePlugin.name)
        why = sent.failed if isinstance(sent, PackagePlugin) else None
        answer, brought = WorkerAnswer(lacks=why is None, unfit=why), {}
    except (NandlabError, OSError) as e:
        answer, brought = WorkerAnswer(unfit=_format_reason(e)), {}
    told = answer.model_copy(update={"by": get_worker().address})
    return told.model_dump_json(), brought


def _format_reason(error: NandlabError | OSError) -> str:
    """What an error says, in one line."""
    return "; ".join(error.lines) if isinstance(error, NandlabError) else str(error)


def _parse_batch(text: str) -> TrialBatch:
    """The batch; UsageError if another nandlab made it, whose words may differ."""
    if (theirs := json.loads(text)["code"]) != hash_code():
        raise UsageError(f"it has another nandlab ({hash_code()}, here {theirs}): install the same")
    return TrialBatch.model_validate_json(text)


def _answer_batch(batch: TrialBatch) -> tuple[WorkerAnswer, ArtefactContents]:
    board = _prepare_board(batch.board.model_dump_json())
    if board.key != batch.board.key:
        raise UsageError(f"its board is another ({board.key}, here {batch.board.key})")
    results: list[Trial] = []
    brought: ArtefactContents = {}
    for each in batch.trials:
        spec = each.read()
        if hash_trial(spec, board) != each.key:
            raise UsageError(f"{spec.id} would be another there: a program or an image differs")
        result = asyncio.run(execution.run_trial(spec, board, batch.study))
        brought.update(result.contents)
        results.append(result)
    return WorkerAnswer(trials=results), brought


@cache
def _prepare_board(request_json: str) -> Board:
    """The board that a BoardAsked in JSON names, prepared once in a process.

    Lacking if the cache has not all of its packages. What raises is not kept: it is tried again.
    """
    request = BoardRequest.model_validate_json(request_json)
    needed = {sha256 for files in request.lock.values() for sha256 in files.values()}
    if not all(map(packages.is_package_cached, needed)):
        raise PackagesMissing
    return open_board(request.model, request.accel, locked=True, lock=request.lock)


class PackagePlugin(WorkerPlugin):
    """Gives each worker a board file's packages, those that come later too."""

    name = "nandlab-board"

    def __init__(self, board: bytes) -> None:
        self.board = board
        self.failed: str | None = None
        """Why this worker could not take the packages, in a line."""

    def setup(self, worker: Worker) -> None:
        """Takes the packages in, all of them or none, each by its SHA-256; see take_in().

        It raises nothing: that would end the run of all workers.
        """
        try:
            with hold_scratch_folder() as scratch:
                file = scratch / "sent.board"
                file.write_bytes(self.board)
                packages.import_board_packages(file)
        except (NandlabError, OSError) as e:
            self.failed = _format_reason(e)
