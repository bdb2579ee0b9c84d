# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab faults``: what a file system makes of a chip that fails, operation by operation."""

from __future__ import annotations

from typing import Annotated

import typer

from nandlab.cli.campaigns import CampaignOptions, add_campaign_options, parse_choices
from nandlab.flash.chip.mishaps import list_usual_fault_kinds, read_fault_kinds

KINDS = read_fault_kinds()
USUAL = list_usual_fault_kinds()
MODULE_KINDS = [name for name in KINDS if name not in USUAL]


@add_campaign_options
def faults(
    common: CampaignOptions,
    *,
    kinds: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            show_default=False,
            help=f"what fails, with commas between: {', '.join(KINDS)}; default: all but "
            f"{' and '.join(MODULE_KINDS)}",
        ),
    ] = ",".join(USUAL),
) -> None:
    """Let the chip fail at every flash operation of a load, and check the file system after it.

    Each point has one fault. A program or an erase fails, and its block is worn out. Or bits of a
    page are wrong: as many as its ECC corrects, or one more. Or all blocks were read so often that
    some bits read wrong. Or the file system is full but for a few files. Or the kernel has no
    memory for one allocation in the load's calls.

    The load is played up to the first call that fails. What earlier calls have done must be there
    after a first and a second mount, and the file system must take writes. A page that cannot be
    read may cause an error, but never wrong bytes; such errors are counted as a class of their own.

    As with nandlab powercut, a campaign that is interrupted goes on when it is started again, and
    --point repeats a single point. The exit status is 1 if anything did not hold, or if no load
    made a flash operation.
    """
    from nandlab.powercut.faults import split_fault_campaigns
    from nandlab.powercut.job import CutPoints

    names = parse_choices(kinds, "--kinds", tuple(KINDS))
    request = common.request("rewrite")
    hows = [
        common.make_settings(CutPoints(variants=group), request, faulty=True)
        for group in split_fault_campaigns(names)
    ]
    common.run(hows, request, alone=False)
