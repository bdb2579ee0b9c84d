# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to a worker and comes back: batches of trials, and answers, as JSON.

A batch has all that a worker must know beside its own nandlab: the trials, and the board down to
each package. So a worker needs no study, no catalog and no configuration of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import Field

from nandlab.base.digest import digest, tree_digest
from nandlab.base.strings import Digest, FreeText, Line, PackageSets, StudyName, Word
from nandlab.board.job import Board
from nandlab.catalog.board import BoardModel
from nandlab.catalog.noun import Strict
from nandlab.kit.lock import Lock
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.record import Trial


@cache
def code() -> str:
    """A name for the very nandlab that this process has: its modules, byte for byte."""
    files = tree_digest(Path(__file__).resolve().parents[1])
    return digest({name: d for name, d in files.items() if name.endswith(".py")})[:12]


class BoardAsked(Strict):
    """The board that trials are to run on."""

    model: BoardModel
    accel: Word
    lock: PackageSets = Field(
        description="SHA-256 by package, in sets: of the board, and of what programs are built from"
    )
    key: Line = Field(description="the state that its trials start from")


class Asked(Strict):
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


class Batch(Strict):
    """Trials to be run by one worker, one after the other."""

    code: Digest = Field(description="the coordinator's code()")
    study: StudyName
    board: BoardAsked
    trials: list[Asked] = Field(min_length=1)


class Answer(Strict):
    """What a worker says of a batch: results, or why it has none."""

    by: Line = Field(default="", description="the worker's address")
    trials: list[Trial] = Field(default=[], description="their results, in the batch's order")
    lacks: bool = Field(default=False, description="whether it lacks packages of the board")
    unfit: FreeText | None = Field(
        default=None, description="why it can run no trial of this board, in a line"
    )


def batch(specs: Sequence[TrialSpec], keys: Sequence[str], study: str, board: BoardAsked) -> str:
    """A batch as JSON; keys: one for each trial."""
    trials = [Asked(spec=s, key=k, home=s.workload.home) for s, k in zip(specs, keys, strict=True)]
    return Batch(code=code(), study=study, board=board, trials=trials).model_dump_json()


def asked(board: Board, model: BoardModel, lock: Lock) -> BoardAsked:
    """The board as a batch names it; lock: of what its trials' programs are built from besides."""
    identity = board.identity
    every = {name: dict(files) for name, files in {**identity.get("lock", {}), **lock}.items()}
    return BoardAsked(model=model, accel=identity["accel"], lock=every, key=board.key)
