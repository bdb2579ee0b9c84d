# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's claims beside a run: ours with its spread, a verdict by rules, and what the counts say.

Quotients are taken member by member: both sides did the same work at the same phase offset. The
rules: *reproduced* when every quotient of every member lies on the side of 1 that the paper says
and our median is near enough to each of its numbers (or our range holds it); *same direction* when
only the sides agree; *different* when a quotient is on the other side in every member, or 1 in all;
*not decided* when members disagree about the side; *not measured* when trials are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nandlab.analysis import sweep, words
from nandlab.analysis.chiptime import Accounts, accounts
from nandlab.analysis.figures import find
from nandlab.analysis.spread import Spread, spread
from nandlab.analysis.words import Words
from nandlab.base import units
from nandlab.catalog.paper import Basis, Claim, PaperModel, Part, Selector
from nandlab.results.record import Trial

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


def rows(paper: PaperModel, trials: Iterable[Trial], of: Words) -> list[Row]:
    """Every claim of the paper, in its order; of: the words of the paper's workload."""
    every = list(trials)
    return [_row(paper, claim, every, of) for claim in paper.claims]


def chosen(paper: PaperModel, of: Selector, trials: Iterable[Trial]) -> list[Trial]:
    """The trials of the selector that ended well."""
    return [t for t in trials if t.ok and _meant(paper, of, t)]


def _meant(paper: PaperModel, of: Selector, trial: Trial) -> bool:
    return (
        trial.chip.part == paper.part
        and (trial.filesystem, trial.state.name) == (of.filesystem, of.state)
        and _options_are(trial, of.options)
        and all(trial.parameters.get(k) == v for k, v in paper.parameters.items())
    )


def _options_are(trial: Trial, named: Mapping[str, str]) -> bool:
    """Whether the named options are as named, and the others at the catalog's defaults."""
    described = trial.about("filesystem").get("options", {})
    meant = {k: o["default"] for k, o in described.items()} | dict(named)
    return all(trial.options.get(k) == v for k, v in meant.items())


def _row(paper: PaperModel, claim: Claim, trials: Sequence[Trial], of: Words) -> Row:
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
        tuple(t.id for t in trials if any(_meant(paper, s, t) for s, _ in groups)),
    )


def _numbers(
    paper: PaperModel, parts: Sequence[Part], trials: Sequence[Trial], of: Words
) -> tuple[tuple[Number, ...], Verdict]:
    found = [(part, _measured(paper, part, trials, of)) for part in parts]
    numbers = (
        Number(p.label, s, _said(p), units.ratio if p.over else find(p.figure, of).form)
        for p, s in found
    )
    return tuple(numbers), verdict(found)


def _bases(paper: PaperModel, claim: Claim) -> list[Basis]:
    return [b for b in paper.bases if b.id in claim.rests_on]


def _read_otherwise(
    paper: PaperModel, basis: Basis, claim: Claim, trials: Sequence[Trial], of: Words
) -> Reading:
    other = paper.model_copy(update={"parameters": paper.parameters | basis.parameters})
    parts = [
        p.model_copy(update={"of": _moved(basis, p.of), "over": p.over and _moved(basis, p.over)})
        for p in claim.parts
    ]
    return Reading(basis, *_numbers(other, parts, trials, of))


def _moved(basis: Basis, of: Selector) -> Selector:
    return of.model_copy(update={"state": basis.states.get(of.state, of.state)})


def _measured(paper: PaperModel, part: Part, trials: Sequence[Trial], of: Words) -> Spread | None:
    figure = find(part.figure, of)
    above = {_member(t): figure(t) for t in chosen(paper, part.of, trials)}
    if part.over is None:
        return spread(above.values())
    divisor = find(part.over_figure or part.figure, of)
    below = {_member(t): divisor(t) for t in chosen(paper, part.over, trials)}
    pairs = ((above[m], below[m]) for m in above if m in below)
    return spread(a / b if a is not None and b else None for a, b in pairs)


def _member(trial: Trial) -> tuple[int, float]:
    return trial.seed, trial.phase_offset_ms


def _said(part: Part) -> str:
    if part.paper is None:
        return f"no number, {'far ' if part.far else ''}{part.direction}"
    bound = {"about": "", "over": "over ", "under": "under "}[part.bound]
    return f"{bound}{units.figures3(part.paper)}"


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
    return "reproduced" if all(_near(p, s) for p, s in known) else "same direction"


def _side(part: Part, ours: Spread) -> Literal["right", "wrong", "both"]:
    low, high = ours.min, ours.max
    if part.direction == "below 1":
        low, high = -high, -low
        one = -1.0
    else:
        one = 1.0
    if low > one:
        return "right"
    return "wrong" if high <= one else "both"


def _near(part: Part, ours: Spread) -> bool:
    if part.paper is None:
        away = max(ours.median, 1 / ours.median) if ours.median else 0.0
        return not part.far or away >= part.within
    if part.bound == "over":
        return ours.median >= part.paper
    if part.bound == "under":
        return ours.median <= part.paper
    near = part.paper / part.within <= ours.median <= part.paper * part.within
    return near or ours.min <= part.paper <= ours.max


def name(of: Selector, trial: Trial) -> str:
    """``UBIFS compression=none, fresh``; trial: any that the selector means."""
    options = " ".join(f"{k}={v}" for k, v in of.options.items())
    return f"{trial.filesystem_title} {options}".strip() + f", {of.state}"


COSTS = (
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
        if found is not None:
            costs.append(f"{figure.form(found.median)} {what}")
    split = _split(said.phase(phase).title, parts)
    told = f"{split}all phases {', '.join(costs) or 'not counted'}"
    return f"{name(of, trials[0])}{_held(trials)}: {told}."


def _ended_badly(paper: PaperModel, of: Selector, trials: Sequence[Trial]) -> list[str]:
    """Trials that are in no number, and why."""
    meant = [t for t in trials if _meant(paper, of, t)]
    bad = [t for t in meant if not t.ok]
    if not bad:
        return []
    why = sweep.brief(bad[0].error)
    return [f"{name(of, bad[0])}: {len(bad)} of {len(meant)} trials did not end well: {why}."]


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
