# SPDX-License-Identifier: GPL-2.0-or-later
"""What an instrument is: steps beside the trial's own, and what is read from what they printed.

An instrument is asked for its steps at moments of a trial. They are no part of the trial's work, so
its result does not list them; the instrument itself tells what they cost in the board's time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nandlab.base.errors import NandlabError
from nandlab.board.jobs.job import JobRecord, Step, escape_output
from nandlab.plan.trialspec import TrialSpec
from nandlab.results.recordparts import Doubt, Phase, Series

Moment = Literal["loaded", "formatted", "mounted", "ready", "worked", "unmounted", "over"]
"""The chip is loaded; the file system is made; it is mounted and at rest; the flash is filled and
the workload begins (of a list: its first mount is over); the workload has ended; the file system is
unmounted; all else is over, and what is brought back was read."""
NUMBER_PATTERN = re.compile(r"[0-9]{1,18}")
"""A number that a step printed: no longer than fits a result."""


class UnreadableOutput(NandlabError):
    """A step did not print what it should; the message says where, and why."""


class FiguresUnknown(NandlabError):
    """An instrument has no figures of this trial; all others stand, and a doubt says why."""

    def __init__(self, doubt: Doubt) -> None:
        super().__init__(doubt.text)
        self.doubt = doubt


@dataclass(frozen=True)
class InstrumentSteps:
    """What an instrument does on the board."""

    make_steps: Callable[[TrialSpec], Mapping[Moment, Step]] = lambda spec: {}
    """Its step at each moment of a trial."""
    after: Callable[[TrialSpec, str], Step | None] = lambda spec, name: None
    """Its step after a step of this name in a workload that is a list; None: none."""


@dataclass(frozen=True)
class InstrumentReading:
    """What an instrument makes of a trial's record."""

    figures: Callable[[TrialSpec, JobRecord, Sequence[Phase]], dict[str, int | float]]
    """Its figures, given the workload's phases; UnreadableOutput where a step did not print what
    it should, FiguresUnknown where the trial is sound and it still has none."""
    doubts: Callable[[TrialSpec, JobRecord], list[Doubt]] = lambda spec, record: []
    series: Callable[[TrialSpec, JobRecord], list[Series]] = lambda spec, record: []
    """Its figures over time, each called NAME.KEY."""
    is_left_out_empty: bool = False
    """Whether a trial of which it has no figure does not list it."""


@dataclass(frozen=True)
class BroughtBack:
    """What is brought back for an instrument after the last unmount."""

    saves_chip: bool = False
    """Whether it reads the chip as it is then."""
    command: str = ""
    """The board's command that prints what is brought back; only one thing can be."""
    room: Callable[[TrialSpec], int] = lambda spec: 0
    """The most bytes of it."""


@dataclass(frozen=True)
class Instrument:
    """One instrument: ``INSTRUMENT`` of a module of this folder. catalog/instruments has a file of
    its name."""

    name: str
    """Its figures are NAME.KEY."""
    is_wanted: Callable[[TrialSpec], bool]
    """Whether a trial is measured by it."""
    reading: InstrumentReading
    steps: InstrumentSteps = InstrumentSteps()
    back: BroughtBack = BroughtBack()
    order: int = 100
    """Its place among the instruments' steps at one moment; of equal ones the name decides."""


def parse_step_numbers(record: JobRecord, step: str) -> dict[str, int]:
    """A step's lines ``name value``; all other lines are left out."""
    rows = (line.split() for line in escape_output(record[step].stdout).splitlines())
    return {
        row[0]: int(row[1]) for row in rows if len(row) == 2 and NUMBER_PATTERN.fullmatch(row[1])
    }


def parse_step_number(record: JobRecord, step: str, name: str) -> int:
    """One of a step's numbers; Unreadable if it printed none of this name."""
    found = parse_step_numbers(record, step)
    if name not in found:
        raise UnreadableOutput(f"step {step}: printed no {name}")
    return found[name]
