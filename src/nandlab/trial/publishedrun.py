# SPDX-License-Identifier: GPL-2.0-or-later
"""A run read from its figures file, for whatever shows runs: no board, nothing is run.

The file has what trials gave; what they were asked follows from the study in it. A file that is
older than its sources is told with the catalog of today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nandlab.base.errors import UsageError
from nandlab.catalog.board import BoardModel
from nandlab.catalog.files import load_noun
from nandlab.plan.start import TreeStart
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.figuresfile import (
    HEAD_SOURCE,
    FailedTrial,
    TrialFigures,
    find_results_path,
    read_figures_file,
)
from nandlab.results.folder import Results, RunFolder
from nandlab.results.naming import Naming, make_figures_file_naming
from nandlab.results.record import Run, Trial
from nandlab.results.recordparts import StartImage
from nandlab.trial.request import describe_trial_request, dump_trial_catalog_entries
from nandlab.trial.runplan import restore_run_plan

MISSING_NOTE = (
    "a figures file has no series, no counts of each block and no kernel log: its run has them"
)
OLD_FILE_NOTE = (
    "this file is older than doubts and sources of trials: doubts are not known, and chips, file "
    "systems and loads are told as today's catalog has them"
)
FIELDS_APART = {"sha256", "provenance", "register_hits", "image"}
"""Fields of a file's trial that a trial does not have as such."""


class PublishedRun:
    """A figures file as a run's results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        published = read_figures_file(path)
        self._published, self._head = published, published.run
        every: list[TrialFigures | FailedTrial] = [*published.trials, *published.failed]
        self._trials = {trial.id: trial for trial in every}
        self.hashes: Mapping[str, str] = {trial.id: trial.sha256 for trial in published.trials}
        self.notes: tuple[str, ...] = (
            (MISSING_NOTE,) if published.sources else (MISSING_NOTE, OLD_FILE_NOTE)
        )
        self._specs = {
            spec.id: spec for spec in restore_run_plan(published.run, path, published.nouns()).specs
        }
        if lost := self._trials.keys() - self._specs.keys():
            raise UsageError(
                f"{path}: its study gives no trial {min(lost)} with the catalog here, so what that "
                "was is not known: read it in the folder that has the study's catalog, or with the "
                f"nandlab that it is of, commit {published.run.commit or 'not known'}"
            )

    def head(self) -> Run:
        """See Results."""
        return self._head

    def naming(self) -> Naming:
        """See Results."""
        return make_figures_file_naming(self._head.study)

    def load(self, trial_id: str) -> Trial | None:
        """See Results."""
        figures = self._trials.get(trial_id)
        if figures is None:
            return None
        spec = self._specs[trial_id]
        fields = figures.model_dump(exclude=FIELDS_APART)
        if isinstance(figures, TrialFigures) and figures.image:
            fields["image"] = figures.image
        if isinstance(figures, TrialFigures) and figures.register_hits:
            hits = figures.register_hits
            fields["steps"] = [s | {"register_hits": hits.get(s["name"])} for s in fields["steps"]]
        trial = Trial.model_validate(
            {**self._describe_request(spec), **fields, "run": self._head.id}
        )
        if isinstance(figures, TrialFigures) and figures.provenance:
            return trial.add_sources(
                self._published.find_trial_sources(figures) | {HEAD_SOURCE: self._head.provenance}
            )
        # what is only supposed has no hash, so that no comparison takes it for the run's
        return trial.add_sources(self._supposed(spec), {})

    def trials(self) -> Iterator[Trial]:
        """See Results."""
        for trial_id in self._head.trials:
            if (trial := self.load(trial_id)) is not None:
                yield trial

    def missing(self) -> list[str]:
        """See Results."""
        return [trial_id for trial_id in self._head.trials if trial_id not in self._trials]

    def _describe_request(self, spec: TrialSpec) -> dict[str, Any]:
        """What a trial was asked; its image is named by what it is made of."""
        told = describe_trial_request(spec, self._head.study)
        if told["image"] is None and isinstance(spec.image, TreeStart):
            of = spec.image
            told["image"] = StartImage(name=of.name, sha256=of.sha256, tree=of.sha256)
        return told

    def _supposed(self, spec: TrialSpec) -> dict[str, dict[str, Any]]:
        """What a trial ran with as the catalog of today has it; its board tells more there than
        its identity does.
        """
        with suppress(UsageError):
            board = load_noun("boards", spec.board.name, BoardModel)
            spec = spec.model_copy(update={"board": board})
        return dump_trial_catalog_entries(spec) | {HEAD_SOURCE: self._head.provenance}


def open_results(run: Path) -> Results:
    """A run's folder, a figures file, or a shipped one by its study; UsageError for none."""
    path = find_results_path(run)
    return RunFolder(path) if path.is_dir() else PublishedRun(path)
