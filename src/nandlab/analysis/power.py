# SPDX-License-Identifier: GPL-2.0-or-later
"""What each file system promises after a power cut, in words.

A promise is its makers' and from the catalog, as the run keeps the file system's entry with each
trial; what it kept is told where ``nandlab powercut`` cut the run's media.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from nandlab.analysis.groups import Setting
from nandlab.base.strings import FreeText
from nandlab.catalog.filesystem import Power
from nandlab.results.cuts import TWO_NAMES, UNSTABLE, Cuts
from nandlab.results.record import Trial

NOT_CUT = "not known; nandlab powercut with this run's folder tells"
NOT_CUT_THERE = "not known; power is cut on the virtual board only"
"""The same of a run on a board of the user's own."""


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
    cuts: tuple[Cuts, ...] = ()
    """Campaigns of power cuts beside the run."""
    not_cut: FreeText = NOT_CUT
    """What is told where there are none."""

    @property
    def kept(self) -> str:
        """What it kept when its power was cut, in words; empty: that is not known."""
        of_power = [c for c in self.cuts if not c.faulty and (c.operations or c.lost or c.excused)]
        if not of_power:
            return ""
        lost, unstable = Counter[str](), Counter[str]()
        for each in of_power:
            lost.update(each.lost)
            unstable.update({n.removesuffix(UNSTABLE): m for n, m in each.excused.items()})
        loads = ", ".join(dict.fromkeys(c.load for c in of_power))
        points, cut = sum(c.points for c in of_power), sum(c.cut for c in of_power)
        operations = sum(c.operations for c in of_power)
        tried = f"{points:,} points at {cut:,} of {operations:,} flash operations ({loads})"
        if not lost and not unstable:
            return f"{tried}, all held"
        classes = [
            *([_counted(lost)] if lost else []),
            *([f"with unstable cells: {_counted(unstable)}"] if unstable else []),
        ]
        all_told = lost.total() + unstable.total()
        return f"{tried}, of which {all_told:,} did not hold: {'; '.join(classes)}"

    @property
    def lost(self) -> str:
        """What it did not keep and nothing excuses: each class with its points; empty: nothing."""
        lost = Counter[str]()
        for each in self.cuts:
            lost.update({} if each.faulty else each.lost)
        lost.pop(TWO_NAMES, None)
        return _counted(lost)

    @property
    def lines(self) -> list[str]:
        """All that is told of it: the promise, what was tested, who says so."""
        told = [self.text, self.tested, f"source: {self.source}" if self.source else ""]
        return [*filter(None, told), f"cut here: {self.kept or self.not_cut}"]


NOT_TOLD = Promise("unknown")
UNASKED = Promise("unasked", "")


def of_trial(trial: Trial) -> Promise:
    """The promise in the entry that the trial was run with; not told where it has none."""
    told = trial.about("filesystem").get("power")
    if told is None:
        return NOT_TOLD
    try:
        power = Power.model_validate(told)
    except ValidationError:
        return NOT_TOLD  # of another nandlab, whose words are not ours
    not_cut = NOT_CUT_THERE if trial.own_board else NOT_CUT
    return Promise(power.keeps, power.promises, power.tested, power.source, trial.cuts, not_cut)


def of_subject(setting: Setting, name: str) -> Promise:
    """The promise of a subject of a setting; UNASKED where its trials only read."""
    if reads_only(setting):
        return UNASKED
    return next((of_trial(e.first) for e in setting.ensembles if e.subject == name), NOT_TOLD)


def reads_only(setting: Setting) -> bool:
    """Whether it is known that no trial wrote in the phases that count."""
    programs = setting.figure("chip.programs")
    of = [(programs(t), t.bytes.get("written")) for t in setting.trials if t.ok]
    return bool(of) and all(pages == 0 and not written for pages, written in of)


def _counted(lost: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(lost.items()))


def lines(trials: Sequence[Trial]) -> list[str]:
    """For a terminal: each file system's promise, once; nothing where none is told."""
    found = [f"  {name}: {'; '.join(of)}" for name, of in told(trials)]
    return ["After a power cut:", *found, ""] if found else []


def told(trials: Sequence[Trial]) -> list[tuple[str, list[str]]]:
    """Each file system of the trials that has a promise, with all that is told of it."""
    first = {t.filesystem_title: of_trial(t) for t in reversed(trials)}
    return [(name, first[name].lines) for name in sorted(first) if first[name] != NOT_TOLD]
