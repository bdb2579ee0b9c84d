# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab compare``: what differs between two runs, and by how much figures grew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_lines, print_note, print_text
from nandlab.cli.arguments import FormatOption, make_name_completer

if TYPE_CHECKING:
    from collections.abc import Collection

    from nandlab.analysis.differences.compare import Difference
    from nandlab.analysis.differences.figurechanges import RunComparison
    from nandlab.base.scratch import WaitingText
    from nandlab.results.folder import Results


def compare(
    run_a: Annotated[
        Path, typer.Argument(metavar="RUN_A", autocompletion=make_name_completer("published"))
    ],
    run_b: Annotated[
        Path, typer.Argument(metavar="RUN_B", autocompletion=make_name_completer("published"))
    ],
    form: FormatOption = "text",
    *,
    brief: Annotated[
        bool, typer.Option("--brief", help="text alone: a line for each configuration that moved")
    ] = False,
) -> None:
    """Tell which figures grew or shrank from RUN_A to RUN_B, by how much, and all that differs.

    First it names what the two did not have alike: board, kernel, chips, file systems, loads. The
    table has for each figure both medians, the change, and the ranges of both ensembles; "in range"
    tells whether these touch. A figure is in it if a single trial differs in the last digit. Below
    it, text lists every value that differs, to the nanosecond; the other formats have the table
    alone. The exit status is 1 if anything differs.
    A run is a folder, a figures file, or a published study's name: nandlab compare quickstart RUN.
    If one run is of a board of your own and the other is not, no two times are the same. The table
    then has every figure that both have: real, simulated, ratio, and the exit status is 0.
    """
    from nandlab.analysis.differences.compare import format_difference_lines
    from nandlab.analysis.differences.figurechanges import make_run_comparison
    from nandlab.base.errors import UsageError
    from nandlab.base.scratch import hold_waiting_text
    from nandlab.trial.publishedrun import open_results

    if brief and form != "text":
        raise UsageError(f"--brief and --format {form}: brief is text: leave one of them out")
    folders = open_results(run_a), open_results(run_b)
    own = [folder.head().own_board for folder in folders]
    if own[0] != own[1]:
        _print_likeness(*(folders if own[0] else folders[::-1]), form)
        return
    with hold_waiting_text() as text:

        def write_differences(differences: Collection[Difference]) -> None:
            if form == "text" and not brief:
                text.write(format_difference_lines(differences))

        compared = make_run_comparison(*folders, write_differences)
        if not compared.compared_configurations:
            print_note("no trial is in both runs: their studies have none in common")
        for folder, lines in zip(folders, compared.source_runs, strict=True):
            for line in lines:
                print_note(f"{folder.path}: {line}")
        _print_comparison(compared, form, text, brief=brief)
    if compared.difference_count or compared.setup_differences:
        raise typer.Exit(1)
    print_note("no difference")


def _print_comparison(
    compared: RunComparison, form: str, differences: WaitingText, *, brief: bool
) -> None:
    """What was not alike, what moved, and in text all that differs."""
    from nandlab.report.tables import figurechanges
    from nandlab.report.tables.sheets import find_sheet_format

    configurations, setup_lines = compared.compared_configurations, compared.setup_differences
    if brief:
        print_lines(*figurechanges.format_figure_change_lines(configurations, setup_lines))
        return
    if setup_lines and find_sheet_format(form).of_records:
        print_note(*setup_lines)
    if form != "text" or setup_lines or any(change.changed_figures for change in configurations):
        print_text(figurechanges.render_figure_changes(configurations, form, setup_lines))
    if form == "text" and compared.difference_count:
        print_lines("")
        for piece in differences.read_pieces():
            print_text(piece)


def _print_likeness(real: Results, simulated: Results, form: str) -> None:
    """Tells how like a run on a board of the user's own one on a virtual board is."""
    from nandlab.analysis.differences.likeness import compare_real_and_simulated_trials
    from nandlab.base.errors import UsageError
    from nandlab.report.tables import likeness

    if not (
        comparison := compare_real_and_simulated_trials(
            list(real.trials()), list(simulated.trials())
        )
    ):
        raise UsageError(
            "no configuration ended well in both runs: the chip's name and the partition must be "
            "the same (nandlab board calibrate makes a chip for both)"
        )
    print_text(likeness.render_board_likeness(comparison, form))
