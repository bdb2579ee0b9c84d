# SPDX-License-Identifier: GPL-2.0-or-later
"""The second checker: a point's chip, saved after its check, read by the host's own decoders.

It must agree with the board's program on each point: a checker that is alone with its verdict may
be wrong. It sees files through no kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import MIB, Ecc
from nandlab.catalog.powerpromise import Checksums
from nandlab.flash.chip import image as chipimage
from nandlab.flash.chip.image import ChipBlock, ChipGeometry, ChipImage
from nandlab.flash.chip.mishaps import read_tear_ways
from nandlab.flash.chip.simnand import DEBUG_FOLDER, make_image_pipe_command
from nandlab.flash.layouts import decoders, jffs2files, jffs2nodes, jffs2scan, unpacking, yaffs2
from nandlab.flash.layouts.cells import GARBLED_PAGE, Partition, find_uncorrectable_pages
from nandlab.flash.layouts.layout import NO_OWNER, Layout
from nandlab.plan.medium import Medium
from nandlab.powercut import fsck, kernellog, sql
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import Finding, parse_load_reports
from nandlab.powercut.job import CUT_STEP, JOURNAL_MIB, CutPoints, build_chip_module, make_cut_job
from nandlab.powercut.loadcheck import RESERVED_NAMES
from nandlab.powercut.oracle import FOLDER as A_FOLDER
from nandlab.powercut.oracle import Oracle, undo_file_extensions
from nandlab.powercut.samplefile import POINT_HELD
from nandlab.results.cutsummaries import METADATA_CLASS, TWO_FOLDERS_CLASS, TWO_NAMES_CLASS

MARKS, KERNEL = "marks", "kernel"
UNSEEN_CLASSES = (
    "unmountable",
    "never mounts again",
    "not writable",
    "another second mount",
    TWO_NAMES_CLASS,
    TWO_FOLDERS_CLASS,
    METADATA_CLASS,
    "call fails",
    "kernel warning",
    "check fails",
    "another verdict again",
)
"""Classes of the board's that are not of what files and names there are."""


@dataclass(frozen=True)
class PointVerdicts:
    """What both checkers say of a point."""

    findings: list[Finding]
    """By the board; empty: it holds."""
    host_mistakes: list[str]
    """By the host; empty: it holds, or cannot be read."""
    recording: str
    """The board's digest of the recording."""
    unread: str = ""
    """Why the host cannot read it."""
    check: str = ""
    """What the file system's own check on this machine says is wrong."""
    kernel: tuple[str, ...] = ()
    """Errors of the board's kernel."""

    @property
    def board_holds(self) -> bool:
        """By the board."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The board's class of finding, or that it holds."""
        return self.findings[0].name if self.findings else POINT_HELD

    @property
    def verdicts_agree(self) -> bool | None:
        """None: the host cannot read it, or the board tells of what no reader of files sees."""
        if self.unread:
            return None
        unseen = all(each.name in UNSEEN_CLASSES for each in self.findings)
        if not self.board_holds and not self.host_mistakes and unseen:
            return None
        return self.board_holds == (not self.host_mistakes)


async def try_point(campaign: Campaign, point: CutPoints, board: QemuBoard) -> PointVerdicts:
    """Tries one point on a fresh board, and reads the chip that it leaves."""
    medium = campaign.medium
    hold = make_cargo(
        medium.virtual, medium.cells_bytes + JOURNAL_MIB * MIB + MIB, back_bytes=medium.image_bytes
    )
    job = make_cut_job(medium, campaign.loads, replace(point, leave=True), build_chip_module(board))
    save_steps = (
        Step(MARKS, f"cat {DEBUG_FOLDER}/journal_marks"),
        Step(KERNEL, kernellog.PRINT_ERRORS),
        Step("save", make_image_pipe_command(hold.put())),
    )
    record = await board.run(replace(job, steps=(*job.steps, *save_steps), cargo=hold))
    failed = record.failed()
    if failed is not None or record.cargo is None:
        raise NandlabError(
            f"powercut: {medium.description}: {failed.failure() if failed else 'no image'}"
        )
    chip = chipimage.decode_chip_image(record.cargo)
    kernel = tuple(kernellog.parse_kernel_errors(record[KERNEL].stdout))
    return replace(_judge_point(campaign, point, board, record, chip), kernel=kernel)


def _judge_point(
    campaign: Campaign, point: CutPoints, board: QemuBoard, record: JobRecord, chip: ChipImage
) -> PointVerdicts:
    medium, load = campaign.medium, campaign.loads.loads[point.first_load]
    oracle_of = sql.SqlOracle if campaign.loads.program == sql.PROGRAM else Oracle
    oracle = oracle_of(campaign.loads, load, record[MARKS].stdout)
    (report,) = parse_load_reports(record[CUT_STEP].stdout, medium.description)
    if report.refused is not None:
        raise NandlabError(f"powercut: {medium.description}: {load.title}: {report.refused}")
    findings, recording = report.findings, report.recording
    if any(read_tear_ways()[name].is_unstable for name in point.variants):
        return PointVerdicts(
            findings, [], recording, "an image has unstable cells as they were meant"
        )
    power, check = medium.filesystem.power, ""
    try:
        if power and power.host_check:
            host_check = fsck.HOST_CHECKS[power.host_check]
            # which is told of no page that cannot be read
            check = host_check(_make_partition(medium, chip, "all"), board.machine.kit.kernel.root)
        tree = read_partition_files(
            _make_partition(medium, chip, power.checksums if power else "none"),
            medium.filesystem.name,
        )
    except NandlabError as e:
        return PointVerdicts(findings, [], recording, str(e), check)
    before, wrong = undo_file_extensions(tree, report.longer)
    in_next = point.variants != ("before",)
    wrong += oracle.list_violations(before, point.first, in_next=in_next)
    return PointVerdicts(findings, wrong, recording, check=check)


def _make_partition(on: Medium, chip: ChipImage, checksums: Checksums) -> Partition:
    ecc = on.chip.kernel_ecc
    return Partition(
        apply_ecc_to_chip(chip, ecc, checksums), on.partition_blocks, ecc.strength, ecc.step
    )


def apply_ecc_to_chip(chip: ChipImage, ecc: Ecc, checksums: Checksums) -> ChipImage:
    """The chip's cells as a file system takes them, with no word of pages that its ECC cannot
    correct.

    Where its own checksums tell, the cells are as they are. Else a read of such a page fails, so no
    byte of its data is what it was to be. Where the spare area is beyond the ECC too, tags that
    have a checksum are as it corrects them, and where it cannot the page is as if erased.
    """
    return replace(
        chip, blocks=[_apply_block_ecc(b, chip.geometry, ecc, checksums) for b in chip.blocks]
    )


def _apply_block_ecc(
    block: ChipBlock, geometry: ChipGeometry, ecc: Ecc, checksums: Checksums
) -> ChipBlock:
    size, first = geometry.writesize + geometry.oobsize, block.index * geometry.pages_per_block
    wrong = find_uncorrectable_pages(block, geometry.writesize, ecc.strength, ecc.step)
    if not wrong and not any(map(GARBLED_PAGE.__and__, block.states)):
        return block  # as most are: each point of a load has a chip, and a copy costs page faults
    cells = bytearray(block.cells)
    for page, bit in block.flips:
        if page in wrong and checksums == "all":
            cells[(page - first) * size + bit // 8] ^= 1 << bit % 8
    for page, state in enumerate(block.states):
        start, garbled = page * size, bool(state & GARBLED_PAGE)
        spare = start + geometry.writesize
        if garbled and checksums == "tags":
            corrected = yaffs2.correct_spare_tags(bytes(cells[spare : start + size]))
            if corrected is None:
                cells[start : start + size] = b"\xff" * size
                continue
            cells[spare : start + size] = corrected
        if checksums != "all" and (garbled or first + page in wrong):
            cells[start:spare] = (byte ^ 0xFF for byte in cells[start:spare])
    return replace(
        block,
        cells=bytes(cells),
        states=[s & ~GARBLED_PAGE for s in block.states],
        flips=[flip for flip in block.flips if flip[0] not in wrong],
    )


def read_partition_files(partition: Partition, filesystem: str) -> dict[str, bytes | None]:
    """Files with their bytes, folders with None, by path; UsageError if it cannot be decoded."""
    if filesystem == "jffs2":
        # torn nodes are left out, as by a mount: no file is as long as these say
        found = jffs2scan.scan_partition_nodes(partition)
        layout = jffs2files.assemble_file_layout(
            found, jffs2nodes.NodeGeometry.from_partition(partition), strict=False
        )
    else:
        layout = decoders.decode_layout(partition, filesystem)
    tree: dict[str, bytes | None] = {}
    for path, owner in layout.names.items():
        name = path.strip("/")
        if name.split("/")[0] in RESERVED_NAMES:
            continue
        is_file = owner in layout.sizes or owner == NO_OWNER
        tree[name] = _read_content(layout, partition, owner) if is_file else A_FOLDER
    return tree


def _read_content(layout: Layout, partition: Partition, owner: int) -> bytes:
    content = bytearray(layout.sizes.get(owner, 0))
    for piece in layout.pieces_by_owner.get(owner, []):
        plain = unpacking.unpack_file_piece(piece, partition.read_data)
        content[piece.offset : piece.offset + piece.bytes] = plain
    return bytes(content[: layout.sizes.get(owner, 0)])
