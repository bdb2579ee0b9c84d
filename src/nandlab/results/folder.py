# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run: written whole, read back, resumed."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.base.errors import UsageError
from nandlab.results.record import Run, Trial

T = TypeVar("T", bound=BaseModel)


class RunFolder:
    """A run on disk. Every write is whole: temporary file, fsync, rename."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, run: Run) -> RunFolder:
        """Makes the folder, or opens the one that is there if it is of the same run."""
        folder = cls(path)
        if (path / "run.json").exists():
            if folder.head().id != run.id:
                raise UsageError(
                    f"{path} holds another run ({folder.head().id}); "
                    "give another --out, or remove that folder"
                )
            return folder
        (path / "trials").mkdir(parents=True, exist_ok=True)
        _write_whole(path / "run.json", run.model_dump_json(indent=1))
        return folder

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only one process at a time runs trials into a folder; UsageError while another does."""
        with (self.path / "run.json").open("rb") as head:
            try:
                fcntl.flock(head, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.path}: another nandlab is running this run") from None
            yield

    def head(self) -> Run:
        """The run's head; UsageError if this is no run folder."""
        return _read(self.path / "run.json", Run)

    def trial_path(self, trial_id: str) -> Path:
        return self.path / "trials" / f"{trial_id}.json"

    def save(self, trial: Trial) -> None:
        path = self.trial_path(trial.id)
        if path.exists():
            raise FileExistsError(f"{path}: a finished trial is never rewritten")
        _write_whole(path, trial.model_dump_json())

    def load(self, trial_id: str) -> Trial | None:
        """A finished trial, or None when it has not been run."""
        path = self.trial_path(trial_id)
        return _read(path, Trial) if path.exists() else None

    def trials(self) -> Iterator[Trial]:
        """The finished trials in the order of the plan."""
        for trial_id in self.head().trials:
            trial = self.load(trial_id)
            if trial is not None:
                yield trial

    def missing(self) -> list[str]:
        return [t for t in self.head().trials if not self.trial_path(t).exists()]


def _write_whole(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".part-", delete=False) as out:
        out.write(text + "\n")
        out.flush()
        os.fsync(out.fileno())
    part = Path(out.name)
    part.chmod(0o644)
    part.rename(path)


def _read(path: Path, model: type[T]) -> T:
    try:
        return model.model_validate_json(path.read_text())
    except FileNotFoundError:
        raise UsageError(f"{path.parent}: not a run of nandlab (no {path.name} in it)") from None
    except ValidationError as e:
        raise UsageError(f"{path}: not a result this nandlab reads: {e}") from None
