# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: one verb per stage, which works on the files of the stage before."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from nandlab import __version__
from nandlab.base.errors import NandlabError
from nandlab.base.paths import cache_dir
from nandlab.cli.advise import advise
from nandlab.cli.board import Accel, AccelOption, Yaffs2Option, board_app
from nandlab.cli.chip import chip_app
from nandlab.cli.image import image_app
from nandlab.cli.merge import merge
from nandlab.cli.model import model_app
from nandlab.cli.publish import publish
from nandlab.cli.reprice import reprice
from nandlab.cli.reproduce import reproduce
from nandlab.cli.space import space
from nandlab.cli.trace import trace_app
from nandlab.cli.words import Style
from nandlab.cli.workload import workload_app

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which flash file system should this product use, which must it avoid, and why?\n\n"
    "A study (TOML) names workloads, file systems, chips and flash states; nandlab runs the real "
    "Linux file systems on a virtual board with a simulated NAND chip and a clock that repeats "
    "to the nanosecond.\n\n"
    "Begin with: nandlab run quickstart",
)
app.add_typer(board_app, name="board")
app.add_typer(chip_app, name="chip")
app.add_typer(image_app, name="image")
app.add_typer(trace_app, name="trace")
app.add_typer(model_app, name="model")
app.add_typer(workload_app, name="workload")

StudyArgument = Annotated[
    str, typer.Argument(metavar="STUDY", help="a study file, or the name of a shipped study")
]
BoardOption = Annotated[
    str | None,
    typer.Option("--board", metavar="NAME", help="a board of the catalog instead of the study's"),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")]


@app.command()
def plan(study: StudyArgument, board: BoardOption = None) -> None:
    """List the trials of a study with their ids. Nothing is run or fetched.

    If the board's kernel has been fetched before, it is checked for all that the study asks of it.
    `nandlab run` checks this in any case, before the first trial.
    """
    from nandlab.kit.kit import kernel_here
    from nandlab.plan.study import find, read
    from nandlab.plan.study import plan as expand
    from nandlab.trial.run import refuse_what_the_kernel_lacks

    read_study = read(find(study), board)
    specs = expand(read_study)
    kernel = kernel_here(specs[0].board)
    if kernel is not None:
        refuse_what_the_kernel_lacks(specs, kernel.config, read_study.name)
    for spec in specs:
        print(f"{spec.id}  {spec.title()}")


@app.command()
def run(  # noqa: PLR0913 - the command line's own options
    study: StudyArgument,
    out: Annotated[
        Path | None, typer.Option(help="the run's folder; default: results/<study>/<run id>")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="trials at once; default: the number of cores")
    ] = os.cpu_count() or 1,
    *,
    board: BoardOption = None,
    members: Annotated[
        int | None,
        typer.Option(min=1, help="run only the first N members of the ensemble; default: all"),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="run only every Nth trial, from the Ith on; nandlab merge joins"
        ),
    ] = None,
    accel: AccelOption = Accel.tcg,
    progress: Annotated[
        Style, typer.Option(help="auto: bar on a terminal, plain elsewhere")
    ] = "auto",
    yaffs2_source: Yaffs2Option = None,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="take no trial from results/store; run all that the run lacks"),
    ] = False,
    locked: Annotated[
        bool,
        typer.Option("--locked", help="refuse to run if the locked packages are not to be had"),
    ] = False,
) -> None:
    """Run the trials that a study's run still lacks.

    The last line of output is the run's folder. The exit status is 1 if a trial failed.
    A run can be interrupted and started again: finished trials are kept and never rewritten.
    A trial that another run has finished (same board, kernel, programs, steps and seed) is taken
    from results/store, and its file names that run; --anew runs it again.
    A run goes member by member. A member is every configuration with one seed and phase offset.
    --members 1 runs the first member only; the same command without it goes on with the others.
    --shard 1/3, 2/3 and 3/3 run a third each, on three machines; nandlab merge makes one run.
    The board is made of the packages that boards.lock names. Where these are not to be had, the
    newest are taken, and every result says so; --locked refuses instead.
    """
    from nandlab.base.paths import RESULTS
    from nandlab.board.opening import open_board
    from nandlab.cli.progress import watcher
    from nandlab.image.begin import Maker, brought
    from nandlab.plan.shard import Shard
    from nandlab.plan.study import find, read
    from nandlab.plan.study import plan as expand
    from nandlab.results.store import Store
    from nandlab.trial import run as runner

    read_study = read(find(study), board)
    only = Shard.read(shard) if shard else Shard(1, 1)
    specs = brought(expand(read_study), strictly=locked)
    print("preparing the board", file=sys.stderr, flush=True)
    there = open_board(specs[0].board, accel.value, yaffs2_source, locked=locked)
    runner.refuse_what_the_kernel_lacks(specs, there.kernel_config, read_study.name)
    folder = runner.open_folder(runner.head(read_study, specs, there), out)
    store = None if anew else Store(RESULTS / "store")
    wanted = only.part(runner.order(specs, read_study.members(members)))
    with folder.held():
        wanted = runner.with_images(folder, wanted, there, Maker(there), store)
        asyncio.run(runner.execute(folder, wanted, there, jobs, watcher(progress), store))
    failed = [t for t in folder.trials() if not t.ok]
    for trial in failed:
        print(f"{trial.id}: {trial.status}: {trial.error}", file=sys.stderr)
    print(folder.path)
    if failed:
        raise typer.Exit(1)


@app.command()
def show(
    run: RunArgument,
    as_json: Annotated[bool, typer.Option("--json", help="a JSON list of trials")] = False,
) -> None:
    """Print the results of a run."""
    from nandlab.report import terminal as shower
    from nandlab.results.folder import RunFolder

    folder = RunFolder(run)
    if as_json:
        print(json.dumps(shower.as_json(folder), indent=1))
        return
    from rich.console import Console

    shower.print_table(folder, Console())


@app.command()
def report(
    run: RunArgument,
    battery_wh: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="a battery's Wh: tell how many days it lasts; needs the bytes of a day"
        ),
    ] = None,
    daily_write: Annotated[
        str | None,
        typer.Option(help="bytes that a day's load writes, such as 200M; none: those of the study"),
    ] = None,
) -> None:
    """Write a run's report: one HTML file, and its charts as PNG and SVG beside it."""
    from nandlab import report as reporter
    from nandlab.analysis.battery import asked_of
    from nandlab.analysis.limits import of_study
    from nandlab.base import amounts
    from nandlab.results.folder import RunFolder

    folder = RunFolder(run)
    given = daily_write and amounts.size(daily_write, "--daily-write")
    battery = asked_of(battery_wh, given or of_study(folder.head().spec).daily)
    print(reporter.write(folder, battery=battery))


app.command()(advise)
app.command()(reproduce)
app.command()(publish)
app.command()(merge)
app.command()(reprice)
app.command()(space)


@app.command()
def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B")],
) -> None:
    """List what differs between two runs, to the nanosecond. Exit status 1 if anything does."""
    from nandlab.analysis.compare import compare as differences
    from nandlab.analysis.compare import taken
    from nandlab.results.folder import RunFolder

    folders = RunFolder(run_a), RunFolder(run_b)
    found = differences(*folders)
    if not set(folders[0].head().trials) & set(folders[1].head().trials):
        print("no trial is in both runs: their studies have none in common", file=sys.stderr)
    for folder in folders:
        for line in taken(folder):
            print(f"{folder.path}: {line}", file=sys.stderr)
    for difference in found:
        print(difference)
    if found:
        raise typer.Exit(1)
    print("no difference", file=sys.stderr)


@app.command()
def doctor() -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from nandlab.cli.doctor import examine

    if not examine():
        raise typer.Exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"nandlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    del version


INTERRUPTED = 128 + signal.SIGINT
"""Typer's exit status after Ctrl-C."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk."""


def _end(number: int, frame: object) -> None:
    """Ends as an interruption does, so that what is half done is removed."""
    sys.exit(128 + number)


def main() -> None:
    """Entry point: errors become one clear message and an exit status."""
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except NandlabError as e:
        print(f"nandlab: {e}", file=sys.stderr)
        sys.exit(e.exit_code)
    except SystemExit as e:
        if e.code == INTERRUPTED:
            resumes = "; run again to go on" if sys.argv[1:2] == ["run"] else ""
            print(f"nandlab: interrupted{resumes}", file=sys.stderr)
        raise
    except BrokenPipeError:
        sys.exit(141)
    except OSError as e:
        if e.filename is None and e.errno not in FULL:
            raise
        where = f"{e.filename}: " if e.filename else ""
        todo = f"; the cache is {cache_dir()}, NANDLAB_CACHE moves it" if e.errno in FULL else ""
        print(f"nandlab: {where}{e.strerror}{todo}", file=sys.stderr)
        sys.exit(2)
