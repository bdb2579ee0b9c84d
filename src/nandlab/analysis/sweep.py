# SPDX-License-Identifier: GPL-2.0-or-later
"""Many flash states of one setting as a surface, and where a file system falls off its cliff.

The cliff of a line (one invalid share, one mix, valid share growing) is the smallest valid share
whose median headline figure is more than :data:`CLIFF` times that of the same subject on fresh
flash. Where no trial ended well there is no figure: the load had no room, or the file system broke.
Where only some ended well, the median is theirs, and the sentence says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.analysis import doubts
from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.ranking import Finding
from nandlab.analysis.spread import quotient
from nandlab.base import units

CLIFF = 2.0
SWEEP = 5
"""The states of a setting are a sweep if they have this many valid shares or more."""

Line = tuple[float, float]
"""Invalid share and mix."""


@dataclass(frozen=True)
class Failing:
    """A state in which trials did not end well."""

    at: float
    """Its valid share."""
    well: int
    """Trials that ended well there."""
    trials: int
    why: str
    """The error of the first that did not, in a few words."""

    @classmethod
    def of(cls, e: Ensemble) -> Failing:
        failed = next(t for t in e.trials if not t.ok)
        return cls(valid(e), len(e.trials) - e.failed, len(e.trials), brief(failed.error))

    def __str__(self) -> str:
        many = f"only {self.well} of {self.trials} trials end" if self.well else "no trial ends"
        return f"at {self.at * 100:g} % valid {many} well ({self.why})"


@dataclass(frozen=True)
class Cliff:
    """Where one line of one subject falls off."""

    subject: str
    line: Line
    highest: float
    """The greatest valid share that was asked for."""
    at: float | None
    """Valid share at which it first passes :data:`CLIFF` times fresh; None: it never does."""
    ratio: float | None
    """The headline figure there against fresh."""
    some_fail: Failing | None
    """The smallest valid share at which some trials did not end well, though others did."""
    all_fail: Failing | None
    """The smallest valid share at which no trial ended well."""


def is_sweep(setting: Setting) -> bool:
    """Whether its states are to be read as a surface rather than one by one."""
    return len({valid(e) for e in setting.ensembles}) >= SWEEP


def valid(e: Ensemble) -> float:
    """The valid share asked for."""
    return e.first.state.valid


def line(e: Ensemble) -> Line:
    """Invalid share and mix asked for; the mix means nothing where only one kind is there."""
    state = e.first.state
    return state.invalid, state.mix if state.invalid else 0.0


def in_words(of: Line) -> str:
    """``25 % dead, mixed``."""
    invalid, mix = of
    if not invalid:
        return "none dead"
    lies = {0.0: "apart", 1.0: "mixed"}.get(mix, f"mix {mix:g}")
    return f"{invalid * 100:g} % dead, {lies}"


def lines(setting: Setting, subject: str) -> dict[Line, list[Ensemble]]:
    """A subject's ensembles by line, the valid share growing."""
    found: dict[Line, list[Ensemble]] = {}
    for e in sorted((e for e in setting.ensembles if e.subject == subject), key=valid):
        found.setdefault(line(e), []).append(e)
    return dict(sorted(found.items()))


def fresh(setting: Setting, subject: str) -> Ensemble | None:
    """The state that asked for no data."""
    return next((e for e in setting.ensembles if e.subject == subject and e.reference), None)


def cliffs(setting: Setting) -> list[Cliff]:
    """The cliff of every subject and line."""
    return [
        _cliff(setting, subject, of, members)
        for subject in setting.subjects
        for of, members in lines(setting, subject).items()
    ]


def _is_past(ratio: float, more: bool) -> bool:
    """Whether a figure / that of fresh is worse than :data:`CLIFF` allows; more: more is better."""
    return ratio < 1 / CLIFF if more else ratio > CLIFF


def _cliff(setting: Setting, subject: str, of: Line, members: Sequence[Ensemble]) -> Cliff:
    reference = fresh(setting, subject)
    base = reference.spread(setting.headline) if reference else None
    ratios = [(valid(e), quotient(e.spread(setting.headline), base)) for e in members]
    more = setting.headline.better == "more"
    passing = ((v, r.median) for v, r in ratios if r and _is_past(r.median, more))
    at, ratio = next(passing, (None, None))
    failing = [e for e in members if e.failed]
    some = next((e for e in failing if e.ok), None)
    every = next((e for e in failing if not e.ok), None)
    return Cliff(
        subject,
        of,
        valid(members[-1]),
        at,
        ratio,
        Failing.of(some) if some else None,
        Failing.of(every) if every else None,
    )


def findings(setting: Setting) -> list[Finding]:
    """A sentence on each subject's cliffs; those that fall first come first."""
    by_subject: dict[str, list[Cliff]] = {}
    for c in cliffs(setting):
        by_subject.setdefault(c.subject, []).append(c)
    ordered = sorted(by_subject, key=lambda subject: min(map(_falls, by_subject[subject])))
    return [
        doubts.marked(
            Finding(
                f"Cliff of {subject}",
                " ".join(_said(c, setting) for c in by_subject[subject]),
                firm=_known(by_subject[subject]),
            ),
            ((e, setting.headline) for e in setting.ensembles if e.subject == subject),
        )
        for subject in ordered
    ]


def brief(error: str | None) -> str:
    """Why a trial failed, in a few words."""
    if error and "No space left on device" in error:
        return "no space left"
    return textwrap.shorten(error or "no reason was recorded", 72, placeholder=" …")


def _falls(c: Cliff) -> float:
    failing = [f.at for f in (c.some_fail, c.all_fail) if f]
    return min([*failing, *([c.at] if c.at is not None else [])], default=1.0)


def _known(found: Sequence[Cliff]) -> bool:
    return any(c.at is not None or c.some_fail or c.all_fail for c in found)


def _said(c: Cliff, setting: Setting) -> str:
    more = setting.headline.better == "more"
    past = f"less than {1 / CLIFF:g} times" if more else f"more than {CLIFF:g} times"
    parts = []
    if c.at is not None:
        noun = setting.words.headline.noun
        parts.append(
            f"from {c.at * 100:g} % valid its {noun} is {past} that of fresh "
            f"flash ({units.ratio(c.ratio)} times there)"
        )
    parts += [str(f) for f in (c.some_fail, c.all_fail) if f]
    if not parts:
        parts.append(f"no cliff up to {c.highest * 100:g} % valid")
    return f"{in_words(c.line).capitalize()}: {'; '.join(parts)}."
