# SPDX-License-Identifier: GPL-2.0-or-later
"""An order in words, stated only as far as the ranges carry it.

Two names are ranked only when both are ensembles (n >= 2) and their ranges min..max do not touch;
otherwise the sentence says that they cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nandlab.analysis.figures.spread import Spread
from nandlab.base import units
from nandlab.base.strings import FreeText

NAMES_LETTERS_MAX = 64
"""How many letters of names fit a sentence."""


class RankedEntry(NamedTuple):
    """A name and its spread."""

    name: str
    spread: Spread


@dataclass(frozen=True)
class Finding:
    """One sentence or more on one topic; not ``firm`` when it names what the ranges leave open."""

    topic: FreeText
    text: FreeText
    firm: bool
    doubts: FreeText = ""
    """The doubts of the trials behind the sentence, each with who carries it; empty: none."""


@dataclass(frozen=True)
class RankingWords:
    """How a figure is put into words, and which end of it comes first."""

    topic: str
    figure_noun: str
    """Names the figure in 'the ranges of their ... overlap'."""
    best_text: str
    """What the first does; its value follows."""
    unit: str
    """``{v}`` is the value."""
    factor_text: str
    """What the factor of another one means; ``{r}`` is the factor, ``{v}`` its value."""
    form: units.Form
    greatest: bool = False
    """Whether the greatest comes first; else the least does."""
    ranges: bool = False
    """Whether a value is written with its range."""

    def value(self, found: Spread) -> str:
        return found.brief(self.form) if self.ranges else self.form(found.median)

    def order(self, entries: Sequence[RankedEntry]) -> list[RankedEntry]:
        """Entries by their medians, in the direction of the ranking."""
        return sorted(entries, key=lambda e: e.spread.median, reverse=self.greatest)


def make_undecided_finding(topic: str, text: str) -> Finding:
    return Finding(topic, text, firm=False)


def make_ranking_finding_from_entries(
    entries: Sequence[RankedEntry], ranking: RankingWords
) -> Finding:
    """Names the first, if no other range touches its own, and how far the next and last are off."""
    order = ranking.order(entries)
    name, first = order[0]
    value = ranking.unit.format(v=ranking.value(first))
    if len(order) == 1:
        return make_undecided_finding(ranking.topic, f"Only {name} was measured: {value}.")
    if all(s.n == 1 for _, s in order):
        return make_undecided_finding(
            ranking.topic,
            f"One trial each: too few to state an order ({_format_entries(order, ranking)}).",
        )
    alike = [e for e in order[1:] if not first.is_distinct_from(e.spread)]
    if alike:
        return make_undecided_finding(ranking.topic, _format_undecided(order, alike, ranking))
    text = (
        f"{name} {ranking.best_text}: {value}. {_format_factors_behind(order[1:], first, ranking)}"
    )
    return Finding(ranking.topic, text, firm=True)


def _format_undecided(
    order: list[RankedEntry], alike: list[RankedEntry], ranking: RankingWords
) -> str:
    """First the names that cannot be told apart from the first one, then those that can."""
    first = order[0]
    group = [first, *alike]
    text = (
        f"{format_name_list([n for n, _ in group])} cannot be told apart: "
        f"{_explain_undecided(group, ranking)} "
        f"({_format_entries(group, ranking)})."
    )
    behind = [e for e in order if e not in group]
    if behind:
        factors = _format_factors_behind(behind, first.spread, ranking, lead="")
        text += f" Against the median of {first.name}, {factors}"
    return text


def _explain_undecided(group: list[RankedEntry], ranking: RankingWords) -> str:
    """The reason: single trials, ranges that overlap, or a range without an upper end."""
    single = [n for n, s in group if s.n == 1]
    if single:
        return f"{format_name_list(single)} ha{'s' if len(single) == 1 else 've'} a single trial"
    first = group[0].spread
    if any(s.min <= first.max and first.min <= s.max for _, s in group[1:]):
        return f"the ranges of their {ranking.figure_noun} overlap"
    return (
        f"trials of {format_name_list([n for n, s in group if s.has_lower_bounds])} had not "
        f"come to their end"
    )


def _format_factors_behind(
    others: list[RankedEntry], first: Spread, ranking: RankingWords, lead: str = "Next by median, "
) -> str:
    """The factors of the next and of the last; their values where the first is 0."""
    ends = [others[0]] if len(select_entries_for_sentence(others)) == 1 else [others[0], others[-1]]
    leads = [lead, "the last, " if lead else ""]
    parts = []
    for before, (name, spread) in zip(leads, ends, strict=False):
        if first.median > 0:
            at_most = "at most " if first.is_median_lower_bound else ""
            factor = at_most + units.format_ratio(spread.median / first.median)
            clause = ranking.factor_text.format(r=factor, v=ranking.value(spread))
        else:
            clause = f"has {ranking.value(spread)}"
        parts.append(f"{before}{name}{',' if before else ''} {clause}")
    return "; ".join(parts) + "."


def _format_entries(entries: Sequence[RankedEntry], ranking: RankingWords) -> str:
    """Names and values, as many as fit a sentence; the table beside has all."""
    shown = select_entries_for_sentence(entries)
    pause = "; " if ranking.ranges else ", "
    text = pause.join(f"{name} {ranking.value(s)}" for name, s in shown)
    return text if len(shown) == len(entries) else f"{text}, …"


def format_name_list(names: Sequence[str]) -> str:
    """A list in words; of a long one only the first is named, the table beside has all."""
    if len(names) > 2 and len("".join(names)) > NAMES_LETTERS_MAX:
        return f"{names[0]} and {len(names) - 1} others"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def select_entries_for_sentence(entries: Sequence[RankedEntry]) -> Sequence[RankedEntry]:
    """As many as fit a sentence: three, or one when the names are long."""
    return (
        entries[:3] if len("".join(n for n, _ in entries[:3])) <= NAMES_LETTERS_MAX else entries[:1]
    )
