# SPDX-License-Identifier: GPL-2.0-or-later
"""A sample of a campaign's points, each tried again on a fresh board and read by the host too.

The board's program judges thousands of points in one guest, whose kernel may remember what it
should not. So some are drawn at random, by seed, and must say the same alone.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.qemu import QemuBoard
from nandlab.powercut import second
from nandlab.powercut.campaign import Campaign, once
from nandlab.powercut.found import CLASSES, Found
from nandlab.powercut.job import Points, alone
from nandlab.powercut.retried import HELD, Again, Kept
from nandlab.powercut.second import Verdicts


def drawn(found: Found, count: int, seed: int) -> list[tuple[str, int, str, str]]:
    """Points of a campaign: load, operation, variant and letter."""
    every = [
        (title, k, variant, letter)
        for title, variants in sorted(found.outcomes.items())
        for variant, letters in sorted(variants.items())
        for k, letter in enumerate(letters)
        if letter != " "
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


async def again(
    campaign: Campaign, found: Found, board: QemuBoard, out: Path, count: int, seed: int = 1
) -> AsyncIterator[Again]:
    """Tries a sample of a campaign with one seed of each variant.

    out: the campaign's folder; what is tried is kept there in a file, and not tried again.
    """
    titles = [load.title for load in campaign.loads.loads]
    points = replace(campaign.points, recovery=False)
    kept = Kept(out / f"sample-{seed}.jsonl")
    for title, k, variant, letter in drawn(found, count, seed):
        one = alone(points, titles.index(title), k, variant, points.seed)
        point = f"{k}:{variant}:{one.seed}"
        if (title, point) not in kept.every:
            told = await second.tried(campaign, one, board)
            host = "; ".join(told.wrong) or "holds"
            same = told.recording in found.recordings[title]
            verdict = await _verdict(campaign, one, board, told, CLASSES[letter])
            kept.add(
                Again(
                    load=title,
                    point=point,
                    campaign=CLASSES[letter],
                    alone=verdict,
                    host=told.unread or host,
                    host_agrees=told.agree,
                    same_recording=same,
                    check=told.check,
                )
            )
        yield kept.every[title, point]


async def _verdict(
    campaign: Campaign, one: Points, board: QemuBoard, told: Verdicts, before: str
) -> str:
    """What the board says of a point alone; before: what it said in the campaign.

    A chip that is left for the host is not cut again behind the check's sync. So where it holds and
    did not, the point is tried once more and leaves no chip.
    """
    if not told.held or before == HELD:
        return told.verdict
    (load,) = await once(campaign, one, board)
    return str(load["findings"][0]["class"]) if load["findings"] else HELD


def refuse_several_seeds(campaign: Campaign) -> None:
    """UsageError if a point's letter may be of any of several seeds."""
    if campaign.points.seeds > 1:
        raise UsageError("--sample: of one seed of each variant only; give --seeds 1")
