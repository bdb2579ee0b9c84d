# SPDX-License-Identifier: GPL-2.0-or-later
"""A run held against a baseline: the figures that an earlier run of the study gave.

What is under test may differ: a file system's module, the kernel, a tool. That is told, for it may
be the cause. Study, board model and trials must be the same, or there is nothing to hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nandlab.analysis.compare import ABSENT, Difference, differences
from nandlab.analysis.expected import Expected
from nandlab.analysis.moved import Held, held
from nandlab.base.errors import UsageError
from nandlab.results.folder import RunFolder
from nandlab.results.record import Run

MODEL = ("board", "accel")
"""Parts of a board's identity that a baseline's must equal: its TOML, and how it is emulated."""
TOLD_MAX = 4
"""How many places of one kind are named in a line."""


def refuse_another(baseline: Expected, run: Run) -> None:
    """UsageError unless the run is of the baseline's study, board model and trials."""
    path, head = baseline.path, baseline.head
    if head.study != run.study:
        raise UsageError(f"{path}: figures of the study {head.study}; this one is {run.study}")
    if not run.deterministic:
        raise UsageError(f"{run.study}: {run.why_not_repeated}: nothing repeats it")
    other = next(_board_differences(head, run, of_model=True), None)
    if other is not None:
        was, here = ("nothing" if side is ABSENT else repr(side) for side in (other.a, other.b))
        told = f"{other.path} is {here} here and {was} there"
        raise UsageError(f"{path}: figures of another board: {told}; publish one of this board")
    gone = [trial_id for trial_id in baseline.keys if trial_id not in run.trials]
    if gone:
        told = f"the study lacks {len(gone)} of its {len(baseline.keys)} trials, first {gone[0]}"
        why = "study or catalog have changed since: publish a new baseline"
        raise UsageError(f"{path}: {told}: {why}")


def notes(baseline: Expected, run: Run) -> Iterator[str]:
    """What a reader must know beside the figures: other parts of the board, trials not held."""
    parts = [d.path for d in _board_differences(baseline.head, run, of_model=False)]
    if parts:
        yield f"the board has other parts than the baseline's: {listed(parts)}"
    beside = len(set(run.trials) - set(baseline.keys))
    if beside:
        yield f"trials of the study that the baseline lacks, which are not checked: {beside}"


def listed(places: Sequence[str]) -> str:
    """The first few places by name, and how many more there are."""
    more = f" and {len(places) - TOLD_MAX} more" if len(places) > TOLD_MAX else ""
    return f"{', '.join(places[:TOLD_MAX])}{more}"


def check(baseline: Expected, folder: RunFolder, only: Sequence[str] = ()) -> list[Held]:
    """Each configuration of the baseline, held against what the folder has.

    only: figures, beside which none counts; empty: all, to the last value that a trial gave.
    UsageError if the folder is of another study or board, or lacks a trial of the baseline.
    """
    refuse_another(baseline, folder.head())
    missing = set(folder.missing())
    lacks = [trial_id for trial_id in baseline.keys if trial_id in missing]
    if lacks:
        told = f"it lacks {len(lacks)} of the baseline's {len(baseline.keys)} trials"
        raise UsageError(f"{folder.path}: {told}; run the study to its end")
    again = [trial for trial in folder.trials() if trial.id in baseline.keys]
    unlike = {trial.id: baseline.differences(trial) for trial in again}
    return held([baseline.sides(trial) for trial in again], unlike, only)


def _board_differences(a: Run, b: Run, *, of_model: bool) -> Iterator[Difference]:
    """Where the boards' identities differ: in the model, or in all else."""
    sides = [{k: v for k, v in r.provenance.items() if (k in MODEL) == of_model} for r in (a, b)]
    yield from differences(sides[0], sides[1], "board")
