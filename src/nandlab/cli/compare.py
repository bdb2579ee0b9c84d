# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab compare``: what differs between two runs, and by how much figures grew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import note, write_lines, write_text
from nandlab.cli.words import FormatOption, named

if TYPE_CHECKING:
    from nandlab.analysis.moved import Compared
    from nandlab.results.folder import Results


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", autocompletion=named("published"))],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", autocompletion=named("published"))],
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
    from nandlab.analysis.moved import of_runs
    from nandlab.base.errors import UsageError
    from nandlab.trial.published import results

    if brief and form != "text":
        raise UsageError(f"--brief and --format {form}: brief is text: leave one of them out")
    folders = results(run_a), results(run_b)
    own = [folder.head().own_board for folder in folders]
    if own[0] != own[1]:
        _tell_likeness(*(folders if own[0] else folders[::-1]), form)
        return
    compared = of_runs(*folders)
    if not compared.held:
        note("no trial is in both runs: their studies have none in common")
    for folder, taken in zip(folders, compared.taken, strict=True):
        for line in taken:
            note(f"{folder.path}: {line}")
    _print(compared, form, brief=brief)
    if compared.differences or compared.changed:
        raise typer.Exit(1)
    note("no difference")


def _print(compared: Compared, form: str, *, brief: bool) -> None:
    """What was not alike, what moved, and in text all that differs."""
    from nandlab.report import moves

    found, held, changed = compared.differences, compared.held, compared.changed
    if brief:
        write_lines(*moves.brief(held, changed))
        return
    if changed and form in ("csv", "json"):
        note(*changed)
    if form != "text" or changed or any(one.moved for one in held):
        write_text(moves.told(held, form, changed))
    if form == "text" and found:
        write_lines("", *found)


def _tell_likeness(real: Results, simulated: Results, form: str) -> None:
    """Tells how like a run on a board of the user's own one on a virtual board is."""
    from nandlab.analysis.likeness import both
    from nandlab.base.errors import UsageError
    from nandlab.report import likeness

    if not (found := both(list(real.trials()), list(simulated.trials()))):
        raise UsageError(
            "no configuration ended well in both runs: the chip's name and the partition must be "
            "the same (nandlab board calibrate makes a chip for both)"
        )
    write_text(likeness.told(found, form))
