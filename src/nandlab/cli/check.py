# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab check``: whether a study still gives the figures of its baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note, print_text
from nandlab.cli.arguments import (
    AnyStudyArgument,
    CheckFormat,
    complete_figure_names,
    make_name_completer,
)
from nandlab.cli.commits import check_commit_series, refuse_options_beside_series
from nandlab.cli.optionclasses import expand_option_classes
from nandlab.cli.runsettings import RunArguments, RunSettings

if TYPE_CHECKING:
    from nandlab.analysis.differences.baselines import Baseline
    from nandlab.plan.study import Study
    from nandlab.results.folder import RunFolder


BaselineOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="the baseline: a figures file, a run's folder, or a published study's name; "
        "default with --patch: the study run without the patches, with --source alone: "
        "without that",
        autocompletion=make_name_completer("published"),
    ),
]
CommitsOption = Annotated[
    str | None,
    typer.Option(
        metavar="A..B",
        help="with --source of a git tree: run the study on commit A and each after it to B "
        "that changes the source, and hold each against the one before",
    ),
]
ChartOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="with --commits: draw the first figure over them: .svg or .png"
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option("--run", metavar="RUN", help="check this run's folder; nothing is run"),
]
FiguresOption = Annotated[
    list[str],
    typer.Option(
        metavar="NAME",
        help="only this figure counts, such as chip.erases or 'chip.*'; may be repeated",
        autocompletion=complete_figure_names,
    ),
]
CheckFormatOption = Annotated[
    CheckFormat,
    typer.Option(
        "--format", help="text or markdown to read, csv or json for programs, junit for CI"
    ),
]


@expand_option_classes
def check(
    study: AnyStudyArgument = None,
    *,
    against: BaselineOption = None,
    commits: CommitsOption = None,
    chart: ChartOption = None,
    run: RunOption = None,
    figure: FiguresOption = [],  # noqa: B006 - typer copies it
    form: CheckFormatOption = "text",
    how: RunArguments,
) -> None:
    """Run a study, and list the figures that differ from its baseline.

    The exit status is 0 if every figure of every trial is the same to the last digit, 1 if one
    moved, 2 if the two cannot be compared. The table names each figure that moved,
    by how much, and whether that is within the ranges of the two ensembles.
    The study is run as nandlab run does it: finished trials are kept, and it may be interrupted.
    Only the trials that the baseline has are run. With --run, nothing is run.
    A file system's module, a kernel or a tool may differ from the baseline's; the output says which
    do. The study and the board's model must be the same. --patch FILE is the shortest way: it
    shows what a patch of the kernel's file system moves. A module that is built from other source
    takes some ns more or less in any case; --figure 'chip.*' compares the flash alone.
    --commits takes a series of commits in place of a baseline (docs/bisect.md). The table has a row
    a commit, and for each configuration the figures of --figure, by default its headline and
    chip.erases. The exit status is 1 if a figure moved at a commit, or a commit could not be run.
    """
    from nandlab.analysis.differences.baselines import read_baseline
    from nandlab.results.folder import RunFolder

    if commits is not None:
        refuse_options_beside_series(against, run, form, chart)
        check_commit_series(study, how.board, how.make_settings(), (commits, figure, form), chart)
        return
    if chart is not None:
        raise UsageError("--chart draws a series of commits: give --commits A..B, or leave it out")
    _refuse_vague_check(study, run, against, is_built=bool(how.source or how.patch))
    settings = how.make_settings()
    if study is not None:
        wanted = _read_study(study, how.board)
        baseline = read_baseline(against or _run_without_patches(wanted, settings))
        folder = _run_study(wanted, settings, baseline)
    else:
        assert run is not None and against is not None
        baseline, folder = read_baseline(against), RunFolder(run)
    _print_check(baseline, folder, figure, form)


def _refuse_vague_check(
    study: str | None, run: Path | None, against: Path | None, *, is_built: bool
) -> None:
    """UsageError where two runs are not named. is_built: by --source or --patch."""
    if (study is None) == (run is None):
        raise UsageError("check: name the STUDY to run, or a run that was made with --run RUN")
    if run is not None and is_built:
        raise UsageError("--run with --source or --patch: nothing is run: leave one of both out")
    if against is None and not is_built:
        raise UsageError("check: name the baseline by --against, or what is under test by --patch")


def _print_check(baseline: Baseline, folder: RunFolder, figures: list[str], form: str) -> None:
    """Prints which figures moved; exit status 1 if any did."""
    from nandlab.analysis.differences.baselinecheck import (
        compare_run_with_baseline,
        format_baseline_difference_lines,
    )
    from nandlab.report.tables import figurechanges

    changes = compare_run_with_baseline(baseline, folder, figures)
    for line in format_baseline_difference_lines(baseline, folder):
        print_note(line)
    print_text(figurechanges.render_figure_changes(changes, form))
    if any(one.changed_figures for one in changes):
        raise typer.Exit(1)


def _read_study(name: str, board: str | None) -> Study:
    from nandlab.plan.study import find_study_file, read_study_file

    return read_study_file(find_study_file(name), board)


def _run_without_patches(study: Study, settings: RunSettings) -> Path:
    """The folder of the study's run from the same sources without their patches.

    A part that is built anew takes some ns more or less than the kernel's own, so the baseline is
    built too. Where there are no patches, it is the kernel's own.
    """
    plain = {name: replace(request, patches=()) for name, request in settings.sources.items()}
    patched = any(request.patches for request in settings.sources.values())
    print_note(f"the baseline: without {'the patches' if patched else 'the sources'}")
    return replace(settings, out=None, sources=plain if patched else {}).run(study, list).path


def _run_study(study: Study, settings: RunSettings, baseline: Baseline) -> RunFolder:
    """The run of the study, with every trial of the baseline."""
    from nandlab.analysis.differences.baselinecheck import refuse_run_unlike_baseline
    from nandlab.results.record import Run

    def refuse(head: Run) -> None:
        refuse_run_unlike_baseline(baseline, Run.model_validate_json(head.model_dump_json()))

    return settings.run(study, lambda specs: [s for s in specs if s.id in baseline.keys], refuse)
