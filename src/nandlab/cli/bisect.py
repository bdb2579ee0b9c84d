# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab bisect``: the commit of a git tree that changed a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note, print_text
from nandlab.cli.arguments import make_name_completer
from nandlab.cli.optionclasses import expand_option_classes
from nandlab.cli.runsettings import RunArguments

if TYPE_CHECKING:
    from nandlab.cli.commits import CommitsStudy
    from nandlab.history.bisection import Step, StepBegin

Format = Literal["text", "json"]


@dataclass(frozen=True, kw_only=True)
class CommitRunArguments(RunArguments):
    """The options of a verb that runs a study on commits."""

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="folder of the commits' runs; default: results/commits/<study>-<id>"
        ),
    ] = None


@expand_option_classes
def bisect(
    *,
    good: Annotated[
        str, typer.Option(metavar="REV", help="the older commit, whose figure is as it should be")
    ],
    bad: Annotated[
        str, typer.Option(metavar="REV", help="the newer commit, which gives another figure")
    ],
    study: Annotated[
        str,
        typer.Option(
            metavar="STUDY",
            help="a study file, or the name of a shipped study",
            autocompletion=make_name_completer("studies"),
        ),
    ],
    figure: Annotated[
        str, typer.Option(metavar="NAME", help="the figure that changed, such as chip.erases")
    ],
    trial: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="the trial that judges; default: the study's first whose figure is another",
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="text to read, json for programs")
    ] = "text",
    how: CommitRunArguments,
) -> None:
    """Find the commit that changed a figure.

    --source names a part of the kernel and its folder, or a kernel's tree, in a git checkout. git
    bisect chooses the commits; the part is built from each, and one trial judges it: good if it
    gives the good commit's figure to the last digit, else bad. Only commits that change the part's
    files are tried. --patch is applied to each commit; one that it does not apply to is skipped.
    Nothing is written to the checkout or its repository: the files of a commit go to a scratch
    folder. A commit that does not build, or whose trial fails, is skipped.
    The end names the commit, the figure before and after, and all other figures that it moved.
    The exit status is 0 if one commit was found, 1 if several remain because those between them do
    not build.
    Each commit's run is kept, with bisect.log, git's own log. After an interruption the same
    command goes on. docs/bisect.md shows an example.
    """
    from nandlab.cli.commits import read_commits_study
    from nandlab.history.bisection import find_first_bad_commit, make_bisection_request
    from nandlab.report.tables.bisection import render_bisection

    commits = read_commits_study(study, how.board, how.make_settings())
    _refuse_absent_trial(commits, trial)
    request = make_bisection_request(commits.sources.tree, (good, bad), figure, trial)
    with commits.open_runs() as runs:
        result = find_first_bad_commit(request, runs, _make_step_printer(commits, figure))
        print_text(render_bisection(result, form))
        print_note(f"the commits' runs and git's log: {runs.path}")
    if len(result.suspects) != 1:
        raise typer.Exit(1)


def _refuse_absent_trial(commits: CommitsStudy, trial: str | None) -> None:
    from nandlab.plan.study import plan_trials

    if trial is not None and trial not in [spec.id for spec in plan_trials(commits.study)]:
        raise UsageError(
            f"--trial {trial}: {commits.study.name} has no such trial; nandlab plan lists them"
        )


def _make_step_printer(commits: CommitsStudy, figure: str) -> Callable[[StepBegin | Step], None]:
    """Prints each step as it begins and ends."""
    from nandlab.history.bisection import Step
    from nandlab.report.tables.bisection import format_step_end

    def print_step(event: StepBegin | Step) -> None:
        if isinstance(event, Step):
            commits.note(f"bisect: {format_step_end(event, figure)}")
            return
        left = f"{event.commits_left} commits and about {event.steps_left} steps left after it"
        commits.note(f"bisect: step {event.number}: {event.commit.title}; {left}")

    return print_step
