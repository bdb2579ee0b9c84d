# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of result: how the trials of a setting are read.

A view is a value: what it answers, whether it is judged, and which figures its tables show. A
setting has the first view that wants it; a workload names one in its catalog file, and a sweep is
known by its many flash states. ``nandlab.report.readings`` has the charts of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nandlab.analysis import answers, doubts, lifetime, points, sweep
from nandlab.analysis.answers import Answer
from nandlab.analysis.figures import STEPS
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.ranking import Finding

STEP_BY_STEP = "cache"
"""The attribute that the phases of a list of steps on files have."""


@dataclass(frozen=True)
class Block:
    """A table in the terminal: a note above it, and the figures that it shows."""

    note: str
    figures: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """How one kind of setting is read."""

    name: str
    wants: Callable[[Setting], bool]
    answers: Callable[[Setting], list[Answer]]
    blocks: Callable[[Setting], list[Block]]
    judged: bool = True
    """Whether its file systems are judged by limits; a sweep goes on until nothing fits, so that
    each fails in some state, and a life ends by itself."""
    ends: bool = False
    """Whether it is told how each subject's trials ended."""
    erases: str = "chip.erases"
    """The figure of all erases."""
    span: str = "the timed phases"
    """What the wear was counted over, in words."""
    worn: bool = False
    """Whether blocks are erased so often that colours begin at the least worn, not at 1."""


def view(setting: Setting) -> View:
    """The first view that wants the setting."""
    return next(v for v in VIEWS if v.wants(setting))


def _phase_blocks(setting: Setting) -> list[Block]:
    words = setting.words
    own = [f"own.{name}" for name in words.figures]
    listed = STEP_BY_STEP in words.at  # its phases have a table of their own
    phases = [] if listed else [f"phase.{p.name}" for p in words.timed]
    load = [*phases, *own, "chip.erases", "wear.spread"]
    ways = "make" if listed else "make, mount (empty), come to rest, unmount"
    outside = [f"step.{name}" for name in STEPS if not listed or name == "format"]
    outside += ["memory.peak"] if setting.measured("memory") else []
    return [
        Block("Median, and the range below it; a phase with its sync.", tuple(load)),
        *_latency_blocks(setting),
        Block(f"Outside the load: {ways}; RAM held at its peak.", tuple(outside)),
    ]


def _latency_blocks(setting: Setting) -> list[Block]:
    """What single operations took: 99 % of each kind, and the longest."""
    kinds = [o.name for o in setting.words.operations]
    figures = [f"latency.{kind}.{mark}" for kind in kinds for mark in ("p99", "max")]
    return [Block("Latency: 99 of 100 took this or less, and the longest.", tuple(figures))]


def _life_blocks(setting: Setting) -> list[Block]:
    life = ("life.written", "life.first_death", "life.dead_blocks", "life.erases")
    return [
        Block("Median, and the range below it, over the life; +: or more, a trial lived on.", life),
        _phase_blocks(setting)[-1],
    ]


def _point_blocks(setting: Setting) -> list[Block]:
    load = ("time", "chip.reads", "chip.programs", "chip.erases")
    return [
        Block("Median, and the range below it, over all points; the report has each.", load),
        _phase_blocks(setting)[-1],
    ]


def _swept(setting: Setting) -> list[Answer]:
    return [Answer("swept", tuple(sweep.findings(setting)))]


def _lives(setting: Setting) -> list[Answer]:
    by_state = {s: [e for e in setting.ensembles if e.state == s] for s in setting.states}
    return [Answer(s, _told_lives(setting, here)) for s, here in by_state.items()]


def _told_lives(setting: Setting, here: list[Ensemble]) -> tuple[Finding, ...]:
    """What lives in one state answer, each sentence with the doubts of the lives."""
    used = [(e, setting.figure("life.written")) for e in here]
    return tuple(doubts.marked(f, used) for f in lifetime.findings(setting, here))


LIFETIME = View(
    "lifetime",
    lambda s: s.words.view == "lifetime",
    _lives,
    _life_blocks,
    judged=False,
    ends=True,
    erases="life.erases",
    span="its life",
    worn=True,
)
SWEEP = View("sweep", sweep.is_sweep, _swept, _phase_blocks, judged=False)
PHASES = View("phases", lambda s: True, answers.state_answers, _phase_blocks)
POINTS = View(
    "points",
    lambda s: s.words.view == "points" and not sweep.is_sweep(s),
    points.answers,
    _point_blocks,
    span="all points",
)
VIEWS = (LIFETIME, POINTS, SWEEP, PHASES)
"""In order; the last wants every setting."""
