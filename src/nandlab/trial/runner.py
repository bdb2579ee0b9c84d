# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a plan: every trial that has no result yet, several at once, each result saved as it ends.

If it is interrupted, it leaves only complete results and no running board. Run again, it does what
is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from nandlab.base.checkout import find_commit
from nandlab.base.digest import digest_bytes, digest_json_value, digest_known_file
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.paths import RESULTS
from nandlab.board.jobs.job import Board
from nandlab.board.kit.kit import find_image_tool_packages
from nandlab.board.kit.needs import FetchedPackages
from nandlab.board.virtual.hosttools import STEADY
from nandlab.catalog.files import list_noun_names, load_noun
from nandlab.catalog.noun import dump_noun_identity
from nandlab.catalog.part import KIND as PARTS
from nandlab.catalog.part import PartModel
from nandlab.plan.matrix import Member
from nandlab.plan.medium import Medium
from nandlab.plan.start import TreeStart
from nandlab.plan.study import Study, parse_run_study
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.folder import RunFolder
from nandlab.results.record import Origin, Run, Trial
from nandlab.results.store import Store
from nandlab.trial import execution, steps


class Watcher(Protocol):
    """Is told of a run's progress."""

    def run_begins(
        self, todo: Sequence[TrialSpec], durations: Mapping[str, Sequence[float]], jobs: int
    ) -> None:
        """``todo`` will be run, ``jobs`` at a time.

        ``durations``: host seconds of each trial with a result from before, by configuration.
        """

    def trial_begins(self, spec: TrialSpec) -> None: ...

    def step_begins(self, spec: TrialSpec, step: str) -> None: ...

    def trial_ends(self, spec: TrialSpec, result: Trial) -> None: ...


def make_run_head(study: Study, specs: Sequence[TrialSpec], board: Board) -> Run:
    """The head of a study's run on a board; equal study, artefacts and steps give equal ids."""
    images = sorted({s.image.sha256 for s in specs if s.image})
    packages = _collect_packages(specs, board)
    moved = [*board.lock_differences, *packages.lock_differences]
    parts = [
        dump_noun_identity(study),
        board.identity,
        *moved,
        *images,
        *(_describe_job(s, board) for s in specs),
    ]
    return Run(
        id=digest_json_value(parts)[:12],
        study=study.name,
        question=study.question,
        deterministic=board.deterministic,
        trials=[s.id for s in specs],
        spec=study.model_dump(mode="json"),
        provenance=board.identity,
        packages={name: dict(files) for name, files in packages.lock.items()},
        commit=find_commit(),
    )


def _collect_packages(specs: Sequence[TrialSpec], board: Board) -> FetchedPackages:
    """The packages of these trials beside the board's: of their programs and of their trees."""
    each = [execution.collect_trial_packages(spec, board) for spec in specs]
    lock = {name: files for brought in each for name, files in brought.lock.items()}
    return FetchedPackages(
        lock, tuple(dict.fromkeys(line for b in each for line in b.lock_differences))
    )


KEY = 2
"""Version of what a trial's key is made of. Raise it when equal jobs get other results, or a key
means something else: no finished trial is then taken from the store."""


def _describe_job(spec: TrialSpec, board: Board) -> dict[str, object]:
    """All that a trial gives the board but its image: its job's folder and programs."""
    job = steps.make_trial_job_without_image(spec)
    folder = {**job.files, **job.texts()}
    return {
        "folder": {name: digest_bytes(content) for name, content in folder.items()},
        "programs": {name: digest_known_file(path) for name, path in board.programs(job).items()},
        "setup": job.setup and {**asdict(job.setup), "files": sorted(job.setup.files)},
    }


def _describe_image(spec: TrialSpec) -> object:
    """What decides the chip's first content; None: it is erased."""
    if not isinstance(spec.image, TreeStart):
        return spec.image and spec.image.sha256
    by = find_image_tool_packages(spec.virtual, spec.filesystem.image.package)
    return [spec.image.sha256, spec.recipe(), dict(by), digest_known_file(STEADY)]


def hash_trial(spec: TrialSpec, board: Board) -> str:
    """The hash of all that the result depends on; names and titles are no part of it."""
    return digest_json_value(
        {
            "key": KEY,
            "board": board.identity,
            "job": _describe_job(spec, board),
            "image": _describe_image(spec),
            "harmless_log": spec.filesystem.harmless_log,
        }
    )


SPINAND_SYMBOL = "CONFIG_MTD_SPI_NAND"
"""What a kernel has that has a driver of SPI-NAND chips, or got one beside it."""
SPINAND_REMEDY = (
    "build it from the kernel's own source by --source spinand=package (some 140 MB to fetch, "
    "once), or name [source.spinand] in the board's file"
)


def refuse_unsupported_kernel(
    specs: Sequence[Medium], config: Mapping[str, str], where: str
) -> None:
    """UsageError lists every option and file system that this kernel does not support."""
    wrong = []
    for spec in specs:
        for need, who in spec.filesystem.kernel_needs(spec.options):
            state = _check_need(need, config)
            if state:
                line = f"{where}: {who} cannot be: the kernel of {spec.board.name} {state}"
                source = _find_building_source(need)
                wrong.append(f"{line}: --source {source} builds it" if source else line)
    if wrong:
        raise UsageError(*dict.fromkeys(wrong))


def refuse_absent_spinand(specs: Sequence[Medium], config: Mapping[str, str], where: str) -> None:
    """UsageError where a chip is to be driven by the kernel's SPI-NAND driver and there is none."""
    if any(spec.spinand for spec in specs) and config.get(SPINAND_SYMBOL) not in ("y", "m"):
        raise UsageError(
            f"{where}: spinand: the kernel of {specs[0].board.name} has no driver of SPI-NAND "
            f"chips: {SPINAND_REMEDY}"
        )


def _list_durations(folder: RunFolder, specs: Sequence[TrialSpec]) -> dict[str, list[float]]:
    """Host seconds of the finished trials among ``specs``, by configuration."""
    took: dict[str, list[float]] = {}
    for spec in specs:
        result = folder.load(spec.id)
        if result is not None:
            seconds = result.host.seconds if result.host else 0.0
            took.setdefault(spec.configuration(), []).append(seconds)
    return took


def _check_need(need: str, config: Mapping[str, str]) -> str | None:
    """Why a kernel does not meet a need, written as in filesystem.Value.kernel; None: it does."""
    symbol, since, version = need.removeprefix("!").partition(">=")
    if since:
        has = config.get(symbol, "0.0")
        old = [int(n) for n in has.split(".")] < [int(n) for n in version.split(".")]
        return f"is Linux {has}, and it takes {version} or newer" if old else None
    if (config.get(symbol) in ("y", "m")) == need.startswith("!"):
        return f"has {symbol}" if need.startswith("!") else f"lacks {symbol}"
    return None


def _find_building_source(need: str) -> str | None:
    """The part of the kernel that is built as a need says, with the option that does it: the text
    of ``--source``."""
    symbol = need.removeprefix("!")
    for name in list_noun_names(PARTS):
        part = load_noun(PARTS, name, PartModel)
        if part.settings({}).get(need) in ("y", "m"):
            return f"{name}=package"
        options = (key for key, entry in part.options.items() if entry.symbol == symbol)
        if option := next(options, None):
            return f"{name}=package,{option}={str(symbol == need).lower()}"
    return None


def open_run_folder(run: Run, out: Path | None) -> RunFolder:
    """The run's folder, made if need be; ``out`` overrides results/<study>/<run id>."""
    return RunFolder.create(out or RESULTS / run.study / run.id, run)


def refuse_another_study(study: Study, out: Path) -> None:
    """UsageError if a folder has a run of another study, which needs no board to be told."""
    folder = RunFolder(out)
    if (out / "run.json").exists() and not _is_run_of(study, folder.head()):
        raise folder.make_taken_error()


def _is_run_of(study: Study, run: Run) -> bool:
    """Whether a run is of this study; a field that its nandlab lacked is at its default."""
    try:
        return dump_noun_identity(parse_run_study(run.spec, Path(), "spec")) == dump_noun_identity(
            study
        )
    except UsageError:
        return False


def order_trials(specs: Sequence[TrialSpec], members: Sequence[Member]) -> list[TrialSpec]:
    """The trials of these members, one member after the other: a run cut short has whole ones.

    Those that share a setup come one after the other: its state need not be kept for longer.
    """
    place = {member: i for i, member in enumerate(members)}
    wanted = [s for s in specs if s.member in place]
    return sorted(wanted, key=lambda s: place[s.member] if s.setup_seed is None else 0)


class Engine(Protocol):
    """Runs trials somewhere: on this machine, or on many."""

    @property
    def jobs(self) -> int:
        """How many trials it is expected to run at once, for the time that is left."""

    async def run(
        self,
        todo: Sequence[TrialSpec],
        study: str,
        watcher: Watcher,
        keep_result: Callable[[TrialSpec, Trial], None],
        take_stored: Callable[[TrialSpec], bool],
    ) -> None:
        """Runs each trial, and calls ``keep_result`` with its result, once.

        study: the name of the study that the results tell. The watcher is told of what begins.
        take_stored: called before a trial begins; true if it need not be run any more.
        Raises NandlabError where trials cannot be run; those that have ended are kept.
        """


@dataclass(frozen=True)
class LocalEngine:
    """The engine of one machine: a board of its own for each trial, ``jobs`` at a time."""

    board: Board
    jobs: int

    async def run(
        self,
        todo: Sequence[TrialSpec],
        study: str,
        watcher: Watcher,
        keep_result: Callable[[TrialSpec, Trial], None],
        take_stored: Callable[[TrialSpec], bool],
    ) -> None:
        """See Engine."""
        free = asyncio.Semaphore(self.jobs)

        async def run_in_turn(spec: TrialSpec) -> None:
            async with free:
                if take_stored(spec):
                    return
                watcher.trial_begins(spec)
                keep_result(
                    spec,
                    await execution.run_trial(spec, self.board, study, partial(note_step, spec)),
                )

        def note_step(spec: TrialSpec, step: str) -> None:
            watcher.step_begins(spec, step)

        try:
            async with asyncio.TaskGroup() as group:
                for spec in todo:
                    group.create_task(run_in_turn(spec))
        except ExceptionGroup as group:  # before Python 3.11.4 except* would wrap what it raises
            own_errors, other_errors = group.split((NandlabError, OSError))
            if own_errors is None or other_errors is not None:
                raise
            raise own_errors.exceptions[0] from None


async def run_trials(
    folder: RunFolder,
    specs: Sequence[TrialSpec],
    board: Board,
    engine: Engine,
    watcher: Watcher,
    store: Store | None = None,
) -> None:
    """Runs the trials of ``specs`` that the folder lacks, in order; each is saved as it ends.

    board: what the engine runs them on. store: finished trials are taken from it and put into it;
    other runs may do so at the same time. None: every missing trial is run.
    """
    if not board.deterministic:
        store = None
    if store is not None:
        store.tidy()
        copy_trials_from_store(folder, specs, board, store)
    missing = set(folder.missing())
    todo = [s for s in specs if s.id in missing]
    watcher.run_begins(todo, _list_durations(folder, specs), engine.jobs)
    head = folder.head()

    def keep_result(spec: TrialSpec, result: Trial) -> None:
        key = result.key or hash_trial(spec, board)
        result = result.model_copy(update={"key": key, "run": head.id})
        folder.save(result)
        if store is not None:
            store.put(folder, result)
        watcher.trial_ends(spec, result)

    def take_stored(spec: TrialSpec) -> bool:
        stored_trial = store and _find_in_store(head, spec, board, store)
        if not stored_trial:
            return False
        folder.save(stored_trial)
        watcher.trial_begins(spec)
        watcher.trial_ends(spec, stored_trial)
        return True

    await engine.run(todo, head.study, watcher, keep_result, take_stored)


class Images(Protocol):
    """Sees to the images that trials begin from."""

    def ready(self, specs: Sequence[TrialSpec]) -> list[TrialSpec]:
        """The trials with their images, which are made if need be."""


def add_start_images(
    folder: RunFolder,
    specs: Sequence[TrialSpec],
    board: Board,
    images: Images,
    store: Store | None = None,
) -> list[TrialSpec]:
    """The trials; those that the folder lacks, and the store too, with the images they begin from.

    store: as of execute.
    """
    if store is not None and board.deterministic:
        copy_trials_from_store(folder, specs, board, store)
    missing = set(folder.missing())
    todo = images.ready([s for s in specs if s.id in missing])
    ready = {s.id: s for s in todo}
    return [ready.get(s.id, s) for s in specs]


def copy_trials_from_store(
    folder: RunFolder, specs: Sequence[TrialSpec], board: Board, store: Store
) -> None:
    """Copies trials that the folder lacks from the store."""
    missing, run = set(folder.missing()), folder.head()
    for spec in (s for s in specs if s.id in missing):
        found = _find_in_store(run, spec, board, store)
        if found is not None:
            folder.save(found)


def _find_in_store(run: Run, spec: TrialSpec, board: Board, store: Store) -> Trial | None:
    """A run's trial as the store has it, with the sources of today's catalog; None: it has not.

    Options and parameters are those of today too: the catalog may have gained some since, whose
    defaults ask the board for nothing.
    """
    stored = store.get(hash_trial(spec, board))
    if stored is None:
        return None
    origin = stored.origin or Origin(study=stored.study, run=stored.run)
    doubts = execution.add_lock_doubt(
        stored.warnings, board, execution.collect_trial_packages(spec, board)
    )
    words = {"id": spec.id, "study": run.study, "run": run.id, "origin": origin}
    words |= {"warnings": doubts, "options": spec.options, "parameters": spec.parameters}
    sources = {**stored.sources, **execution.collect_trial_provenance(spec, board)}
    return stored.model_copy(update=words).add_sources(sources)
