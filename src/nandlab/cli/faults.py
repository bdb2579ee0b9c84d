# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab faults``: what a file system makes of a chip that fails, operation by operation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.errors import UsageError
from nandlab.cli.cutting import (
    BoardOfCuts,
    ChipOption,
    FsOption,
    How,
    MibOption,
    PointOption,
    SetOption,
    StudyOrRun,
    TitleOption,
    asked,
    folder_of,
    one,
)
from nandlab.cli.run import CORES, JobsOption
from nandlab.cli.words import listed


def faults(  # noqa: PLR0913 - the command line's own options
    study: StudyOrRun = None,
    *,
    fs: FsOption = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            help="rewrite, ace1, ace2, ace3, open-files, small-files, a workload such as 'config "
            "rounds=9', or a file of loads (docs/power-cuts.md); may be repeated; default: "
            "rewrite, or a study's own workloads"
        ),
    ] = None,
    set_: SetOption = None,
    chip: ChipOption = "apf27",
    partition_mib: MibOption = None,
    board: BoardOfCuts = None,
    kinds: Annotated[
        str, typer.Option(help="what fails: program,erase,flips,beyond,full")
    ] = "program,erase,flips,beyond,full",
    seeds: Annotated[int, typer.Option(min=1, help="seeds of each fault: where bits flip")] = 1,
    points: Annotated[
        int, typer.Option(min=1, metavar="N", help="at each N-th operation only")
    ] = 1,
    title: TitleOption = None,
    point: PointOption = None,
    jobs: JobsOption = CORES,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="the folder; default: powercut/ beside the run or study"),
    ] = None,
) -> None:
    """Let a chip fail at every flash operation of loads, and check what is there then.

    A fault at a time: that program or erase fails, and its block with it; as many bits of a page
    are wrong as its ECC corrects, or one more; so much room is free, and no more. The load is
    played up to the first call that fails. What was told to be done must be there, before and
    after a second mount, and the file system must take writes. A page that cannot be read may
    make an error, but no wrong bytes: errors of it are told apart.

    Campaigns are kept, go on, and repeat a point as those of nandlab powercut. The exit status is 1
    if anything did not hold.
    """
    from nandlab.powercut.faults import FULL, KINDS
    from nandlab.powercut.job import Points

    chosen = listed(kinds)
    unknown = [each for each in chosen if each not in KINDS]
    if unknown or not chosen:
        raise UsageError(f"--kinds {kinds}: known are {', '.join(KINDS)}")
    wanted = asked(
        study,
        fs=fs,
        loads=load or ([] if study else ["rewrite"]),
        settings=set_ or [],
        chip=chip,
        partition_mib=partition_mib,
        board=board,
    )
    # a disk that is full is so for a whole campaign
    groups = [tuple(k for k in chosen if k != FULL), tuple(k for k in chosen if k == FULL)]
    hows = [
        How(Points(variants=group, seeds=seeds, every=points), title, jobs, faulty=True)
        for group in groups
        if group
    ]
    if point is not None:
        one(hows[0], wanted, point)
        return
    place = folder_of(study, out)
    held = [h.run(on, name, place, alone=False) for on, name in wanted.pairs() for h in hows]
    if not all(held):
        raise typer.Exit(1)
