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
from nandlab.base.strings import PointName
from nandlab.board.virtual.qemu import QemuBoard
from nandlab.powercut import hostcheck
from nandlab.powercut.campaign import Campaign, run_piece
from nandlab.powercut.campaignresult import CLASSES, CampaignResult
from nandlab.powercut.hostcheck import PointVerdicts
from nandlab.powercut.job import CutPoints, select_single_cut_point
from nandlab.powercut.samplefile import POINT_HELD, SampledPoint, SampleFile


def draw_point_sample(
    result: CampaignResult, count: int, seed: int
) -> list[tuple[str, int, str, str]]:
    """Points of a campaign: load, operation, variant and letter."""
    points = [
        (title, k, variant, letter)
        for title, variants in sorted(result.outcomes.items())
        for variant, letters in sorted(variants.items())
        for k, letter in enumerate(letters)
        if letter != " "
    ]
    return random.Random(seed).sample(points, min(count, len(points)))


async def retry_point_sample(
    campaign: Campaign,
    result: CampaignResult,
    board: QemuBoard,
    out: Path,
    count: int,
    seed: int = 1,
) -> AsyncIterator[SampledPoint]:
    """Tries a sample of a campaign with one seed of each variant.

    out: the campaign's folder; what is tried is kept there in a file, and not tried again.
    """
    titles = [load.title for load in campaign.loads.loads]
    points = replace(campaign.points, recovery=False)
    sample = SampleFile(out / f"sample-{seed}.jsonl")
    for title, k, variant, letter in draw_point_sample(result, count, seed):
        single_point = select_single_cut_point(points, titles.index(title), k, variant, points.seed)
        point = f"{PointName(k, variant, single_point.seed)}"
        if (title, point) not in sample.points:
            verdicts = await hostcheck.try_point(campaign, single_point, board)
            host = "; ".join(verdicts.host_mistakes) or "holds"
            same = verdicts.recording in result.recordings[title]
            verdict = await _judge_alone(campaign, single_point, board, verdicts, CLASSES[letter])
            sample.add(
                SampledPoint(
                    load=title,
                    point=point,
                    campaign=CLASSES[letter],
                    alone=verdict,
                    host=verdicts.unread or host,
                    host_agrees=verdicts.verdicts_agree,
                    same_recording=same,
                    check=verdicts.check,
                )
            )
        yield sample.points[title, point]


async def _judge_alone(
    campaign: Campaign,
    single_point: CutPoints,
    board: QemuBoard,
    verdicts: PointVerdicts,
    before: str,
) -> str:
    """What the board says of a point alone; before: what it said in the campaign.

    A chip that is left for the host is not cut again behind the check's sync. So where it holds and
    did not, the point is tried once more and leaves no chip.
    """
    if not verdicts.board_holds or before == POINT_HELD:
        return verdicts.verdict
    (load,) = await run_piece(campaign, single_point, board)
    return load.findings[0].name if load.findings else POINT_HELD


def refuse_several_seeds(campaign: Campaign) -> None:
    """UsageError if a point's letter may be of any of several seeds."""
    if campaign.points.seeds > 1:
        raise UsageError("--sample: of one seed of each variant only; give --seeds 1")
