# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's claims beside a run: ours with its spread, a verdict by rules, and what the counts say.

Quotients are taken member by member: both sides did the same work at the same phase offset. The
rules: *reproduced* when every quotient of every member lies on the side of 1 that the paper says
and our median is near enough to each of its numbers (or our range holds it); *same direction* when
only the sides agree; *different* when a quotient is on the other side in every member, or 1 in
all, or when nothing but a number was claimed and ours is not near it; *not decided* when members
disagree about the side; *not measured* when trials are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from nandlab.analysis import sweep, words
from nandlab.analysis.chiptime import Accounts, accounts
from nandlab.analysis.figures import find
from nandlab.analysis.parts import chosen, form, meant
from nandlab.analysis.parts import numbers as numbers_of
from nandlab.analysis.spread import Spread, spread
from nandlab.analysis.words import Words
from nandlab.base import units
from nandlab.catalog.paper import Basis, Claim, PaperModel, Part, Selector
from nandlab.results.record import Trial

LEAST_SAVED = 0.01
"""A saving of less is none."""
SAVINGS = {"below 1": "above 0", "above 1": "below 0", "not above 1": "not below 0", "none": ""}
"""Sides of 1 of a quotient, as those of what is saved."""
Verdict = Literal["reproduced", "same direction", "different", "not decided", "not measured"]


@dataclass(frozen=True)
class Number:
    """A part of a claim as this run has it."""

    label: str
    ours: Spread | None
    paper: str
    form: units.Form

    def text(self) -> str:
        value = units.MISSING if self.ours is None else self.ours.text(self.form)
        return f"{self.label}: {value}"


@dataclass(frozen=True)
class Reading:
    """A claim's numbers with one of its bases read the other way."""

    basis: Basis
    numbers: tuple[Number, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Row:
    """A claim beside this run."""

    claim: Claim
    numbers: tuple[Number, ...]
    verdict: Verdict
    others: tuple[Reading, ...]
    counted: tuple[str, ...]
    """What the chip's counts say of each configuration: where the time went."""
    trials: tuple[str, ...]


def rows(paper: PaperModel, trials: Iterable[Trial], words_of: Callable[[str], Words]) -> list[Row]:
    """Every claim of the paper, in its order; words_of: the words of a workload, by its name."""
    every = list(trials)
    return [_row(paper, c, every, words_of(paper.load_of(c))) for c in paper.claims]


def _row(paper: PaperModel, claim: Claim, every: Sequence[Trial], of: Words) -> Row:
    trials = [t for t in every if t.workload == paper.load_of(claim)]
    numbers, found = _numbers(paper, claim.parts, trials, of)
    others = (_read_otherwise(paper, b, claim, trials, of) for b in _bases(paper, claim))
    sides = [s for p in claim.parts for s in (p.over, p.of) if s is not None]
    distinct = list({s.model_dump_json(): s for s in sides}.values())
    groups = [(s, chosen(paper, s, trials)) for s in [*distinct, *claim.counted]]
    return Row(
        claim,
        numbers,
        found,
        tuple(others),
        (
            *(_counted(s, members) for s, members in groups if members),
            *(line for s, _ in groups for line in _ended_badly(paper, s, trials)),
        ),
        tuple(t.id for t in trials if any(meant(paper, s, t) for s, _ in groups)),
    )


def _numbers(
    paper: PaperModel, parts: Sequence[Part], trials: Sequence[Trial], of: Words
) -> tuple[tuple[Number, ...], Verdict]:
    found = [pair for part in parts for pair in numbers_of(paper, part, trials, of)]
    told = (Number(p.label, s, _said(p), form(p, of)) for p, s in found)
    return tuple(told), verdict(found)


def _bases(paper: PaperModel, claim: Claim) -> list[Basis]:
    return [b for b in paper.bases if b.id in claim.rests_on]


def _read_otherwise(
    paper: PaperModel, basis: Basis, claim: Claim, trials: Sequence[Trial], of: Words
) -> Reading:
    other = paper.model_copy(update={"parameters": paper.parameters | basis.parameters})
    parts = [_part_moved(basis, part) for part in claim.parts]
    return Reading(basis, *_numbers(other, parts, trials, of))


def _part_moved(basis: Basis, part: Part) -> Part:
    against = part.against and part.against.model_copy(
        update={
            "figure": basis.moved(part.against.figure),
            "of": part.against.of and _moved(basis, part.against.of),
            "over": part.against.over and _moved(basis, part.against.over),
        }
    )
    return part.model_copy(
        update={
            "figure": basis.moved(part.figure),
            "each": basis.moved(part.each),
            "over_figure": part.over_figure and basis.moved(part.over_figure),
            "of": _moved(basis, part.of),
            "over": part.over and _moved(basis, part.over),
            "against": against,
        }
    )


def _moved(basis: Basis, of: Selector) -> Selector:
    state = basis.states.get(of.state, of.state)
    return of.model_copy(
        update={"state": state, "parameters": {**of.parameters, **basis.parameters}}
    )


def _said(part: Part) -> str:
    if part.paper is None:
        way = SAVINGS[part.direction] if part.saving else part.direction
        return f"no number, {'far ' if part.far else ''}{way}"
    bound = {"about": "", "over": "over ", "under": "under "}[part.bound]
    return f"{bound}{units.percent(part.paper) if part.saving else units.figures3(part.paper)}"


def verdict(parts: Sequence[tuple[Part, Spread | None]]) -> Verdict:
    """The verdict, by the rules at the top."""
    known = [(p, s) for p, s in parts if s is not None]
    if len(known) < len(parts):
        return "not measured"
    sides = [_side(p, s) for p, s in known if p.direction != "none"]
    if "wrong" in sides:
        return "different"
    if "both" in sides:
        return "not decided"
    if all(_near(p, s) for p, s in known):
        return "reproduced"
    return "same direction" if sides else "different"


def _side(part: Part, ours: Spread) -> Literal["right", "wrong", "both"]:
    """On which side of 1 all members lie; a saving is 1 less its quotient."""
    low, high = (1 - ours.max, 1 - ours.min) if part.saving else (ours.min, ours.max)
    least = LEAST_SAVED if part.saving else 0.0
    if part.direction == "above 1":
        right, wrong = low > 1 + least, high <= 1 + least
    elif part.direction == "below 1":
        right, wrong = high < 1 - least, low >= 1 - least
    else:
        right, wrong = high <= 1, low > 1
    return "right" if right else "wrong" if wrong else "both"


def _near(part: Part, ours: Spread) -> bool:
    if part.paper is None:
        away = max(ours.median, 1 / ours.median) if ours.median else 0.0
        return not part.far or away >= part.nearness
    if part.bound == "over":
        return ours.median >= part.paper
    if part.bound == "under":
        return ours.median <= part.paper
    if part.saving:
        near = abs(ours.median - part.paper) <= part.nearness
    else:
        near = part.paper / part.nearness <= ours.median <= part.paper * part.nearness
    return near or ours.min <= part.paper <= ours.max


def name(of: Selector, trial: Trial) -> str:
    """``UBIFS compression=none, fresh``; trial: any that the selector means."""
    options = " ".join(f"{k}={v}" for k, v in of.options.items())
    return f"{trial.filesystem_title} {options}".strip() + f", {of.state}"


COSTS = (
    ("chip.reads", "page reads"),
    ("chip.programs", "page programs"),
    ("chip.erases", "erases"),
    ("chip.amplification", "page bytes programmed a byte written"),
)
"""What all phases cost the chip."""


def _counted(of: Selector, trials: Sequence[Trial]) -> str:
    """Where the headline phase's time went by the chip's counts, and what all phases cost it."""
    said = words.of(trials)
    phase = said.headline.figure.removeprefix("phase.")
    parts = [a for t in trials if (a := accounts(t, phase)) is not None]
    costs = []
    for figure, what in ((find(name, said), what) for name, what in COSTS):
        found = spread(figure(t) for t in trials)
        if found is not None and found.max:
            costs.append(f"{figure.form(found.median)} {what}")
    split = _split(said.phase(phase).title, parts)
    told = f"{split}all phases {', '.join(costs) or 'not counted'}"
    return f"{name(of, trials[0])}{_held(trials)}: {told}."


def _ended_badly(paper: PaperModel, of: Selector, trials: Sequence[Trial]) -> list[str]:
    """Trials that are in no number, and why."""
    named = [t for t in trials if meant(paper, of, t)]
    bad = [t for t in named if not t.ok]
    if not bad:
        return []
    why = sweep.brief(bad[0].error)
    return [f"{name(of, bad[0])}: {len(bad)} of {len(named)} trials did not end well: {why}."]


def _held(trials: Sequence[Trial]) -> str:
    """What the chip truly held, where the state asked for any data."""
    first = trials[0].state
    shares = [t.state.obtained for t in trials if t.state.obtained]
    if not first.valid + first.invalid or not shares:
        return ""
    live = spread(s.valid for s in shares)
    dead = spread(s.invalid for s in shares)
    if live is None and dead is None:  # of the free bytes: whose pages they are was not counted
        held = spread(s.programmed for s in shares)
        return f" ({units.percent(held.median)} of the pages were programmed)" if held else ""
    return (
        f" (the chip held {units.percent(live.median if live else None)} live and "
        f"{units.percent(dead.median if dead else None)} dead)"
    )


def _split(title: str, parts: Sequence[Accounts]) -> str:
    if not parts:
        return ""

    def middle(key: str) -> str:
        found = spread(getattr(p, key) for p in parts)
        return units.MISSING if found is None else units.time(found.median)

    return (
        f"{title} {middle('total_ns')}, of which reading pages {middle('reads_ns')}, "
        f"programming {middle('programs_ns')}, erasing {middle('erases_ns')}, processor and "
        f"the rest {middle('rest_ns')}; "
    )
