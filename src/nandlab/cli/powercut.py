# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab powercut``: what a file system keeps when the power goes at any flash operation."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandlab.base.errors import UsageError
from nandlab.cli.run import CORES, JobsOption
from nandlab.cli.words import listed, pairs

if TYPE_CHECKING:
    from nandlab.board.qemu import QemuBoard
    from nandlab.plan.medium import Medium
    from nandlab.powercut.campaign import Campaign
    from nandlab.powercut.found import Found
    from nandlab.powercut.job import Points

POINT = re.compile(r"(\d+):([a-z]+):(\d+)")


def powercut(  # noqa: PLR0913 - the command line's own options
    *,
    fs: Annotated[str, typer.Option(help="a file system of the catalog, such as ubifs")],
    load: Annotated[
        str, typer.Option(help="ace1, ace2, small-files, or a file of loads (docs/power-cuts.md)")
    ] = "ace1",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="OPTION=VALUE", help="an option of the file system; may be repeated"
        ),
    ] = None,
    chip: Annotated[str, typer.Option(help="a chip of the catalog")] = "apf27",
    partition_mib: Annotated[float, typer.Option(min=0, help="MiB of the partition")] = 8,
    board: Annotated[str, typer.Option(help="a board of the catalog")] = "apf27",
    variants: Annotated[
        str, typer.Option(help="ways to tear an operation: before,prefix,subset,done,unstable")
    ] = "before,prefix,subset,unstable",
    seeds: Annotated[int, typer.Option(min=1, help="seeds of each way to tear")] = 1,
    recovery: Annotated[
        bool, typer.Option("--recovery", help="cut each operation of the mount after a cut too")
    ] = False,
    points: Annotated[
        int, typer.Option(min=1, metavar="N", help="cut after each N-th operation only")
    ] = 1,
    title: Annotated[str | None, typer.Option(help="only the load of this title")] = None,
    point: Annotated[
        str | None,
        typer.Option(metavar="K:VARIANT:SEED", help="only this point, on a fresh board"),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="then try N points drawn at random alone, on fresh boards, and have the host read "
            "the chips",
        ),
    ] = 0,
    jobs: JobsOption = CORES,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="the campaign's folder; needed without point")
    ] = None,
) -> None:
    """Cut the power at every flash operation of loads, and check what is there then.

    A load is recorded once by the simulated chip. Then the chip is brought to the state after each
    of its operations, and to states within the next one, torn; the file system is mounted and held
    against what sync and fsync promised, written to, and mounted again. A campaign that is
    interrupted goes on where it was. The exit status is 1 if anything did not hold.
    """
    from nandlab.powercut import campaign as cutting
    from nandlab.powercut import found, loads
    from nandlab.powercut.job import ALL_VARIANTS, Points
    from nandlab.powercut.sample import refuse_several_seeds
    from nandlab.report import powercuts

    chosen = listed(variants)
    unknown = [each for each in chosen if each not in ALL_VARIANTS]
    if unknown or not chosen:
        raise UsageError(f"--variants {variants}: known are {', '.join(ALL_VARIANTS)}")
    asked = loads.given(load)
    on = _medium(fs, set_ or [], chip, partition_mib, board)
    wanted = Points(variants=chosen, seeds=seeds, recovery=recovery, every=points)
    if title is not None:
        titles = [each.title for each in asked.loads]
        if title not in titles:
            raise UsageError(f"--title {title}: {load} has no such load")
        wanted = replace(wanted, first_load=titles.index(title), last_load=titles.index(title))
    campaign = cutting.Campaign(on, asked, wanted)
    if sample:
        refuse_several_seeds(campaign)
    if point is not None:
        if title is None:
            raise UsageError("--point: of which load? give its --title")
        _one(campaign, point, _open(on))
        return
    if out is None:
        raise UsageError("powercut: where to? give --out DIR")
    opened = _open(on)
    asyncio.run(cutting.run(campaign, opened, out, jobs, _tell))
    result = found.read(out)
    (out / "outcomes.svg").write_text(powercuts.chart(result).svg())
    print("\n".join(found.lines(result)))
    agreed = not sample or asyncio.run(_sampled(campaign, result, opened, sample))
    if result.classes or not agreed:
        raise typer.Exit(1)


async def _sampled(campaign: Campaign, result: Found, board: QemuBoard, count: int) -> bool:
    """Tells where a point says another thing alone, or to the host; whether none does."""
    from nandlab.powercut.sample import again

    every = [each async for each in again(campaign, result, board, count)]
    for each in every:
        if not each.agreed:
            said = f"alone {'held' if each.alone_held else 'did not hold'}; host: {each.host}"
            print(f"no agreement: {each.load}: {each.point}: {said}")
    alone = sum(each.campaign_held == each.alone_held for each in every)
    host = [each.host_agrees for each in every]
    print(f"sample: {alone}/{len(every)} points say the same alone on a fresh board")
    unread = f", {host.count(None)} chips it cannot read" if None in host else ""
    print(f"host: agrees on {host.count(True)} of them{unread}")
    return all(each.agreed for each in every)


def _one(campaign: Campaign, point: str, board: QemuBoard) -> None:
    """A single point on a board of its own; exit status 1 if it does not hold."""
    from nandlab.powercut import campaign as cutting
    from nandlab.powercut.job import alone

    form = POINT.fullmatch(point)
    if form is None:
        raise UsageError(f"--point {point}: expected K:VARIANT:SEED, such as 5:subset:1")
    k, variant, seed = int(form[1]), form[2], int(form[3])
    only: Points = alone(campaign.points, campaign.points.first_load, k, variant, seed)
    loads = asyncio.run(cutting.once(campaign, only, board))
    told = [each for load in loads for each in load.get("findings", [])]
    if not sum(load.get("points", 0) for load in loads):
        raise UsageError(f"--point {point}: the load has no such point")
    for each in told:
        print(f"{each['class']}: {each['what']}")
    if told:
        raise typer.Exit(1)
    print("held")


def _tell(done: int, of: int, loads: Sequence[dict[str, Any]]) -> None:
    bad = sum(each["count"] for load in loads for each in load.get("findings", []))
    points = sum(load.get("points", 0) for load in loads)
    print(f"{done}/{of}: {points} points, {bad} did not hold", file=sys.stderr, flush=True)


def _medium(fs: str, settings: list[str], part: str, partition_mib: float, board: str) -> Medium:
    from nandlab.catalog.board import BoardModel
    from nandlab.catalog.chip import ChipModel
    from nandlab.catalog.files import load
    from nandlab.catalog.filesystem import FilesystemModel
    from nandlab.cli.image import blocks_of
    from nandlab.image.making import refuse_what_cannot_be
    from nandlab.plan.medium import Medium

    system, chip = load("filesystems", fs, FilesystemModel), load("chips", part, ChipModel)
    on = Medium(
        board=load("boards", board, BoardModel),
        chip=chip,
        partition_blocks=blocks_of(chip, partition_mib),
        filesystem=system,
        options=system.chosen(pairs(settings, "--set"), "--set"),
    )
    if system.read_only:
        raise UsageError(f"--fs {fs}: it is only read, so there is nothing to cut")
    refuse_what_cannot_be(on)
    return on


def _open(on: Medium) -> QemuBoard:
    from nandlab.board.qemu import open_board

    print("preparing the board", file=sys.stderr, flush=True)
    return open_board(on.board)
