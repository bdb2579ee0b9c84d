# SPDX-License-Identifier: GPL-2.0-or-later
"""Which figures moved between two runs of the same trials, by how much, and how far that is.

A figure moved if it is not the same in any one trial, to the last digit. How far that is, is told
against the ensemble: a change within the range of its seeds and phase offsets may be no change of
what is measured, but on a board that repeats it has a cause.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from nandlab.analysis.differences import setupdiff
from nandlab.analysis.differences.baselines import make_trial_from_figures
from nandlab.analysis.differences.compare import (
    Difference,
    are_trials_alike,
    compare_run_heads,
    compare_trial_figures,
    compare_trials,
    compute_trial_digest,
    format_source_runs_of_origins,
)
from nandlab.analysis.figures import members, workloadwords
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.figurenames import (
    list_figure_names_of_settings,
    list_figure_names_of_trials,
    list_underived_figure_names,
    match_figure_names,
)
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.groups import Ensemble, group_trials_into_settings
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.base.units import Quantity
from nandlab.results.figuresfile import select_trial_figures
from nandlab.results.folder import Results
from nandlab.results.record import Origin, Trial

STATUS_ROW = "status"
"""The name of a row that tells how trials ended."""

FigureSide = Spread | str | None
"""A figure's spread; words, of what is no number; None: not measured."""


@dataclass(frozen=True)
class FigureChange:
    """A figure of a configuration that is not what it was."""

    name: str
    before: FigureSide
    now: FigureSide
    trials: tuple[str, ...]
    """Ids of those in which it is not the same."""
    quantity: Quantity | None = None
    """None: it is no number."""
    by_trial: Spread | None = None
    """By how much it grew in each trial, those included in which it is the same."""

    @property
    def change(self) -> float | None:
        """By how much the median grew, in the figure's base unit; None where there are not two."""
        if isinstance(self.before, Spread) and isinstance(self.now, Spread):
            return self.now.median - self.before.median
        return None

    @property
    def share(self) -> float | None:
        """The change over the median before; None where that is 0 or not known."""
        known = isinstance(self.before, Spread) and self.before.median
        return self.change / abs(known) if known and self.change is not None else None

    @property
    def within(self) -> bool | None:
        """Whether the two ensembles' ranges touch; None where a side is no ensemble."""
        if not isinstance(self.before, Spread) or not isinstance(self.now, Spread):
            return None
        ensembles = self.before.n > 1 and self.now.n > 1
        return self.before.overlaps(self.now) if ensembles else None


@dataclass(frozen=True)
class ConfigurationChange:
    """A configuration held against what it was."""

    setting: str
    label: str
    trials: tuple[str, ...]
    changed_figures: tuple[FigureChange, ...]
    """Empty: it is the same."""
    headline: str = ""
    """The figure that the load is judged by."""

    @property
    def title(self) -> str:
        """What names it among all configurations of a study."""
        return f"{self.label}, {self.setting}"


class TrialDifferences(NamedTuple):
    """What differs in a trial, in short: two runs of thousands of trials differ in millions of
    values."""

    first: Difference
    number: int


def summarize_differences(
    differences: Mapping[str, Collection[Difference]],
) -> dict[str, TrialDifferences]:
    """By id, in short what differs in each trial; one in which nothing does is left out."""
    return {
        i: TrialDifferences(next(iter(each)), len(each)) for i, each in differences.items() if each
    }


def list_configuration_changes(
    pairs: Sequence[tuple[Trial, Trial]],
    unlike: Mapping[str, TrialDifferences],
    only: Sequence[str] = (),
) -> list[ConfigurationChange]:
    """Each configuration of these trials, which were then and are now, in the order of the plan.

    unlike: by id, what differs in a trial. What no figure tells is told by its first place.
    only: figures, as named.meant() takes them, beside which nothing but how trials ended counts;
    empty: all. UsageError if no trial has such a figure.
    """
    before = {now.id: then for then, now in pairs}
    told, apart = members.split_off_memory_trials(now for _, now in pairs)
    settings = [*group_trials_into_settings(told), *group_trials_into_settings(apart)]
    names = (
        list_figure_names_of_settings([*settings, *group_trials_into_settings(before.values())])
        if only
        else ()
    )
    selected = {name for asked in only for name in match_figure_names(asked, names)}
    changes = []
    for setting in settings:
        for e in setting.ensembles:
            then = replace(e, trials=tuple(before[t.id] for t in e.trials))
            differ = {t.id: unlike[t.id] for t in e.trials if t.id in unlike}
            moved = tuple(_list_changes(then, e, differ, selected)) if differ else ()
            ids = tuple(t.id for t in e.trials)
            changes.append(
                ConfigurationChange(setting.title, e.label, ids, moved, setting.headline.name)
            )
    return changes


@dataclass(frozen=True)
class RunComparison:
    """All that is told of two runs."""

    setup_differences: list[str]
    """What they did not have alike, as format_setup_differences() has it."""
    difference_count: int
    """How many values differ, those of ``setup_differences`` apart."""
    compared_configurations: list[ConfigurationChange]
    """The configurations of all trials that both runs have finished, the first's against the
    second's."""
    source_runs: tuple[list[str], list[str]]
    """As format_source_runs_of_trials() has it, of each run."""


def drop_differences(differences: Collection[Difference]) -> None:
    """Takes differences that nobody wants one by one."""


def make_run_comparison(
    a: Results,
    b: Results,
    take: Callable[[Collection[Difference]], None] = drop_differences,
) -> RunComparison:
    """Compares two runs; each trial is read once, and of two that are alike one is kept.

    take: is given all that differs, but for ``setup_differences``: of the heads, then of each trial
    in the order of the plan. It is not kept here.
    """
    heads = a.head(), b.head()
    planned = [set(head.trials) for head in heads]
    found = [d for d in compare_run_heads(*heads) if not d.path.startswith("run.provenance.")]
    take(found)
    count = len(found)
    origins: tuple[list[Origin | None], list[Origin | None]] = ([], [])
    pairs: list[tuple[Trial, Trial]] = []
    sides: list[tuple[Trial, Trial]] = []
    unlike: dict[str, TrialDifferences] = {}
    for trial_id in dict.fromkeys([*heads[0].trials, *heads[1].trials]):
        then, now = a.load(trial_id), b.load(trial_id)
        for kept, trial, ids in zip(origins, (then, now), planned, strict=True):
            if trial and trial_id in ids:
                kept.append(trial.origin)
        differ = _list_trial_differences(a, b, then, now, trial_id)
        take(differ)
        count += len(differ)
        if then and now and all(trial_id in ids for ids in planned):
            pair = now if are_trials_alike(then, now) else then, now
            pairs.append(pair)
            sides.append(_make_bare_pair(*pair) if a.hashes or b.hashes else pair)
            unlike |= summarize_differences({trial_id: differ})
    boards = setupdiff.compare_board_identities(heads[0].provenance, heads[1].provenance)
    lines = format_source_runs_of_origins(origins[0]), format_source_runs_of_origins(origins[1])
    return RunComparison(
        setupdiff.format_setup_differences(boards, pairs),
        count,
        list_configuration_changes(sides, unlike),
        lines,
    )


def _list_trial_differences(
    a: Results, b: Results, then: Trial | None, now: Trial | None, trial_id: str
) -> Collection[Difference]:
    """Where two trials differ, but for what they ran with; of figures files, where figures do."""
    if then and now and (a.hashes or b.hashes):
        digests = (side.hashes.get(trial_id) for side in (a, b))
        known = (
            told or compute_trial_digest(t) for told, t in zip(digests, (then, now), strict=True)
        )
        return compare_trial_figures(then, now, (next(known), next(known)))
    return compare_trials(then, now, trial_id, has_setup=False)


def _make_bare_pair(then: Trial, now: Trial) -> tuple[Trial, Trial]:
    """Both with no more than a figures file has."""
    told = (select_trial_figures(t) | {"error": t.error} for t in (then, now))
    return make_trial_from_figures(next(told), now), make_trial_from_figures(next(told), now)


def _list_changes(
    then: Ensemble, now: Ensemble, unlike: Mapping[str, TrialDifferences], selected: Set[str]
) -> Iterator[FigureChange]:
    """How trials end now, then the figures, then what differs beside these."""
    yield from _list_ending_changes(then, now)
    figures = list(_list_figure_changes(then, now, selected))
    yield from figures
    told = {i for m in figures for i in m.trials}
    told |= {t.id for t in (*then.trials, *now.trials) if not t.ok}
    for trial_id in unlike if not selected else ():
        if trial_id not in told:
            yield _make_other_change(trial_id, unlike[trial_id])


def _list_ending_changes(then: Ensemble, now: Ensemble) -> Iterator[FigureChange]:
    """A row for each way in which trials end otherwise than they did."""
    ways: dict[tuple[str, str], list[str]] = {}
    for a, b in zip(then.trials, now.trials, strict=True):
        if _format_ending(a) != _format_ending(b):
            ways.setdefault((_format_ending(a), _format_ending(b)), []).append(a.id)
    for (was, ends), ids in ways.items():
        yield FigureChange(STATUS_ROW, was, ends, tuple(ids))


def _format_ending(trial: Trial) -> str:
    return "ok" if trial.ok else f"{trial.status}: {trial.error or 'no reason was recorded'}"


def _list_figure_changes(
    then: Ensemble, now: Ensemble, selected: Set[str]
) -> Iterator[FigureChange]:
    """The figures that are not the same in a trial that ended well both times."""
    ended = tuple(t for t in then.trials if t.ok), tuple(t for t in now.trials if t.ok)
    pairs = [(a, b) for a, b in zip(then.trials, now.trials, strict=True) if a.ok and b.ok]
    ended_trials = [t for pair in pairs for t in pair]
    words = workloadwords.make_workload_words_for_trials(ended_trials)
    if selected:
        names = [
            name for name in list_figure_names_of_trials(ended_trials, words) if name in selected
        ]
    else:
        names = list_underived_figure_names(ended_trials, words)
    ids = [a.id for a, _ in pairs]
    for figure in (find_workload_figure(name, words) for name in names):
        change = _compare_figure(figure, then, now, ended, ids)
        if change:
            yield change


def _compare_figure(
    figure: Figure,
    then: Ensemble,
    now: Ensemble,
    ended: tuple[Sequence[Trial], Sequence[Trial]],
    ids: Sequence[str],
) -> FigureChange | None:
    """A figure of two ensembles; None: it is the same in each of these trials.

    It is read once from a trial, for some take long. ended: the trials of each that ended well.
    """
    before, after = ({t.id: figure.compute(t) for t in side} for side in ended)
    moved = tuple(i for i in ids if before[i] != after[i])
    if not moved:
        return None
    sides = (
        then.compute_spread(lambda t: before[t.id], figure.open_ended),
        now.compute_spread(lambda t: after[t.id], figure.open_ended),
    )
    values = [(before[i], after[i]) for i in ids]
    grown = [y - x for x, y in values if x is not None and y is not None]
    return FigureChange(figure.name, *sides, moved, figure.quantity, compute_spread(grown))


def _make_other_change(trial_id: str, differences: TrialDifferences) -> FigureChange:
    """A trial whose figures are all the same, though it is not."""
    first, more = differences.first, differences.number - 1
    if first.note:
        return FigureChange("other", None, first.note, (trial_id,))
    name = first.path.removeprefix(f"trials.{trial_id}.")
    return FigureChange(f"{name} (and {more} more)" if more else name, *first.values(), (trial_id,))
