# SPDX-License-Identifier: GPL-2.0-or-later
"""A verdict in words: a sentence with its reasons, and the answer in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nandlab.analysis.criteria import Criterion, Scope
from nandlab.analysis.gaps import Gap
from nandlab.analysis.groups import Setting
from nandlab.analysis.ready import LOST
from nandlab.analysis.spread import Spread
from nandlab.analysis.verdict import ORDER, Call, Row, aside, untried
from nandlab.base import units


@dataclass(frozen=True)
class Judged:
    """A row before it is known who comes first."""

    row: Row
    gaps: tuple[Gap, ...]
    missing: int
    """States and loads of which it has no trial."""
    headline: Spread | None
    """In the state where its median is worst, of the first load."""
    state: str = ""

    @property
    def room(self) -> float | None:
        """What is left of the nearest limit that is met, as a share of it."""
        known = [1 - c.used for c in self.row.cells if c.used is not None and c.state == "met"]
        return min(known, default=None)


def decides(scope: Scope, criterion: Criterion, row: Row) -> bool:
    """Whether an open cell leaves the whole open: of what was asked, else of the headline. A power
    cut that nobody tried does not, where none was asked for, but that nothing is promised does."""
    if criterion.name == LOST and not criterion.limit:
        return row.power.keeps == "nothing"
    headlines = [s.headline.name for s in scope.settings]
    return bool(criterion.limit) or (scope.limits.none and criterion.name in headlines)


def sentence(scope: Scope, shown: Sequence[Criterion], judged: Sequence[Judged]) -> str:
    """What to take and why, who else fits, and what to avoid."""
    first = judged[0]
    avoided = [
        f"Avoid {j.row.name}: {'; '.join(j.row.against)}." for j in judged if j.row.call == "avoid"
    ]
    if first.row.call == "avoid":
        return " ".join(["None that was measured is fit.", *avoided])
    if first.row.call == "open":
        what = ", ".join(dict.fromkeys(gap.what for gap in _blocking(scope, shown, first)))
        lead = f"Not enough to say yet: {first.row.name} is the first to look into; open: {what}."
        return " ".join([lead, *avoided])
    lead = f"Take {first.row.name}{aside(first.row)}: {_because(scope, shown, first)}."
    rest = [j for j in judged[1:] if j.row.call == "fits"]
    return " ".join(filter(None, [lead, _others(scope, first, rest), *avoided]))


def _blocking(scope: Scope, shown: Sequence[Criterion], judged: Judged) -> list[Gap]:
    """The gaps that leave a row open."""
    passing = {
        c.title
        for c, cell in zip(shown, judged.row.cells, strict=True)
        if cell.state == "open" and not decides(scope, c, judged.row)
    }
    return [gap for gap in judged.gaps if gap.what not in passing]


def _because(scope: Scope, shown: Sequence[Criterion], first: Judged) -> str:
    """Why the first is the first."""
    near = [
        (1 - cell.used, c, cell)
        for c, cell in zip(shown, first.row.cells, strict=True)
        if cell.used is not None and cell.state == "met"
    ]
    met = [
        c for c, cell in zip(shown, first.row.cells, strict=True) if c.limit and cell.state == "met"
    ]
    if near:
        room, criterion, cell = min(near, key=lambda n: n[0])
        return (
            f"it meets {'every limit' if len(met) > 1 else 'the limit'}; the nearest is "
            f"{criterion.title} {criterion.limit}: {cell.text}, {units.percent(room)} of it is left"
        )
    every = "it meets every limit; " if met else ""
    return f"{every}{_told(scope.settings[0], first)}"


def _told(setting: Setting, judged: Judged) -> str:
    """The headline in words, where it is worst."""
    words, found = setting.words.headline, judged.headline
    if found is None:
        return f"no {words.noun} was measured"
    told = words.told or f"{words.noun} {{v}}"
    return f"{told.format(v=setting.headline.form(found.median))} at worst ({judged.state})"


def _others(scope: Scope, first: Judged, rest: Sequence[Judged]) -> str:
    """Who else fits: under limits by name alone, else by how much worse each is."""
    if not rest:
        return ""
    if first.room is not None:
        every = "both" if len(rest) == 1 else "all"
        return f"{_listed(rest)} {'meets' if len(rest) == 1 else 'meet'} them {every}."
    alike = [j for j in rest if not _apart(first, j)]
    if alike:
        return f"The trials do not tell {_listed(alike)} from it."
    words, base = scope.settings[0].words.headline, first.headline
    factors = [
        f"{j.row.name}{aside(j.row)} {words.more.format(r=units.ratio(of), v='')}"
        for j in rest
        if j.headline and base and base.median
        for of in [j.headline.median / base.median]
    ]
    return f"{', '.join(factors)}." if factors else ""


def _listed(rest: Sequence[Judged]) -> str:
    names = [f"{j.row.name}{aside(j.row)}" for j in rest]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _apart(a: Judged, b: Judged) -> bool:
    return a.headline is not None and b.headline is not None and a.headline.told_apart(b.headline)


def answer(rows: Sequence[Row]) -> str:
    """The verdict in a line."""
    by_call = {call: [r.name for r in rows if r.call == call] for call in ORDER}
    taken = [r for r in rows if r.call == "take"]
    none_tried = any(map(untried, taken))
    lead = [
        f"take {r.name}{aside(r)}{' (power cuts not tried)' if none_tried else ''}" for r in taken
    ] or ["nothing to take yet" if by_call["open"] else "none is fit"]
    titles: tuple[tuple[Call, str], ...]
    titles = (("fits", "fits too: "), ("open", "open: "), ("avoid", "avoid "))
    told = [f"{title}{', '.join(by_call[call])}" for call, title in titles if by_call[call]]
    text = "; ".join([*lead, *told])
    return f"{text[:1].upper()}{text[1:]}."
