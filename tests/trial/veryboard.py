# SPDX-License-Identifier: GPL-2.0-or-later
"""A run on a fake board that has an identity as real ones have, and the command line beside it."""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.smallruns import FILLED, MEASURED, TEXT, counts, fake

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.fake import FakeBoard, FakeResult
from nandlab.board.jobs.job import Job, JobRecord
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.cli.main import main
from nandlab.cli.progress import SilentWatcher
from nandlab.plan import study
from nandlab.results.folder import RunFolder
from nandlab.trial import runner

CHIP = {"reads": 4, "programs": 5, "erases": 6}
LATENCY = {"count": 9, "min": 1, "median": 2, "p95": 3, "p99": 4, "p99_9": 5, "max": 6}
RICH = {
    **MEASURED,
    "phases": [
        {
            "name": name,
            "ns": 50,
            "sync_ns": 3,
            "operations": {"create": 4},
            "bytes": {"written": 70},
            "chip": CHIP,
            "chip_sync": CHIP,
        }
        for name in ("creation", "transactions", "deletion")
    ],
    "latency_ns": {"create": LATENCY, "read": LATENCY, "append": LATENCY, "delete": None},
    "figures": {"rounds": 8, "per_s": 2.5},
    "erases_per_block": {"mean": 1.5, "stddev": 0.5, "min": 1, "max": 2},
    "per_block": {"reads": [1] * 64, "programs": [2] * 64, "erases": [1, 2] * 32},
}
"""What the workload prints: each part of a figures file has something."""
COMMIT = "0123456789ab"
MODEL = load_noun("boards", "apf27", BoardModel)


@dataclass
class VeryBoard(FakeBoard):
    """The fake board, with an identity as a real one has."""

    made_of: dict[str, Any] = field(
        default_factory=lambda: {
            "board": MODEL.model_dump(exclude={"summary"}),
            "accel": "tcg",
            "kernel": "6.1",
            "packages": ["linux 6.1", "mtd-utils 2.1"],
            "parts": {"init": "12", "simnand.ko": "34"},
            "lock": {"guest": {"linux_1_all.deb": "ab" * 32}},
        }
    )
    jobs_max: int | None = None
    """It breaks down after so many jobs; None: never."""

    @property
    def identity(self) -> dict[str, Any]:
        """See Board.identity."""
        return self.made_of

    async def run(self, job: Job, on_step: Callable[[str], None] | None = None) -> JobRecord:
        """See Board.run."""
        if self.jobs_max is not None and len(self.jobs) >= self.jobs_max:
            raise NandlabError("broke down")
        return await super().run(job, on_step)


def very_board(**change: object) -> VeryBoard:
    """A board whose jobs give a figure of each kind; ``change`` replaces what a workload prints."""
    answers = {
        "load": FakeResult(counts=counts(0, 0)),
        "mount": FakeResult(counts=counts(1, 0)),
        "fill": FakeResult(f"{json.dumps(FILLED)}\n", counts=counts(11, 720)),
        "workload": FakeResult(f"{json.dumps({**RICH, **change})}\n", counts=counts(20, 800)),
    }
    return VeryBoard(answers=fake(**answers).answers)


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@dataclass
class Place:
    """A folder with a run in it, and the command line there."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    asked: list[tuple[BoardModel, str, Mapping[str, Mapping[str, str]] | None]] = field(
        default_factory=list
    )

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder / "run")

    def ran(self, board: FakeBoard, text: str = TEXT) -> None:
        """Makes the run."""
        _run_in(self.folder, board, text)

    def nandlab(self, board: FakeBoard, *argv: str | Path) -> Ended:
        """Runs a command; a board that it opens is this one."""

        def opened(
            model: BoardModel,
            accel: str = "tcg",
            sources: Mapping[str, object] | None = None,
            lock: Mapping[str, Mapping[str, str]] | None = None,
            *,
            locked: bool = False,
        ) -> FakeBoard:
            self.asked.append((model, accel, lock))
            return board

        self.monkeypatch.setattr("nandlab.board.opening.open_board", opened)
        self.monkeypatch.setattr(sys, "argv", ["nandlab", *map(str, argv)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Ended(code or 0, *self.capsys.readouterr())

    def elsewhere(self, name: str) -> Path:
        """Goes to a folder of its own, where nothing has been run yet."""
        self.folder = self.folder / name
        self.folder.mkdir()
        self.monkeypatch.chdir(self.folder)
        return self.folder

    def published(self) -> Path:
        """The run's figures file."""
        path = self.folder / "small.figures.json"
        assert self.nandlab(very_board(), "publish", self.run.path, "-o", path).status == 0
        return path


def placed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    """A folder with a run in it, which is gone to; of pytest's own things."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(runner, "find_commit", lambda: COMMIT)
    shutil.copytree(_ran(), folder, dirs_exist_ok=True)
    return Place(folder, monkeypatch, capsys)


@cache
def _ran() -> Path:
    """A folder with a study and its run, made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="nandlab-ran-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _run_in(folder, very_board(), TEXT)
    return folder


def _run_in(folder: Path, board: FakeBoard, text: str) -> None:
    """Runs a study, given as text, into the folder ``run`` of a folder."""
    (folder / "small.toml").write_text(text)
    made = study.read_study_file(folder / "small.toml")
    specs = study.plan_trials(made)
    run = RunFolder.create(folder / "run", runner.make_run_head(made, specs, board))
    asyncio.run(runner.run_trials(run, specs, board, runner.LocalEngine(board, 2), SilentWatcher()))


def made_older(file: Path) -> None:
    """Takes out of a figures file what older ones have not: what its trials ran with."""
    told = json.loads(file.read_text())
    del told["sources"]
    for trial in told["trials"]:
        del trial["provenance"]
    file.write_text(json.dumps(told))


FULL = "no space left"


def ubifs_is_full() -> VeryBoard:
    """A board on which each trial of UBIFS fails, and each other ends well."""
    board = very_board()
    well = board.answers["workload"]
    assert isinstance(well, FakeResult)
    full = FakeResult(rc=1, stderr=FULL)
    board.answers["workload"] = lambda job: full if "ubifs" in str(job.steps) else well
    return board


def refused(ended: Ended) -> str:
    """What a command that refused its input said, which must be a line."""
    assert (ended.status, ended.out) == (2, "")
    *before, line = ended.err.splitlines()
    assert before in ([], ["preparing the board"])
    assert "Traceback" not in line
    return line


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The places of all numbers in a value."""
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in leaves(v, (*path, k))]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in leaves(v, (*path, i))]
    return [path] if isinstance(value, (int, float)) else []
