# SPDX-License-Identifier: GPL-2.0-or-later
"""Which state of the chip each point of a campaign is: counted on the host, from the journal.

A load is recorded once more, on a board of its own that tries no point, and the journal's memory
comes back with the chip as it was before the load.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nandlab.base.errors import NandlabError
from nandlab.board.cargo import cargo
from nandlab.board.job import Job, JobRecord, Step
from nandlab.board.qemu import QemuBoard
from nandlab.catalog.chip import MIB, Geometry
from nandlab.chip import image
from nandlab.chip.simulated import FOLDER, IMAGE
from nandlab.powercut import counted, torn
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.counted import Counted
from nandlab.powercut.job import (
    CUT,
    DEADLINE_S,
    JOURNAL_MIB,
    Points,
    chip_module,
    job,
    journal_start,
)
from nandlab.powercut.journal import Journal, Operation, forbidden

NO_POINT = (1 << 32) - 1
"""A first operation that no load has: it is recorded, and nothing is tried."""
RECORDED = "recorded"

Place = tuple[int, str, int]
"""A point: operations before it, variant, seed."""


@dataclass(frozen=True)
class Recorded:
    """A load as the chip's journal has it."""

    operations: tuple[Operation, ...]
    base: int
    """The chip's digest before the load."""
    recording: str
    """The board's digest of the recording."""
    images: tuple[int, ...]
    """Digests of chips that the board brought to points."""


def recording(campaign: Campaign, load: int, board: QemuBoard, at: Sequence[Place] = ()) -> Job:
    """Records a load on a fresh board, and saves the chip as it was before, and at each of these
    points."""
    on = campaign.on
    none = replace(
        campaign.points, first_load=load, last_load=load, first=NO_POINT, variants=("before",)
    )
    one = job(on, campaign.loads, none, chip_module(board))
    room = on.cells_bytes + JOURNAL_MIB * MIB + MIB
    hold = cargo(on.virtual, room, back_bytes=on.image_bytes * (1 + len(at)))
    hold = replace(hold, left=(journal_start(on), JOURNAL_MIB * MIB))
    goto = [f"goto {k} {variant} {seed}" for k, variant, seed in ((0, "before", 1), *at)]
    saved = " && ".join(f"echo {each} > {FOLDER}/journal && cat {IMAGE}" for each in goto)
    more = (
        Step(RECORDED, f"cat {FOLDER}/journal"),
        Step("save", f"set -o pipefail; {{ {saved}; }} | {hold.put()}", DEADLINE_S),
    )
    return replace(one, steps=(*one.steps, *more), cargo=hold)


def journal(record: JobRecord, geometry: Geometry) -> tuple[Operation, ...]:
    """The operations that a job of :func:`recording` recorded."""
    state = dict(line.split() for line in record[RECORDED].stdout.splitlines())
    return tuple(Journal(record.left or b"", int(state["recorded"]), geometry).operations())


async def recorded(
    campaign: Campaign, load: int, board: QemuBoard, at: Sequence[Place] = ()
) -> Recorded | None:
    """Records a load; None: the file system does not take it.

    at: points to which the board brings the chip, and saves it.
    """
    on = campaign.on
    record = await board.run(recording(campaign, load, board, at))
    failed = record.failed()
    if failed is not None and failed.step != "save":
        raise NandlabError(f"powercut: {on.where}: {failed.failure()}")
    (told,) = map(json.loads, record[CUT].stdout.splitlines())
    if "refused" in told:
        return None
    if failed is not None or record.cargo is None:
        raise NandlabError(f"powercut: {on.where}: {failed.failure() if failed else 'no image'}")
    base, *images = _images(record.cargo)
    return Recorded(journal(record, on.chip.geometry), base, told["recording"], tuple(images))


def _images(saved: bytes) -> Iterator[int]:
    while saved:
        chip, saved = image.decode_first(saved)
        yield torn.of_image(chip)


def points(of: Recorded, asked: Points) -> Iterator[tuple[Place, int]]:
    """The points of a load that the board tries, each with its state."""
    chip, count = of.base, len(of.operations)
    last = count if asked.last is None else min(asked.last, count)
    for k in range(last + 1):
        if k >= asked.first and not (k - asked.first) % asked.every:
            for variant, seed in _ways(asked):
                if variant == "before":
                    yield (k, variant, seed), chip
                elif k < count:
                    change = torn.torn(of.operations[k], variant, seed)
                    if change is not None:
                        yield (k, variant, seed), chip ^ change
        if k < count:
            chip ^= torn.change(of.operations[k])


def _ways(asked: Points) -> Iterator[tuple[str, int]]:
    for variant in asked.variants:
        for seed in range(asked.seed, asked.seed + (1 if variant == "before" else asked.seeds)):
            yield variant, seed


def count(title: str, of: Recorded, campaign: Campaign) -> Counted:
    """A load's points, and those of them that are no state of the part."""
    broken = [forbidden(each, campaign.on.chip.geometry) for each in of.operations]
    every = list(points(of, campaign.points))
    return Counted(
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


async def _counted(campaign: Campaign, load: int, board: QemuBoard) -> Counted | None:
    """A load's points; None: the file system does not take it."""
    of = await recorded(campaign, load, board)
    title = campaign.loads.loads[load].title
    # beside the loop, which serves the other boards meanwhile
    return None if of is None else await asyncio.to_thread(count, title, of, campaign)


async def of_campaign(
    campaign: Campaign, board: QemuBoard, out: Path, refused: Container[str], jobs: int = 1
) -> AsyncIterator[int]:
    """Counts the loads that the campaign's folder lacks, ``jobs`` at a time; after each, how many
    are left.

    refused: titles of loads that the file system does not take.
    """
    asked, titles = campaign.points, [load.title for load in campaign.loads.loads]
    last = len(titles) - 1 if asked.last_load is None else asked.last_load
    kept, free = counted.read(out), asyncio.Semaphore(jobs)
    done = {*kept, *(title for title in titles if title in refused)}
    left = [i for i in range(asked.first_load, last + 1) if titles[i] not in done]

    async def one(index: int) -> Counted | None:
        async with free:
            return await _counted(campaign, index, board)

    tasks = [asyncio.ensure_future(one(index)) for index in left]
    try:
        for n, task in enumerate(asyncio.as_completed(tasks), 1):
            of = await task
            if of is not None:
                kept[of.load] = of
                counted.write(out, {t: kept[t] for t in titles if t in kept})
            yield len(left) - n
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
