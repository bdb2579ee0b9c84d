# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab reproduce``: does a run again, and tells whether anything differs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import note, write_lines
from nandlab.cli.words import Style

if TYPE_CHECKING:
    from nandlab.analysis.expected import Expected
    from nandlab.results.folder import RunFolder


def reproduce(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="a run's folder, or a study's figures file")
    ],
    trial: Annotated[
        list[str],
        typer.Option(
            "--trial", metavar="ID", help="run only this trial; may be repeated; default: all"
        ),
    ] = [],  # noqa: B006 - typer copies it
    out: Annotated[
        Path | None,
        typer.Option(help="where the trials go; default: results/reproduced/<study>/<run id>"),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="trials at once; default: the number of cores")
    ] = os.cpu_count() or 1,
    *,
    progress: Annotated[
        Style, typer.Option(help="auto: bar on a terminal, plain elsewhere")
    ] = "auto",
    yaffs2_source: Annotated[
        Path | None,
        typer.Option(
            "--yaffs2-source",
            metavar="DIR",
            help="the YAFFS2 core's sources, if the run had its own; default: Debian's u-boot",
        ),
    ] = None,
) -> None:
    """Run a run's trials again on its very board, and compare to the nanosecond.

    RUN is a run's folder, or the figures file that a published study ships (nandlab publish).
    The board is made of the packages that RUN names, by their hashes. If it cannot be the very
    same, or if the trials would not be the same, nothing is run, and the exit status is 2.
    Every trial is run, none is taken from results/store. Interrupted, it goes on where it was when
    it is run again. The exit status is 0 if nothing differs; else it is 1, and the first difference
    is printed: its place, RUN's value, and the new one. A trial that failed in RUN must fail again,
    for the same reason.
    A study with images or a catalog of its own: call this in the folder of the study.
    """
    from nandlab.analysis.expected import expected
    from nandlab.board.opening import open_board
    from nandlab.cli.progress import watcher
    from nandlab.image.begin import Maker, brought
    from nandlab.trial import reproduce as reproducer
    from nandlab.trial.run import Here, execute, with_images

    before = expected(run)
    todo = reproducer.again(before, trial)
    note("preparing the board")
    board = open_board(todo.model, todo.accel, yaffs2_source, lock=todo.lock)
    reproducer.refuse_another(todo, board)
    folder = reproducer.open_folder(todo, board, out)
    ids = [spec.id for spec in todo.wanted]
    with folder.held():
        done = len(set(ids) - set(folder.missing()))
        if done:
            note(
                f"{done} of {len(ids)} trials were run by an earlier reproduce; to run these too, "
                f"remove {folder.path}"
            )
        wanted = with_images(folder, brought(todo.wanted, strictly=True), board, Maker(board))
        asyncio.run(execute(folder, wanted, board, Here(board, jobs), watcher(progress)))
    _tell(before, folder, ids)


def _tell(before: Expected, folder: RunFolder, ids: list[str]) -> None:
    """Prints the first difference, if any; the exit status is then 1."""
    first, differing, failed = None, 0, 0
    for again in (t for i in ids if (t := folder.load(i)) is not None):
        found = before.differences(again)
        differing += bool(found)
        first = first or next(iter(found), None)
        if not again.ok:
            failed += 1
            note(f"{again.id}: {again.status}: {again.error}")
    if first is None:
        as_before = f"; {failed} failed as before" if failed else ""
        trials = f"{len(ids)} trial{'' if len(ids) == 1 else 's'}"
        note(f"no difference: {trials}{as_before}")
        return
    write_lines(first)
    how_many = f"of {len(ids)} trials {differing} differ{'s' if differing == 1 else ''}"
    note(f"{how_many}; they are in {folder.path}")
    raise typer.Exit(1)
