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
    BoardOption,
    CheckFormat,
    complete_figure_names,
    make_name_completer,
)
from nandlab.cli.commits import check_commit_series, refuse_options_beside_series
from nandlab.cli.runsettings import (
    CORES,
    AnewOption,
    JobsOption,
    LockedOption,
    OutOption,
    ProgressOption,
    RunSettings,
)
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.analysis.differences.baselines import Baseline
    from nandlab.results.folder import RunFolder


def check(  # noqa: PLR0913 - the command line's own options
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="a study file, or the name of a shipped study"),
    ] = None,
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="the baseline: a figures file, a run's folder, or a published study's name; "
            "default with --patch: the study run without the patches, with --source alone: "
            "without that",
            autocompletion=make_name_completer("published"),
        ),
    ] = None,
    commits: Annotated[
        str | None,
        typer.Option(
            metavar="A..B",
            help="with --source of a git tree: run the study on commit A and each after it to B "
            "that changes the source, and hold each against the one before",
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="with --commits: draw the first figure over them: .svg or .png"
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="RUN", help="check this run's folder; nothing is run"),
    ] = None,
    figure: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="only this figure counts, such as chip.erases or 'chip.*'; may be repeated",
            autocompletion=complete_figure_names,
        ),
    ] = [],  # noqa: B006 - typer copies it
    form: Annotated[
        CheckFormat,
        typer.Option(
            "--format", help="text or markdown to read, csv or json for programs, junit for CI"
        ),
    ] = "text",
    out: OutOption = None,
    jobs: JobsOption = CORES,
    board: BoardOption = None,
    progress: ProgressOption = "auto",
    source: SourceOption = [],  # noqa: B006 - typer copies it
    patch: PatchOption = [],  # noqa: B006
    anew: AnewOption = False,
    locked: LockedOption = False,
) -> None:
    """Run a study, and tell which figures are not those of its baseline any more.

    The exit status is 0 if every figure of every trial is the same to the last digit, 1 if one
    moved, 2 if the two cannot be held against each other. The table names each figure that moved,
    by how much, and whether that is within the ranges of the two ensembles.
    The study is run as nandlab run does it: finished trials are kept, and it may be interrupted.
    Only the trials that the baseline has are run. With --run, nothing is run.
    What is under test may differ from the baseline's: a file system's module, a kernel, a tool.
    That is told. --patch FILE is the shortest: a patch of the kernel's file system, and what it
    moves. The study and the board's model must be the same. A module that was built anew
    from other source takes other times, by some ns; --figure 'chip.*' looks at the flash alone.
    --commits takes a series of commits in place of a baseline (docs/bisect.md). The table has a row
    a commit, and for each configuration the figures of --figure, by default its headline and
    chip.erases. The exit status is 1 if a figure moved at a commit, or a commit could not be run.
    """
    from nandlab.analysis.differences.baselinecheck import compare_run_with_baseline as checked
    from nandlab.analysis.differences.baselinecheck import format_baseline_difference_lines
    from nandlab.analysis.differences.baselines import read_baseline
    from nandlab.report.tables import figurechanges
    from nandlab.results.folder import RunFolder

    if commits is not None:
        refuse_options_beside_series(against, run, form, chart)
        how = RunSettings(out, jobs, progress, read_source_options(source, patch), anew, locked)
        check_commit_series(study, board, how, (commits, figure, form), chart)
        return
    if chart is not None:
        raise UsageError("--chart draws a series of commits: give --commits A..B, or leave it out")
    if (study is None) == (run is None):
        raise UsageError("check: name the STUDY to run, or a run that was made with --run RUN")
    if run is not None and (source or patch):
        raise UsageError("--run with --source or --patch: nothing is run: leave one of both out")
    sources = read_source_options(source, patch)
    if against is None and not sources:
        raise UsageError("check: name the baseline by --against, or what is under test by --patch")
    how = RunSettings(out, jobs, progress, sources, anew, locked)
    if against is None:
        against = _run_without_patches(study, board, how)
    baseline = read_baseline(against)
    if study is not None:
        folder = _run_study(study, board, how, baseline)
    else:
        assert run is not None
        folder = RunFolder(run)
    held = checked(baseline, folder, figure)
    for line in format_baseline_difference_lines(baseline, folder):
        print_note(line)
    print_text(figurechanges.render_figure_changes(held, form))
    if any(one.changed_figures for one in held):
        raise typer.Exit(1)


def _run_without_patches(study: str | None, board: str | None, how: RunSettings) -> Path:
    """The folder of the study's run from the same sources without their patches.

    A part that is built anew takes some ns more or less than the kernel's own, so the baseline is
    built too. Where there are no patches, it is the kernel's own.
    """
    from nandlab.plan.study import find_study_file, read_study_file

    plain = {name: replace(request, patches=()) for name, request in how.sources.items()}
    patched = any(request.patches for request in how.sources.values())
    before = replace(how, out=None, sources=plain if patched else {})
    print_note(f"the baseline: without {'the patches' if patched else 'the sources'}")
    assert study is not None
    return before.run(read_study_file(find_study_file(study), board), list).path


def _run_study(study: str, board: str | None, how: RunSettings, baseline: Baseline) -> RunFolder:
    """The run of the study, with every trial of the baseline."""
    from nandlab.analysis.differences.baselinecheck import refuse_run_unlike_baseline
    from nandlab.plan.study import find_study_file, read_study_file
    from nandlab.results.record import Run

    def refuse(head: Run) -> None:
        refuse_run_unlike_baseline(baseline, Run.model_validate_json(head.model_dump_json()))

    keys = baseline.keys
    return how.run(
        read_study_file(find_study_file(study), board),
        lambda s: [t for t in s if t.id in keys],
        refuse,
    )
