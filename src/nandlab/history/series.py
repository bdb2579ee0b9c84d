# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's figures over a series of commits: a row a commit, each held against the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nandlab.analysis.differences.compare import compare_trials
from nandlab.analysis.differences.figurechanges import (
    ConfigurationChange,
    list_configuration_changes,
    summarize_differences,
)
from nandlab.analysis.figures.figurenames import (
    list_figure_names_of_settings,
    match_figure_names,
)
from nandlab.analysis.figures.groups import Ensemble, Setting, group_trials_into_settings
from nandlab.analysis.figures.members import split_off_memory_trials
from nandlab.analysis.figures.spread import Spread
from nandlab.base.errors import UsageError
from nandlab.base.units import Quantity
from nandlab.history.commitruns import CommitRun, CommitRuns
from nandlab.history.gittree import (
    Commit,
    GitTree,
    find_commit_of_revision,
    list_commits_after,
    refuse_unrelated_commits,
)
from nandlab.results.record import Trial

RANGE_DOTS = ".."
CHIP_FIGURE = "chip.erases"
"""The figure beside the headline that a series has where none is named."""


@dataclass(frozen=True)
class SeriesCell:
    """A figure of a configuration at a commit."""

    spread: Spread | None
    """None: not measured, or no trial ended well."""
    moved: bool
    """Whether it is another in a trial than at the commit before that has a run."""


@dataclass(frozen=True)
class SeriesRow:
    """A configuration at a commit."""

    commit: Commit
    cells: Mapping[str, SeriesCell]
    """By figure; empty: there is no run."""
    moved: int | None
    """How many of all figures moved; None: there is no run, or none before it."""
    note: str = ""
    """Why there is no run, or how trials failed."""


@dataclass(frozen=True)
class SeriesFigure:
    """A column."""

    name: str
    quantity: Quantity


@dataclass(frozen=True)
class ConfigurationSeries:
    """A configuration over the commits."""

    setting: str
    label: str
    filesystem: str
    figures: tuple[SeriesFigure, ...]
    rows: tuple[SeriesRow, ...]

    @property
    def title(self) -> str:
        """What names it among all configurations of a study."""
        return f"{self.label}, {self.setting}"


def parse_commit_range(tree: GitTree, text: str, option: str) -> tuple[Commit, Commit]:
    """The two commits of ``A..B``, of which the first leads to the second; UsageError else."""
    first, dots, last = text.partition(RANGE_DOTS)
    if not dots or not first or not last or last.startswith("."):
        raise UsageError(f"{option} {text}: give two commits as A..B, the older one first")
    ends = tuple(find_commit_of_revision(tree, name, option) for name in (first, last))
    refuse_unrelated_commits(tree, ends[0], ends[1], (option, "to"))
    return ends[0], ends[1]


def run_commit_series(
    first: Commit,
    last: Commit,
    runs: CommitRuns,
    say: Callable[[int, int, Commit], None],
) -> list[CommitRun]:
    """The run of the first commit, and of each after it to the last that changes the sources.

    say: is told of each commit before it is run: its number, how many there are, and which it is.
    """
    commits = [first, *list_commits_after(runs.tree, first, last, runs.paths)]
    made = []
    for number, commit in enumerate(commits, 1):
        say(number, len(commits), commit)
        made.append(runs.run(commit, anew=number == 1))
    return made


def make_series(runs: Sequence[CommitRun], only: Sequence[str]) -> list[ConfigurationSeries]:
    """Each configuration over the commits, in the order of the plan.

    only: the figures of the columns, as match_figure_names takes them; empty: the headline and
    the erases. UsageError where no commit has a run, or no trial has such a figure.
    """
    trials = [list(run.folder.trials()) if run.folder else [] for run in runs]
    latest = next((commit_trials for commit_trials in reversed(trials) if commit_trials), None)
    if latest is None:
        raise UsageError("the sources of no commit build:", *runs[-1].reason)
    settings = _group(latest)
    names = list_figure_names_of_settings(settings)
    columns = [n for name in only for n in match_figure_names(name, names)]
    by_commit = [_index_ensembles(_group(commit_trials)) for commit_trials in trials]
    changes = _list_changes(trials)
    return [
        _make_configuration_series(setting, e, columns, (runs, by_commit, changes))
        for setting in settings
        for e in setting.ensembles
    ]


def has_moved(series: Iterable[ConfigurationSeries]) -> bool:
    """Whether any figure of any configuration moved at a commit, or a commit has no run."""
    return any(row.moved or not row.cells for one in series for row in one.rows)


EnsembleKey = tuple[str, str]
"""What names a configuration: its setting's title and its label."""
Ensembles = Mapping[EnsembleKey, Ensemble]
Changes = Mapping[EnsembleKey, ConfigurationChange]


def _group(trials: Iterable[Trial]) -> list[Setting]:
    bare, memory = split_off_memory_trials(trials)
    return [*group_trials_into_settings(bare), *group_trials_into_settings(memory)]


def _index_ensembles(settings: Iterable[Setting]) -> dict[EnsembleKey, Ensemble]:
    return {(setting.title, e.label): e for setting in settings for e in setting.ensembles}


def _list_changes(trials: Sequence[Sequence[Trial]]) -> list[Changes | None]:
    """For each commit what moved since the one before that has a run; None: there is none."""
    changes: list[Changes | None] = []
    before: Mapping[str, Trial] = {}
    for commit_trials in trials:
        pairs = [(before[t.id], t) for t in commit_trials if t.id in before]
        unlike = summarize_differences({b.id: compare_trials(a, b, b.id) for a, b in pairs})
        compared = list_configuration_changes(pairs, unlike)
        changes.append({(c.setting, c.label): c for c in compared} if pairs else None)
        before = {t.id: t for t in commit_trials} or before
    return changes


def _make_configuration_series(
    setting: Setting,
    e: Ensemble,
    columns: Sequence[str],
    sides: tuple[Sequence[CommitRun], Sequence[Ensembles], Sequence[Changes | None]],
) -> ConfigurationSeries:
    names = columns or list(dict.fromkeys([setting.headline.name, CHIP_FIGURE]))
    figures = {name: setting.figure(name) for name in names}
    key = setting.title, e.label
    rows, before = [], dict[str, SeriesCell]()
    for run, ensembles, changes in zip(*sides, strict=True):
        ensemble, change = ensembles.get(key), changes.get(key) if changes else None
        moved = {m.name for m in change.changed_figures} if change else set[str]()
        cells = {
            name: _make_cell(ensemble.spread(figure), before.get(name), name in moved)
            for name, figure in figures.items()
            if ensemble
        }
        count = len(change.changed_figures) if change else None
        rows.append(SeriesRow(run.commit, cells, count, _format_note(run, ensemble)))
        before = cells or before
    series_figures = tuple(SeriesFigure(name, figure.quantity) for name, figure in figures.items())
    return ConfigurationSeries(
        setting.title, e.label, e.first.filesystem, series_figures, tuple(rows)
    )


def _make_cell(spread: Spread | None, before: SeriesCell | None, moved: bool) -> SeriesCell:
    """A figure that follows from others is in no list of what moved: its own spread says so."""
    return SeriesCell(spread, moved or (before is not None and before.spread != spread))


def _format_note(run: CommitRun, ensemble: Ensemble | None) -> str:
    """Why a commit has no run, or how many of its trials failed, with the first one's reason."""
    if run.folder is None:
        return f"does not build: {run.fault}"
    failed = [t for t in ensemble.trials if not t.ok] if ensemble else []
    if not failed:
        return ""
    return f"{len(failed)} of {len(ensemble.trials) if ensemble else 0} failed: {failed[0].error}"
