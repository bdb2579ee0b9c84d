# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run: written whole, read back, resumed.

``run.json`` is the run's head: the study as it was read and the ids of all its trials.
``trials/<id>.json`` is a file per trial, written once, whole, and never again; a trial is done when
its file exists and validates. ``provenance/<hash>.json`` has what trials ran with, one per content.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.base.errors import UsageError
from nandlab.base.files import write_whole
from nandlab.results import format1
from nandlab.results.record import Run, Trial

T = TypeVar("T", bound=BaseModel)


class RunFolder:
    """A run on disk. Every write is whole: temporary file, fsync, rename."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sources: dict[str, dict[str, Any]] = {}

    @classmethod
    def create(cls, path: Path, run: Run) -> RunFolder:
        """Makes the folder, or opens the one that is there if it is of the same run."""
        folder = cls(path)
        if (path / "run.json").exists():
            if folder.head().id != run.id:
                raise folder.another()
            return folder
        (path / "trials").mkdir(parents=True, exist_ok=True)
        write_whole(path / "run.json", run.model_dump_json(indent=1).encode())
        return folder

    def another(self) -> UsageError:
        """Says that the folder is taken."""
        return UsageError(
            f"{self.path} holds another run ({self.head().id}); "
            "give another --out, or remove that folder"
        )

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
        path = self.path / "run.json"
        told = _json(path)
        return _as(path, format1.run(told) if told.get("format") == format1.FORMAT else told, Run)

    def trial_path(self, trial_id: str) -> Path:
        return self.path / "trials" / f"{trial_id}.json"

    def source_path(self, sha256: str) -> Path:
        """The file of something that trials ran with; each content has one."""
        return self.path / "provenance" / f"{sha256}.json"

    def artefact_path(self, sha256: str) -> Path:
        """Where what trials left is kept, a file for each content."""
        return self.path / "artefacts" / sha256

    def save(self, trial: Trial) -> None:
        """Writes a finished trial, after what it ran with."""
        path = self.trial_path(trial.id)
        if path.exists():
            raise FileExistsError(f"{path}: a finished trial is never rewritten")
        for what, source in trial.sources.items():
            kept = self.source_path(trial.provenance[what])
            if not kept.exists():
                kept.parent.mkdir(exist_ok=True)
                write_whole(kept, json.dumps(source, indent=1).encode())
        for artefact in trial.artefacts:
            there = self.artefact_path(artefact.sha256)
            if not there.exists():
                there.parent.mkdir(exist_ok=True)
                write_whole(there, trial.contents[artefact.sha256])
        write_whole(path, trial.model_dump_json().encode())

    def load(self, trial_id: str) -> Trial | None:
        """A finished trial, or None when it has not been run."""
        path = self.trial_path(trial_id)
        if not path.exists():
            return None
        return read_trial(path, self.path / "provenance", self._sources)

    def trials(self) -> Iterator[Trial]:
        """The finished trials in the order of the plan."""
        for trial_id in self.head().trials:
            trial = self.load(trial_id)
            if trial is not None:
                yield trial

    def missing(self) -> list[str]:
        return [t for t in self.head().trials if not self.trial_path(t).exists()]


def read_trial(path: Path, provenance: Path, seen: dict[str, dict[str, Any]]) -> Trial:
    """Reads a trial's file and, from the provenance folder, what it ran with.

    seen: contents by hash, which many trials share. UsageError if it is no trial or a part lacks.
    """
    told = _json(path)
    if told.get("format") == format1.FORMAT:
        told, sources = format1.trial(told)
    else:
        kept: dict[str, str] = told.get("provenance") or {}
        for sha256 in kept.values():
            if sha256 not in seen:
                seen[sha256] = _json(provenance / f"{sha256}.json")
        sources = {what: seen[sha256] for what, sha256 in kept.items()}
    return _as(path, told, Trial).knowing(sources)


def _json(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path.parent}: not a run of nandlab (no {path.name} in it)") from None
    except ValueError as e:
        raise UsageError(f"{path}: not a result this nandlab reads: {e}") from None
    if not isinstance(told, dict):
        raise UsageError(f"{path}: not a result this nandlab reads: it is no JSON object")
    return told


def _as(path: Path, told: dict[str, Any], model: type[T]) -> T:
    try:
        return model.model_validate(told)
    except ValidationError as e:
        raise UsageError(f"{path}: not a result this nandlab reads: {e}") from None
