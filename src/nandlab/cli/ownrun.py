# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab run --board FILE``: a study's trials on the user's own board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab.base.errors import UsageError
from nandlab.base.printer import note
from nandlab.cli.words import Style

if TYPE_CHECKING:
    from nandlab.board.flash import Flash
    from nandlab.board.reach import Transport
    from nandlab.board.yours import Held
    from nandlab.catalog.chip import ChipModel
    from nandlab.plan.study import Study
    from nandlab.plan.trialspec import TrialSpec
    from nandlab.results.folder import RunFolder


NFTL = "/dev/nftla"
"""The device that the catalog's commands name."""


def is_own(board: str | None) -> bool:
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
        return asyncio.run(self._run(study, part))

    async def _run(
        self, study: Study, part: Callable[[Study, Sequence[TrialSpec]], Sequence[TrialSpec]]
    ) -> RunFolder:
        from nandlab.board import yours
        from nandlab.cli.progress import unsilent, watcher
        from nandlab.plan.study import plan
        from nandlab.trial import run as runner

        async with yours.held(self.file, self.erase) as there:
            chip = part_of(there)
            async with yours.ready(there, discard=self.discard) as (board, told):
                study = await on_board(study, there, told, chip)
                number = {"mtd": there.mtd.number}
                planned = plan(study, board=there.model)
                specs = [spec.model_copy(update=number) for spec in planned]
                tell_wear(study, specs, chip)
                folder = runner.open_folder(runner.head(study, specs, board), self.out)
                watch = watcher(self.progress)
                with folder.held(), unsilent(watch):
                    todo = part(study, specs)
                    engine = runner.Here(board, jobs=1)
                    await runner.execute(folder, todo, board, engine, watch)
                return folder


def part_of(there: Held) -> ChipModel:
    """The chip of the catalog that the board's file names."""
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load

    name = there.model.partition.part
    if name is None:
        raise UsageError(
            f"board {there.model.name}: partition.part: name a chip of the catalog, for latencies "
            "and endurance (docs/own/chip.md: one that it has not)"
        )
    return load("chips", name, ChipModel)


async def on_board(study: Study, there: Held, told: Flash, chip: ChipModel) -> Study:
    """The study as it can be on the board; what is left out is told."""
    from nandlab.board.flash import refuse_another_chip
    from nandlab.plan.ownstudy import fitted

    refuse_another_chip(chip, told, there.mtd)
    lacking = await _lacking(there.on, study, told)
    study, left_out = fitted(study, there.model.name, chip, there.mtd.size, lacking)
    for line in left_out:
        note(f"left out: {line}")
    return study


async def _lacking(on: Transport, study: Study, flash: Flash) -> dict[str, str]:
    """Why the board cannot have file systems of a study, by their names."""
    from nandlab.board.flash import lacking
    from nandlab.plan.ownstudy import systems

    known = systems(study)
    absent = set(await lacking(on, sorted({m for fs in known.values() for m in fs.modules})))
    found = {}
    for name, fs in known.items():
        if gone := [m for m in fs.modules if m in absent]:
            found[name] = f"the board's kernel has no {gone[0]}"
        elif flash.nftl_taken and NFTL in fs.mount:
            found[name] = f"the board's {NFTL} is, or would be, of another partition"
        elif flash.ubi_taken and "ubi" in fs.modules:
            found[name] = "the board has a UBI device 0 of its own, whose number it takes"
    return found


def tell_wear(study: Study, specs: Sequence[TrialSpec], chip: ChipModel) -> None:
    """Tells what the trials take of the partition's life, and whether they are enough."""
    erased = sum(2 if spec.filesystem.format else 1 for spec in specs)
    lasts = f" of {chip.endurance.pe_cycles}" if chip.endurance else ""
    note(f"{len(specs)} trials erase each block {erased} times{lasts} before what the loads erase")
    from nandlab.results.record import MEMBERS_MIN

    if (members := len(study.members())) < MEMBERS_MIN:
        note(
            f"{members} members: a board's times do not repeat: give the study {MEMBERS_MIN} seeds"
        )
