# SPDX-License-Identifier: GPL-2.0-or-later
"""``nandlab publish``: what to ship with a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab.base.printer import print_lines, print_note

if TYPE_CHECKING:
    from nandlab.results.figuresfile import FailedTrial


def publish(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a run's folder")],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="the figures file; .xz packs it")
    ],
) -> None:
    """Write a run's figures file: what to ship with a study, so that anybody can repeat it.

    It has the study, the very board, the figures of each finished trial, and a hash of all else
    that the trial gave. nandlab reproduce FILE runs it again. The same run gives the same bytes.
    A file whose name ends in .xz is packed; whatever reads a figures file reads both.
    A trial that failed has no figures. It is left out, and the file and the output tell why.
    """
    from nandlab.analysis.differences.baselines import make_figures_file_of_run
    from nandlab.base.checkout import DIRTY
    from nandlab.results.figuresfile import write_figures_file

    figures = make_figures_file_of_run(run)
    write_figures_file(out, figures)
    if (figures.run.commit or DIRTY).endswith(DIRTY):
        print_note(
            "the run was not of a commit alone: whoever checks out nandlab may lack what it ran "
            "with, and a difference that reproduce finds may be of that"
        )
    for line in _format_omissions(figures.failed, len(figures.trials) + len(figures.failed)):
        print_lines(line)
    print_lines(out)


def _format_omissions(failed: Sequence[FailedTrial], trial_count: int) -> list[str]:
    """How many trials failed, then a line for each reason; nothing if none did."""
    if not failed:
        return []
    reasons = Counter((trial.status, trial.error) for trial in failed)
    lines = [f"  {n}: {status}: {error}" for (status, error), n in reasons.items()]
    return [f"{len(failed)} of {trial_count} trials failed and are left out:", *lines]
