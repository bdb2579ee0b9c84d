# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab run``: the trials of a study that its run still lacks; and how other verbs run one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli import runcuts
from nandlab.cli.arguments import BoardOption, StudyArgument, Style
from nandlab.cli.board import Accel, AccelOption, DiscardOption, EraseOption
from nandlab.cli.ownrun import OwnRun, is_board_file
from nandlab.cli.preparation import announce_board_preparation
from nandlab.cli.sources import PatchOption, SourceOption, read_source_options

if TYPE_CHECKING:
    from nandlab.board.jobs.job import Board
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.plan.study import Study
    from nandlab.plan.trialspec import TrialSpec
    from nandlab.results.folder import RunFolder
    from nandlab.results.record import Run
    from nandlab.results.store import Store
    from nandlab.trial.runner import Watcher
    from nandlab.trial.workers.address import CampaignAddress

OutOption = Annotated[
    Path | None, typer.Option(help="the run's folder; default: results/<study>/<run id>")
]
JobsOption = Annotated[
    int,
    typer.Option(min=1, show_default=False, help="trials at once; default: the number of cores"),
]
ProgressOption = Annotated[Style, typer.Option(help="auto: bar on a terminal, plain elsewhere")]
AnewOption = Annotated[
    bool, typer.Option("--anew", help="take no trial from the store; run all that the run lacks")
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        help="folder of finished trials, which runs on other machines may share; default: "
        "results/store"
    ),
]
LockedOption = Annotated[
    bool, typer.Option("--locked", help="refuse to run if the locked packages are not to be had")
]
CORES = os.cpu_count() or 1


def accept_any_run(head: Run) -> None:
    """Refuses no run."""


@dataclass(frozen=True)
class RunSettings:
    """How a study is run, as the command line says."""

    out: Path | None
    jobs: int
    progress: Style
    sources: Mapping[str, SourceRequest]
    """Parts of the kernel that are built from another source."""
    anew: bool
    locked: bool
    accel: Accel = Accel.tcg
    campaign_address: CampaignAddress | None = None
    """Where the trials are run; None: here."""
    store: Path | None = None
    """The folder of finished trials; None: results/store."""

    def __post_init__(self) -> None:
        if self.anew and self.store is not None:
            raise UsageError("--anew and --store: --anew uses no store; leave one of them out")

    def run(
        self,
        study: Study,
        part: Callable[[Sequence[TrialSpec]], Sequence[TrialSpec]],
        refuse: Callable[[Run], None] = accept_any_run,
    ) -> RunFolder:
        """Runs the trials that ``part`` takes of the study's, those that the folder lacks.

        refuse: may end it by its error when the board is known, before anything is written.
        """
        import asyncio

        from nandlab.base.paths import RESULTS
        from nandlab.board.opening import open_board
        from nandlab.cli.progress import make_progress_watcher, print_heartbeats_during_run
        from nandlab.image.startimages import StartImageMaker, fetch_trials_tree_packages
        from nandlab.plan import outlook
        from nandlab.plan.study import plan_trials
        from nandlab.results.store import Store
        from nandlab.trial import runner

        if self.out is not None:
            runner.refuse_another_study(study, self.out)
        specs = fetch_trials_tree_packages(plan_trials(study), strictly=self.locked)
        asked = study.product or study.limits
        for line in outlook.format_plan_outlook(study, specs, self.jobs)[1:] if asked else []:
            if self.progress not in runcuts.QUIET:
                print_note(line)
        model = specs[0].virtual
        with announce_board_preparation(model):
            there = open_board(model, self.accel.value, self.sources, locked=self.locked)
        runner.refuse_unsupported_kernel(specs, there.kernel_config, study.name)
        runner.refuse_absent_spinand(specs, there.kernel_config, study.name)
        head = runner.make_run_head(study, specs, there)
        refuse(head)
        folder = runner.open_run_folder(head, self.out)
        store = None if self.anew else Store(self.store or RESULTS / "store")
        watch = make_progress_watcher(self.progress)
        with folder.hold_lock(), print_heartbeats_during_run(watch):
            wanted = runner.add_start_images(
                folder, part(specs), there, StartImageMaker(there), store
            )
            if self.campaign_address is None:
                engine = runner.LocalEngine(there, self.jobs)
                asyncio.run(runner.run_trials(folder, wanted, there, engine, watch, store))
            else:
                asyncio.run(self._away(self.campaign_address, folder, wanted, there, watch, store))
        return folder

    async def _away(
        self,
        on: CampaignAddress,
        folder: RunFolder,
        wanted: Sequence[TrialSpec],
        board: Board,
        watch: Watcher,
        store: Store | None,
    ) -> None:
        """Runs the trials on the workers of a scheduler."""
        from nandlab.trial.runner import run_trials
        from nandlab.trial.workers.cluster import make_cluster_engine
        from nandlab.trial.workers.connection import open_scheduler_client

        async with open_scheduler_client(on) as client:
            there = await make_cluster_engine(
                client, board, wanted[0].virtual, folder.head().packages
            )
            await run_trials(folder, wanted, board, there, watch, store)


def find_campaign_address(
    on: str | None, insecure: bool, sources: Mapping[str, SourceRequest]
) -> CampaignAddress | None:
    """Where trials are to be run if not here; UsageError where they cannot be."""
    from nandlab.trial.workers import address

    if on is None:
        if insecure:
            raise UsageError("--insecure is said of a scheduler: name it by --on")
        return None
    if None in map(importlib.util.find_spec, ("distributed", "cryptography")):
        raise UsageError("--on needs Dask: pip install 'nandlab[distributed]'")
    if sources:
        raise UsageError(
            "--on and --source or --patch: workers build the locked parts alone; a board of the "
            'project with [source] and tree = "package" is built there too'
        )
    return address.parse_campaign_address(on, insecure=insecure)


def run(  # noqa: PLR0913 - the command line's own options
    study: StudyArgument,
    out: OutOption = None,
    jobs: JobsOption = CORES,
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
    progress: ProgressOption = "auto",
    source: SourceOption = [],  # noqa: B006 - typer copies it
    patch: PatchOption = [],  # noqa: B006
    anew: AnewOption = False,
    store: StoreOption = None,
    locked: LockedOption = False,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="run on the workers of Dask: local:N, tcp://HOST:PORT, or a campaign's file",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="with --on: trust a scheduler without certificates")
    ] = False,
    erase: EraseOption = None,
    discard: DiscardOption = False,
    powercut: Annotated[
        bool | None,
        typer.Option(
            "--powercut/--no-powercut",
            show_default=False,
            help="cut the power too once the trials are done, or do not; default: as the study "
            "asks, by a product or by power among its limits",
        ),
    ] = None,
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
    Of a product, the power is cut too when the trials are done: a sample for each file system.
    --on has the trials run by workers on other machines (docs/campaigns.md); --jobs is theirs then.
    The board is made of the packages that boards.lock names. Where these are not to be had, the
    newest are taken, and every result says so; --locked refuses instead.
    --source and --patch build parts of the kernel anew, and the trials are of that board
    (docs/own/kernel.md).
    --board with a file runs on your own board, on the partition that --erase names once more
    (docs/boards.md): one trial at a time, and none is taken from the store.
    """
    from nandlab.plan.shard import Shard
    from nandlab.plan.study import find_study_file, read_study_file
    from nandlab.trial.runner import order_trials

    own = board is not None and is_board_file(board)
    read_study = read_study_file(find_study_file(study), None if own else board)
    only = Shard.parse(shard) if shard else Shard(1, 1)

    def part(of: Study, specs: Sequence[TrialSpec]) -> Sequence[TrialSpec]:
        return only.part(order_trials(specs, of.members(members)))

    if board is not None and own:
        if on is not None or accel is not Accel.tcg or source or patch:
            raise UsageError(
                "--board FILE: its trials run on that board, with its own kernel: leave --on, "
                "--accel, --source and --patch out"
            )
        _print_end(OwnRun(Path(board), erase, discard, out, progress).run(read_study, part))
        return
    if erase is not None or discard:
        raise UsageError(
            "--erase, --discard: the board is a virtual one and has no partition of yours: leave "
            "them out, or name your own board's file by --board"
        )
    sources = read_source_options(source, patch)
    where = find_campaign_address(on, insecure, sources)
    how = RunSettings(out, jobs, progress, sources, anew, locked, accel, where, store)
    folder = how.run(read_study, partial(part, read_study))
    if _cuts_power(powercut, read_study, how, whole=shard is None):
        runcuts.run_power_cut_campaigns(read_study, folder, jobs, progress, sources)
    _print_end(folder)


def _cuts_power(wanted: bool | None, study: Study, how: RunSettings, *, whole: bool) -> bool:
    """Whether the power is cut after a study's trials; it is cut here, on the emulated board."""
    from nandlab.powercut import runcampaigns

    asked = runcampaigns.does_study_request_power_cuts(study) if wanted is None else wanted
    here = whole and how.campaign_address is None and how.accel is Accel.tcg
    if asked and not here:
        print_note(
            "power cuts: not of a shard, nor with --on or --accel: nandlab powercut with the run"
        )
    return asked and here


def _print_end(folder: RunFolder) -> None:
    """Tells where a run is and which trials failed; exit status 1 if any did."""
    failed = [t for t in folder.trials() if not t.ok]
    for trial in failed:
        print_note(f"{trial.id}: {trial.status}: {trial.error}")
    print_lines(folder.path)
    if failed:
        raise typer.Exit(1)
