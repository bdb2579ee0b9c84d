# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verdict is: a table of file systems by criteria, one sentence, what is open, and the
answer in a line. Terminal, Markdown, JSON and report print this one value; ``judging`` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nandlab.analysis.verdicts import gaps
from nandlab.analysis.verdicts.criteria import UNTRIED_TEXT, Criterion, VerdictCell
from nandlab.analysis.verdicts.gaps import VerdictGap
from nandlab.analysis.verdicts.promises import Promise
from nandlab.analysis.verdicts.verdictchanges import PossibleChange
from nandlab.base.strings import FreeText

TIE_FACTOR = 1.05
"""A headline that is worse by a smaller factor is as good as the first one's, where the headline
decides, as is one whose range touches its range. The bound is ours: no measurement gives it. Nobody
chooses a file system for so little, and a change of the board or of its kernel may turn it."""
TIE_TEXT = f"{round((TIE_FACTOR - 1) * 100)} %"

VerdictCall = Literal["take", "fits", "next", "open", "avoid"]
"""fits: it meets every limit; next: no limit was given, and it ran in every state."""
CALL_ORDER: tuple[VerdictCall, ...] = ("take", "fits", "next", "open", "avoid")
LIMITED_MEANINGS: dict[VerdictCall, str] = {
    "take": "meets every limit, with most left of the nearest",
    "fits": "meets every limit too",
    "next": "ran, and no limit was given for it",
    "open": "breaks no limit, but whether it meets each is not known",
    "avoid": "failed, or breaks a limit or a promise",
}
"""What calls mean where limits were given."""
RANKED_MEANINGS: dict[VerdictCall, str] = {
    "take": "best by {headline} in its worst state (no limit was given)",
    "fits": "meets every limit too",
    "next": f"comes behind it; less than {TIE_TEXT} behind is as good",
    "open": "not to be taken while its {headline} or its promise after a cut is not known",
    "avoid": "failed, or broke a promise",
}
"""What calls mean where no limit was given: then the headline decides."""
FIT: tuple[VerdictCall, ...] = ("take", "fits", "next")
"""The calls of which the first is to be taken."""


@dataclass(frozen=True)
class VerdictRow:
    """A file system with its options, judged."""

    name: FreeText
    filesystem: FreeText
    """Its name in the catalog."""
    call: VerdictCall
    cells: tuple[VerdictCell, ...]
    """One for each criterion."""
    against: tuple[FreeText, ...]
    """Trials that did not end well, and limits and promises that it breaks."""
    power: Promise
    """What it promises after a power cut, and what it kept."""
    options: FreeText = ""
    """Those that decide its figures and that its name does not tell, such as compression=none."""
    first_write: FreeText = ""
    """What to do before its first durable write, and the page that has it; empty: nothing."""
    state_leaders: tuple[tuple[FreeText, FreeText], ...] = ()
    """Of the one to take: states in which another is better, and who is best there."""
    as_good: tuple[FreeText, ...] = ()
    """Of the one to take: those that the headline, where it decides, gives no reason to leave for
    it (:data:`TIE_FACTOR`)."""


@dataclass(frozen=True)
class Verdict:
    """The answer for one setting, or for a product on all its loads."""

    title: FreeText
    short: FreeText
    """What tells it from the run's other verdicts; empty: there is no other."""
    criteria: tuple[Criterion, ...]
    rows: tuple[VerdictRow, ...]
    """Who meets all comes first."""
    sentence: FreeText
    gaps: tuple[VerdictGap, ...]
    """Each once."""
    answer: FreeText
    """In a line."""
    settings: tuple[FreeText, ...] = ()
    """Titles of the settings that it is of."""
    states: tuple[FreeText, ...] = ()
    holding: tuple[FreeText, ...] = ()
    """What each state with data in it was asked to hold; how many calls a recorded load has."""
    untested: tuple[tuple[FreeText, FreeText], ...] = ()
    """What a product meets and no trial had, such as aged flash; and the study's key that has it
    run."""
    unmeasured: tuple[tuple[FreeText, FreeText], ...] = ()
    """Usual criteria of which nothing is known, and the edit that has them measured."""
    changes: tuple[PossibleChange, ...] = ()
    """What would change the answer, and what would not."""
    cell_rule: FreeText = ""
    """What a cell is of several states and runs; empty: there is one of each."""
    absent: tuple[FreeText, ...] = ()
    """File systems of the run's other verdicts that this one lacks, and why, a sentence each."""
    lead: FreeText = ""
    """What the sentence begins with: what to take and why."""
    notes: tuple[FreeText, ...] = ()
    """Of a sweep over states: where each file system falls off."""

    @property
    def recommended(self) -> str:
        """Who is to be taken; empty: nobody yet."""
        return next((row.name for row in self.rows if row.call == "take"), "")

    @property
    def recommended_or_as_good(self) -> frozenset[str]:
        """Who is to be taken, and who is as good; empty: nobody yet."""
        taken = [(row.name, *row.as_good) for row in self.rows if row.call == "take"]
        return frozenset(name for names in taken for name in names)

    @property
    def sentence_without_lead(self) -> str:
        """The sentence without its lead."""
        return self.sentence.removeprefix(self.lead).lstrip()

    def row(self, name: str) -> VerdictRow:
        """The row of a file system with its options."""
        return next(row for row in self.rows if row.name == name)


def format_verdict_title(verdict: Verdict, before: Verdict | None = None) -> str:
    """What it is of, and what a cell of its table is, unless that of the verdict above it is the
    same."""
    above = before.cell_rule if before else ""
    rule = "" if verdict.cell_rule == above else verdict.cell_rule
    return f"{verdict.title}; {rule}" if rule else verdict.title


def format_taken(row: VerdictRow, aside: str) -> str:
    """To take it: with an aside, or none, who is as good, and who is better in a single state."""
    leaders = [f"{state} alone: {name}" for state, name in row.state_leaders]
    return f"take {format_with_asides(row.name, aside, _format_ties(row), *leaders)}"


def _format_ties(row: VerdictRow) -> str:
    """Who is as good as the one to take; empty: nobody."""
    return f"as good: {', '.join(row.as_good)}" if row.as_good else ""


def format_promise_aside(row: VerdictRow) -> str:
    """What must stand beside a name that is to be taken; empty: nothing."""
    asides = {
        "nothing": "it promises nothing after a power cut",
        "unknown": "what it keeps after a power cut is not told",
    }
    return asides.get(row.power.keeps, "")


def format_with_asides(name: str, *asides: str) -> str:
    """A name with its asides in brackets, those that are not empty."""
    text = "; ".join(filter(None, asides))
    return f"{name} ({text})" if text else name


VERDICTS_TOLD_MAX = 4
"""Verdicts of which the last line has each."""


def list_gaps_of_verdicts(verdicts: Sequence[Verdict]) -> list[VerdictGap]:
    """What is open in all verdicts of a run, each once."""
    return gaps.merge_verdict_gaps([gap for v in verdicts for gap in v.gaps])


def list_wholly_unmeasured_criteria(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """What none of the verdicts has measured, and the edits that have it measured."""
    return _in_all([v.unmeasured for v in verdicts if v.rows])


def list_wholly_untested_conditions(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """What a product meets and no trial of the run had, and the study's keys."""
    return _in_all([v.untested for v in verdicts if v.rows])


def list_unknown_changes(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """What could change a verdict and nobody knows, each once, and the edit that tells."""
    found: dict[str, str] = {}
    for change in (c for v in verdicts for c in v.changes if c.turns is None):
        found.setdefault(change.what, change.do)
    return [*found.items()]


def _in_all(lists: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """What every list has, in order."""
    return [pair for pair in lists[0] if all(pair in one for one in lists)] if lists else []


def format_run_answer(verdicts: Sequence[Verdict]) -> str:
    """All verdicts of a run in a line."""
    if not verdicts:
        return "No trial of this run ended with figures to judge by."
    if len(verdicts) == 1:
        return verdicts[0].answer
    if len(verdicts) > VERDICTS_TOLD_MAX:
        return _format_take_counts(verdicts)
    each = [f"{v.short}: {_format_brief_answer(v)}" for v in verdicts]
    taken = [r for v in verdicts for r in v.rows if r.call == "take"]
    none_tried = bool(taken) and all(map(is_power_cut_untried, taken))
    return " ".join([*each, *(["Power cuts not tried."] if none_tried else [])])


def list_call_meanings(verdicts: Sequence[Verdict]) -> list[str]:
    """What each call means that is there, under limits or without."""
    calls = {row.call for v in verdicts for row in v.rows}
    limited = any(c.limit for v in verdicts for c in v.criteria)
    headline = next((c.title for v in verdicts for c in v.criteria[:1]), "headline")
    meanings = LIMITED_MEANINGS if limited else RANKED_MEANINGS
    return [
        f"{call}: {meanings[call].format(headline=headline)}"
        for call in CALL_ORDER
        if call in calls
    ]


def list_criterion_notes(verdicts: Sequence[Verdict]) -> list[str]:
    """What the columns are whose titles do not tell it, each once."""
    notes = (f"{c.title}: {c.note}" for v in verdicts for c in v.criteria if c.note)
    return [*dict.fromkeys(notes)]


def list_first_write_lines(verdicts: Sequence[Verdict], *, brief: bool = False) -> list[str]:
    """What to do before a first durable write, a line for each advice, of all not to be avoided.

    brief: without its reason, which the page has that it names.
    """
    names: dict[str, list[str]] = {}
    for row in (r for v in verdicts for r in v.rows if r.first_write and r.call != "avoid"):
        names.setdefault(row.first_write, []).append(row.name)
    return [
        f"{', '.join(dict.fromkeys(who))}: {_drop_reason(text) if brief else text}"
        for text, who in names.items()
    ]


def _drop_reason(advice: str) -> str:
    """An advice with its page alone: what stands between the first colon and the last bracket is
    the reason."""
    text, colon, rest = advice.partition(": ")
    return f"{text} {rest[rest.rfind('(') :]}" if colon and "(" in rest else advice


def format_verdict_conditions(verdict: Verdict) -> list[str]:
    """Under what a verdict holds: options, each set of them with whom it is of; then the states."""
    by_options: dict[str, list[str]] = {}
    for row in verdict.rows:
        by_options.setdefault(row.options, []).append(row.name)
    options = [f"{', '.join(sorted(who))}: {text}" for text, who in by_options.items() if text]
    return [*sorted(options), *verdict.holding]


def is_power_cut_untried(row: VerdictRow) -> bool:
    """Whether nobody cut its power."""
    return any(cell.text == UNTRIED_TEXT for cell in row.cells)


def _format_brief_answer(verdict: Verdict) -> str:
    """Of several verdicts: what to take and what to avoid. Who leads in a single state is in the
    verdict's own sentence, for the line of all must fit a screen."""
    if not verdict.rows:
        return verdict.answer
    names = [
        f"take {format_with_asides(r.name, format_promise_aside(r), _format_ties(r))}"
        for r in verdict.rows
        if r.call == "take"
    ]
    avoided = [r.name for r in verdict.rows if r.call == "avoid"]
    open_ = any(r.call == "open" for r in verdict.rows)
    lead = names or ["nothing to take yet" if open_ else "none is fit"]
    return "; ".join([*lead, *([f"avoid {', '.join(avoided)}"] if avoided else [])]) + "."


def _format_take_counts(verdicts: Sequence[Verdict]) -> str:
    """How often each is to be taken, of many settings."""
    taken = [next((r.name for r in v.rows if r.call == "take"), "nothing yet") for v in verdicts]
    each = {name: taken.count(name) for name in dict.fromkeys(taken)}
    counts = ", ".join(f"{name} in {n}" for name, n in sorted(each.items(), key=lambda i: -i[1]))
    tied = sum(any(r.as_good for r in v.rows) for v in verdicts)
    more = f" In {tied} of them others are as good." if tied else ""
    return f"Of {len(verdicts)} settings, take {counts}.{more}"
