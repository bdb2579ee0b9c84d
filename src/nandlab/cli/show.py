# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab show``: the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_text
from nandlab.cli.arguments import EveryOption, FormatOption, RunArgument, complete_figure_names


def show(
    run: RunArgument,
    form: FormatOption = "text",
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="only this figure, a number for each configuration; commit.p99 will do for "
            "latency.commit.p99, and 'chip.*' is all of the chip",
            autocompletion=complete_figure_names,
        ),
    ] = None,
    *,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="only the claims of the paper that the study repeats"),
    ] = False,
    corner: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="with --paper: a run of the same study on another board; the table then says "
            "which verdicts hang on the board",
        ),
    ] = None,
    further: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="RUN",
            help="with --paper: a run of another study of the paper on the same board, whose "
            "readings are judged together with the run's",
        ),
    ] = None,
    every: EveryOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="a JSON list of trials, as --format json")
    ] = False,
) -> None:
    """Print the results of a run, of a figures file, or of a published study by its name.

    text has the verdict: a table of file systems by criteria, what is open, and last the answer in
    a line; with --all every figure too. markdown has the verdict and the main figures. json is a
    list of trials with all that they measured. csv has a line for each figure of a configuration.
    With --figure, each format has that figure alone: the median over the ensemble, its range, and
    how many trials ended well. With --paper, each format has the paper's claims alone: its number,
    the run's, and the verdict by each reading of the paper.
    """
    from nandlab.base.scratch import buffer_text_pieces
    from nandlab.report.page import terminal
    from nandlab.report.tables import exports
    from nandlab.report.tables.sheets import render_json_list
    from nandlab.trial.publishedrun import open_results

    if (corner or further) and not paper:
        raise UsageError("--corner and --with go with --paper")
    if corner and further:
        raise UsageError("--corner and --with: choose one")
    if paper and figure is not None:
        raise UsageError("--paper and --figure: choose one")
    folder, form = open_results(run), "json" if as_json else form
    if paper:
        from nandlab.report.page import papercomparison

        runs = [folder, *(open_results(path) for path in corner or further or [])]
        print_text(
            papercomparison.render_corners(runs, form)
            if corner
            else papercomparison.render_paper_claims(runs, form)
        )
    elif figure is not None:
        print_text(exports.render_named_figures(folder, figure, form))
    elif form == "json":
        for piece in buffer_text_pieces(render_json_list(terminal.list_trial_json_objects(folder))):
            print_text(piece)
    elif form == "text":
        from nandlab.base.console import Console

        terminal.print_run_results(folder, Console(), every=every)
    else:
        print_text(exports.render_run_figures(folder, form))
