# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab powercut``: what a file system keeps when the power goes at any flash operation."""

from __future__ import annotations

from typing import Annotated

import typer

from nandlab.cli.campaigns import CampaignOptions, add_campaign_options, parse_choices
from nandlab.flash.chip.mishaps import read_tear_ways

WAYS = read_tear_ways()
USUAL = [name for name, way in WAYS.items() if way.is_usual]
UNUSUAL = [name for name, way in WAYS.items() if not way.is_usual]


@add_campaign_options
def powercut(
    common: CampaignOptions,
    *,
    variants: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            show_default=False,
            help=f"ways to tear an operation, with commas between: {', '.join(WAYS)}; "
            f"default: all but {', '.join(UNUSUAL)}",
        ),
    ] = ",".join(USUAL),
    repeat: Annotated[
        int, typer.Option(min=1, help="times that each point is judged, each time the same")
    ] = 1,
    mounts: Annotated[
        int,
        typer.Option(
            min=2, max=100, metavar="N", help="times that a point with unstable cells is mounted"
        ),
    ] = 4,
    recovery: Annotated[
        bool,
        typer.Option(
            "--recovery",
            help="cut each operation of the recovery too, first write and sync included",
        ),
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="then try N points drawn at random alone, on fresh boards, and have the host read "
            "the chips",
        ),
    ] = 0,
    states: Annotated[
        bool,
        typer.Option(
            "--states",
            help="then count how many points are distinct states of the chip, and how many are "
            "within programs that the part's data sheet forbids",
        ),
    ] = False,
) -> None:
    """Cut the power at every flash operation of a load, and check the file system after it.

    The simulated chip records the load once. Then the chip is set to the state after each of the
    load's operations, and to states in which the next operation is half done. In each state the
    file system is mounted and must have what sync and fsync promised. It is written to, and mounted
    again. A campaign that is interrupted goes on when it is started again. The exit status is 1 if
    anything did not hold, or if no load made a flash operation.

    STUDY is a study, or a run's folder. Each of its file systems is tried, with its options and
    chips, under each of its workloads whose calls can be cut; the workloads are made small. Of a
    run, its own chips and recorded loads are taken; its report and advice then have the results.
    Without STUDY, give --fs and --load.
    """
    from nandlab.powercut.job import CutPoints

    ways = parse_choices(variants, "--variants", tuple(WAYS))
    if states:
        _refuse_unknown_states(ways)
    wanted = common.request("ace1")
    points = CutPoints(variants=ways, repeat=repeat, mounts=mounts, recovery=recovery)
    how = common.make_settings(points, wanted, sample=sample, states=states)
    common.run([how], wanted, alone=common.study is None and len(wanted.loads) == 1)


def _refuse_unknown_states(ways: tuple[str, ...]) -> None:
    """UsageError for a way to tear whose states only the board knows."""
    from nandlab.base.errors import UsageError
    from nandlab.powercut.statedigest import KNOWN_WAYS

    unknown = [way for way in ways if way not in KNOWN_WAYS]
    if unknown:
        raise UsageError(
            f"--states: the host does not know the states of {', '.join(unknown)}: leave out of "
            "--variants, or leave out --states"
        )
