# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: one verb per stage, which works on the files of the stage before."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from nandlab import __version__
from nandlab.base.paths import DOCS
from nandlab.base.printer import print_lines, print_note
from nandlab.cli import exits, runcuts
from nandlab.cli.advise import advise
from nandlab.cli.arguments import AnyStudyArgument, BoardOption, RunArgument
from nandlab.cli.bisect import bisect
from nandlab.cli.board import board_app
from nandlab.cli.cache import cache_app
from nandlab.cli.check import check
from nandlab.cli.chip import chip_app
from nandlab.cli.compare import compare
from nandlab.cli.execute import execute
from nandlab.cli.faults import faults
from nandlab.cli.image import image_app
from nandlab.cli.man import man
from nandlab.cli.merge import merge
from nandlab.cli.model import model_app
from nandlab.cli.modelboard import board as model_board
from nandlab.cli.powercut import powercut
from nandlab.cli.publish import publish
from nandlab.cli.reprice import reprice
from nandlab.cli.reproduce import reproduce
from nandlab.cli.run import run
from nandlab.cli.runsettings import CORES
from nandlab.cli.schema import schema
from nandlab.cli.show import show
from nandlab.cli.space import space
from nandlab.cli.trace import trace_app
from nandlab.cli.workload import workload_app

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Which flash file system should this product use, which must it avoid, and why?\n\n"
    "A study (TOML) names workloads, file systems, chips and flash states; nandlab runs the real "
    "Linux file systems on a virtual board with a simulated NAND chip and a clock that repeats "
    "to the nanosecond.\n\n"
    "Begin with: nandlab show quickstart (the published answer), nandlab run quickstart (the same "
    "run here)",
    epilog=f"The pages that help names as docs/NAME.md are in {DOCS}",
)
app.add_typer(board_app, name="board")
app.add_typer(cache_app, name="cache")
app.add_typer(chip_app, name="chip")
app.add_typer(image_app, name="image")
app.add_typer(trace_app, name="trace")
model_app.command("board")(model_board)
app.add_typer(model_app, name="model")
app.add_typer(workload_app, name="workload")


@app.command()
def plan(study: AnyStudyArgument = None, board: BoardOption = None) -> None:
    """List the trials of a study with their ids; without a study, the shipped studies with their
    questions. Nothing is run or fetched.

    Told besides, on standard error: how many trials there are, about how long they take, and what
    they will not answer, each with the edit of the study that mends it.

    If the board's kernel has been fetched before, it is checked for all that the study asks of it.
    `nandlab run` checks this in any case, before the first trial.
    """
    from nandlab.base.errors import UsageError
    from nandlab.base.gate import read_toml
    from nandlab.board.kit.kit import find_unpacked_kernel
    from nandlab.board.virtual.partset import add_board_sources, set_part_symbols
    from nandlab.plan import outlook
    from nandlab.plan.mediaboard import find_media_board
    from nandlab.plan.study import (
        find_shipped_study_files,
        find_study_file,
        plan_trials,
        read_study_file,
    )
    from nandlab.trial.runner import SPINAND_REMEDY, refuse_unsupported_kernel

    if study is None:
        if board:
            raise UsageError("plan: --board needs a study: nandlab plan STUDY --board NAME")
        for name, path in find_shipped_study_files().items():
            print_lines(f"{name:28}  {read_toml(path)['question']}")
        return
    read_study = read_study_file(find_study_file(study), board)
    specs = plan_trials(read_study)
    model = find_media_board(specs)
    kernel = find_unpacked_kernel(model)
    if kernel is not None:
        parts = (r.part.settings(r.options) for r in add_board_sources(model, {}).values())
        refuse_unsupported_kernel(specs, set_part_symbols(kernel.config, parts), read_study.name)
    for spec in specs:
        print_lines(f"{spec.id}  {spec.title()}")
    print_note(*outlook.format_plan_outlook(read_study, specs, CORES))
    for name, note in {s.chip.name: s.chip.ecc_note for s in specs if s.chip.ecc_note}.items():
        print_note(f"{name}: {note}")
    if any(s.spinand for s in specs) and "spinand" not in model.source:
        print_note(f"spinand: the kernel has no such driver: {SPINAND_REMEDY}")
    if cuts := runcuts.format_power_cut_plan(read_study, CORES):
        print_note(cuts)


app.command()(run)
app.command()(show)
app.command()(powercut)
app.command()(faults)
app.command(name="exec")(execute)


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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="default: report in the run's folder, or results/published/STUDY/report",
        ),
    ] = None,
) -> None:
    """Write a run's report: one HTML file, and its charts as PNG and SVG beside it."""
    from nandlab.base.ulimits import refuse_drawing_below_limits

    refuse_drawing_below_limits()  # before libraries that abort too
    from nandlab.analysis.verdicts.battery import make_battery_from_watt_hours
    from nandlab.analysis.verdicts.limits import make_limits_from_spec
    from nandlab.base import amounts
    from nandlab.cli.preparation import print_heartbeats
    from nandlab.report import write_run_report
    from nandlab.trial.publishedrun import open_results

    folder = open_results(run)
    given = daily_write and amounts.parse_size(daily_write, "--daily-write")
    battery = make_battery_from_watt_hours(
        battery_wh, given or make_limits_from_spec(folder.head().spec).daily
    )
    with print_heartbeats("writing the report"):
        page = write_run_report(folder, out, battery=battery)
    print_lines(page)


app.command()(check)
app.command()(bisect)
app.command()(compare)
app.command()(advise)
app.command()(reproduce)
app.command()(publish)
app.command()(merge)
app.command()(reprice)
app.command()(space)
app.command()(schema)
app.command()(man)


@app.command()
def doctor(
    kvm: Annotated[
        bool,
        typer.Option("--kvm", help="try KVM too, which nandlab runs without: up to half a minute"),
    ] = False,
) -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from nandlab.cli.doctor import print_requirement_checks

    if not print_requirement_checks(kvm=kvm):
        raise typer.Exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print_lines(f"nandlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    del version


@cache
def make_parser() -> Callable[..., Any]:
    """The parser of the command line, built once: that takes longer than most commands."""
    return typer.main.get_command(app)


def main() -> None:
    """Entry point: errors become one clear message and an exit status."""
    exits.run_command_line(lambda: make_parser()(standalone_mode=False))
