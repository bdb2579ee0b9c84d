# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab show``: the results of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_text
from nandlab.cli.arguments import EveryOption, FormatOption, RunArgument, complete_figure_names

if TYPE_CHECKING:
    from nandlab.results.folder import Results


FigureOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="only this figure, a number for each configuration; commit.p99 will do for "
        "latency.commit.p99, and 'chip.*' is all of the chip",
        autocompletion=complete_figure_names,
    ),
]
PaperOption = Annotated[
    bool,
    typer.Option("--paper", help="only the claims of the paper that the study repeats"),
]
CornerOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="RUN",
        help="with --paper: a run of the same study on another board; the table then says "
        "which verdicts hang on the board",
    ),
]
FurtherOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="with --paper: a run of another study of the paper on the same board, whose "
        "readings are judged together with the run's",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="a JSON list of trials, as --format json")]


def show(
    run: RunArgument,
    form: FormatOption = "text",
    figure: FigureOption = None,
    *,
    paper: PaperOption = False,
    corner: CornerOption = None,
    further: FurtherOption = None,
    full: EveryOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the results of a run, of a figures file, or of a published study by its name.

    text has the verdict: a table of file systems by criteria, the questions that are still open,
    and the answer in its last line; --all adds every figure. markdown has the verdict and the main
    figures. json is a list of trials with all that they measured. csv has a line for each figure of
    a configuration.
    With --figure, each format has that figure alone: the median over the ensemble, its range, and
    how many trials ended well. With --paper, each format has the paper's claims alone: its number,
    the run's, and the verdict by each reading of the paper. A run of a shipped study that named no
    paper yet has the one that the study names today.
    """
    from nandlab.trial.publishedrun import open_results

    _refuse_mixed_options(figure, corner, further, paper=paper)
    results, form = open_results(run), "json" if as_json else form
    if paper:
        _print_claims(results, corner, further, form)
    elif figure is not None:
        from nandlab.report.tables import exports

        print_text(exports.render_named_figures(results, figure, form))
    else:
        _print_results(results, form, full=full)


def _refuse_mixed_options(
    figure: str | None, corner: list[Path] | None, further: list[Path] | None, *, paper: bool
) -> None:
    """UsageError for options of which one has no use beside another, or without it."""
    if (corner or further) and not paper:
        raise UsageError("--corner and --with go with --paper")
    if corner and further:
        raise UsageError("--corner and --with: choose one")
    if paper and figure is not None:
        raise UsageError("--paper and --figure: choose one")


def _print_claims(
    results: Results, corner: list[Path] | None, further: list[Path] | None, form: str
) -> None:
    """Prints the paper's claims of the run and of others, side by side or judged together."""
    from nandlab.report.page import papercomparison
    from nandlab.trial.publishedrun import open_results

    runs = [results, *(open_results(path) for path in corner or further or [])]
    if corner:
        print_text(papercomparison.render_corners(runs, form))
    else:
        print_text(papercomparison.render_paper_claims(runs, form))


def _print_results(results: Results, form: str, *, full: bool) -> None:
    """Prints the verdict and the figures of a run, or its trials."""
    from nandlab.base.console import Console
    from nandlab.base.scratch import buffer_text_pieces
    from nandlab.report.page import terminal
    from nandlab.report.tables import exports
    from nandlab.report.tables.sheets import render_json_list

    if form == "json":
        for piece in buffer_text_pieces(
            render_json_list(terminal.list_trial_json_objects(results))
        ):
            print_text(piece)
    elif form == "text":
        terminal.print_run_results(results, Console(), full=full)
    else:
        print_text(exports.render_run_figures(results, form))
