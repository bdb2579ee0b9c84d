# SPDX-License-Identifier: GPL-2.0-or-later
"""Which state of the chip each point of a campaign is: counted on the host, from the journal.

A load is recorded once more, on a board of its own that tries no point, and the journal's memory
comes back with the chip as it was before the load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.cargo import make_cargo
from nandlab.board.jobs.job import Job, JobRecord, Step
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.catalog.chip import MIB, Geometry
from nandlab.flash.chip import image
from nandlab.flash.chip.simnand import DEBUG_FOLDER, IMAGE_FILE
from nandlab.powercut import pointcounts, statedigest
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.campaignfolder import parse_load_reports
from nandlab.powercut.job import (
    CUT_STEP,
    DEADLINE_S,
    JOURNAL_MIB,
    CutPoints,
    build_chip_module,
    find_journal_address,
    make_cut_job,
)
from nandlab.powercut.journal import Journal, Operation, list_broken_program_limits
from nandlab.powercut.pointcounts import PointCounts

NO_POINT = (1 << 32) - 1
"""A first operation that no load has: it is recorded, and nothing is tried."""
RECORDING_STEP = "recorded"

PointPlace = tuple[int, str, int]
"""A point: operations before it, variant, seed."""


@dataclass(frozen=True)
class LoadRecording:
    """A load as the chip's journal has it."""

    operations: tuple[Operation, ...]
    base: int
    """The chip's digest before the load."""
    recording: str
    """The board's digest of the recording."""
    images: tuple[int, ...]
    """Digests of chips that the board brought to points."""


def make_load_recording_job(
    campaign: Campaign, load: int, board: QemuBoard, at: Sequence[PointPlace] = ()
) -> Job:
    """Records a load on a fresh board, and saves the chip as it was before, and at each of these
    points."""
    on = campaign.medium
    none = replace(
        campaign.points, first_load=load, last_load=load, first=NO_POINT, variants=("before",)
    )
    one = make_cut_job(on, campaign.loads, none, build_chip_module(board))
    room = on.cells_bytes + JOURNAL_MIB * MIB + MIB
    hold = make_cargo(on.virtual, room, back_bytes=on.image_bytes * (1 + len(at)))
    hold = replace(hold, returned_memory=(find_journal_address(on), JOURNAL_MIB * MIB))
    goto = [f"goto {k} {variant} {seed}" for k, variant, seed in ((0, "before", 1), *at)]
    saved = " && ".join(
        f"echo {each} > {DEBUG_FOLDER}/journal && cat {IMAGE_FILE}" for each in goto
    )
    more = (
        Step(RECORDING_STEP, f"cat {DEBUG_FOLDER}/journal"),
        Step("save", f"set -o pipefail; {{ {saved}; }} | {hold.put()}", DEADLINE_S),
    )
    return replace(one, steps=(*one.steps, *more), cargo=hold)


def decode_recorded_operations(record: JobRecord, geometry: Geometry) -> tuple[Operation, ...]:
    """The operations that a job of :func:`make_load_recording_job` recorded."""
    state = dict(line.split() for line in record[RECORDING_STEP].stdout.splitlines())
    return tuple(
        Journal(record.returned_memory or b"", int(state["recorded"]), geometry).operations()
    )


async def record_load(
    campaign: Campaign, load: int, board: QemuBoard, at: Sequence[PointPlace] = ()
) -> LoadRecording | None:
    """Records a load; None: the file system does not take it.

    at: points to which the board brings the chip, and saves it.
    """
    on = campaign.medium
    record = await board.run(make_load_recording_job(campaign, load, board, at))
    failed = record.failed()
    if failed is not None and failed.step != "save":
        raise NandlabError(f"powercut: {on.description}: {failed.failure()}")
    (report,) = parse_load_reports(record[CUT_STEP].stdout, on.description)
    if report.refused is not None:
        return None
    if failed is not None or record.cargo is None:
        raise NandlabError(
            f"powercut: {on.description}: {failed.failure() if failed else 'no image'}"
        )
    base, *images = map(
        statedigest.digest_decoded_chip_image, image.decode_chip_images(record.cargo)
    )
    return LoadRecording(
        decode_recorded_operations(record, on.chip.geometry), base, report.recording, tuple(images)
    )


def list_point_states(
    recording: LoadRecording, points: CutPoints
) -> Iterator[tuple[PointPlace, int]]:
    """The points of a load that the board tries, each with its state."""
    chip, count = recording.base, len(recording.operations)
    last = count if points.last is None else min(points.last, count)
    for k in range(last + 1):
        if k >= points.first and not (k - points.first) % points.every:
            for variant, seed in _list_variants(points):
                if variant == "before":
                    yield (k, variant, seed), chip
                elif k < count:
                    change = statedigest.digest_torn_operation_change(
                        recording.operations[k], variant, seed
                    )
                    if change is not None:
                        yield (k, variant, seed), chip ^ change
        if k < count:
            chip ^= statedigest.digest_operation_change(recording.operations[k])


def _list_variants(asked: CutPoints) -> Iterator[tuple[str, int]]:
    for variant in asked.variants:
        for seed in range(asked.seed, asked.seed + (1 if variant == "before" else asked.seeds)):
            yield variant, seed


def count_load_points(title: str, of: LoadRecording, campaign: Campaign) -> PointCounts:
    """A load's points, and those of them that are no state of the part."""
    broken = [
        list_broken_program_limits(each, campaign.medium.chip.geometry) for each in of.operations
    ]
    every = list(list_point_states(of, campaign.points))
    return PointCounts(
        load=title,
        recording=of.recording,
        points=len(every),
        states=sorted({f"{state:016x}" for _, state in every}),
        programs=sum(not each.erases for each in of.operations),
        forbidden={
            name: sum(name in each for each in broken) for name in sorted(set().union(*broken))
        },
        broken=sum(map(bool, broken)),
        unphysical=sum(variant != "before" and bool(broken[k]) for (k, variant, _), _ in every),
    )


async def _record_and_count(campaign: Campaign, load: int, board: QemuBoard) -> PointCounts | None:
    """A load's points; None: the file system does not take it."""
    of = await record_load(campaign, load, board)
    title = campaign.loads.loads[load].title
    # beside the loop, which serves the other boards meanwhile
    return None if of is None else await asyncio.to_thread(count_load_points, title, of, campaign)


async def count_campaign_points(
    campaign: Campaign, board: QemuBoard, out: Path, refused: Container[str], jobs: int = 1
) -> AsyncIterator[int]:
    """Counts the loads that the campaign's folder lacks, ``jobs`` at a time; after each, how many
    are left.

    refused: titles of loads that the file system does not take.
    """
    asked, titles = campaign.points, [load.title for load in campaign.loads.loads]
    last = len(titles) - 1 if asked.last_load is None else asked.last_load
    counts, free = pointcounts.read_point_counts(out), asyncio.Semaphore(jobs)
    done = {*counts, *(title for title in titles if title in refused)}
    left = [i for i in range(asked.first_load, last + 1) if titles[i] not in done]

    async def one(index: int) -> PointCounts | None:
        async with free:
            return await _record_and_count(campaign, index, board)

    tasks = [asyncio.ensure_future(one(index)) for index in left]
    try:
        for n, task in enumerate(asyncio.as_completed(tasks), 1):
            of = await task
            if of is not None:
                counts[of.load] = of
                pointcounts.write_point_counts(out, {t: counts[t] for t in titles if t in counts})
            yield len(left) - n
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
