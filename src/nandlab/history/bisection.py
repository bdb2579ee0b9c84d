# SPDX-License-Identifier: GPL-2.0-or-later
"""The commit that changed a figure: git's own bisect chooses the commits, a trial judges each.

A trial gives the same figure each time, so a commit is good if it gives the good commit's value to
the last digit, and bad if it gives another. A commit whose sources do not build, or whose trial
fails, is skipped. All that git keeps of the bisection is made anew by each call: the marks of
commits that were judged before follow from their runs, so git takes the same way again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nandlab.analysis.differences.compare import compare_trials
from nandlab.analysis.differences.figurechanges import (
    ConfigurationChange,
    list_configuration_changes,
    summarize_differences,
)
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.figurenames import (
    list_figure_names_of_settings,
    match_figure_names,
)
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.groups import group_trials_into_settings
from nandlab.analysis.figures.workloadwords import make_workload_words_for_trials
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.files import write_whole_file
from nandlab.base.gate import read_bytes
from nandlab.history.commitruns import CommitRun, CommitRuns
from nandlab.history.gittree import (
    Commit,
    GitTree,
    find_commit_of_revision,
    find_commit_subject,
    find_parent,
    format_git_complaint,
    list_pathspecs,
    refuse_unrelated_commits,
)
from nandlab.results.folder import RunFolder
from nandlab.results.record import Trial

Mark = Literal["good", "bad", "skip"]
"""What git is told of a commit."""
LOG = "bisect.log"
"""git's own log of the bisection; git bisect replay reads it."""
HASH = r"\[([0-9a-f]{40,64})\]"
FIRST_BAD = re.compile(rf"^# first bad commit: {HASH}", re.MULTILINE)
POSSIBLE_FIRST_BAD = re.compile(rf"^# possible first bad commit: {HASH}", re.MULTILINE)
CHOSEN = re.compile(
    r"^Bisecting: (?P<commits>\d+) .*\(roughly (?P<steps>\d+) .*\n"
    r"\[(?P<sha>[0-9a-f]{40,64})\] (?P<subject>.*)$",
    re.MULTILINE,
)
"""What git prints of the commit that it chose."""
LOG_BYTES_MAX = 16 << 20
MOVED_NAMES_MAX = 6
"""How many figures that did move are named where the one in question did not."""


@dataclass(frozen=True)
class BisectionRequest:
    """What is looked for."""

    good: Commit
    bad: Commit
    figure: str
    trial: str | None = None
    """The trial that judges; None: the first of the study whose figure is another."""


@dataclass(frozen=True)
class BisectedFigure:
    """The figure of the trial that judges, as the good and as the bad commit have it."""

    figure: Figure
    trial: str
    good: float
    bad: float


@dataclass(frozen=True)
class Step:
    """A commit that git chose."""

    commit: Commit
    mark: Mark
    value: float | None
    """None: it was skipped."""
    reason: str = ""
    """Why it was skipped."""


@dataclass(frozen=True)
class Bisection:
    """What was found."""

    request: BisectionRequest
    figure: BisectedFigure
    steps: tuple[Step, ...]
    suspects: tuple[Commit, ...]
    """The commit that changed the figure; several where the commits between do not build."""
    before: Commit | None = None
    """The parent of the one commit; None where there are several."""
    values: tuple[float | None, float | None] = (None, None)
    """The figure before and after."""
    changes: tuple[ConfigurationChange, ...] = ()
    """All figures of the trial that the commit moved."""

    @property
    def skipped(self) -> list[Step]:
        return [step for step in self.steps if step.mark == "skip"]


@dataclass(frozen=True)
class StepBegin:
    """Progress: the commit that is tried next."""

    number: int
    commit: Commit
    commits_left: int
    steps_left: int


Say = Callable[[StepBegin | Step], None]
"""Is told of each step as it begins and as it ends."""


def make_bisection_request(
    tree: GitTree, ends: tuple[str, str], figure: str, trial: str | None = None
) -> BisectionRequest:
    """The request with the commits that two revisions name, of which the first must lead to the
    second; UsageError else.
    """
    options = "--good", "--bad"
    good, bad = (
        find_commit_of_revision(tree, name, option)
        for name, option in zip(ends, options, strict=True)
    )
    refuse_unrelated_commits(tree, good, bad, options)
    return BisectionRequest(good, bad, figure, trial)


def find_first_bad_commit(request: BisectionRequest, runs: CommitRuns, say: Say) -> Bisection:
    """The commit after the good one that first gives another figure.

    UsageError where the two commits do not give two values of one figure.
    """
    wanted = [request.trial] if request.trial else []
    sides = [
        _run_end(runs, commit, wanted, option)
        for commit, option in ((request.good, "--good"), (request.bad, "--bad"))
    ]
    figure = _choose_figure(request, *sides)
    steps, log = _bisect(request, figure, runs, say)
    first = FIRST_BAD.findall(log)
    shas = first or POSSIBLE_FIRST_BAD.findall(log)
    suspects = tuple(find_commit_subject(runs.tree, sha) for sha in shas)
    if len(suspects) != 1:
        return Bisection(request, figure, tuple(steps), suspects)
    before = find_parent(runs.tree, suspects[0])
    pair = _load_trial(runs, before, figure.trial), _load_trial(runs, suspects[0], figure.trial)
    if pair[0] is None or pair[1] is None:
        return Bisection(request, figure, tuple(steps), suspects, before)
    unlike = summarize_differences({figure.trial: compare_trials(*pair, figure.trial)})
    return Bisection(
        request,
        figure,
        tuple(steps),
        suspects,
        before,
        (_read_value(figure.figure, pair[0]), _read_value(figure.figure, pair[1])),
        tuple(list_configuration_changes([(pair[0], pair[1])], unlike)),
    )


def _run_end(runs: CommitRuns, commit: Commit, wanted: list[str], option: str) -> RunFolder:
    """The run of the good or the bad commit; UsageError where it has none."""
    run = runs.run(commit, wanted, anew=True)
    if run.folder is None:
        what = f"{option} {commit.title}: its sources do not build: name another commit"
        raise UsageError(what, *run.reason)
    return run.folder


def _choose_figure(request: BisectionRequest, good: RunFolder, bad: RunFolder) -> BisectedFigure:
    """The trial that judges, and its figure; UsageError where the figure is the same in all."""
    ids = [request.trial] if request.trial else good.head().trials
    loaded = [(good.load(i), bad.load(i)) for i in ids]
    pairs = [(a, b) for a, b in loaded if a is not None and b is not None and a.ok and b.ok]
    if not pairs:
        ends = [f"{t.id}: {t.status}: {t.error}" for pair in loaded for t in pair if t and not t.ok]
        raise UsageError("no trial ended well with both sources", *ends)
    name = _match_figure(request.figure, [t for pair in pairs for t in pair])
    for a, b in pairs:
        figure = find_workload_figure(name, make_workload_words_for_trials([a, b]))
        values = figure(a), figure(b)
        if values[0] is not None and values[1] is not None and values[0] != values[1]:
            return BisectedFigure(figure, a.id, values[0], values[1])
    raise UsageError(_format_same_figure(request, name, pairs))


def _match_figure(name: str, trials: list[Trial]) -> str:
    """The one figure that is meant."""
    names = match_figure_names(
        name, list_figure_names_of_settings(group_trials_into_settings(trials))
    )
    if len(names) > 1:
        raise UsageError(f"--figure {name}: {len(names)} figures, {names[0]} first: name one")
    return names[0]


def _format_same_figure(
    request: BisectionRequest, name: str, pairs: list[tuple[Trial, Trial]]
) -> str:
    """That the figure did not move, with those that did."""
    unlike = summarize_differences({a.id: compare_trials(a, b, a.id) for a, b in pairs})
    changes = list_configuration_changes(pairs, unlike)
    moved = list(
        dict.fromkeys(m.name for one in changes for m in one.changed_figures if m.quantity)
    )
    what = f"--good {request.good.short} and --bad {request.bad.short} have the same {name}"
    where = f"{what} in {'each of ' * (len(pairs) > 1)}{len(pairs)} trial{'s' * (len(pairs) > 1)}"
    if not moved:
        return f"{where}, and no other figure moved: name other commits, or another study"
    more = ", ..." if len(moved) > MOVED_NAMES_MAX else ""
    return f"{where}: name a figure that moved: {', '.join(moved[:MOVED_NAMES_MAX])}{more}"


def _bisect(
    request: BisectionRequest, figure: BisectedFigure, runs: CommitRuns, say: Say
) -> tuple[list[Step], str]:
    """Marks the commits that git chooses until it has no more: the steps, and git's log."""
    # HEAD must name a commit, or git begins no bisection
    runs.scratch.run("update-ref", "--no-deref", "HEAD", request.bad.sha)
    ends = request.bad.sha, request.good.sha
    words = ("start", "--no-checkout", *ends, "--", *list_pathspecs(runs.paths))
    steps: list[Step] = []
    output = _run_bisect(runs, *words)
    log = _keep_log(runs)
    while not FIRST_BAD.search(log) and not POSSIBLE_FIRST_BAD.search(log):
        chosen = CHOSEN.search(output)
        if chosen is None:
            raise NandlabError("git bisect chose no commit:", *output.splitlines())
        commit = Commit(chosen["sha"], chosen["subject"])
        say(StepBegin(len(steps) + 1, commit, int(chosen["commits"]), int(chosen["steps"])))
        step = _judge(figure, runs.run(commit, [figure.trial]))
        steps.append(step)
        output = _run_bisect(runs, step.mark, commit.sha)
        log = _keep_log(runs)
        say(step)
    return steps, log


def _run_bisect(runs: CommitRuns, *words: str) -> str:
    """What git bisect prints; it exits with 2 where only skipped commits are left."""
    done = runs.scratch.run("bisect", *words)
    if done.returncode not in (0, 2):
        raise UsageError(f"git bisect {words[0]}: {format_git_complaint(done)}")
    return done.stdout


def _keep_log(runs: CommitRuns) -> str:
    """git's log of the bisection, which is kept beside the runs."""
    log = read_bytes(runs.scratch.path / "BISECT_LOG", LOG_BYTES_MAX)
    write_whole_file(runs.path / LOG, log)
    return log.decode(errors="replace")  # a subject may be in any encoding


def _judge(figure: BisectedFigure, run: CommitRun) -> Step:
    """What git is told of a commit, by its run."""
    if run.folder is None:
        return Step(run.commit, "skip", None, f"does not build: {run.fault}")
    trial = run.folder.load(figure.trial)
    if trial is None or not trial.ok:
        ending = f"{trial.status}: {trial.error}" if trial else "no trial of this id"
        return Step(run.commit, "skip", None, ending)
    value = figure.figure(trial)
    if value is None:
        return Step(run.commit, "skip", None, f"its trial has no {figure.figure.name}")
    return Step(run.commit, "good" if value == figure.good else "bad", value)


def _load_trial(runs: CommitRuns, commit: Commit, trial: str) -> Trial | None:
    """The trial of a commit; None where it has none."""
    folder = runs.run(commit, [trial]).folder
    return folder.load(trial) if folder else None


def _read_value(figure: Figure, trial: Trial) -> float | None:
    return figure(trial) if trial.ok else None
