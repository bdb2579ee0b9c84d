# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab compare``: what differs between two runs, and by how much figures grew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nandlab.cli.words import FormatOption


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
    """
    from nandlab.analysis.compare import compare as differences
    from nandlab.analysis.compare import taken
    from nandlab.analysis.moved import of_runs
    from nandlab.report import moves
    from nandlab.results.folder import RunFolder

    folders = RunFolder(run_a), RunFolder(run_b)
    found = differences(*folders)
    held = of_runs(*folders)
    if not held:
        print("no trial is in both runs: their studies have none in common", file=sys.stderr)
    for folder in folders:
        for line in taken(folder):
            print(f"{folder.path}: {line}", file=sys.stderr)
    if form != "text" or any(one.moved for one in held):
        print(moves.told(held, form), end="")
    if form == "text" and found:
        print("", *found, sep="\n")
    if found:
        raise typer.Exit(1)
    print("no difference", file=sys.stderr)
