# SPDX-License-Identifier: GPL-2.0-or-later
"""A sample of a campaign's points, each tried again on a fresh board and read by the host too.

The board's program judges thousands of points in one guest, whose kernel may remember what it
should not. So some are drawn at random, by seed, and must say the same alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nandlab.base.errors import UsageError
from nandlab.board.qemu import QemuBoard
from nandlab.powercut import second
from nandlab.powercut.campaign import Campaign
from nandlab.powercut.found import Found
from nandlab.powercut.job import alone


@dataclass(frozen=True)
class Again:
    """A point, and what each says of it."""

    load: str
    point: str
    campaign_held: bool
    alone_held: bool
    host: str
    """"holds", what is wrong, or why the host cannot read it."""
    host_agrees: bool | None
    """None: it cannot read it."""
    same_recording: bool = True
    """Whether the load was recorded alone as in the campaign. UBIFS has the time of day to the ns
    in its nodes, which is another after other loads."""

    @property
    def agreed(self) -> bool:
        return self.campaign_held == self.alone_held and self.host_agrees is not False


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
    kept = Kept(out / f"sample-{seed}.jsonl")
    for title, k, variant, letter in drawn(found, count, seed):
        one = alone(campaign.points, titles.index(title), k, variant, campaign.points.seed)
        point = f"{k}:{variant}:{one.seed}"
        if (title, point) not in kept.every:
            told = await second.tried(campaign, replace(one, recovery=False), board)
            host = "; ".join(told.wrong) or "holds"
            agrees = None if told.unread else told.held == (not told.wrong)
            same = told.recording in found.recordings[title]
            kept.add(
                Again(title, point, letter == ".", told.held, told.unread or host, agrees, same)
            )
        yield kept.every[title, point]


class Kept:
    """The file of what was tried, a JSON line each; a line that was cut short is left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.every: dict[tuple[str, str], Again] = {}
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        for line in lines:
            if line.endswith("\n"):
                one = Again(**json.loads(line))
                self.every[one.load, one.point] = one
        if lines:
            path.write_text("".join(line for line in lines if line.endswith("\n")))

    def add(self, one: Again) -> None:
        self.every[one.load, one.point] = one
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(one)) + "\n")


def refuse_several_seeds(campaign: Campaign) -> None:
    """UsageError if a point's letter may be of any of several seeds."""
    if campaign.points.seeds > 1:
        raise UsageError("--sample: of one seed of each variant only; give --seeds 1")
