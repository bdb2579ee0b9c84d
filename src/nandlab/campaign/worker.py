# SPDX-License-Identifier: GPL-2.0-or-later
"""The half of a campaign that runs on its workers: a batch of trials in, their results out.

A worker needs Python with nandlab and what QEMU's root needs of a host, as `nandlab doctor` says.
The board's packages it takes from its cache, or from the board file that the coordinator sends to
all workers once one has told that it lacks some.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from functools import cache
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

from nandlab.base.errors import NandlabError, UsageError
from nandlab.board.job import Board
from nandlab.board.opening import open_board
from nandlab.campaign.batch import Answer, Batch, BoardAsked, Brought, code
from nandlab.kit import packages
from nandlab.results.record import Trial
from nandlab.trial import one
from nandlab.trial.run import key


class Lacking(Exception):
    """The cache has not all packages of a board."""


def work(text: str) -> tuple[str, Brought]:
    """Runs a batch, given and answered as JSON (see batch.py); with what its trials left.

    Whatever keeps this worker from running trials is an answer, so that others can run them.
    """
    try:
        answer, brought = _answered(_read(text))
    except Lacking:
        sent = get_worker().plugins.get(Bring.name)
        why = sent.failed if isinstance(sent, Bring) else None
        answer, brought = Answer(lacks=why is None, unfit=why), {}
    except (NandlabError, OSError) as e:
        answer, brought = Answer(unfit=_reason(e)), {}
    told = answer.model_copy(update={"by": get_worker().address})
    return told.model_dump_json(), brought


def _reason(error: NandlabError | OSError) -> str:
    """What an error says, in one line."""
    return "; ".join(error.lines) if isinstance(error, NandlabError) else str(error)


def _read(text: str) -> Batch:
    """The batch; UsageError if another nandlab made it, whose words may differ."""
    if (theirs := json.loads(text)["code"]) != code():
        raise UsageError(f"it has another nandlab ({code()}, here {theirs}): install the same")
    return Batch.model_validate_json(text)


def _answered(batch: Batch) -> tuple[Answer, Brought]:
    board = _board(batch.board.model_dump_json())
    if board.key != batch.board.key:
        raise UsageError(f"its board is another ({board.key}, here {batch.board.key})")
    results: list[Trial] = []
    brought: Brought = {}
    for each in batch.trials:
        spec = each.read()
        if key(spec, board) != each.key:
            raise UsageError(f"{spec.id} would be another there: a program or an image differs")
        result = asyncio.run(one.run(spec, board, batch.study))
        brought.update(result.contents)
        results.append(result)
    return Answer(trials=results), brought


@cache
def _board(asked: str) -> Board:
    """The board that a BoardAsked in JSON names, prepared once in a process.

    Lacking if the cache has not all of its packages. What raises is not kept: it is tried again.
    """
    told = BoardAsked.model_validate_json(asked)
    needed = {sha256 for files in told.lock.values() for sha256 in files.values()}
    if not all(map(packages.has, needed)):
        raise Lacking
    return open_board(told.model, told.accel, locked=True, lock=told.lock)


class Bring(WorkerPlugin):
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
            with tempfile.TemporaryDirectory(prefix="nandlab-") as scratch:
                file = Path(scratch) / "sent.board"
                file.write_bytes(self.board)
                packages.take_in(file)
        except (NandlabError, OSError) as e:
            self.failed = _reason(e)
