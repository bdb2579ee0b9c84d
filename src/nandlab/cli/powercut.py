# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab powercut``: what a file system keeps when the power goes at any flash operation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from nandlab.powercut.job import Points


def powercut(  # noqa: PLR0913 - the command line's own options
    study: StudyOrRun = None,
    *,
    fs: FsOption = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            help="ace1, ace2, ace3, open-files, small-files, sqlite, a workload such as 'config "
            "rounds=9', or a file of loads (docs/power-cuts.md); may be repeated; default: ace1, "
            "or a study's own workloads"
        ),
    ] = None,
    set_: SetOption = None,
    chip: ChipOption = "apf27",
    partition_mib: MibOption = None,
    board: BoardOfCuts = None,
    variants: Annotated[
        str, typer.Option(help="ways to tear an operation: before,prefix,subset,done,unstable")
    ] = "before,prefix,subset,unstable",
    seeds: Annotated[int, typer.Option(min=1, help="seeds of each way to tear")] = 1,
    repeat: Annotated[
        int, typer.Option(min=1, help="times that each point is judged, each time the same")
    ] = 1,
    recovery: Annotated[
        bool, typer.Option("--recovery", help="cut each operation of the mount after a cut too")
    ] = False,
    points: Annotated[
        int, typer.Option(min=1, metavar="N", help="cut after each N-th operation only")
    ] = 1,
    title: TitleOption = None,
    point: PointOption = None,
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
        Path | None,
        typer.Option(metavar="DIR", help="the folder; default: powercut/ beside the run or study"),
    ] = None,
) -> None:
    """Cut the power at every flash operation of loads, and check what is there then.

    A load is recorded once by the simulated chip. Then the chip is brought to the state after each
    of its operations, and to states within the next one, torn; the file system is mounted and held
    against what sync and fsync promised, written to, and mounted again. A campaign that is
    interrupted goes on where it was. The exit status is 1 if anything did not hold.

    STUDY: a study, or a run's folder: each of its file systems, with its options and chips, under
    each of its workloads that can be cut, made small. What a run's folder has of cuts is in its
    report and advice. Without STUDY: --fs, and --load.
    """
    wanted = asked(
        study,
        fs=fs,
        loads=load or [],
        settings=set_ or [],
        chip=chip,
        partition_mib=partition_mib,
        board=board,
    )
    how = How(_points(variants, seeds, points, repeat, recovery=recovery), title, jobs, sample)
    if point is not None:
        one(how, wanted, point)
        return
    alone = study is None and len(wanted.loads) == 1
    place = folder_of(study, out)
    held = [how.run(on, name, place, alone=alone) for on, name in wanted.pairs()]
    if not all(held):
        raise typer.Exit(1)


def _points(variants: str, seeds: int, every: int, repeat: int, *, recovery: bool) -> Points:
    from nandlab.powercut.job import ALL_VARIANTS, Points

    chosen = listed(variants)
    unknown = [each for each in chosen if each not in ALL_VARIANTS]
    if unknown or not chosen:
        raise UsageError(f"--variants {variants}: known are {', '.join(ALL_VARIANTS)}")
    return Points(variants=chosen, seeds=seeds, recovery=recovery, every=every, repeat=repeat)
