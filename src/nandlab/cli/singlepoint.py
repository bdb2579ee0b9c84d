# SPDX-License-Identifier: GPL-2.0-or-later
"""``--point`` of ``nandlab powercut`` and ``nandlab faults``: a single point, on a fresh board."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.cli.campaigns import CampaignSettings, open_media_board

if TYPE_CHECKING:
    from nandlab.board.qemu import QemuBoard
    from nandlab.powercut.campaign import Campaign
    from nandlab.powercut.job import CutPoints
    from nandlab.powercut.requests import Request

POINT = re.compile(r"([0-9]{1,9}):([a-z]+):([0-9]{1,19})")


def try_point(how: CampaignSettings, wanted: Request, point: str) -> None:
    """A single point on a board of its own; exit status 1 if it does not hold."""
    from nandlab.powercut import campaign as cutting
    from nandlab.powercut.job import select_single_point

    k, variant, seed = _parse_point(point, faulty=how.faulty)
    if how.title is None:
        raise UsageError("--point: of which load? give its --title")
    if len(list(wanted.pairs())) > 1:
        raise UsageError("--point: of which load? give one --fs and one --load")
    how.refuse_bad_loads(wanted)
    (on, name), board = next(wanted.pairs()), open_media_board(wanted.media)
    campaign = how.campaign(on, name, board)
    only = select_single_point(campaign.points, campaign.points.first_load, k, variant, seed)
    loads = asyncio.run(cutting.run_piece(campaign, only, board))
    told = [each for load in loads for each in load.get("findings", [])]
    _refuse_no_point(point, loads)
    dead = any(each["class"] in (cutting.CRASH, cutting.HANG) for each in told)
    if not how.faulty and not dead:
        told += _check_by_host(campaign, only, board)
    for each in told:
        for line in each.get("console", ()):
            print_note(f"kernel: {line}")
        print_lines(f"{each['class']}: {each['what']}")
    if told:
        raise typer.Exit(1)
    print_lines("held")


def _parse_point(point: str, *, faulty: bool) -> tuple[int, str, int]:
    """A point's operation, variant and seed; UsageError if it is none."""
    from nandlab.powercut.faults import KINDS
    from nandlab.powercut.job import ALL_VARIANTS

    what, such = ("FAULT", "3:beyond:1") if faulty else ("VARIANT", "5:subset:1")
    form = POINT.fullmatch(point)
    if form is None:
        raise UsageError(f"--point {point}: expected K:{what}:SEED, such as {such}")
    known = KINDS if faulty else ALL_VARIANTS
    if form[2] not in known:
        raise UsageError(
            f"--point {point}: no such {what.lower()}: {form[2]}; known are {', '.join(known)}"
        )
    return int(form[1]), form[2], int(form[3])


def _refuse_no_point(point: str, loads: Sequence[dict[str, Any]]) -> None:
    """UsageError if nothing was tried, or nothing that a load could change."""
    for load in loads:
        if "refused" in load:
            raise UsageError(
                f"--point {point}: the file system does not take the load: {load['refused']}"
            )
        if load.get("operations") == 0 and not load["findings"]:
            raise UsageError(
                f"--point {point}: the load makes no flash operation, so nothing is known: give "
                "one that writes"
            )
    if not sum(load.get("points", 0) for load in loads):
        count = max((load.get("operations", 0) for load in loads), default=0)
        raise UsageError(
            f"--point {point}: the load has no such point; it has {count} operations, the first is "
            "0"
        )


def _check_by_host(campaign: Campaign, only: CutPoints, board: QemuBoard) -> list[dict[str, str]]:
    """Whether the host's checker disagrees on a point, as findings; tells why it cannot say, and
    the kernel's errors where the board does not find that it holds."""
    from nandlab.powercut import hostcheck
    from nandlab.powercut.samplefile import CHECKERS_DISAGREE, HOST_CHECK_FAILS

    told = asyncio.run(hostcheck.try_point(campaign, replace(only, recovery=False), board))
    host = told.unread or "; ".join(told.wrong) or "holds"
    print_note(f"host: {host}")
    for line in () if told.held else told.kernel:
        print_note(f"kernel: {line}")
    found = (
        [] if told.agree is not False else [{"class": CHECKERS_DISAGREE, "what": f"host: {host}"}]
    )
    return found + ([{"class": HOST_CHECK_FAILS, "what": told.check}] if told.check else [])
