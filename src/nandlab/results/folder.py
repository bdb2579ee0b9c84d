# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run: written whole, read back, resumed.

``run.json`` is the run's head: the study as it was read and the ids of all its trials.
``trials/<id>.json`` is a file per trial, written once, whole, and never again; a trial is done when
its file exists and validates. Both are sealed (sealed.py), so damage is told and never read.
``provenance/<hash>.json`` has what trials ran with, one per content.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from nandlab.base.digest import digest_bytes, digest_json_value
from nandlab.base.errors import UsageError
from nandlab.base.files import PART, write_whole_file
from nandlab.base.gate import JSON_BYTES_MAX, open_regular_file, read_bytes
from nandlab.catalog.mistakes import list_validation_mistakes
from nandlab.results import cutsummaries
from nandlab.results.naming import Naming, make_run_folder_naming
from nandlab.results.record import FORMAT, HASH_LETTERS, Run, Trial
from nandlab.results.seals import DamagedFile, seal_json, unseal_json
from nandlab.results.sources import find_provenance_model

T = TypeVar("T", bound=BaseModel)


class Results(Protocol):
    """A run's results, in whatever they are kept."""

    path: Path
    notes: tuple[str, ...]
    """Sentences of what a reader cannot see here; empty: all that the run gave is here."""
    hashes: Mapping[str, str]
    """Of trials of which only figures are here: the SHA-256 of all that each gave, by id."""

    def head(self) -> Run:
        """The run's head."""

    def naming(self) -> Naming:
        """How commands name it."""

    def load(self, trial_id: str) -> Trial | None:
        """A finished trial, or None."""

    def trials(self) -> Iterator[Trial]:
        """The finished trials in the order of the plan."""

    def missing(self) -> list[str]:
        """Ids of trials that are not finished."""


class RunFolder:
    """A run on disk. Every write is whole: temporary file, fsync, rename."""

    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = MappingProxyType({})

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sources: SourceCache = {}
        self._cuts = cutsummaries.read_cut_summaries(path)

    @classmethod
    def create(cls, path: Path, run: Run) -> RunFolder:
        """Makes the folder, or opens the one that is there if it is of the same run."""
        folder = cls(path)
        if (path / "run.json").exists():
            if folder.head().id != run.id:
                raise folder.make_taken_error()
            return folder
        (path / "trials").mkdir(parents=True, exist_ok=True)
        write_whole_file(path / "run.json", seal_json(run.model_dump_json(indent=1)))
        return folder

    def make_taken_error(self) -> UsageError:
        """Says that the folder is taken."""
        return UsageError(
            f"{self.path} holds another run ({self.head().id}); "
            "give another --out, or remove that folder"
        )

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Only one process at a time runs trials into a folder; UsageError while another does."""
        with open_regular_file(self.path / "run.json") as head:
            try:
                fcntl.flock(head, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{self.path}: another nandlab is running this run") from None
            for folder in ("", "trials", "provenance", "artefacts"):
                for left in (self.path / folder).glob(f"{PART}*"):  # by a process that was killed
                    left.unlink(missing_ok=True)
            yield

    def head(self) -> Run:
        """The run's head; UsageError if this is no run folder, or its head is damaged."""
        path = self.path / "run.json"
        cure = "take it from a copy, or remove the folder and run again"
        try:
            if not path.exists():
                raise UsageError(f"{self.path}: not a run of nandlab (no {path.name} in it)")
            return _parse_model(_read_object(path), Run)
        except DamagedFile as e:
            raise UsageError(_format_damage(path, e, cure)) from None

    def naming(self) -> Naming:
        """See Results."""
        return make_run_folder_naming(self.head().study, self.path)

    def trial_path(self, trial_id: str) -> Path:
        return self.path / "trials" / f"{trial_id}.json"

    def source_path(self, sha256: str) -> Path:
        """The file of something that trials ran with; each content has one."""
        return self.path / "provenance" / f"{sha256}.json"

    def artefact_path(self, sha256: str) -> Path:
        """Where what trials left is kept, a file for each content."""
        return self.path / "artefacts" / sha256

    def save(self, trial: Trial) -> None:
        """Writes a finished trial, after what it ran with.

        UsageError if an artefact's name is not the digest of its content: a file is named after it.
        """
        path = self.trial_path(trial.id)
        if path.exists():
            raise FileExistsError(f"{path}: a finished trial is never rewritten")
        for artefact in trial.artefacts:
            if digest_bytes(trial.contents[artefact.sha256]) != artefact.sha256:
                raise UsageError(f"{trial.id}: the content of {artefact.name} has another digest")
        for what, source in trial.sources.items():
            kept = self.source_path(trial.provenance[what])
            if not kept.exists():
                kept.parent.mkdir(exist_ok=True)
                write_whole_file(kept, json.dumps(source, indent=1).encode())
        for artefact in trial.artefacts:
            there = self.artefact_path(artefact.sha256)
            if not there.exists():
                there.parent.mkdir(exist_ok=True)
                write_whole_file(there, trial.contents[artefact.sha256])
        write_whole_file(path, seal_json(trial.model_dump_json()))

    def load(self, trial_id: str) -> Trial | None:
        """A finished trial, or None when it has not been run."""
        path = self.trial_path(trial_id)
        if not path.exists():
            return None
        found = read_trial_file(path, self.path / "provenance", self._sources)
        if found.id != trial_id:
            raise UsageError(_format_damage(path, f"it is of another trial, {found.id}"))
        return found.add_power_cuts(self._cuts) if self._cuts else found

    def trials(self) -> Iterator[Trial]:
        """The finished trials in the order of the plan."""
        for trial_id in self.head().trials:
            trial = self.load(trial_id)
            if trial is not None:
                yield trial

    def missing(self) -> list[str]:
        return [t for t in self.head().trials if not self.trial_path(t).exists()]


SourceCache = dict[tuple[str, str], dict[str, Any]]
"""Contents that trials ran with, by what they are called and their hash."""
RERUN_CURE = "remove it and run again"
"""What to do about a damaged trial."""


def read_trial_file(path: Path, provenance: Path, source_cache: SourceCache) -> Trial:
    """Reads a trial's file and, from the provenance folder, what it ran with.

    source_cache: contents that many trials share. UsageError if it is no trial or a part lacks.
    """
    try:
        trial = _parse_model(_read_object(path), Trial)
    except DamagedFile as e:
        raise UsageError(_format_damage(path, e)) from None
    for source in trial.provenance.items():
        if source not in source_cache:
            source_cache[source] = _read_source(provenance, *source, path)
    sources = {source[0]: source_cache[source] for source in trial.provenance.items()}
    return trial.add_sources(sources, trial.provenance)


def hash_provenance_content(source: dict[str, Any]) -> str:
    """The name that something which trials ran with is kept under."""
    return digest_json_value(source)[:HASH_LETTERS]


def _read_source(provenance: Path, kind: str, sha256: str, trial: Path) -> dict[str, Any]:
    """What a trial ran with; UsageError if it is lost, of no such shape, or not what its name is
    the hash of.
    """
    path = provenance / f"{sha256}.json"
    try:
        content = unseal_json(read_bytes(path, JSON_BYTES_MAX))
        if hash_provenance_content(content) == sha256:
            _parse_model(content, find_provenance_model(kind))
            return content
        why = "it is not as it was written"
    except (DamagedFile, UsageError) as e:
        why = str(e).removeprefix(f"{path}: ")
    raise UsageError(
        f"{path}: damaged: {why}: take it from a copy, or remove {trial} and it, and run again"
    )


def _read_object(path: Path) -> dict[str, Any]:
    """A result's object; Damaged tells what is wrong with its file."""
    try:
        content = unseal_json(read_bytes(path, JSON_BYTES_MAX))
    except UsageError as e:
        raise DamagedFile(str(e).removeprefix(f"{path}: ")) from None
    if content.get("format") != FORMAT:
        format_text = str(content.get("format"))[:20]
        raise DamagedFile(f"its format is {format_text}, and this nandlab reads {FORMAT}")
    return content


def _format_damage(path: Path, why: object, cure: str = RERUN_CURE) -> str:
    """The refusal of a file, in a line."""
    text = " ".join(str(why).split())
    return f"{path}: damaged: {text}: {cure}"


def _parse_model(content: dict[str, Any], model: type[T]) -> T:
    """An object as a model; Damaged tells the first mistake, and how many there are."""
    try:
        return model.model_validate(content)
    except ValidationError as e:
        first, *other_mistakes = list_validation_mistakes(e, model, content)
        raise DamagedFile(
            first + (f", and {len(other_mistakes)} more mistakes" if other_mistakes else "")
        ) from None
