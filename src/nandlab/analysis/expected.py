# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run that is done again must give: from its folder, or from the figures file it shipped.

What a trial was asked and gave is compared, to the nanosecond. The catalog's entries are not, for
they have titles and sentences too; what a trial really depends on is in its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nandlab.analysis.compare import Difference, by_name, differences, gave
from nandlab.base.digest import digest
from nandlab.base.errors import UsageError
from nandlab.results.folder import RunFolder
from nandlab.results.published import (
    FIGURES,
    FailedTrial,
    Published,
    TrialFigures,
    figures_of,
    read,
)
from nandlab.results.record import Run, Trial

REST = (
    "all figures that the file names are equal, but other parts of the trial differ: counts per "
    "block, series, texts, warnings, the kernel's log, the steps' commands"
)


class Expected(Protocol):
    """A run that is to be done again."""

    path: Path
    head: Run
    keys: Mapping[str, str]
    """The key of each trial that the run has finished, in the order of its plan."""

    def differences(self, trial: Trial) -> list[Difference]:
        """What differs in the trial as it was run again."""

    def sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """The trial as it was and as it was run again, both with no more than the record has."""


class ExpectedFolder:
    """A run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = RunFolder(path).head()
        self._trials = {trial.id: trial for trial in RunFolder(path).trials()}
        self.keys: Mapping[str, str] = {trial.id: trial.key for trial in self._trials.values()}

    def differences(self, trial: Trial) -> list[Difference]:
        """See Expected; everything is there, so everything is named."""
        before, path = self._trials[trial.id], f"trials.{trial.id}"
        if not before.ok:
            return list(differences(_ending(before), _ending(trial), path))
        told = gave(before, trial), gave(trial, before)
        return list(differences(*told, path))

    def sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        return self._trials[trial.id], trial


class ExpectedFigures:
    """A figures file."""

    def __init__(self, path: Path) -> None:
        published = read(path)
        self.path = path
        self.head = published.run
        self._trials = {trial.id: trial for trial in published.trials}
        self._failed = {trial.id: trial for trial in published.failed}
        every: list[TrialFigures | FailedTrial] = [*published.trials, *published.failed]
        keys = {trial.id: trial.key for trial in every}
        self.keys: Mapping[str, str] = {i: keys[i] for i in self.head.trials if i in keys}

    def differences(self, trial: Trial) -> list[Difference]:
        """See Expected: the named figures, and if these are equal the hash of everything."""
        path = f"trials.{trial.id}"
        if failed := self._failed.get(trial.id):
            return list(differences(_ending(failed), _ending(trial), path))
        before = self._trials[trial.id]
        figures, again = before.model_dump(include=set(FIGURES)), figures_of(trial)
        named = [{k: by_name(v) for k, v in side.items()} for side in (figures, again)]
        found = list(differences(named[0], named[1], path))
        if not found and before.sha256 != (now := trial_digest(trial)):
            found = [Difference(f"{path}.sha256", before.sha256, now, REST)]
        return found

    def sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected: figures that the file does not have are told of neither side."""
        if failed := self._failed.get(trial.id):
            return bare({"id": failed.id} | _ending(failed), trial), trial
        before = self._trials[trial.id].model_dump(include=set(FIGURES))
        now = figures_of(trial) | {"error": trial.error}
        return bare(before, trial), bare(now, trial)


ASKED = (
    *("study", "filesystem", "options", "chip", "state", "image", "workload", "parameters"),
    *("seed", "phase_offset_ms", "open_ended"),
)
"""What a trial was asked, and whether its load was stopped early: no figures file tells these."""


def bare(figures: Mapping[str, Any], like: Trial) -> Trial:
    """A trial with these figures and nothing else that was measured, asked as another was."""
    asked = like.model_dump(include=set(ASKED))
    return Trial.model_validate({**asked, **figures}).knowing(like.sources)


def _ending(trial: Trial | FailedTrial) -> dict[str, str | None]:
    """How a trial ended; the rest of a failed one may end where the host noticed."""
    return {"status": trial.status, "error": trial.error}


def expected(path: Path) -> Expected:
    """A run's folder or a figures file; UsageError if it is neither, or does not repeat."""
    if not path.exists():
        raise UsageError(f"{path}: no such folder or file")
    found = ExpectedFolder(path) if path.is_dir() else ExpectedFigures(path)
    _refuse_what_does_not_repeat(path, found.head)
    return found


def publish(path: Path) -> Published:
    """The figures file of a run's finished trials; UsageError if one of them cannot be in it.

    Trials that failed are told with their reasons; UsageError if no other is there.
    """
    run = RunFolder(path)
    _refuse_what_does_not_repeat(path, run.head())
    finished = list(run.trials())
    if not finished:
        raise UsageError(f"{path}: no trial of this run is finished")
    old = next((trial.id for trial in finished if not trial.key), None)
    if old is not None:
        raise UsageError(f"{path}: {old} is older than trials' keys; run it again")
    figures = [_figures(trial) for trial in finished if trial.ok]
    if not figures:
        ends = f"{finished[0].id}: {finished[0].status}: {finished[0].error}"
        raise UsageError(f"{path}: no trial of this run ended well; the first is {ends}")
    return Published(
        run=run.head(), trials=figures, failed=[_failed(t) for t in finished if not t.ok]
    )


def _figures(trial: Trial) -> TrialFigures:
    """The trial's line of a figures file."""
    told = figures_of(trial) | {"key": trial.key, "sha256": trial_digest(trial)}
    return TrialFigures.model_validate(told)


def _failed(trial: Trial) -> FailedTrial:
    """The line of one that failed."""
    told = {"id": trial.id, "key": trial.key} | _ending(trial)
    return FailedTrial.model_validate(told)


def trial_digest(trial: Trial) -> str:
    """SHA-256 of all that a trial was asked and gave."""
    return digest(gave(trial))


def _refuse_what_does_not_repeat(path: Path, run: Run) -> None:
    if not run.deterministic:
        raise UsageError(f"{path}: {run.why_not_repeated}: nothing repeats it")
