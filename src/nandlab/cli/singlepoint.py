# SPDX-License-Identifier: GPL-2.0-or-later
"""``--point`` of ``nandlab powercut`` and ``nandlab faults``: a single point, on a fresh board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from nandlab.base.errors import UsageError
from nandlab.base.printer import print_lines, print_note
from nandlab.base.strings import PointName, parse_cut_point_name
from nandlab.cli.campaignsettings import CampaignSettings, open_media_board

if TYPE_CHECKING:
    from nandlab.board.kit.partsource import SourceRequest
    from nandlab.board.virtual.qemu import QemuBoard
    from nandlab.powercut.campaign import Campaign
    from nandlab.powercut.campaignfolder import Finding, LoadReport
    from nandlab.powercut.job import CutPoints
    from nandlab.powercut.requests import Request

OPERATION_MAX, SEED_MAX = 10**9 - 1, 10**19 - 1


def run_single_cut_point(
    how: CampaignSettings, request: Request, point: str, sources: Mapping[str, SourceRequest]
) -> None:
    """A single point on a board of its own; exit status 1 if it does not hold."""
    import asyncio

    from nandlab.powercut import campaign as cutting
    from nandlab.powercut.job import select_single_cut_point

    name = _parse_point(point, faulty=how.faulty)
    if how.title is None:
        raise UsageError("--point: of which load? give its --title")
    if len(list(request.pairs())) > 1:
        raise UsageError("--point: of which load? give one --fs and one --load")
    how = replace(how, points=replace(how.points, variants=(name.variant,)))
    how.refuse_bad_loads(request)
    (on, load), board = next(request.pairs()), open_media_board(request.media, sources)
    campaign = how.campaign(on, load, board)
    only = select_single_cut_point(
        campaign.points, campaign.points.first_load, name.operation, name.variant, name.seed
    )
    reports = asyncio.run(cutting.run_piece(campaign, only, board))
    findings = [finding for report in reports for finding in report.findings]
    _refuse_no_point(name, reports, faulty=how.faulty)
    dead = any(finding.name in (cutting.CRASH, cutting.HANG) for finding in findings)
    if not how.faulty and not dead:
        findings += _check_by_host(campaign, only, board)
    for finding in findings:
        for line in finding.console:
            print_note(f"kernel: {line}")
        print_lines(f"{finding.name}: {finding.what}")
    if findings:
        raise typer.Exit(1)
    print_lines("held")


def _parse_point(point: str, *, faulty: bool) -> PointName:
    """A point without a recovery; UsageError if it is none."""
    from nandlab.flash.chip.mishaps import read_fault_kinds, read_tear_ways

    noun, example = ("FAULT", "3:beyond:1") if faulty else ("VARIANT", "5:subset:1")
    refusal = UsageError(f"--point {point}: expected K:{noun}:SEED, such as {example}")
    try:
        name = parse_cut_point_name(point)
    except ValueError:
        raise refusal from None
    if name.recovery or name.operation > OPERATION_MAX or name.seed > SEED_MAX:
        raise refusal
    variants = tuple(read_fault_kinds() if faulty else read_tear_ways())
    if name.variant not in variants:
        known = ", ".join(variants)
        raise UsageError(
            f"--point {point}: no such {noun.lower()}: {name.variant}; known are {known}"
        )
    return name


def _refuse_no_point(point: PointName, loads: Sequence[LoadReport], *, faulty: bool) -> None:
    """UsageError if nothing was tried, or nothing that a load could change."""
    for load in loads:
        if load.refused is not None:
            raise UsageError(
                f"--point {point}: the file system does not take the load: {load.refused}"
            )
        if load.operations == 0 and not load.findings:
            raise UsageError(
                f"--point {point}: the load makes no flash operation, so nothing is known: give "
                "one that writes"
            )
    if loads and not any(load.points for load in loads):
        raise UsageError(f"--point {point}: {_explain_no_point(point, loads[0], faulty=faulty)}")


def _explain_no_point(point: PointName, load: LoadReport, *, faulty: bool) -> str:
    """Why nothing was tried at an operation of a load, and what to give."""
    from nandlab.flash.chip.mishaps import OPERATION_WORDS, read_fault_kinds, read_tear_ways

    count, letters = load.operations or 0, load.kinds
    if point.operation >= count:
        return f"there is no such point: K is 0 to {count - 1} in this load"
    strikes = (read_fault_kinds() if faulty else read_tear_ways())[point.variant].strikes
    letter = letters[point.operation : point.operation + 1]
    if letter not in OPERATION_WORDS or letter in strikes:
        return (
            f"{point.variant} at K = {point.operation} changed nothing: the load had ended, or "
            "wrote or erased its page again, or did not come upon it: give another K"
        )
    others = [k for k in range(len(letters)) if letters[k] in strikes]
    if not others:
        return f"{point.variant} strikes none of the load's {count} operations: give another load"
    nearest = min(others, key=lambda k: abs(k - point.operation))
    return (
        f"operation {point.operation} {OPERATION_WORDS[letter]}, which {point.variant} does not "
        f"strike: give another K; the nearest is {nearest}:{point.variant}:{point.seed}"
    )


def _check_by_host(campaign: Campaign, only: CutPoints, board: QemuBoard) -> list[Finding]:
    """Whether the host's checker disagrees on a point, as findings; tells why it cannot say, and
    the kernel's errors where the board does not find that it holds."""
    import asyncio

    from nandlab.powercut import hostcheck
    from nandlab.powercut.campaignfolder import Finding
    from nandlab.powercut.samplefile import CHECKERS_DISAGREE, HOST_CHECK_FAILS

    verdicts = asyncio.run(hostcheck.try_point(campaign, replace(only, recovery=False), board))
    host = verdicts.unread or "; ".join(verdicts.host_mistakes) or "holds"
    print_note(f"host: {host}")
    for line in () if verdicts.board_holds else verdicts.kernel:
        print_note(f"kernel: {line}")
    classes = {CHECKERS_DISAGREE: f"host: {host}"} if verdicts.verdicts_agree is False else {}
    classes |= {HOST_CHECK_FAILS: verdicts.check} if verdicts.check else {}
    point = f"{PointName(only.first, only.variants[0], only.seed)}"
    return [Finding(name=name, count=1, first=point, what=what) for name, what in classes.items()]
