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
    campaign: Campaign, load: int, board: QemuBoard, places: Sequence[PointPlace] = ()
) -> Job:
    """Records a load on a fresh board, and saves the chip as it was before, and at each of these
    points."""
    medium = campaign.medium
    none = replace(
        campaign.points, first_load=load, last_load=load, first=NO_POINT, variants=("before",)
    )
    job = make_cut_job(medium, campaign.loads, none, build_chip_module(board))
    room = medium.cells_bytes + JOURNAL_MIB * MIB + MIB
    hold = make_cargo(medium.virtual, room, back_bytes=medium.image_bytes * (1 + len(places)))
    hold = replace(hold, returned_memory=(find_journal_address(medium), JOURNAL_MIB * MIB))
    goto = [f"goto {k} {variant} {seed}" for k, variant, seed in ((0, "before", 1), *places)]
    saved = " && ".join(
        f"echo {line} > {DEBUG_FOLDER}/journal && cat {IMAGE_FILE}" for line in goto
    )
    save_steps = (
        Step(RECORDING_STEP, f"cat {DEBUG_FOLDER}/journal"),
        Step("save", f"set -o pipefail; {{ {saved}; }} | {hold.put()}", DEADLINE_S),
    )
    return replace(job, steps=(*job.steps, *save_steps), cargo=hold)


def decode_recorded_operations(record: JobRecord, geometry: Geometry) -> tuple[Operation, ...]:
    """The operations that a job of :func:`make_load_recording_job` recorded."""
    state = dict(line.split() for line in record[RECORDING_STEP].stdout.splitlines())
    return tuple(
        Journal(record.returned_memory or b"", int(state["recorded"]), geometry).operations()
    )


async def record_load(
    campaign: Campaign, load: int, board: QemuBoard, places: Sequence[PointPlace] = ()
) -> LoadRecording | None:
    """Records a load; None: the file system does not take it.

    at: points to which the board brings the chip, and saves it.
    """
    medium = campaign.medium
    record = await board.run(make_load_recording_job(campaign, load, board, places))
    failed = record.failed()
    if failed is not None and failed.step != "save":
        raise NandlabError(f"powercut: {medium.description}: {failed.failure()}")
    (report,) = parse_load_reports(record[CUT_STEP].stdout, medium.description)
    if report.refused is not None:
        return None
    if failed is not None or record.cargo is None:
        raise NandlabError(
            f"powercut: {medium.description}: {failed.failure() if failed else 'no image'}"
        )
    base, *images = map(
        statedigest.digest_decoded_chip_image, image.decode_chip_images(record.cargo)
    )
    return LoadRecording(
        decode_recorded_operations(record, medium.chip.geometry),
        base,
        report.recording,
        tuple(images),
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


def _list_variants(points: CutPoints) -> Iterator[tuple[str, int]]:
    for variant in points.variants:
        for seed in range(points.seed, points.seed + (1 if variant == "before" else points.seeds)):
            yield variant, seed


def count_load_points(title: str, recording: LoadRecording, campaign: Campaign) -> PointCounts:
    """A load's points, and those of them that are no state of the part."""
    broken = [
        list_broken_program_limits(operation, campaign.medium.chip.geometry)
        for operation in recording.operations
    ]
    point_states = list(list_point_states(recording, campaign.points))
    return PointCounts(
        load=title,
        recording=recording.recording,
        points=len(point_states),
        states=sorted({f"{state:016x}" for _, state in point_states}),
        programs=sum(not operation.erases for operation in recording.operations),
        forbidden={
            name: sum(name in limits for limits in broken) for name in sorted(set().union(*broken))
        },
        broken=sum(map(bool, broken)),
        unphysical=sum(
            variant != "before" and bool(broken[k]) for (k, variant, _), _ in point_states
        ),
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
    points, titles = campaign.points, [load.title for load in campaign.loads.loads]
    last = len(titles) - 1 if points.last_load is None else points.last_load
    counts, free = pointcounts.read_point_counts(out), asyncio.Semaphore(jobs)
    counted_titles = {*counts, *(title for title in titles if title in refused)}
    missing_loads = [
        i for i in range(points.first_load, last + 1) if titles[i] not in counted_titles
    ]

    async def one(index: int) -> PointCounts | None:
        async with free:
            return await _record_and_count(campaign, index, board)

    tasks = [asyncio.ensure_future(one(index)) for index in missing_loads]
    try:
        for n, task in enumerate(asyncio.as_completed(tasks), 1):
            of = await task
            if of is not None:
                counts[of.load] = of
                pointcounts.write_point_counts(out, {t: counts[t] for t in titles if t in counts})
            yield len(missing_loads) - n
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
