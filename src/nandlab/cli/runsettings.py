# SPDX-License-Identifier: GPL-2.0-or-later
"""How verbs run a study: the options that they share, and the run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.cli.arguments import QUIET_STYLES, BoardOption, Style
from nandlab.cli.board import Accel
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
        from nandlab.plan.mediaboard import find_media_board
        from nandlab.plan.study import plan_trials
        from nandlab.results.store import Store
        from nandlab.trial import runner

        if self.out is not None:
            runner.refuse_another_study(study, self.out)
        specs = fetch_trials_tree_packages(plan_trials(study), strictly=self.locked)
        asked = study.product or study.limits
        for line in outlook.format_plan_outlook(study, specs, self.jobs)[1:] if asked else []:
            if self.progress not in QUIET_STYLES:
                print_note(line)
        model = find_media_board(specs, self.sources)
        with announce_board_preparation(model):
            board = open_board(model, self.accel.value, self.sources, locked=self.locked)
        runner.refuse_unsupported_kernel(specs, board.kernel_config, study.name)
        runner.refuse_absent_spinand(specs, board.kernel_config, study.name)
        head = runner.make_run_head(study, specs, board)
        refuse(head)
        folder = runner.open_run_folder(head, self.out)
        store = None if self.anew else Store(self.store or RESULTS / "store")
        watch = make_progress_watcher(self.progress)
        with folder.hold_lock(), print_heartbeats_during_run(watch):
            lacking = runner.add_start_images(
                folder, part(specs), board, StartImageMaker(board), store
            )
            if self.campaign_address is None:
                engine = runner.LocalEngine(board, self.jobs)
                asyncio.run(runner.run_trials(folder, lacking, board, engine, watch, store))
            else:
                asyncio.run(self._away(self.campaign_address, folder, lacking, board, watch, store))
        return folder

    async def _away(
        self,
        address: CampaignAddress,
        folder: RunFolder,
        specs: Sequence[TrialSpec],
        board: Board,
        watch: Watcher,
        store: Store | None,
    ) -> None:
        """Runs the trials on the workers of a scheduler."""
        from nandlab.plan.mediaboard import find_media_board
        from nandlab.trial.runner import run_trials
        from nandlab.trial.workers.cluster import make_cluster_engine
        from nandlab.trial.workers.connection import open_scheduler_client

        async with open_scheduler_client(address) as client:
            engine = await make_cluster_engine(
                client, board, find_media_board(specs), folder.head().packages
            )
            await run_trials(folder, specs, board, engine, watch, store)


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The options of verbs that run a study."""

    out: OutOption = None
    jobs: JobsOption = CORES
    board: BoardOption = None
    progress: ProgressOption = "auto"
    source: SourceOption = field(default_factory=list)
    patch: PatchOption = field(default_factory=list)
    anew: AnewOption = False
    locked: LockedOption = False

    def make_settings(
        self,
        accel: Accel = Accel.tcg,
        workers: str | None = None,
        store: Path | None = None,
        *,
        insecure: bool = False,
    ) -> RunSettings:
        """How a study is run. workers, insecure: on the workers of a scheduler."""
        sources = read_source_options(self.source, self.patch)
        address = find_campaign_address(workers, insecure, sources)
        return RunSettings(
            out=self.out,
            jobs=self.jobs,
            progress=self.progress,
            sources=sources,
            anew=self.anew,
            locked=self.locked,
            accel=accel,
            campaign_address=address,
            store=store,
        )


def find_campaign_address(
    workers: str | None, insecure: bool, sources: Mapping[str, SourceRequest]
) -> CampaignAddress | None:
    """Where trials are to be run if not here; UsageError where they cannot be."""
    from nandlab.trial.workers import address

    if workers is None:
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
    return address.parse_campaign_address(workers, insecure=insecure)
