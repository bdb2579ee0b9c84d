# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab model board``: the models beside the traces of a real board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.printer import print_json, print_paragraphs
from nandlab.cli.arguments import JsonOption


def board(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="a load's traces: syscalls, ffs_tracer and flashmon, a CSV file for each run; or "
            "a folder of such folders",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Score the models on a real board's traces, as far as its flash's first state matters not.

    Calls of jffs2_readpage from the system calls; the time of a burst of reads given its flash
    pages; a page's time; the collector's reads. Beside each score is what was fitted, on which
    run, and what is not known. docs/model.md has the columns.
    """
    from nandlab.flash.reading import boardscore, boardwords
    from nandlab.flash.reading.boardscores import ModelBoard
    from nandlab.traced.boardtraces import read_board_traces_of_loads

    found = [boardscore.score_traced_load(load) for load in read_board_traces_of_loads(folder)]
    if as_json:
        print_json(ModelBoard(loads=found).model_dump(mode="json"))
        return
    print_paragraphs(boardwords.format_load_scores(one) for one in found)
