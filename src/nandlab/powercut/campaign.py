# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the points of a campaign, in pieces: each a job on a board of its own, and a file when done.

A piece that is interrupted is done again; one that has its file is not. Where the kernel dies or
hangs, that point is a finding; the board is restored and goes on at the next operation.
"""

from __future__ import annotations

import asyncio
import re
import resource
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from nandlab.base.digest import digest_bytes, digest_file, digest_json_value
from nandlab.base.errors import NandlabError, UsageError
from nandlab.base.strings import POINT, PointName, parse_cut_point_name
from nandlab.board.jobs.job import BoardLost
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.files import validate_data
from nandlab.catalog.mistakes import list_validation_mistakes
from nandlab.plan.medium import Medium
from nandlab.powercut import campaignfolder, kernellog
from nandlab.powercut.campaignfolder import (
    FORMAT,
    HEAD,
    PIECES,
    CampaignHead,
    Finding,
    LoadReport,
    Piece,
    RequestedPoints,
    find_campaign_piece_path,
)
from nandlab.powercut.job import (
    CUT_STEP,
    FAULT_MODULE_STEP,
    CutPoints,
    build_campaign_modules,
    make_cut_job,
)
from nandlab.powercut.loads import LoadSet
from nandlab.results.sources import (
    describe_filesystem_core,
    has_patched_source,
    list_source_words,
)

RESULT_FILES = (PIECES, "*.jsonl")
"""What a campaign found: pieces, samples, states."""
LOADS_A_PIECE = 16
STRIDE = 4
"""A load that is alone is cut in so many pieces, each every so many operations.

Both are for one seed: with more, a piece has fewer loads or operations, so that an interruption
costs little and a board has done its piece before its deadline."""
RECOVERY_WEIGHT = 8
"""With the recovery cut too, a piece is smaller by so much: a point of UBIFS has some 200 more."""
CRASH, HANG = "kernel crash", "hang"
NO_ANSWER, HUNG_TASK = "the board gave no answer", "hung_task"
"""How the board is lost where a call never returns: after the host's time; after the kernel's own,
where a campaign has it look."""
CUT_LINE = re.compile(f"cut (?P<load>.+): (?P<point>{POINT}).*", re.ASCII)
"""The line of the board's console that names a point before it is tried; the kernel may write more
in it."""


@dataclass(frozen=True)
class Campaign:
    """What is cut."""

    medium: Medium
    loads: LoadSet
    points: CutPoints

    def identity(self, board: QemuBoard) -> str:
        """What decides its outcome, as a hash: the board, the medium, the loads and the points."""
        module = build_campaign_modules(board, self.points.variants)
        built = board.programs(make_cut_job(self.medium, self.loads, self.points, module))
        parts = {name: digest_bytes(data) for name, data in module.items()}
        parts |= {name: digest_file(path) for name, path in built.items()}
        if self.medium.filesystem.name == "yaffs2":  # its module is in no saved state
            parts["yaffs2"] = board.identity["yaffs2_core"]["sha256"]
        return digest_json_value(
            [FORMAT, board.key, parts, self.medium.recipe(), self.loads.text(), asdict(self.points)]
        )

    def pieces(self) -> list[CutPoints]:
        """Its points in parts that a board does at once."""
        count = len(self.loads.loads)
        last = count - 1 if self.points.last_load is None else self.points.last_load
        first = self.points.first_load
        recovery, step = self.points.recovery, self.points.every
        weight = self.points.seeds * (RECOVERY_WEIGHT if recovery else 1)
        if first == last and (step == 1 or recovery) and self.points.last is None:
            first_point, stride = self.points.first, STRIDE * weight
            return [
                replace(
                    self.points, last_load=last, first=first_point + i * step, every=step * stride
                )
                for i in range(stride)
            ]
        most = max(1, LOADS_A_PIECE // weight)
        return [
            replace(self.points, first_load=i, last_load=min(i + most - 1, last))
            for i in range(first, last + 1, most)
        ]


def _find_lost_point(lost: BoardLost, loads: LoadSet) -> tuple[int, PointName, Finding]:
    """The load and the point at which the board was lost, and the finding."""
    lines = [match for line in lost.console if (match := CUT_LINE.fullmatch(line.strip()))]
    titles = [load.title for load in loads.loads]
    if not lines or lines[-1]["load"] not in titles:
        tail = " | ".join(lost.console_tail[-6:])
        raise NandlabError(f"powercut: the board was lost before a cut: {lost.reason}: {tail}")
    last = lines[-1]
    finding = Finding(
        name=HANG if lost.reason.startswith(NO_ANSWER) or HUNG_TASK in lost.reason else CRASH,
        count=1,
        first=last["point"],
        what=lost.reason,
        console=kernellog.find_kernel_crash_lines(lost.console, last[0]),
    )
    return titles.index(last["load"]), parse_cut_point_name(last["point"]), finding


async def run_piece(campaign: Campaign, points: CutPoints, board: QemuBoard) -> list[LoadReport]:
    """What cutcheck prints of a piece; points at which the kernel dies are skipped."""
    medium, loads = campaign.medium, campaign.loads
    try:
        modules = build_campaign_modules(board, points.variants)
        record = await board.run(make_cut_job(medium, loads, points, modules))
    except BoardLost as lost:
        load, point, finding = _find_lost_point(lost, loads)
        return await _run_around_crash(campaign, points, board, load, point.operation, finding)
    failed = record.failed()
    if failed is not None:
        kind = UsageError if failed.step.startswith(FAULT_MODULE_STEP) else NandlabError
        raise kind(f"powercut: {medium.description}: {failed.failure()}")
    return campaignfolder.parse_load_reports(record[CUT_STEP].stdout, medium.description)


async def _run_around_crash(
    campaign: Campaign,
    points: CutPoints,
    board: QemuBoard,
    crashed_load: int,
    k: int,
    finding: Finding,
) -> list[LoadReport]:
    """The piece without the operation at which the kernel died."""
    last = points.last_load
    last_load = len(campaign.loads.loads) - 1 if last is None else last
    parts = []
    if crashed_load > points.first_load:
        parts.append(replace(points, last_load=crashed_load - 1))
    load_points = replace(points, first_load=crashed_load, last_load=crashed_load)
    if k - points.every >= points.first:
        parts.append(replace(load_points, last=k - points.every))
    if points.last is None or k + points.every <= points.last:
        parts.append(replace(load_points, first=k + points.every))
    if crashed_load < last_load:
        parts.append(replace(points, first_load=crashed_load + 1, last_load=last_load))
    reports = [
        LoadReport(load=campaign.loads.loads[crashed_load].title, points=1, findings=[finding])
    ]
    for part in parts:
        reports += await run_piece(campaign, part, board)
    return reports


def _measure_children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def make_campaign_head(campaign: Campaign, board: QemuBoard) -> CampaignHead:
    """What a campaign's folder has of it; UsageError for what no folder may have."""
    medium = campaign.medium
    try:
        return CampaignHead(
            format=FORMAT,
            identity=campaign.identity(board),
            filesystem=medium.filesystem.name,
            core=describe_filesystem_core(medium.filesystem.name, board.identity),
            sources=list_source_words(board.identity),
            patched=has_patched_source(board.identity),
            changed=medium.filesystem.select_changed_options(medium.options),
            options=dict(medium.options),
            chip=medium.chip.name,
            forbids=medium.chip.forbids(),
            nop=medium.chip.geometry.nop,
            partition_mib=medium.partition_mib,
            board=medium.board.name,
            kernel=board.identity["kernel"],
            load=campaign.loads.name,
            program=campaign.loads.program,
            points=validate_data(asdict(campaign.points), RequestedPoints, "powercut"),
            pieces=len(campaign.pieces()),
        )
    except ValidationError as e:
        raise UsageError(
            *(f"powercut: {m}" for m in list_validation_mistakes(e, CampaignHead, None))
        ) from None


def prepare_campaign_folder(out: Path, head: CampaignHead) -> None:
    """Makes the folder of a campaign, or goes on with it; UsageError if it is of another one."""
    if not (out / HEAD).exists() and out.exists() and any(out.iterdir()):
        raise UsageError(f"{out}: not empty, and no campaign's: give another --out")
    _has_campaign_head(out, head)
    out.mkdir(parents=True, exist_ok=True)


def _has_campaign_head(out: Path, head: CampaignHead) -> bool:
    """Whether a folder has this head; UsageError if it has what was found in another campaign."""
    if not (out / HEAD).exists():
        return False
    before = campaignfolder.read_campaign_head(out)
    same = (before.identity, before.pieces) == (head.identity, head.pieces)
    if not same and any(any(out.glob(files)) for files in RESULT_FILES):
        raise UsageError(f"{out}: of another campaign: give another --out")
    return same


def _write_piece(out: Path, head: CampaignHead, number: int, piece: Piece) -> None:
    """Keeps a piece. The head comes with the first, so that what fails before claims no folder."""
    if not _has_campaign_head(out, head):
        campaignfolder.write_campaign_head(out, head)
    campaignfolder.write_campaign_piece(out, number, piece)


async def run_campaign(
    campaign: Campaign,
    board: QemuBoard,
    out: Path,
    jobs: int,
    report_piece: Callable[[int, int, Sequence[LoadReport]], None],
) -> None:
    """Does the pieces that the folder lacks, ``jobs`` at a time; told after each."""
    head = make_campaign_head(campaign, board)
    prepare_campaign_folder(out, head)
    pieces, free = campaign.pieces(), asyncio.Semaphore(jobs)
    ready = sum(find_campaign_piece_path(out, i).exists() for i in range(len(pieces)))
    told_s = _measure_children_cpu_s()

    async def one(number: int, points: CutPoints) -> None:
        nonlocal ready, told_s
        if find_campaign_piece_path(out, number).exists():
            return
        async with free:
            loads = await run_piece(campaign, points, board)
            # of pieces done at once, each board's time counts when it has ended
            used_s = _measure_children_cpu_s()
            piece, told_s = Piece(loads=loads, cpu_s=used_s - told_s), used_s
            _write_piece(out, head, number, piece)
            ready += 1
            report_piece(ready, len(pieces), loads)

    tasks = [asyncio.ensure_future(one(i, points)) for i, points in enumerate(pieces)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
