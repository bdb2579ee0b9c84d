# SPDX-License-Identifier: GPL-2.0-or-later
"""What each file system promises after a power cut, in words.

A promise is its makers' and from the catalog, as the run keeps the file system's entry with each
trial; what it kept is told where ``nandlab powercut`` cut the run's media.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import ValidationError

from nandlab.analysis.figures.groups import Setting
from nandlab.analysis.figures.totals import count_chip_operations
from nandlab.analysis.verdicts import gaps
from nandlab.base.strings import FreeText
from nandlab.catalog.filesystem import FirstWrite
from nandlab.catalog.powerpromise import Power
from nandlab.results.cutsummaries import CutSummary, tally_power_cuts
from nandlab.results.naming import Naming
from nandlab.results.record import Trial

CAMPAIGNS_PAGE = "docs/power-cuts-seen.md"
"""Has what nandlab's own campaigns of power cuts showed of each file system."""


@dataclass(frozen=True)
class Promise:
    """What a file system promises."""

    keeps: Literal["synced", "nothing", "unknown", "unasked"]
    """synced: what sync has returned from; nothing: not even that; unknown: not told; unasked: the
    load wrote nothing that a cut could take."""
    text: FreeText = "not told by this run"
    tested: FreeText = ""
    """What nandlab's own test of cuts saw, and no more."""
    source: FreeText = ""
    cuts: tuple[CutSummary, ...] = ()
    """Campaigns of power cuts beside the run."""
    not_cut: FreeText = "not known"
    """What stands in their place where there are none."""
    whole: int | None = None
    """Programs and erases of the trial's own load, of which a campaign cuts a short form."""

    @property
    def outcome_text(self) -> str:
        """What it kept when its power was cut, in words; empty: that is not known."""
        tried = tally_power_cuts(self.cuts)
        return f"{tried.format_tried_points(self.whole)}: {tried.outcome}" if tried else ""

    @property
    def outcome(self) -> str:
        """How many of the points did not hold, each class with its own; empty: none was tried."""
        tried = tally_power_cuts(self.cuts)
        return f"of {tried.stable_points:,} points {tried.outcome}" if tried else ""

    @property
    def lines(self) -> list[str]:
        """All that is told of it: the promise, what was tested, who says so."""
        seen = f"seen elsewhere ({CAMPAIGNS_PAGE}): {self.tested}" if self.tested else ""
        source = f"source: {self.source}" if self.source else ""
        return [
            *filter(None, (self.text, seen, source)),
            f"cut here: {self.outcome_text or self.not_cut}",
        ]


UNKNOWN_PROMISE = Promise("unknown")
UNASKED_PROMISE = Promise("unasked", "")


def find_trial_filesystem_promise(trial: Trial, naming: Naming) -> Promise:
    """The promise in the entry that the trial was run with; not told where it has none."""
    entry = trial.find_source("filesystem").get("power")
    if entry is None:
        return UNKNOWN_PROMISE
    try:
        power = Power.model_validate(entry)
    except ValidationError:
        return UNKNOWN_PROMISE  # of another nandlab, whose words are not ours
    not_cut = f"not known: {gaps.suggest_power_cut_command(trial, naming)}"
    changing = [count_chip_operations(trial, kind) for kind in ("programs", "erases")]
    whole = sum(n for n in changing if n is not None)
    promise = Promise(power.keeps, power.promises, power.tested, power.source)
    return replace(promise, cuts=trial.cuts, not_cut=not_cut, whole=whole or None)


def format_first_write_advice(trial: Trial) -> str:
    """What to do before the first durable write of a freshly flashed one, as the entry has it that
    the trial was run with; empty: nothing is known."""
    entry = trial.find_source("filesystem").get("first_write")
    try:
        first = entry and FirstWrite.model_validate(entry)
    except ValidationError:
        return ""  # of another nandlab, whose words are not ours
    return f"{first.advice} ({first.source})" if first else ""


def is_read_only_load(setting: Setting) -> bool:
    """Whether it is known that no trial wrote in the phases that count."""
    programs = setting.figure("chip.programs")
    ended = [t for t in setting.trials if t.ok]
    return bool(ended) and all(programs(t) == 0 and not t.bytes.get("written") for t in ended)


def format_promise_lines(trials: Sequence[Trial], naming: Naming) -> list[str]:
    """For a terminal: each file system's promise, once; nothing where none is told."""
    found = [
        f"  {name}: {'; '.join(of)}" for name, of in list_filesystem_promise_lines(trials, naming)
    ]
    return ["After a power cut:", *found, ""] if found else []


def list_filesystem_promise_lines(
    trials: Sequence[Trial], naming: Naming
) -> list[tuple[str, list[str]]]:
    """Each file system of the trials that has a promise, with all that is told of it."""
    first = {t.filesystem_title: find_trial_filesystem_promise(t, naming) for t in reversed(trials)}
    return [(name, first[name].lines) for name in sorted(first) if first[name] != UNKNOWN_PROMISE]
