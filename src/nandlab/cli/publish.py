# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab publish``: what to ship with a study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def publish(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="the figures file")],
) -> None:
    """Write a run's figures file: what to ship with a study, so that anybody can repeat it.

    It has the study, the very board, the figures of each finished trial, and a hash of all else
    that the trial gave. nandlab reproduce FILE runs it again. The same run gives the same bytes.
    """
    from nandlab.analysis.expected import publish as published
    from nandlab.base.checkout import DIRTY
    from nandlab.results.published import write

    figures = published(run)
    write(out, figures)
    if (figures.run.commit or DIRTY).endswith(DIRTY):
        print(
            "the run was not of a commit alone: whoever checks out nandlab may lack what it ran "
            "with, and reproduce will then refuse",
            file=sys.stderr,
        )
    print(out)
