# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of result: how the trials of a setting are read.

A view is a value: what it answers, whether it is judged, and which figures its tables show. A
setting has the first view that wants it; a workload names one in its catalog file, and a sweep is
known by its many flash states. ``nandlab.report.page.viewreports`` has the charts of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nandlab.analysis.figures import doubts
from nandlab.analysis.figures.figures import FILESYSTEM_STEPS
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.verdicts import answers, lifetime, pointanswers, sweep
from nandlab.analysis.verdicts.answers import StateAnswer

STEP_LIST_ATTRIBUTE = "cache"
"""The attribute that the phases of a list of steps on files have."""


@dataclass(frozen=True)
class FigureBlock:
    """A table in the terminal: a note above it, and the figures that it shows."""

    note: str
    figures: tuple[str, ...]


@dataclass(frozen=True)
class SettingView:
    """How one kind of setting is read."""

    name: str
    matches: Callable[[Setting], bool]
    answers: Callable[[Setting], list[StateAnswer]]
    blocks: Callable[[Setting], list[FigureBlock]]
    is_judged: bool = True
    """Whether its file systems are judged by limits; a sweep goes on until nothing fits, so that
    each fails in some state, and a life ends by itself."""
    shows_endings: bool = False
    """Whether it is told how each subject's trials ended."""
    erases: str = "chip.erases"
    """The figure of all erases."""
    span: str = "the timed phases"
    """What the wear was counted over, in words."""
    begins_at_least_worn: bool = False
    """Whether blocks are erased so often that colours begin at the least worn, not at 1."""


def find_setting_view(setting: Setting) -> SettingView:
    """The first view that wants the setting."""
    return next(v for v in SETTING_VIEWS if v.matches(setting))


def _list_phase_blocks(setting: Setting) -> list[FigureBlock]:
    words = setting.words
    own = [f"own.{name}" for name in words.figures]
    listed = STEP_LIST_ATTRIBUTE in words.attributes  # its phases have a table of their own
    phases = [] if listed else [f"phase.{p.name}" for p in words.timed]
    load = [*phases, *own, "chip.erases", "wear.spread"]
    ways = "make" if listed else "make, mount (empty), come to rest, unmount"
    outside = [f"step.{name}" for name in FILESYSTEM_STEPS if not listed or name == "format"]
    outside += ["memory.peak"] if setting.has_measurements("memory") else []
    return [
        FigureBlock("Median, and the range below it; a phase with its sync.", tuple(load)),
        *_list_latency_blocks(setting),
        FigureBlock(f"Outside the load: {ways}; RAM held at its peak.", tuple(outside)),
    ]


def _list_latency_blocks(setting: Setting) -> list[FigureBlock]:
    """What single operations took: 99 % of each kind, and the longest."""
    kinds = [o.name for o in setting.words.operations]
    figures = [f"latency.{kind}.{mark}" for kind in kinds for mark in ("p99", "max")]
    return [FigureBlock("Latency: 99 of 100 took this or less, and the longest.", tuple(figures))]


def _list_life_blocks(setting: Setting) -> list[FigureBlock]:
    life = ("life.written", "life.first_death", "life.dead_blocks", "life.erases")
    return [
        FigureBlock(
            "Median, and the range below it, over the life; +: or more, a trial lived on.", life
        ),
        _list_phase_blocks(setting)[-1],
    ]


def _list_point_blocks(setting: Setting) -> list[FigureBlock]:
    load = ("time", "chip.reads", "chip.programs", "chip.erases")
    return [
        FigureBlock("Median, and the range below it, over all points; the report has each.", load),
        _list_phase_blocks(setting)[-1],
    ]


def _list_sweep_answers(setting: Setting) -> list[StateAnswer]:
    return [StateAnswer("swept", tuple(sweep.list_sweep_cliff_findings(setting)))]


def _list_life_answers(setting: Setting) -> list[StateAnswer]:
    by_state = {s: [e for e in setting.ensembles if e.state == s] for s in setting.states}
    return [
        StateAnswer(s, _list_doubted_life_findings(setting, here)) for s, here in by_state.items()
    ]


def _list_doubted_life_findings(setting: Setting, ensembles: list[Ensemble]) -> tuple[Finding, ...]:
    """What lives in one state answer, each sentence with the doubts of the lives."""
    uses = [(e, setting.figure("life.written")) for e in ensembles]
    return tuple(
        doubts.add_doubts_to_finding(f, uses)
        for f in lifetime.list_lifetime_findings(setting, ensembles)
    )


LIFETIME_VIEW = SettingView(
    "lifetime",
    lambda s: s.words.view == "lifetime",
    _list_life_answers,
    _list_life_blocks,
    is_judged=False,
    shows_endings=True,
    erases="life.erases",
    span="its life",
    begins_at_least_worn=True,
)
SWEEP_VIEW = SettingView(
    "sweep", sweep.is_sweep_setting, _list_sweep_answers, _list_phase_blocks, is_judged=False
)
PHASES_VIEW = SettingView("phases", lambda s: True, answers.list_state_answers, _list_phase_blocks)
POINTS_VIEW = SettingView(
    "points",
    lambda s: s.words.view == "points" and not sweep.is_sweep_setting(s),
    pointanswers.list_point_state_answers,
    _list_point_blocks,
    span="all points",
)
SETTING_VIEWS = (LIFETIME_VIEW, POINTS_VIEW, SWEEP_VIEW, PHASES_VIEW)
"""In order; the last wants every setting."""
