# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of two moments that a product meets and a benchmark leaves out: the start, until the chip
is quiet, and the power cut.

``ready.quiet``: from the mount's begin until the chip does nothing by itself any more. A mount may
return long before: JFFS2's thread then reads and checks what is there. ``ready.durable``: until
the first record that is synced after a mount is on flash. ``power.lost``: points of the campaigns
beside the run at which what was synced was not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pydantic import ValidationError

from nandlab.catalog.filesystem import Settle
from nandlab.results.cutsummaries import tally_power_cuts
from nandlab.results.record import Trial
from nandlab.results.recordparts import StepResult

LOST_FIGURE = "power.lost"
"""The figure that a limit on power cuts is on."""


LIST_REST = "rest"
"""A rest's phase in a list of steps, where its file gives it no other name."""


class MomentFigure(NamedTuple):
    """A figure of this family."""

    title: str
    quantity: str
    compute: Callable[[Trial], float | None]
    better: str = "less"


def find_ready_figure(short_name: str) -> MomentFigure | None:
    """Of ``ready.REST``; None: there is none."""
    return {
        "quiet": MomentFigure("until quiet", "time", compute_mount_to_quiet_ns),
        "reads": MomentFigure("reads until quiet", "count", count_page_reads_until_quiet),
        "durable": MomentFigure(
            "first synced record after a start", "time", find_mount_to_durable_ns
        ),
        "cpu": MomentFigure(
            "processor until quiet, at most", "time", compute_processor_ns_until_quiet
        ),
    }.get(short_name)


def find_power_cut_figure(short_name: str) -> MomentFigure | None:
    """Of ``power.REST``; None: there is none."""
    return {
        "lost": MomentFigure("power cuts that lost synced data", "count", count_lost_cut_points),
        "points": MomentFigure("power cuts tried", "count", count_tried_cut_points, ""),
    }.get(short_name)


def count_tried_cut_points(trial: Trial) -> int | None:
    """Points that were tried; None: no power was cut."""
    tried = tally_power_cuts(trial.cuts)
    return tried.points if tried else None


def count_lost_cut_points(trial: Trial) -> int | None:
    """Points that did not hold and nothing excuses; None: no campaign came to its end, and none
    lost anything."""
    tried = tally_power_cuts(trial.cuts)
    return sum(tried.failed.values()) if tried and tried.has_known_failures else None


def compute_mount_to_quiet_ns(trial: Trial) -> int | None:
    """From the mount's begin until nothing happens by itself; the quiet time that settle waits for
    to be sure is no part of it."""
    mount, after = trial.step("mount"), _compute_rest_ns(trial)
    return None if mount is None or after is None else mount.ns + after


def count_page_reads_until_quiet(trial: Trial) -> int | None:
    """Page reads from the mount's begin until the chip is quiet."""
    steps = trial.step("mount"), _find_rest_after_mount(trial)
    counts = [step.chip for step in steps if step is not None and step.chip is not None]
    return sum(c.reads for c in counts) if len(counts) == len(steps) else None


def compute_processor_ns_until_quiet(trial: Trial) -> int | None:
    """What of ready.quiet the processor can have worked: all but what was added to the clock for
    the chip. It may have idled in it too."""
    found = compute_mount_to_quiet_ns(trial)
    steps = trial.step("mount"), _find_rest_after_mount(trial)
    used = [step.usage.warped_ns for step in steps if step is not None and step.usage is not None]
    known = [ns for ns in used if ns is not None]
    return max(0, found - sum(known)) if found is not None and len(known) == len(steps) else None


def find_mount_to_durable_ns(trial: Trial) -> float | None:
    """From a mount's begin, with what the load left, until a record is synced; the instrument
    restart measures it."""
    return trial.measured.get("restart", {}).get("durable_ns")


def _find_rest_after_mount(trial: Trial) -> StepResult | None:
    """The wait until the chip is quiet: a trial's own, or a list's that comes right after the
    mount."""
    names = [step.name for step in trial.steps]
    if LIST_REST in names and names[names.index(LIST_REST) - 1 :][:1] == ["mount"]:
        return trial.step(LIST_REST)
    return trial.step("settle")


def _compute_rest_ns(trial: Trial) -> int | None:
    """Of that wait, without the quiet time at its end."""
    wait = _find_rest_after_mount(trial)
    try:
        settle = Settle.model_validate(trial.find_source("filesystem").get("settle"))
    except ValidationError:
        return None
    return None if wait is None else max(0, wait.ns - settle.quiet_ms * 1_000_000)
