# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab run --board FILE``: a study's trials on the user's own board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_note
from nandlab.cli.arguments import Style

if TYPE_CHECKING:
    from nandlab.board.own.flash import PartitionFlash
    from nandlab.board.own.ownboard import HeldBoard
    from nandlab.board.own.transport import Transport
    from nandlab.catalog.chip import ChipModel
    from nandlab.plan.study import Study
    from nandlab.plan.trialspec import TrialSpec
    from nandlab.results.folder import RunFolder


NFTL = "/dev/nftla"
"""The device that the catalog's commands name."""


def is_board_file(board: str | None) -> bool:
    """Whether ``--board`` names a file, and no board of the catalog."""
    return board is not None and (board.endswith(".toml") or "/" in board)


@dataclass(frozen=True)
class OwnRun:
    """How a study is run on a user's own board."""

    file: Path
    erase: str | None
    discard: bool
    out: Path | None
    progress: Style

    def run(
        self, study: Study, part: Callable[[Study, Sequence[TrialSpec]], Sequence[TrialSpec]]
    ) -> RunFolder:
        """Runs the trials that ``part`` takes of the study's, those that the folder lacks."""
        import asyncio

        return asyncio.run(self._run(study, part))

    async def _run(
        self, study: Study, part: Callable[[Study, Sequence[TrialSpec]], Sequence[TrialSpec]]
    ) -> RunFolder:
        from nandlab.board.own import ownboard
        from nandlab.cli.progress import make_progress_watcher, print_heartbeats_during_run
        from nandlab.plan.study import plan_trials
        from nandlab.trial import runner

        async with ownboard.hold_board(self.file, self.erase) as held_board:
            chip = load_held_board_chip(held_board)
            async with ownboard.prepare_held_board(held_board, discard=self.discard) as (
                board,
                told,
            ):
                study = await fit_study_to_board(study, held_board, told, chip)
                number = {"mtd": held_board.mtd.number}
                planned = plan_trials(study, board=held_board.model)
                specs = [spec.model_copy(update=number) for spec in planned]
                print_planned_wear(study, specs, chip)
                folder = runner.open_run_folder(runner.make_run_head(study, specs, board), self.out)
                watch = make_progress_watcher(self.progress)
                with folder.hold_lock(), print_heartbeats_during_run(watch):
                    todo = part(study, specs)
                    engine = runner.LocalEngine(board, jobs=1)
                    await runner.run_trials(folder, todo, board, engine, watch)
                return folder


def load_held_board_chip(held_board: HeldBoard) -> ChipModel:
    """The chip of the catalog that the board's file names."""
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load_noun

    name = held_board.model.partition.part
    if name is None:
        raise UsageError(
            f"board {held_board.model.name}: partition.part: name a chip of the catalog, for "
            "latencies and endurance (docs/own/chip.md: one that it has not)"
        )
    return load_noun("chips", name, ChipModel)


async def fit_study_to_board(
    study: Study, held_board: HeldBoard, partition: PartitionFlash, chip: ChipModel
) -> Study:
    """The study as it can be on the board; what is left out is told."""
    from nandlab.board.own.flash import refuse_other_chip_shape
    from nandlab.plan.ownboardstudy import fit_study_to_partition

    refuse_other_chip_shape(chip, partition, held_board.mtd)
    lacking = await _find_unsupported(held_board.transport, study, partition)
    study, left_out = fit_study_to_partition(
        study, held_board.model.name, chip, held_board.mtd.size, lacking
    )
    for line in left_out:
        print_note(f"left out: {line}")
    return study


async def _find_unsupported(
    transport: Transport, study: Study, flash: PartitionFlash
) -> dict[str, str]:
    """Why the board cannot have file systems of a study, by their names."""
    from nandlab.board.own.flash import list_missing_modules
    from nandlab.plan.ownboardstudy import load_study_filesystems

    filesystems = load_study_filesystems(study)
    absent = set(
        await list_missing_modules(
            transport, sorted({m for fs in filesystems.values() for m in fs.modules})
        )
    )
    reasons = {}
    for name, fs in filesystems.items():
        if missing_modules := [m for m in fs.modules if m in absent]:
            reasons[name] = f"the board's kernel has no {missing_modules[0]}"
        elif flash.has_other_nftl and NFTL in fs.mount:
            reasons[name] = f"the board's {NFTL} is, or would be, of another partition"
        elif flash.has_ubi_device and "ubi" in fs.modules:
            reasons[name] = "the board has a UBI device 0 of its own, whose number it takes"
    return reasons


def print_planned_wear(study: Study, specs: Sequence[TrialSpec], chip: ChipModel) -> None:
    """Tells what the trials take of the partition's life, and whether they are enough."""
    erased = sum(2 if spec.filesystem.format else 1 for spec in specs)
    lasts = f" of {chip.endurance.pe_cycles}" if chip.endurance else ""
    print_note(
        f"{len(specs)} trials erase each block {erased} times{lasts} before what the loads erase"
    )
    from nandlab.results.record import MEMBERS_MIN

    if (members := len(study.members())) < MEMBERS_MIN:
        print_note(
            f"{members} members: a board's times do not repeat: give the study {MEMBERS_MIN} seeds"
        )
