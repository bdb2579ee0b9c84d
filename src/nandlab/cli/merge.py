# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab merge``: the shards of a run become one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nandlab.base.printer import print_lines


def merge(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="the run's folder, made if it is not there")
    ],
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="folders of the same run, which stay")
    ],
) -> None:
    """Bring the trials of several folders of one run into one: of shards, or of other machines.

    Each folder must be of the same run: study, board and programs. A trial may be in two of them
    if both results are the same to the nanosecond. Otherwise the first difference is told, the
    exit status is 1, and nothing is written. The last line of output is the run's folder; how
    many trials are still to be run is told before it.
    """
    from nandlab.results.folder import RunFolder
    from nandlab.trial.merge import merge_runs

    merged = merge_runs(out, [RunFolder(run) for run in runs])
    of = len(merged.head().trials)
    print_lines(f"{of - len(merged.missing())} of {of} trials are done")
    print_lines(merged.path)
