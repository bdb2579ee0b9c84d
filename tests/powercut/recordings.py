# SPDX-License-Identifier: GPL-2.0-or-later
"""All points of a load from one job: what the board says of each, and each point's chip, which the
host reads with its own decoders before any mount."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipBlock, ChipImage
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.flash.layouts.cells import Partition
from nandlab.powercut import hostcheck
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import Finding, LoadReport, parse_load_reports
from nandlab.powercut.campaignresult import CLASSES
from nandlab.powercut.hostcheck import PointVerdicts
from nandlab.powercut.job import CUT_STEP
from nandlab.powercut.journal import Operation
from nandlab.powercut.oracle import Oracle
from nandlab.powercut.samplefile import POINT_HELD
from nandlab.powercut.states import (
    NO_POINT,
    PointPlace,
    decode_recorded_operations,
    make_load_recording_job,
)


class _Chip:
    """A chip to which operations are done."""

    def __init__(self, before: ChipImage) -> None:
        self.before = before
        self.pages = before.geometry.pages_per_block
        self.size = before.geometry.writesize + before.geometry.oobsize
        self.blocks = {block.index: block for block in before.blocks}

    def _block(self, index: int) -> ChipBlock:
        erased = ChipBlock(index, 0, 0, 0, [], [], b"")
        block = self.blocks.get(index, erased)
        cells = block.cells or b"\xff" * (self.pages * self.size)
        return replace(block, states=block.states or [0] * self.pages, cells=cells)

    def apply(self, operation: Operation) -> None:
        """What an operation left of its pages."""
        block = self._block(operation.after.pages[0].number // self.pages)
        cells, states = bytearray(block.cells), list(block.states)
        for page in operation.after.pages:
            place = page.number % self.pages
            at = place * self.size
            cells[at : at + self.size] = page.cells or b"\xff" * self.size
            states[place] = page.state
        self.blocks[block.index] = replace(
            block, states=states, cells=bytes(cells), flags=operation.after.flags
        )

    def image(self) -> ChipImage:
        return replace(self.before, blocks=[self.blocks[i] for i in sorted(self.blocks)])


@dataclass(frozen=True)
class Recording:
    """What one job says of a load: the board's report, and the chips of its points."""

    report: LoadReport
    oracle: Oracle
    before: ChipImage
    operations: tuple[Operation, ...]
    saved: tuple[tuple[PointPlace, ChipImage], ...]


def record_points(
    one: Campaign, board: QemuBoard, at: Sequence[PointPlace] = (), torn: Sequence[str] = ()
) -> Recording:
    """Judges the points of the campaign's first load on the board, and brings all that the host
    needs. at: points of which the board saves the chip; torn: ways that tear operations, of which
    it judges the points too."""
    job = make_load_recording_job(one, 0, board, at)
    cut = next(step for step in job.steps if step.name == CUT_STEP)
    words = cut.command.replace(f"--from {NO_POINT}", "--from 0")
    for variant in torn:
        words = words.replace(" --second", f" --variant {variant} --second", 1)
    steps = [replace(step, command=words) if step is cut else step for step in job.steps]
    marks = Step("marks", f"cat {DEBUG_FOLDER}/journal_marks")
    record: JobRecord = asyncio.run(board.run(replace(job, steps=(*steps, marks))))
    failed = record.failed()
    assert failed is None, failed.failure()
    (report,) = parse_load_reports(record[CUT_STEP].stdout, one.medium.description)
    assert report.refused is None
    before, *saved = chipimage.decode_chip_images(record.cargo or b"")
    return Recording(
        report,
        Oracle(one.loads, one.loads.loads[0], record["marks"].stdout),
        before,
        decode_recorded_operations(record, one.medium.chip.geometry),
        tuple(zip(at, saved, strict=True)),
    )


def _judge(one: Campaign, told: Recording, place: PointPlace, chip: ChipImage) -> PointVerdicts:
    """What both say of a point: the board by its letter, the host of the chip as it lies there."""
    k, variant, _ = place
    on, name = one.medium, CLASSES[told.report.outcomes[variant][k]]
    findings = [Finding(name=name, count=1, first=f"{k}:{variant}:1", what="")]
    findings = [] if name == POINT_HELD else findings
    ecc, power = on.chip.kernel_ecc, on.filesystem.power
    cells = hostcheck.apply_ecc_to_chip(chip, ecc, power.checksums if power else "none")
    partition = Partition(cells, on.partition_blocks, ecc.strength, ecc.step)
    try:
        tree = hostcheck.read_partition_files(partition, on.filesystem.name)
    except NandlabError as e:
        return PointVerdicts(findings, [], "", str(e))
    wrong = told.oracle.list_violations(tree, k, in_next=variant != "before")
    return PointVerdicts(findings, wrong, "")


def judge_points(one: Campaign, told: Recording) -> dict[PointPlace, PointVerdicts]:
    """What both say of each point before an operation, and at the end."""
    chip = _Chip(told.before)
    every: list[tuple[PointPlace, ChipImage]] = [((0, "before", 1), told.before)]
    for k, operation in enumerate(told.operations, 1):
        chip.apply(operation)
        every.append(((k, "before", 1), chip.image()))
    return {place: _judge(one, told, place, image) for place, image in every}


def judge_saved_points(one: Campaign, told: Recording) -> dict[PointPlace, PointVerdicts]:
    """What both say of each point whose chip the board saved."""
    return {place: _judge(one, told, place, image) for place, image in told.saved}
