# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab compare``: what differs between two runs, and by how much figures grew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import note, write_lines, write_text
from nandlab.cli.words import FormatOption

if TYPE_CHECKING:
    from nandlab.results.folder import RunFolder


def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B")],
    form: FormatOption = "text",
) -> None:
    """Tell which figures grew or shrank from RUN_A to RUN_B, by how much, and all that differs.

    The table has for each figure both medians, the change, and the ranges of both ensembles; "in
    range" tells whether these touch. A figure is in it if a single trial differs in the last digit.
    Below it, text lists every value that differs, to the nanosecond; the other formats have the
    table alone. The exit status is 1 if anything differs.
    If one run is of a board of your own and the other is not, no two times are the same. The table
    then has every figure that both have: real, simulated, ratio, and the exit status is 0.
    """
    from nandlab.analysis.moved import of_runs
    from nandlab.report import moves
    from nandlab.results.folder import RunFolder

    folders = RunFolder(run_a), RunFolder(run_b)
    own = [folder.head().own_board for folder in folders]
    if own[0] != own[1]:
        _tell_likeness(*(folders if own[0] else folders[::-1]), form)
        return
    compared = of_runs(*folders)
    found, held = compared.differences, compared.held
    if not held:
        note("no trial is in both runs: their studies have none in common")
    for folder, taken in zip(folders, compared.taken, strict=True):
        for line in taken:
            note(f"{folder.path}: {line}")
    if form != "text" or any(one.moved for one in held):
        write_text(moves.told(held, form))
    if form == "text" and found:
        write_lines("", *found)
    if found:
        raise typer.Exit(1)
    note("no difference")


def _tell_likeness(real: RunFolder, simulated: RunFolder, form: str) -> None:
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
