# SPDX-License-Identifier: GPL-2.0-or-later
"""Many flash states of one setting as a surface, and where a file system falls off its cliff.

The cliff of a line (one invalid share, one mix, one circumstance, valid share growing) is the
smallest valid share whose median headline figure is more than :data:`CLIFF_FACTOR` times that of
the same subject on fresh flash.
Where no trial ended well there is no figure: the load had no room, or the file system broke.
Where only some ended well, the median is theirs, and the sentence says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.analysis.figures import doubts
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.figures.spread import divide_spreads
from nandlab.base import units

CLIFF_FACTOR = 2.0
SWEEP_SHARES_MIN = 5
"""The states of a setting are a sweep if they have this many valid shares or more."""


class SweepLine(NamedTuple):
    """What a line of a sweep has in common."""

    invalid_share: float
    mix: float
    circumstance: str = ""


@dataclass(frozen=True)
class FailingState:
    """A state in which trials did not end well."""

    valid_share: float
    """Its valid share."""
    successes: int
    """Trials that ended well there."""
    trials: int
    error: str
    """The error of the first that did not, in a few words."""

    @classmethod
    def from_ensemble(cls, e: Ensemble) -> FailingState:
        failed = next(t for t in e.trials if not t.ok)
        return cls(
            find_requested_valid_share(e),
            len(e.trials) - e.failed,
            len(e.trials),
            shorten_error(failed.error),
        )

    def __str__(self) -> str:
        many = (
            f"only {self.successes} of {self.trials} trials end"
            if self.successes
            else "no trial ends"
        )
        return f"at {self.valid_share * 100:g} % valid {many} well ({self.error})"


@dataclass(frozen=True)
class SweepCliff:
    """Where one line of one subject falls off."""

    subject: str
    line: SweepLine
    highest: float
    """The greatest valid share that was asked for."""
    valid_share: float | None
    """Valid share at which it first passes :data:`CLIFF_FACTOR` times fresh; None: it never
    does."""
    ratio: float | None
    """The headline figure there against fresh."""
    some_fail: FailingState | None
    """The smallest valid share at which some trials did not end well, though others did."""
    all_fail: FailingState | None
    """The smallest valid share at which no trial ended well."""


def is_sweep_setting(setting: Setting) -> bool:
    """Whether its states are to be read as a surface rather than one by one."""
    return len({find_requested_valid_share(e) for e in setting.ensembles}) >= SWEEP_SHARES_MIN


def find_requested_valid_share(e: Ensemble) -> float:
    """The valid share asked for."""
    return e.first.state.valid


def find_ensemble_sweep_line(e: Ensemble) -> SweepLine:
    """What was asked for; the mix means nothing where only one kind is there."""
    state = e.first.state
    return SweepLine(state.invalid, state.mix if state.invalid else 0.0, e.circumstance)


def format_sweep_line(line: SweepLine) -> str:
    """``25 % dead, mixed``."""
    place = {0.0: "apart", 1.0: "mixed"}.get(line.mix, f"mix {line.mix:g}")
    dead = f"{line.invalid_share * 100:g} % dead, {place}" if line.invalid_share else "none dead"
    return ", ".join(filter(None, (dead, line.circumstance)))


def group_ensembles_by_sweep_line(
    setting: Setting, subject: str
) -> dict[SweepLine, list[Ensemble]]:
    """A subject's ensembles by line, the valid share growing."""
    lines: dict[SweepLine, list[Ensemble]] = {}
    for e in sorted(
        (e for e in setting.ensembles if e.subject == subject), key=find_requested_valid_share
    ):
        lines.setdefault(find_ensemble_sweep_line(e), []).append(e)
    return dict(sorted(lines.items()))


def list_sweep_cliffs(setting: Setting) -> list[SweepCliff]:
    """The cliff of every subject and line."""
    return [
        _find_cliff(setting, subject, of, members)
        for subject in setting.subjects
        for of, members in group_ensembles_by_sweep_line(setting, subject).items()
    ]


def _is_past_cliff(ratio: float, more: bool) -> bool:
    """Whether a figure / that of fresh is worse than :data:`CLIFF_FACTOR` allows; more: more is
    better."""
    return ratio < 1 / CLIFF_FACTOR if more else ratio > CLIFF_FACTOR


def _find_cliff(
    setting: Setting, subject: str, line: SweepLine, members: Sequence[Ensemble]
) -> SweepCliff:
    reference = setting.find_reference(members[0])
    base = reference.spread(setting.headline) if reference else None
    ratios = [
        (find_requested_valid_share(e), divide_spreads(e.spread(setting.headline), base))
        for e in members
    ]
    is_more_better = setting.headline.better == "more"
    passing = ((v, r.median) for v, r in ratios if r and _is_past_cliff(r.median, is_more_better))
    cliff_share, ratio = next(passing, (None, None))
    failing = [e for e in members if e.failed]
    partial_failure = next((e for e in failing if e.ok), None)
    full_failure = next((e for e in failing if not e.ok), None)
    return SweepCliff(
        subject,
        line,
        find_requested_valid_share(members[-1]),
        cliff_share,
        ratio,
        FailingState.from_ensemble(partial_failure) if partial_failure else None,
        FailingState.from_ensemble(full_failure) if full_failure else None,
    )


def list_sweep_cliff_findings(setting: Setting) -> list[Finding]:
    """A sentence on each subject's cliffs; those that fall first come first."""
    by_subject: dict[str, list[SweepCliff]] = {}
    for c in list_sweep_cliffs(setting):
        by_subject.setdefault(c.subject, []).append(c)
    ordered = sorted(
        by_subject, key=lambda subject: min(map(_find_lowest_fall, by_subject[subject]))
    )
    return [
        doubts.add_doubts_to_finding(
            Finding(
                f"Cliff of {subject}",
                " ".join(_format_cliff(c, setting) for c in by_subject[subject]),
                firm=_has_cliff(by_subject[subject]),
            ),
            ((e, setting.headline) for e in setting.ensembles if e.subject == subject),
        )
        for subject in ordered
    ]


def shorten_error(error: str | None) -> str:
    """Why a trial failed, in a few words."""
    if error and "No space left on device" in error:
        return "no space left"
    return textwrap.shorten(error or "no reason was recorded", 72, placeholder=" …")


def _find_lowest_fall(c: SweepCliff) -> float:
    failing = [f.valid_share for f in (c.some_fail, c.all_fail) if f]
    return min([*failing, *([c.valid_share] if c.valid_share is not None else [])], default=1.0)


def _has_cliff(found: Sequence[SweepCliff]) -> bool:
    return any(c.valid_share is not None or c.some_fail or c.all_fail for c in found)


def _format_cliff(c: SweepCliff, setting: Setting) -> str:
    more = setting.headline.better == "more"
    past = f"less than {1 / CLIFF_FACTOR:g} times" if more else f"more than {CLIFF_FACTOR:g} times"
    parts = []
    if c.valid_share is not None:
        noun = setting.words.headline.noun
        parts.append(
            f"from {c.valid_share * 100:g} % valid its {noun} is {past} that of fresh "
            f"flash ({units.format_ratio(c.ratio)} times there)"
        )
    parts += [str(f) for f in (c.some_fail, c.all_fail) if f]
    if not parts:
        parts.append(f"no cliff up to {c.highest * 100:g} % valid")
    return f"{format_sweep_line(c.line).capitalize()}: {'; '.join(parts)}."
