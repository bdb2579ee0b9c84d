# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of power cuts share: a few short loads, a medium to cut, and a board
after a cut."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from support.cases import run_cases

from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import MIB, ChipModel
from nandlab.catalog.files import load_noun
from nandlab.catalog.filesystem import FilesystemModel
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipImage
from nandlab.flash.chip.simnand import DEBUG_FOLDER, make_image_pipe_command
from nandlab.plan.medium import Medium
from nandlab.powercut import loads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import LoadReport, parse_load_reports
from nandlab.powercut.job import (
    CUT_STEP,
    JOURNAL_MIB,
    CutPoints,
    build_chip_module,
    make_cut_job,
)
from nandlab.powercut.loads import LoadSet

FEW = loads.parse_loads(
    "few",
    """
mkdir A
create A/x
write A/x 0 8192
create A/y
write A/y 0 3000
load new
create A/new
write A/new 0 10000
fsync A/new
load over
rename A/x A/y
fsyncdir A
load away
unlink A/x
sync
create A/z
write A/z 0 100
sync
""",
)


def on(board: QemuBoard, name: str) -> Medium:
    system = load_noun("filesystems", name, FilesystemModel)
    chip = load_noun("chips", "apf27", ChipModel)
    options = system.resolve_values({}, "the test")
    return Medium(
        board=board.machine.model,
        chip=chip,
        partition_blocks=64,
        filesystem=system,
        options=options,
    )


def end_chip_with_partition(medium: Medium) -> Medium:
    """The same on a chip of no more blocks than it needs, whose image is saved in less: the board
    looks at each block."""
    chip = medium.chip
    blocks = 1 << (medium.partition_blocks - 1).bit_length()
    short = chip.geometry.model_copy(update={"blocks": blocks})
    return medium.model_copy(update={"chip": chip.model_copy(update={"geometry": short})})


AWAY = Step("away", "rmmod powercut")
"""Takes the chip out, so that the next case puts in a fresh one."""


def cut_each(
    board: QemuBoard, name: str, *every: CutPoints, of: LoadSet = FEW
) -> list[list[LoadReport]]:
    """What cutcheck prints of each, in one job; each has a fresh chip."""
    medium, module = on(board, name), build_chip_module(board)
    jobs = {f"{i}": make_cut_job(medium, of, each, module) for i, each in enumerate(every)}
    cases = {n: (*job.steps, AWAY) for n, job in jobs.items()}
    records = run_cases(board, cases, files=jobs["0"].files)
    told = [records[n][CUT_STEP].stdout for n in jobs]
    return [parse_load_reports(each, medium.description) for each in told]


def after(
    one: Campaign, at: CutPoints, board: QemuBoard, *commands: str
) -> tuple[list[list[str]], ChipImage]:
    """The words that each command prints on the board after a cut, and the chip before them."""
    medium = one.medium
    hold = make_cargo(
        medium.virtual,
        medium.cells_bytes + JOURNAL_MIB * MIB + MIB,
        back_bytes=medium.image_bytes,
    )
    goto = f"echo goto {at.first} {at.variants[0]} {at.seed} > {DEBUG_FOLDER}/journal"
    more = [Step("goto", goto), Step("save", make_image_pipe_command(hold.put()))]
    more += [Step(f"say {i}", command) for i, command in enumerate(commands)]
    whole = make_cut_job(medium, one.loads, replace(at, leave=True), build_chip_module(board))
    record = asyncio.run(board.run(replace(whole, steps=(*whole.steps, *more), cargo=hold)))
    broke = record.failed()
    assert broke is None, broke.failure()
    assert record.cargo is not None
    said = [record[f"say {i}"].stdout.split() for i in range(len(commands))]
    return said, chipimage.decode_chip_image(record.cargo)
