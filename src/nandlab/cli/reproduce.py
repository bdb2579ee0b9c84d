# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab reproduce``: does a run again, and tells whether anything differs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_lines, print_note, print_text
from nandlab.cli.arguments import RunArgument
from nandlab.cli.preparation import announce_board_preparation
from nandlab.cli.runsettings import CORES, JobsOption, ProgressOption
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.analysis.differences.baselines import Baseline
    from nandlab.board.jobs.job import Board
    from nandlab.cli.arguments import Style
    from nandlab.results.folder import RunFolder
    from nandlab.trial.reproduction import Reproduction


def reproduce(
    run: RunArgument,
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
    jobs: JobsOption = CORES,
    *,
    progress: ProgressOption = "auto",
    source: SourceOption = [],  # noqa: B006 - typer copies it
    patch: PatchOption = [],  # noqa: B006
) -> None:
    """Run a run's trials again on the board that it names, and compare to the nanosecond.

    RUN is a run's folder, or the figures file that a published study ships (nandlab publish).
    The board is made of the packages that RUN names, by their hashes; the programs and modules on
    it are this nandlab's. Which parts are not RUN's is told before anything runs.
    Every trial is run, none is taken from results/store. Interrupted, it goes on where it was when
    it is run again. A trial that failed in RUN must fail again, for the same reason.
    The exit status is 0 if nothing differs. It is 1 if anything does: on the very same board the
    first difference is printed, with its place, RUN's value and the new one; on one with other
    parts a table of what moved and by how much, as nandlab check has it. It is 2 if RUN cannot be
    run here: it is damaged, its packages are not to be had, or its study has no such trials today.
    Chips and workloads of the study's own are taken from RUN. For images, file systems or programs
    of its own, call this in the folder of the study.
    """
    from nandlab.analysis.differences.baselines import read_baseline
    from nandlab.board.opening import open_board
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.trial import reproduction as reproducer

    before = read_baseline(run)
    todo = reproducer.plan_reproduction(before, trial)
    sources = {**todo.find_package_sources(), **read_source_options(source, patch)}
    model = find_media_board(todo.specs, sources)
    with announce_board_preparation(model):
        board = open_board(model, todo.accel, sources, lock=todo.lock)
    for line in reproducer.list_reproduction_notes(todo, board):
        print_note(line)
    folder = reproducer.open_reproduction_folder(todo, board, out)
    _run_trials(todo, folder, board, jobs, progress)
    is_same_board = not reproducer.list_differing_board_parts(todo, board)
    ids = [spec.id for spec in todo.specs_to_run]
    _print_differences(before, folder, ids, same_board=is_same_board)


def _run_trials(
    todo: Reproduction, folder: RunFolder, board: Board, jobs: int, progress: Style
) -> None:
    """Runs the trials that the folder lacks, and says which it has."""
    import asyncio

    from nandlab.cli.progress import make_progress_watcher
    from nandlab.image.startimages import StartImageMaker, fetch_trials_tree_packages
    from nandlab.trial.runner import LocalEngine, add_start_images, run_trials

    ids = {spec.id for spec in todo.specs_to_run}
    with folder.hold_lock():
        if done := len(ids - set(folder.missing())):
            print_note(
                f"{done} of {len(ids)} trials were run by an earlier reproduce; to run these too, "
                f"remove {folder.path}"
            )
        specs = fetch_trials_tree_packages(todo.specs_to_run, strictly=True)
        wanted = add_start_images(folder, specs, board, StartImageMaker(board))
        engine, watcher = LocalEngine(board, jobs), make_progress_watcher(progress)
        asyncio.run(run_trials(folder, wanted, board, engine, watcher))


def _print_differences(
    before: Baseline, folder: RunFolder, ids: list[str], *, same_board: bool
) -> None:
    """Prints what differs, if anything does; the exit status is then 1."""
    from nandlab.analysis.differences.figurechanges import (
        list_configuration_changes,
        summarize_differences,
    )
    from nandlab.report.tables import figurechanges

    trials = [trial for i in ids if (trial := folder.load(i)) is not None]
    unlike = summarize_differences({t.id: before.list_differences(t) for t in trials})
    failed = [trial for trial in trials if not trial.ok]
    for trial in failed:
        print_note(f"{trial.id}: {trial.status}: {trial.error}")
    if not unlike:
        as_before = f"; {len(failed)} failed as before" if failed else ""
        print_note(f"no difference: {len(ids)} trial{'' if len(ids) == 1 else 's'}{as_before}")
        return
    if same_board:
        print_lines(next(iter(unlike.values())).first)
    else:
        print_text(
            figurechanges.render_figure_changes(
                list_configuration_changes([before.find_sides(t) for t in trials], unlike), "text"
            )
        )
    how_many = f"of {len(ids)} trials {len(unlike)} differ{'s' if len(unlike) == 1 else ''}"
    print_note(f"{how_many}; they are in {folder.path}")
    raise typer.Exit(1)
