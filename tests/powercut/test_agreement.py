# SPDX-License-Identifier: GPL-2.0-or-later
"""Both checkers at every point of every call that ``ace1`` has not: the board mounts and judges,
the host reads the chip of the same point with its own decoders, before any mount.

The host takes the chip as it was before the load, and what each operation changed, from one job: so
it has every point of a load for one board. A torn operation's chip is saved by the board.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from cutsteps import on

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipBlock, ChipImage
from nandlab.flash.chip.simnand import DEBUG_FOLDER
from nandlab.flash.layouts.cells import Partition
from nandlab.powercut import hostcheck, wideloads
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import Finding, LoadReport, parse_load_reports
from nandlab.powercut.campaignresult import CLASSES
from nandlab.powercut.hostcheck import PointVerdicts
from nandlab.powercut.job import CUT_STEP, CutPoints, select_single_cut_point
from nandlab.powercut.journal import Operation
from nandlab.powercut.loads import KINDS, Load, LoadSet
from nandlab.powercut.oracle import Oracle
from nandlab.powercut.samplefile import POINT_HELD
from nandlab.powercut.states import (
    NO_POINT,
    PointPlace,
    decode_recorded_operations,
    make_load_recording_job,
)

pytestmark = pytest.mark.board

EVERYWHERE = (
    *("rename D E", "fsyncdir", "write E/file 0 700", "fdatasync E/file", "rename E B/dir"),
    *("fsyncdir B", "sync", "noreplace A/foo A/new", "fsyncdir A", "symlink A/to 40"),
    *("fsyncdir A", "chmod A/new 600", "chown A/new 7 8", "utimens A/new 1000000000"),
    *("fsync A/new", "chmod B/dir 700", "sync", "write A/new 100 5000", "dropcaches", "sync"),
    *("statfs", "readonly", "open B/bar", "unlink B/bar", "write B/bar 0 900", "fsyncdir B"),
    *("close B/bar", "create B/bar", "link B/bar A/other", "sync", "unlink B/bar", "sync"),
    *("beginsync 700", "create A/beside", "write A/beside 0 3000", "endsync", "fsync A/beside"),
)
"""Calls that each of the file systems takes."""
ATTRIBUTES = ("setxattr A/new 1 100", "setxattr B/dir 2 300", "sync", "removexattr A/new 1", "sync")
OF_UBIFS = (
    *("exchange A/new B/dir/file", "sync", "exchange A C", "fsyncdir", "sync"),
    *("whiteout C/new A/moved", "fsyncdir A", "fsyncdir C", "tmplink C/linked 3000"),
    *("fsync C/linked", "fsyncdir C", "tmpfile C/late", "write C/late 0 2000", "sync"),
    *("linktmp C/late", "fsyncdir C", "tmpfile C/hasty", "write C/hasty 0 500", "beginsync 400"),
    *("linktmp C/hasty", "endsync", "sync"),
)
CALLS = {
    "jffs2": (*EVERYWHERE, *ATTRIBUTES, "wakegc 300", "write A/new 0 900", "fsync A/new"),
    "ubifs": (*EVERYWHERE, *ATTRIBUTES, *OF_UBIFS),
    "yaffs2": EVERYWHERE,
}
REFUSED = {"fallocate"}
"""Calls that none of these file systems takes."""
TORN = ("subset", "done")
"""Ways that tear programs and erases."""
TORN_AT = (3, 5, 7, 9, 11, 13)
"""Operations of which the next is torn, for the host to read."""


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
class _Recording:
    """What one job says of a load: the board's report, and the chips of its points."""

    report: LoadReport
    oracle: Oracle
    before: ChipImage
    operations: tuple[Operation, ...]
    torn: tuple[tuple[PointPlace, ChipImage], ...]


def _split_images(saved: bytes) -> Iterator[ChipImage]:
    while saved:
        chip, saved = chipimage.decode_leading_chip_image(saved)
        yield chip


def _record(one: Campaign, board: QemuBoard, at: Sequence[PointPlace]) -> _Recording:
    """Judges the points of the campaign's load on the board, and brings all that the host needs."""
    job = make_load_recording_job(one, 0, board, at)
    cut = next(step for step in job.steps if step.name == CUT_STEP)
    words = cut.command.replace(f"--from {NO_POINT}", "--from 0")
    for variant in TORN:
        words = words.replace(" --second", f" --variant {variant} --second", 1)
    steps = [replace(step, command=words) if step is cut else step for step in job.steps]
    marks = Step("marks", f"cat {DEBUG_FOLDER}/journal_marks")
    record: JobRecord = asyncio.run(board.run(replace(job, steps=(*steps, marks))))
    failed = record.failed()
    assert failed is None, failed.failure()
    (report,) = parse_load_reports(record[CUT_STEP].stdout, one.medium.description)
    assert report.refused is None
    before, *torn = _split_images(record.cargo or b"")
    return _Recording(
        report,
        Oracle(one.loads, one.loads.loads[0], record["marks"].stdout),
        before,
        decode_recorded_operations(record, one.medium.chip.geometry),
        tuple(zip(at, torn, strict=True)),
    )


def _judge(one: Campaign, told: _Recording, place: PointPlace, chip: ChipImage) -> PointVerdicts:
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


def _judge_all(one: Campaign, told: _Recording) -> dict[PointPlace, PointVerdicts]:
    """What both say of each point that the host has the chip of."""
    chip = _Chip(told.before)
    every: list[tuple[PointPlace, ChipImage]] = [((0, "before", 1), told.before)]
    for k, operation in enumerate(told.operations, 1):
        chip.apply(operation)
        every.append(((k, "before", 1), chip.image()))
    return {place: _judge(one, told, place, image) for place, image in [*every, *told.torn]}


def _make_campaign(board: QemuBoard, name: str, calls: tuple[str, ...]) -> Campaign:
    loads = LoadSet("agreement", wideloads.BASE, (Load("all", calls),))
    return Campaign(on(board, name), loads, CutPoints())


def test_every_call_is_among_them() -> None:
    kinds = {call.split()[0] for calls in CALLS.values() for call in calls}
    new = {call.split()[0] for call in wideloads.CALLS}
    races = {"tmpfile", "linktmp", "beginsync", "endsync", "wakegc"}
    assert kinds >= (new | races | {"open", "close", "readonly", "statfs", "fdatasync"}) - REFUSED
    assert kinds <= KINDS.keys()


def _list_disagreements(board: QemuBoard, name: str, unread_max: int | None) -> list[str]:
    """Points at which one checker sees what the other does not.

    Where the host cannot read the chip as it lies there, it reads what the board's check left of
    it, on a fresh board: of so many such points, or of all (None).
    """
    loads = LoadSet("agreement", wideloads.BASE, (Load("all", CALLS[name]),))
    one = Campaign(on(board, name), loads, CutPoints())
    told = _record(one, board, [(k, v, 1) for k, v in zip(TORN_AT, TORN * 3, strict=True)])
    every = _judge_all(one, told)
    assert len(every) == len(told.operations) + 1 + len(TORN_AT)
    unread = [place for place, verdicts in every.items() if verdicts.unread]
    assert len(unread) < len(every) / 10
    for k, variant, seed in unread[:unread_max]:
        point = select_single_cut_point(CutPoints(), 0, k, variant, seed)
        every[k, variant, seed] = asyncio.run(hostcheck.try_point(one, point, board))
        assert not every[k, variant, seed].unread
    return [
        f"{place}: board {verdicts.verdict}, host {verdicts.host_mistakes}"
        for place, verdicts in every.items()
        if verdicts.verdicts_agree is False
    ]


@pytest.mark.parametrize("name", CALLS)
def test_both_checkers_agree_at_every_point_of_every_call(board: QemuBoard, name: str) -> None:
    assert _list_disagreements(board, name, 1) == []


@pytest.mark.long
def test_they_agree_too_where_the_host_needs_a_mount_before(board: QemuBoard) -> None:
    """UBIFS, between the writes of its two master nodes."""
    assert _list_disagreements(board, "ubifs", None) == []
