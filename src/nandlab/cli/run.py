# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab run``: the trials of a study that its run still lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli import runcuts
from nandlab.cli.arguments import StudyArgument
from nandlab.cli.board import Accel, AccelOption, DiscardOption, EraseOption
from nandlab.cli.optionclasses import expand_option_classes
from nandlab.cli.ownrun import OwnRun, is_board_file
from nandlab.cli.runsettings import RunArguments, RunSettings

if TYPE_CHECKING:
    from nandlab.plan.study import Study
    from nandlab.plan.trialspec import TrialSpec
    from nandlab.results.folder import RunFolder


MembersOption = Annotated[
    int | None,
    typer.Option(min=1, help="run only the first N members of the ensemble; default: all"),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        metavar="I/N", help="run only every Nth trial, from the Ith on; nandlab merge joins"
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        help="folder of finished trials, which runs on other machines may share; default: "
        "results/store"
    ),
]
WorkersOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="run on the workers of Dask: local:N, tcp://HOST:PORT, or a campaign's file",
    ),
]
InsecureOption = Annotated[
    bool, typer.Option("--insecure", help="with --on: trust a scheduler without certificates")
]
PowercutOption = Annotated[
    bool | None,
    typer.Option(
        "--powercut/--no-powercut",
        show_default=False,
        help="cut the power too once the trials are done, or do not; default: as the study "
        "asks, by a product or by power among its limits",
    ),
]


@expand_option_classes
def run(  # noqa: PLR0913 - the command line's own options
    study: StudyArgument,
    *,
    how: RunArguments,
    members: MembersOption = None,
    shard: ShardOption = None,
    accel: AccelOption = Accel.tcg,
    store: StoreOption = None,
    workers: WorkersOption = None,
    insecure: InsecureOption = False,
    erase: EraseOption = None,
    discard: DiscardOption = False,
    powercut: PowercutOption = None,
) -> None:
    """Run the trials that a study's run still lacks.

    The last line of output is the run's folder. The exit status is 1 if a trial failed.
    A run can be interrupted and started again: finished trials are kept and never rewritten.
    A trial that another run has finished (same board, kernel, programs, steps and seed) is taken
    from results/store, and its file names that run; --anew runs it again. --store has another
    folder for them, which runs on several machines may share at the same time.
    A run goes member by member. A member is every configuration with one seed and phase offset.
    --members 1 runs the first member only; the same command without it goes on with the others.
    --shard 1/3, 2/3 and 3/3 run a third each, on three machines; nandlab merge makes one run.
    If the study is for a product, the power is cut once the trials are done, at a sample of points
    for each file system.
    --on runs the trials on workers, which may be other machines (docs/campaigns.md); --jobs
    has no effect then.
    The board is made of the packages that boards.lock names. If the mirror no longer has them, the
    newest are taken, and every result says so; --locked refuses instead.
    --source and --patch build parts of the kernel; the trials then run on a board with these parts
    (docs/own/kernel.md).
    --board with a file runs on your own board, on the partition that --erase names once more
    (docs/boards.md): one trial at a time, and none is taken from the store.
    """
    from nandlab.plan.shard import Shard
    from nandlab.plan.study import find_study_file, read_study_file
    from nandlab.trial.runner import order_trials

    is_own = how.board is not None and is_board_file(how.board)
    read_study = read_study_file(find_study_file(study), None if is_own else how.board)
    only = Shard.parse(shard) if shard else Shard(1, 1)

    def select_trials(run_study: Study, specs: Sequence[TrialSpec]) -> Sequence[TrialSpec]:
        return only.part(order_trials(specs, run_study.members(members)))

    if how.board is not None and is_own:
        _refuse_virtual_options(how, accel, workers)
        own_run = OwnRun(Path(how.board), erase, discard, how.out, how.progress)
        folder = own_run.run(read_study, select_trials)
    else:
        _refuse_own_options(erase, discard=discard)
        settings = how.make_settings(accel, workers, store, insecure=insecure)
        folder = settings.run(read_study, partial(select_trials, read_study))
        if _cuts_power(powercut, read_study, settings, is_whole=shard is None):
            runcuts.run_power_cut_campaigns(
                read_study, folder, how.jobs, how.progress, settings.sources
            )
    _print_end(folder)


def _refuse_virtual_options(how: RunArguments, accel: Accel, on: str | None) -> None:
    """UsageError for options that the user's own board has no use for."""
    if on is not None or accel is not Accel.tcg or how.source or how.patch:
        raise UsageError(
            "--board FILE: its trials run on that board, with its own kernel: leave --on, "
            "--accel, --source and --patch out"
        )


def _refuse_own_options(erase: str | None, *, discard: bool) -> None:
    """UsageError for options that a virtual board has no use for."""
    if erase is not None or discard:
        raise UsageError(
            "--erase, --discard: the board is a virtual one and has no partition of yours: leave "
            "them out, or name your own board's file by --board"
        )


def _cuts_power(option: bool | None, study: Study, how: RunSettings, *, is_whole: bool) -> bool:
    """Whether the power is cut after a study's trials; it is cut here, on the emulated board."""
    from nandlab.powercut import runcampaigns

    is_requested = runcampaigns.does_study_request_power_cuts(study) if option is None else option
    is_possible = is_whole and how.campaign_address is None and how.accel is Accel.tcg
    if is_requested and not is_possible:
        print_note(
            "power cuts: not of a shard, nor with --on or --accel: nandlab powercut with the run"
        )
    return is_requested and is_possible


def _print_end(folder: RunFolder) -> None:
    """Tells where a run is and which trials failed; exit status 1 if any did."""
    failed = [t for t in folder.trials() if not t.ok]
    for trial in failed:
        print_note(f"{trial.id}: {trial.status}: {trial.error}")
    print_lines(folder.path)
    if failed:
        raise typer.Exit(1)
