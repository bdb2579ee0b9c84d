# SPDX-License-Identifier: GPL-2.0-or-later
"""A run held against a baseline: the figures that an earlier run of the study gave.

What is under test may differ: a file system's module, the kernel, a tool. That is told, for it may
be the cause. Study, board model and trials must be the same, or there is nothing to hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nandlab.analysis.differences import setupdiff
from nandlab.analysis.differences.baselines import Baseline
from nandlab.analysis.differences.compare import ABSENT
from nandlab.analysis.differences.figurechanges import (
    ConfigurationChange,
    list_configuration_changes,
    summarize_differences,
)
from nandlab.base.errors import UsageError
from nandlab.results.folder import RunFolder
from nandlab.results.record import Run

BOARD_MODEL_PATHS = ("board.board.", "board.accel.")
"""Places of a board's identity that must be the baseline's: its TOML, and how it is emulated."""


def refuse_run_unlike_baseline(baseline: Baseline, run: Run) -> None:
    """UsageError unless the run is of the baseline's study, board model and trials."""
    path, head = baseline.path, baseline.head
    if head.study != run.study:
        raise UsageError(f"{path}: figures of the study {head.study}; this one is {run.study}")
    if not run.deterministic:
        raise UsageError(f"{run.study}: {run.why_not_repeated}: nothing repeats it")
    boards = setupdiff.compare_board_identities(head.provenance, run.provenance)
    other = next((d for d in boards if f"{d.path}.".startswith(BOARD_MODEL_PATHS)), None)
    if other is not None:
        was, here = ("nothing" if side is ABSENT else repr(side) for side in (other.a, other.b))
        detail = f"{other.path} is {here} here and {was} there"
        raise UsageError(f"{path}: figures of another board: {detail}; publish one of this board")
    gone = [trial_id for trial_id in baseline.keys if trial_id not in run.trials]
    if gone:
        detail = f"the study lacks {len(gone)} of its {len(baseline.keys)} trials, first {gone[0]}"
        why = "study or catalog have changed since: publish a new baseline"
        raise UsageError(f"{path}: {detail}: {why}")


def format_baseline_difference_lines(baseline: Baseline, folder: RunFolder) -> Iterator[str]:
    """What a reader must know before the figures: what is not the baseline's, trials not held."""
    head = folder.head()
    boards = setupdiff.compare_board_identities(baseline.head.provenance, head.provenance)
    again = [trial for trial in folder.trials() if trial.id in baseline.keys]
    differences = setupdiff.format_setup_differences(
        boards, (baseline.find_sides_with_setup(trial) for trial in again)
    )
    yield from (f"not the baseline's: {line}" for line in differences)
    others = sum(trial.key != baseline.keys[trial.id] for trial in again)
    if others and not differences:
        yield f"steps, programs or files of {others} of {len(again)} trials are not the baseline's"
    beside = len(set(head.trials) - set(baseline.keys))
    if beside:
        yield f"trials of the study that the baseline lacks, which are not checked: {beside}"


def compare_run_with_baseline(
    baseline: Baseline, folder: RunFolder, only: Sequence[str] = ()
) -> list[ConfigurationChange]:
    """Each configuration of the baseline, held against what the folder has.

    only: figures, beside which none counts; empty: all, to the last value that a trial gave.
    UsageError if the folder is of another study or board, or lacks a trial of the baseline.
    """
    refuse_run_unlike_baseline(baseline, folder.head())
    missing = set(folder.missing())
    lacks = [trial_id for trial_id in baseline.keys if trial_id in missing]
    if lacks:
        told = f"it lacks {len(lacks)} of the baseline's {len(baseline.keys)} trials"
        raise UsageError(f"{folder.path}: {told}; run the study to its end")
    again = [trial for trial in folder.trials() if trial.id in baseline.keys]
    unlike = summarize_differences({t.id: baseline.list_differences(t) for t in again})
    return list_configuration_changes([baseline.find_sides(trial) for trial in again], unlike, only)
