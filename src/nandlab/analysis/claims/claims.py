# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's claims beside a run: ours with its spread, a verdict by rules, and what the counts say.

Quotients are taken member by member: both sides did the same work at the same phase offset. Rules
and bounds of verdicts are those of claimrules, for every paper. A part along something (a line over
many configurations) has a side too: analysis/curves/fits.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nandlab.analysis.claims.claimparts import (
    choose_claim_part_formatter,
    compute_claim_part_numbers,
    format_claim_part_fit_lines,
    is_trial_in_selector,
    select_ended_trials_in_selector,
)
from nandlab.analysis.claims.claimrules import (
    ClaimVerdict,
    NumberSide,
    find_number_side,
    join_reading_verdicts,
    judge_claim_parts,
)
from nandlab.analysis.curves import fits
from nandlab.analysis.figures import workloadwords
from nandlab.analysis.figures.chiptime import PhaseTimeSplit, split_phase_time
from nandlab.analysis.figures.figures import find_workload_figure
from nandlab.analysis.figures.members import join_memory_trials
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.analysis.figures.workloadwords import Words
from nandlab.analysis.verdicts import sweep
from nandlab.base import units
from nandlab.catalog.paper import Claim, ClaimBasis, ClaimPart, PaperModel, Selector
from nandlab.results.record import Trial

SAVING_DIRECTIONS = {
    "below 1": "above 0",
    "above 1": "below 0",
    "not above 1": "not below 0",
    "none": "",
}
"""Sides of 1 of a quotient, as those of what is saved."""


NO_OTHER_BOARDS: Mapping[str, Sequence[Trial]] = {}


@dataclass(frozen=True)
class ClaimNumber:
    """A part of a claim as this run has it."""

    label: str
    ours: Spread | None
    paper: str
    form: units.Form
    source_text: str = ""
    """What stands behind it, such as the lines that it is of; empty: nothing."""
    number_side: NumberSide = ""
    """Where it lies beside the paper's number, if that is all that its part claims."""

    def text(self) -> str:
        value = units.MISSING if self.ours is None else self.ours.text(self.form)
        return f"{self.label}: {value}" + (f"; {self.source_text}" if self.source_text else "")


@dataclass(frozen=True)
class AlternativeReading:
    """A claim's numbers with one of its bases read the other way."""

    basis: ClaimBasis
    numbers: tuple[ClaimNumber, ...]
    verdict: ClaimVerdict


@dataclass(frozen=True)
class ClaimResult:
    """A claim beside this run."""

    claim: Claim
    numbers: tuple[ClaimNumber, ...]
    first: ClaimVerdict
    """By the reading that is ours."""
    other_readings: tuple[AlternativeReading, ...]
    chip_counts: tuple[str, ...]
    """What the chip's counts say of each configuration: where the time went."""
    trials: tuple[str, ...]

    @property
    def verdict(self) -> ClaimVerdict:
        """By all readings that were run."""
        others = [o.verdict for o in self.other_readings]
        return join_reading_verdicts(self.first, others, self.number_sides)

    @property
    def number_sides(self) -> list[dict[str, NumberSide]]:
        """Where the parts lie beside the paper's numbers, by each reading; empty: the claim is of
        more than numbers."""
        if any(p.sided for p in self.claim.parts):
            return []
        by_reading = (self.numbers, *(o.numbers for o in self.other_readings))
        return [{n.label: n.number_side for n in numbers} for numbers in by_reading]


def list_paper_claim_results(
    paper: PaperModel,
    trials: Iterable[Trial],
    words_of: Callable[[str], Words],
    other_boards: Mapping[str, Sequence[Trial]] = NO_OTHER_BOARDS,
) -> list[ClaimResult]:
    """Every claim of the paper, in its order.

    words_of: the words of a workload, by its name; other_boards: trials on boards that bases name,
    by the board's name.
    """
    every = join_memory_trials(trials)
    elsewhere = {board: join_memory_trials(of_board) for board, of_board in other_boards.items()}
    return [
        _make_claim_result(paper, c, every, words_of(paper.find_workload(c)), elsewhere)
        for c in paper.claims
    ]


def _make_claim_result(
    paper: PaperModel,
    claim: Claim,
    run_trials: Sequence[Trial],
    words: Words,
    other_boards: Mapping[str, Sequence[Trial]],
) -> ClaimResult:
    trials = [t for t in run_trials if t.workload == paper.find_workload(claim)]
    numbers, verdict = _compute_numbers(paper, claim.parts, trials, words)
    alternative_readings = (
        _judge_by_other_basis(
            paper, b, claim, other_boards.get(b.board, ()) if b.board else run_trials, words
        )
        for b in _list_bases(paper, claim)
    )
    groups = _group_counted_trials(paper, claim, trials, words)
    return ClaimResult(
        claim,
        numbers,
        verdict,
        tuple(alternative_readings),
        (
            *(
                _format_chip_counts(s, members, where, claim.phase)
                for s, members, where in groups
                if members
            ),
            *(line for s, _, _ in groups for line in _list_failed_trials(paper, s, trials)),
        ),
        tuple(t.id for t in trials if any(is_trial_in_selector(paper, s, t) for s, _, _ in groups)),
    )


def _group_counted_trials(
    paper: PaperModel, claim: Claim, trials: Sequence[Trial], words: Words
) -> list[tuple[Selector, list[Trial], str]]:
    """The trials whose counts a claim gives: each side; of a line its last place, in words."""
    sides = {
        s.model_dump_json(): (s, p.along)
        for p in claim.parts
        for s in (p.over, p.of)
        if s is not None
    }
    groups = []
    for s, along in [*sides.values(), *((s, None) for s in claim.counted)]:
        members, where = select_ended_trials_in_selector(paper, s, trials), ""
        if along and (end := fits.find_trials_at_greatest_x(along.by, members, words)):
            x, members = end
            title = fits.format_x_axis_title(along.by, words)
            where = f", {title} {units.format_three_figures(x)}"
        groups.append((s, members, where))
    return groups


def _compute_numbers(
    paper: PaperModel, parts: Sequence[ClaimPart], trials: Sequence[Trial], words: Words
) -> tuple[tuple[ClaimNumber, ...], ClaimVerdict]:
    pairs = [
        pair for part in parts for pair in compute_claim_part_numbers(paper, part, trials, words)
    ]
    claim_numbers = (
        ClaimNumber(
            p.label,
            s,
            _format_paper_number(p, choose_claim_part_formatter(p, words)),
            choose_claim_part_formatter(p, words),
            _explain_number(paper, p, trials, words),
            find_number_side(p, s),
        )
        for p, s in pairs
    )
    return tuple(claim_numbers), judge_claim_parts(pairs)


def _explain_number(paper: PaperModel, part: ClaimPart, trials: Sequence[Trial], of: Words) -> str:
    why_not = part.incomparable and f"not comparable: {part.incomparable}"
    return "; ".join(filter(None, (format_claim_part_fit_lines(paper, part, trials, of), why_not)))


def _list_bases(paper: PaperModel, claim: Claim) -> list[ClaimBasis]:
    return [b for b in paper.bases if b.id in claim.rests_on]


def _judge_by_other_basis(
    paper: PaperModel, basis: ClaimBasis, claim: Claim, run_trials: Sequence[Trial], words: Words
) -> AlternativeReading:
    if basis.untried:
        return AlternativeReading(basis, (), "not measured")
    basis_paper = paper.model_copy(
        update={
            "parameters": paper.parameters | basis.parameters,
            "part": basis.part or paper.part,
        }
    )
    workload = basis.workload or paper.find_workload(claim)
    trials = [t for t in run_trials if t.workload == workload]
    parts = [_apply_basis_to_part(basis, part) for part in claim.parts]
    return AlternativeReading(basis, *_compute_numbers(basis_paper, parts, trials, words))


def _apply_basis_to_part(basis: ClaimBasis, part: ClaimPart) -> ClaimPart:
    against = part.against and part.against.model_copy(
        update={
            "figure": basis.replace_phases(part.against.figure),
            "of": part.against.of and _apply_basis_to_selector(basis, part.against.of),
            "over": part.against.over and _apply_basis_to_selector(basis, part.against.over),
        }
    )
    return part.model_copy(
        update={
            "figure": basis.replace_phases(part.figure),
            "each": basis.replace_phases(part.each),
            "over_figure": part.over_figure and basis.replace_phases(part.over_figure),
            "of": _apply_basis_to_selector(basis, part.of),
            "over": part.over and _apply_basis_to_selector(basis, part.over),
            "against": against,
        }
    )


def _apply_basis_to_selector(basis: ClaimBasis, selector: Selector) -> Selector:
    return selector.model_copy(
        update={
            "state": basis.states.get(selector.state, selector.state),
            "parameters": {**selector.parameters, **basis.parameters},
            "options": {**selector.options, **basis.options.get(selector.filesystem, {})},
            "partition_mib": basis.partition_mib or selector.partition_mib,
        }
    )


def _format_paper_number(part: ClaimPart, format_part_number: units.Form) -> str:
    """The paper's number; format_part_number writes one of the part."""
    if part.along and part.paper is None:
        return f"no number, {part.along.says}"
    if part.paper is None:
        way = SAVING_DIRECTIONS[part.direction] if part.saving else part.direction
        return f"no number, {'far ' if part.far else ''}{way}"
    bound = {"about": "", "over": "over ", "under": "under "}[part.bound]
    format_number = (
        units.format_three_figures if part.quotient and not part.saving else format_part_number
    )
    return f"{bound}{format_number(part.paper)}"


def format_selector_configuration(selector: Selector, trial: Trial) -> str:
    """``UBIFS compression=none, fresh``; trial: any that the selector means."""
    if selector.label:
        return selector.label
    options = " ".join(f"{k}={v}" for k, v in selector.options.items())
    return f"{trial.filesystem_title} {options}".strip() + f", {selector.state}"


CHIP_COST_FIGURES = (
    ("chip.reads", "page reads"),
    ("chip.programs", "page programs"),
    ("chip.erases", "erases"),
    ("chip.amplification", "page bytes programmed a byte written"),
)
"""What all phases cost the chip."""


def _format_chip_counts(selector: Selector, trials: Sequence[Trial], where: str, phase: str) -> str:
    """Where a phase's time went by the chip's counts, and what all phases cost it.

    phase: empty is the headline's; where: the place of a line that the trials are at, in words.
    """
    words = workloadwords.make_workload_words_for_trials(trials)
    phase = phase or words.headline.figure.removeprefix("phase.")
    parts = [a for t in trials if (a := split_phase_time(t, phase)) is not None]
    costs = []
    for name, noun in CHIP_COST_FIGURES:
        figure = find_workload_figure(name, words)
        spread = compute_spread(figure(t) for t in trials)
        if spread is not None and spread.max:
            costs.append(f"{figure.form(spread.median)} {noun}")
    split = _format_time_split(words.phase(phase).title, parts)
    sentence = f"{split}all phases {', '.join(costs) or 'not counted'}"
    configuration = format_selector_configuration(selector, trials[0])
    return f"{configuration}{where}{_format_chip_contents(trials)}: {sentence}."


def _list_failed_trials(
    paper: PaperModel, selector: Selector, trials: Sequence[Trial]
) -> list[str]:
    """Trials that are in no number, and why."""
    selector_trials = [t for t in trials if is_trial_in_selector(paper, selector, t)]
    failed_trials = [t for t in selector_trials if not t.ok]
    if not failed_trials:
        return []
    configuration = format_selector_configuration(selector, failed_trials[0])
    why = sweep.shorten_error(failed_trials[0].error)
    count = f"{len(failed_trials)} of {len(selector_trials)}"
    return [f"{configuration}: {count} trials did not end well: {why}."]


def _format_chip_contents(trials: Sequence[Trial]) -> str:
    """What the chip truly held, where the state asked for any data."""
    first = trials[0].state
    shares = [t.state.obtained for t in trials if t.state.obtained]
    if not first.valid + first.invalid or not shares:
        return ""
    live = compute_spread(s.valid for s in shares)
    dead = compute_spread(s.invalid for s in shares)
    if live is None and dead is None:  # of the free bytes: whose pages they are was not counted
        held = compute_spread(s.programmed for s in shares)
        return (
            f" ({units.format_percent(held.median)} of the pages were programmed)" if held else ""
        )
    return (
        f" (the chip held {units.format_percent(live.median if live else None)} live and "
        f"{units.format_percent(dead.median if dead else None)} dead)"
    )


def _format_time_split(title: str, parts: Sequence[PhaseTimeSplit]) -> str:
    if not parts:
        return ""

    def middle(key: str) -> str:
        found = compute_spread(getattr(p, key) for p in parts)
        return units.MISSING if found is None else units.format_time(found.median)

    return (
        f"{title} {middle('total_ns')}, of which reading pages {middle('reads_ns')}, "
        f"programming {middle('programs_ns')}, erasing {middle('erases_ns')}, processor and "
        f"the rest {middle('rest_ns')}; "
    )
