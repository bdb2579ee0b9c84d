# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run that is done again must give: from its folder, or from the figures file it shipped.

What a trial was asked and gave is compared, to the nanosecond. The catalog's entries are not, for
they have titles and sentences too; what a trial really depends on is in its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nandlab.analysis.differences.compare import (
    Difference,
    compare_trial_figures,
    compute_trial_digest,
    describe_trial_ending,
    dump_compared_trial_fields,
    list_value_differences,
)
from nandlab.base.errors import UsageError
from nandlab.catalog.files import KeptNouns
from nandlab.results import nouns
from nandlab.results.figuresfile import (
    FIGURE_FIELDS,
    FailedTrial,
    FiguresFile,
    TrialFigures,
    find_results_path,
    read_figures_file,
    select_trial_figures,
    select_trial_provenance,
)
from nandlab.results.folder import RunFolder, hash_provenance_content
from nandlab.results.record import Run, Trial


class Baseline(Protocol):
    """A run that is to be done again."""

    path: Path
    head: Run
    keys: Mapping[str, str]
    """The key of each trial that the run has finished, in the order of its plan."""

    def list_differences(self, trial: Trial) -> list[Difference]:
        """What differs in the trial as it was run again."""

    def find_sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """The trial as it was and as it was run again, both with no more than the record has."""

    def find_sides_with_setup(self, trial: Trial) -> tuple[Trial, Trial]:
        """The same, each with what it ran with, as far as the record has that."""

    def nouns(self) -> KeptNouns:
        """The project's own nouns that the record keeps."""


class FolderBaseline:
    """A run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = RunFolder(path).head()
        self._trials = {trial.id: trial for trial in RunFolder(path).trials()}
        self.keys: Mapping[str, str] = {trial.id: trial.key for trial in self._trials.values()}

    def list_differences(self, trial: Trial) -> list[Difference]:
        """See Expected; everything is there, so everything is named."""
        before, path = self._trials[trial.id], f"trials.{trial.id}"
        if not before.ok:
            return list_value_differences(
                describe_trial_ending(before), describe_trial_ending(trial), path
            )
        told = dump_compared_trial_fields(before, trial), dump_compared_trial_fields(trial, before)
        return list_value_differences(*told, path)

    def find_sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        return self._trials[trial.id], trial

    def find_sides_with_setup(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        return self.find_sides(trial)

    def nouns(self) -> KeptNouns:
        """See Expected."""
        return nouns.collect_run_own_nouns(self.head, iter(self._trials.values()))


class FiguresBaseline:
    """A figures file."""

    def __init__(self, path: Path) -> None:
        published = read_figures_file(path)
        self.path = path
        self.head = published.run
        self._trials = {trial.id: trial for trial in published.trials}
        self._failed = {trial.id: trial for trial in published.failed}
        self._published = published
        every: list[TrialFigures | FailedTrial] = [*published.trials, *published.failed]
        keys = {trial.id: trial.key for trial in every}
        self.keys: Mapping[str, str] = {i: keys[i] for i in self.head.trials if i in keys}

    def list_differences(self, trial: Trial) -> list[Difference]:
        """See Expected: the named figures, and if these are equal the hash of everything."""
        if failed := self._failed.get(trial.id):
            return list_value_differences(
                describe_trial_ending(failed),
                describe_trial_ending(trial),
                f"trials.{trial.id}",
            )
        before = self._trials[trial.id]
        return compare_trial_figures(
            self.find_sides(trial)[0], trial, (before.sha256, compute_trial_digest(trial))
        )

    def find_sides(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected: figures that the file does not have are told of neither side."""
        if failed := self._failed.get(trial.id):
            return make_trial_from_figures(
                {"id": failed.id} | describe_trial_ending(failed), trial
            ), trial
        before = self._trials[trial.id].model_dump(include=set(FIGURE_FIELDS))
        now = select_trial_figures(trial) | {"error": trial.error}
        return make_trial_from_figures(before, trial), make_trial_from_figures(now, trial)

    def find_sides_with_setup(self, trial: Trial) -> tuple[Trial, Trial]:
        """See Expected."""
        then, now = self.find_sides(trial)
        kept = self._trials.get(trial.id)
        return then.add_sources(self._published.find_trial_sources(kept) if kept else {}), now

    def nouns(self) -> KeptNouns:
        """See Expected."""
        return self._published.nouns()


REQUEST_FIELDS = (
    *("study", "filesystem", "options", "chip", "state", "image", "workload", "parameters"),
    *("seed", "phase_offset_ms", "open_ended"),
)
"""What a trial was asked, and whether its load was stopped early: no figures file tells these."""


def make_trial_from_figures(figures: Mapping[str, Any], like: Trial) -> Trial:
    """A trial with these figures and nothing else that was measured, asked as another was."""
    asked = like.model_dump(include=set(REQUEST_FIELDS))
    return Trial.model_validate({**asked, **figures}).add_sources(like.sources)


def read_baseline(path: Path) -> Baseline:
    """A run's folder, a figures file, or a shipped one by its study; UsageError for none of these,
    or for one that does not repeat.
    """
    path = find_results_path(path)
    found = FolderBaseline(path) if path.is_dir() else FiguresBaseline(path)
    _refuse_unrepeatable_run(path, found.head)
    return found


def make_figures_file_of_run(path: Path) -> FiguresFile:
    """The figures file of a run's finished trials; UsageError if one of them cannot be in it.

    Trials that failed are told with their reasons; UsageError if no other is there.
    """
    run = RunFolder(path)
    _refuse_unrepeatable_run(path, run.head())
    finished = list(run.trials())
    if not finished:
        raise UsageError(f"{path}: no trial of this run is finished")
    old = next((trial.id for trial in finished if not trial.key), None)
    if old is not None:
        raise UsageError(f"{path}: {old} is older than trials' keys; run it again")
    head, figures = run.head(), []
    sources: dict[str, dict[str, Any]] = {}
    for trial in (t for t in finished if t.ok):
        kept = select_trial_provenance(trial, head)
        figures.append(_make_trial_line(trial, kept))
        sources |= {hash_provenance_content(source): source for source in kept.values()}
    if not figures:
        ends = f"{finished[0].id}: {finished[0].status}: {finished[0].error}"
        raise UsageError(f"{path}: no trial of this run ended well; the first is {ends}")
    failed = [_make_failed_line(t) for t in finished if not t.ok]
    return FiguresFile(run=head, trials=figures, failed=failed, sources=sources)


def _make_trial_line(trial: Trial, sources: Mapping[str, Any]) -> TrialFigures:
    """The trial's line of a figures file; sources: what of it the file has, by name."""
    further_fields = {
        "key": trial.key,
        "sha256": compute_trial_digest(trial),
        "warnings": [doubt.model_dump() for doubt in trial.warnings],
        "open_ended": trial.open_ended,
        "image": trial.image and trial.image.model_dump(),
        "register_hits": {s.name: n for s in trial.steps if (n := s.register_hits) is not None},
        "provenance": {what: hash_provenance_content(source) for what, source in sources.items()},
    }
    return TrialFigures.model_validate(select_trial_figures(trial) | further_fields)


def _make_failed_line(trial: Trial) -> FailedTrial:
    """The line of one that failed."""
    told = {"id": trial.id, "key": trial.key} | describe_trial_ending(trial)
    return FailedTrial.model_validate(told)


def _refuse_unrepeatable_run(path: Path, run: Run) -> None:
    if not run.deterministic:
        raise UsageError(f"{path}: {run.why_not_repeated}: nothing repeats it")
