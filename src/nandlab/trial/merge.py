# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings the trials of several folders of one run into one: of shards, or of other machines.

Everything is read and compared before a byte is written. A trial that is there twice must be the
same to the nanosecond, but for what hangs on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nandlab.analysis.differences.compare import compare_trials
from nandlab.base.digest import digest_file
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.gate import CHIP_BYTES_MAX, read_bytes
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial


class Contradiction(NandlabError):
    """Two folders have one trial, and it is not the same."""


def merge_runs(out: Path, folders: Sequence[RunFolder]) -> RunFolder:
    """Brings the finished trials of ``folders`` into the run's folder ``out``, made if need be.

    Raises UsageError where a folder is of another run or is damaged, Contradiction with the first
    difference where one trial is there twice and differs. Nothing is written then. Of a board that
    does not repeat, no trial can be there twice.
    """
    head = folders[0].head()
    own_runs = [RunFolder(out)] if (out / "run.json").exists() else []
    for folder in [*own_runs, *folders]:
        if folder.head().id != head.id:
            raise UsageError(
                f"{folder.path} is of another run ({folder.head().id}) than {folders[0].path} "
                f"({head.id}): another study, board or nandlab"
            )
    owners: dict[str, RunFolder] = {}
    for folder in [*own_runs, *folders]:
        for trial in folder.trials():
            first = owners.setdefault(trial.id, folder)
            if first is not folder:
                _require_same(first, folder, trial)
            _refuse_damaged_artefacts(folder, trial)
    into = RunFolder.create(out, head)
    with into.hold_lock():
        for trial_id in into.missing():
            if trial_id in owners:
                _copy_trial(owners[trial_id], into, trial_id)
    return into


def _require_same(first: RunFolder, folder: RunFolder, trial: Trial) -> None:
    for difference in compare_trials(first.load(trial.id), trial, trial.id):
        raise Contradiction(
            f"{first.path} and {folder.path} have one trial with two results; the first "
            f"difference is {difference}. Nothing is merged; nandlab compare tells all"
        )


def _refuse_damaged_artefacts(folder: RunFolder, trial: Trial) -> None:
    """UsageError if a file that the trial left is not beside it, byte for byte."""
    for artefact in trial.artefacts:
        path = folder.artefact_path(artefact.sha256)
        if not path.is_file() or digest_file(path) != artefact.sha256:
            what = "is damaged" if path.is_file() else "is missing"
            raise UsageError(
                f"{path}: {artefact.name} of {trial.id} {what}: copy the whole folder of the run"
            )


def _copy_trial(folder: RunFolder, into: RunFolder, trial_id: str) -> None:
    trial = folder.load(trial_id)
    assert trial is not None, "it was read a moment ago"
    places = {kept.sha256: folder.artefact_path(kept.sha256) for kept in trial.artefacts}
    into.save(trial.add_contents({n: read_bytes(p, CHIP_BYTES_MAX) for n, p in places.items()}))
