# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to a worker and comes back: batches of trials, and answers, as JSON.

A batch has all that a worker must know beside its own nandlab: the trials, and the board down to
each package. So a worker needs no study, no catalog and no configuration of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from nandlab.base.digest import digest_bytes, digest_json_value, digest_tree
from nandlab.base.errors import UsageError
from nandlab.base.strings import Digest, FreeText, Line, PackageSets, StudyName, Word
from nandlab.board.jobs.job import Board
from nandlab.board.kit.lock import Lock
from nandlab.catalog.board import BoardModel
from nandlab.catalog.noun import StrictModel
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial

ArtefactContents = dict[str, bytes]
"""Artefacts of trials, by SHA-256."""


@cache
def hash_code() -> str:
    """A name for the very nandlab that this process has: its modules, byte for byte."""
    files = digest_tree(Path(__file__).resolve().parents[2])
    return digest_json_value({name: d for name, d in files.items() if name.endswith(".py")})[:12]


class BoardRequest(StrictModel):
    """The board that trials are to run on."""

    model: BoardModel
    accel: Word
    lock: PackageSets = Field(
        description="SHA-256 by package, in sets: of the board, and of what programs are built from"
    )
    key: Line = Field(description="the state that its trials start from")


class TrialRequest(StrictModel):
    """A trial to be run."""

    spec: TrialSpec
    key: Digest = Field(description="trial.run.key() of it, as the coordinator has it")
    home: Path | None = Field(
        strict=False,
        description="folder of the project whose programs it may name, the same on all machines; "
        "null: only nandlab's own",
    )

    def read(self) -> TrialSpec:
        """The trial; its workload knows the folder of its programs again."""
        self.spec.workload._home = self.home
        return self.spec


class TrialBatch(StrictModel):
    """Trials to be run by one worker, one after the other."""

    code: Digest = Field(description="the coordinator's code()")
    study: StudyName
    board: BoardRequest
    trials: list[TrialRequest] = Field(min_length=1)


class WorkerAnswer(StrictModel):
    """What a worker says of a batch: results, or why it has none."""

    by: Line = Field(default="", description="the worker's address")
    trials: list[Trial] = Field(default=[], description="their results, in the batch's order")
    lacks: bool = Field(default=False, description="whether it lacks packages of the board")
    unfit: FreeText | None = Field(
        default=None, description="why it can run no trial of this board, in a line"
    )


def make_batch_json(
    specs: Sequence[TrialSpec], keys: Sequence[str], study: str, board: BoardRequest
) -> str:
    """A batch as JSON; keys: one for each trial."""
    trials = [
        TrialRequest(spec=s, key=k, home=s.workload.home) for s, k in zip(specs, keys, strict=True)
    ]
    return TrialBatch(code=hash_code(), study=study, board=board, trials=trials).model_dump_json()


def parse_worker_answer(sent: object, ids: Sequence[str]) -> tuple[WorkerAnswer, ArtefactContents]:
    """What a worker sent of the trials with these ids; UsageError if it is no answer of theirs.

    Trials and artefacts name files. So a trial must be one that was asked for, and an artefact's
    name the digest of its content.
    """
    try:
        text, brought = _split_answer(sent)
        answer = WorkerAnswer.model_validate_json(text)
        if answer.trials and [trial.id for trial in answer.trials] != list(ids):
            raise ValueError("it has other trials")
        for artefact in (artefact for trial in answer.trials for artefact in trial.artefacts):
            content = brought.get(artefact.sha256)
            if not isinstance(content, bytes) or digest_bytes(content) != artefact.sha256:
                raise ValueError("an artefact is not there, or its name is not its digest")
    except ValueError as e:
        mistake = f"{e.error_count()} mistakes" if isinstance(e, ValidationError) else str(e)
        raise UsageError(f"a worker's answer for {', '.join(ids)} is refused: {mistake}") from None
    return answer, brought


def _split_answer(sent: object) -> tuple[str, ArtefactContents]:
    match sent:
        case (str() as text, dict() as brought):
            return text, brought
        case _:
            raise ValueError(f"it is {type(sent).__name__}, and not a text with artefacts")


def make_board_request(board: Board, model: BoardModel, lock: Lock) -> BoardRequest:
    """The board as a batch names it; lock: of what its trials' programs are built from besides."""
    identity = board.identity
    every = {name: dict(files) for name, files in {**identity.get("lock", {}), **lock}.items()}
    return BoardRequest(model=model, accel=identity["accel"], lock=every, key=board.key)
