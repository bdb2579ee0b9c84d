# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run that is done again must give: from its folder, or from the figures file it shipped.

What a trial was asked and gave is compared, to the nanosecond. The catalog's entries are not, for
they have titles and sentences too; what a trial really depends on is in its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nandlab.analysis.compare import (
    Difference,
    compare_figures,
    differences,
    ending,
    gave,
    trial_digest,
)
from nandlab.base.errors import UsageError
from nandlab.catalog.files import Kept
from nandlab.results import nouns
from nandlab.results.folder import RunFolder, source_name
from nandlab.results.published import (
    FIGURES,
    FailedTrial,
    Published,
    TrialFigures,
    figures_of,
    located,
    read,
    sources_of,
)
from nandlab.results.record import Run, Trial


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

    def ran_with(self, trial: Trial) -> tuple[Trial, Trial]:
        """The same, each with what it ran with, as far as the record has that."""

    def nouns(self) -> Kept:
        """The project's own nouns that the record keeps."""


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
            return list(differences(ending(before), ending(trial), path))
        told = gave(before, trial), gave(trial, before)
        return list(differences(*told, path))

    def sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        return self._trials[trial.id], trial

    def ran_with(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        return self.sides(trial)

    def nouns(self) -> Kept:
        """See Expected."""
        return nouns.of_trials(self.head, iter(self._trials.values()))


class ExpectedFigures:
    """A figures file."""

    def __init__(self, path: Path) -> None:
        published = read(path)
        self.path = path
        self.head = published.run
        self._trials = {trial.id: trial for trial in published.trials}
        self._failed = {trial.id: trial for trial in published.failed}
        self._published = published
        every: list[TrialFigures | FailedTrial] = [*published.trials, *published.failed]
        keys = {trial.id: trial.key for trial in every}
        self.keys: Mapping[str, str] = {i: keys[i] for i in self.head.trials if i in keys}

    def differences(self, trial: Trial) -> list[Difference]:
        """See Expected: the named figures, and if these are equal the hash of everything."""
        if failed := self._failed.get(trial.id):
            return list(differences(ending(failed), ending(trial), f"trials.{trial.id}"))
        before = self._trials[trial.id]
        return compare_figures(self.sides(trial)[0], trial, (before.sha256, trial_digest(trial)))

    def sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected: figures that the file does not have are told of neither side."""
        if failed := self._failed.get(trial.id):
            return bare({"id": failed.id} | ending(failed), trial), trial
        before = self._trials[trial.id].model_dump(include=set(FIGURES))
        now = figures_of(trial) | {"error": trial.error}
        return bare(before, trial), bare(now, trial)

    def ran_with(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        then, now = self.sides(trial)
        kept = self._trials.get(trial.id)
        return then.knowing(self._published.ran_with(kept) if kept else {}), now

    def nouns(self) -> Kept:
        """See Expected."""
        return self._published.nouns()


ASKED = (
    *("study", "filesystem", "options", "chip", "state", "image", "workload", "parameters"),
    *("seed", "phase_offset_ms", "open_ended"),
)
"""What a trial was asked, and whether its load was stopped early: no figures file tells these."""


def bare(figures: Mapping[str, Any], like: Trial) -> Trial:
    """A trial with these figures and nothing else that was measured, asked as another was."""
    asked = like.model_dump(include=set(ASKED))
    return Trial.model_validate({**asked, **figures}).knowing(like.sources)


def expected(path: Path) -> Expected:
    """A run's folder, a figures file, or a shipped one by its study; UsageError for none of these,
    or for one that does not repeat.
    """
    path = located(path)
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
    head, figures = run.head(), []
    sources: dict[str, dict[str, Any]] = {}
    for trial in (t for t in finished if t.ok):
        kept = sources_of(trial, head)
        figures.append(_figures(trial, kept))
        sources |= {source_name(source): source for source in kept.values()}
    if not figures:
        ends = f"{finished[0].id}: {finished[0].status}: {finished[0].error}"
        raise UsageError(f"{path}: no trial of this run ended well; the first is {ends}")
    failed = [_failed(t) for t in finished if not t.ok]
    return Published(run=head, trials=figures, failed=failed, sources=sources)


def _figures(trial: Trial, sources: Mapping[str, Any]) -> TrialFigures:
    """The trial's line of a figures file; sources: what of it the file has, by name."""
    beside = {
        "key": trial.key,
        "sha256": trial_digest(trial),
        "warnings": [doubt.model_dump() for doubt in trial.warnings],
        "open_ended": trial.open_ended,
        "register_hits": {s.name: n for s in trial.steps if (n := s.register_hits) is not None},
        "provenance": {what: source_name(source) for what, source in sources.items()},
    }
    return TrialFigures.model_validate(figures_of(trial) | beside)


def _failed(trial: Trial) -> FailedTrial:
    """The line of one that failed."""
    told = {"id": trial.id, "key": trial.key} | ending(trial)
    return FailedTrial.model_validate(told)


def _refuse_what_does_not_repeat(path: Path, run: Run) -> None:
    if not run.deterministic:
        raise UsageError(f"{path}: {run.why_not_repeated}: nothing repeats it")
