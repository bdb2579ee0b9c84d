# SPDX-License-Identifier: GPL-2.0-or-later
"""A paper's claims beside a run as a table to take away: for a terminal, a page, a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from nandlab.analysis.claims.claimrules import (
    CLAIM_VERDICTS,
    VERDICT_RULES,
    WITHOUT_NUMBERS,
    ClaimVerdict,
    are_on_both_sides,
)
from nandlab.analysis.claims.claims import ClaimNumber, ClaimResult
from nandlab.base import units
from nandlab.base.strings import FreeText, Word
from nandlab.report.tables.sheets import Number, Sheet, SheetRecord

NUMBERS_MAX = 6
"""Numbers of a claim that a table has; a claim of each phase of a load may have dozens."""
FIRST_READING = "first"
"""The name of the reading that is ours."""
HEAD = ("the paper says", "its figure", "here", "verdict", "by each reading")


class ClaimRecord(SheetRecord):
    """A number of a claim by one reading of its paper."""

    claim: Word = Field(description="its id in the paper's file")
    reading: Word = Field(description="first: the one that is ours")
    verdict: ClaimVerdict
    number: FreeText = Field(description="which part of the claim")
    paper: FreeText = Field(description="the paper's own number, as it has it")
    n: int = Field(description="members that have it")
    min: Number | None
    median: Number | None
    max: Number | None


class BoardRecord(SheetRecord):
    """What a board measured."""

    board: FreeText = Field(description="its name, RAM available, ns of an instruction")


class CornerRecord(ClaimRecord, BoardRecord):
    """The same of a run on one of several boards."""


def format_claim_tally(rows: Sequence[ClaimResult]) -> str:
    """How many claims have which verdict, in words."""
    counts = Counter(r.verdict for r in rows)
    tally = ", ".join(f"{counts[v]} {v}" for v in CLAIM_VERDICTS if counts[v])
    members = {n.ours.n for r in rows for n in r.numbers if n.ours is not None}
    if members == {1}:
        tally += "; each from one member, which decides no close order: run more"
    return tally


def list_verdict_rules(verdicts: Sequence[ClaimVerdict] = CLAIM_VERDICTS) -> list[tuple[str, str]]:
    """Each verdict, and when it is given."""
    return [(v, VERDICT_RULES[v]) for v in CLAIM_VERDICTS if v in verdicts]


def make_claim_sheet(title: str, rows: Sequence[ClaimResult]) -> Sheet:
    """A row for each claim."""
    cells = [
        (
            r.claim.text,
            r.claim.said,
            _format_numbers(r.numbers),
            r.verdict,
            _format_readings(r),
        )
        for r in rows
    ]
    return Sheet(title, HEAD, cells, HEAD)


@dataclass(frozen=True)
class CornerRun:
    """A run on one of several boards, and the claims of its paper."""

    name: str
    """The board, its RAM available as a trial begins, its time for an instruction."""
    rows: Sequence[ClaimResult]


def make_corner_sheet(title: str, runs: Sequence[CornerRun]) -> Sheet:
    """Which verdicts hang on the board: a row for each claim, a column for each run.

    A verdict is by the readings that all runs have, so that only the board differs.
    """
    rows_by_run = [{r.claim.id: r for r in run.rows} for run in runs]
    claims = {r.claim.id: r.claim for run in runs for r in run.rows}
    cells = []
    for name, claim in claims.items():
        rows = [run_rows.get(name) for run_rows in rows_by_run]
        shared = _split_readings(rows).shared
        alike = [r and _keep_readings(r, shared) for r in rows]
        effect = _find_board_effect(_select_judged(alike))
        cells.append((claim.text, *(_format_corner(r) for r in alike), effect))
    head = ("the paper says", *(run.name for run in runs), "the board")
    return Sheet(title, head, cells, head)


def _find_board_effect(rows: Sequence[ClaimResult]) -> str:
    """Whether a claim hangs on the board, by its results on the boards that have its numbers.

    It does where verdicts differ, and where all are different, one board above a number of the
    paper and another below it: some board between them would have it.
    """
    if not rows:
        return units.MISSING
    verdicts = {r.verdict for r in rows}
    if len(verdicts) > 1:
        return "hangs on it"
    sides = [mapping for r in rows for mapping in r.number_sides]
    if verdicts == {"different"} and are_on_both_sides(sides):
        return "hangs on it: the paper's number lies between"
    return ""


def format_unjudged_readings(runs: Sequence[CornerRun]) -> str:
    """The readings that make_corner_sheet() leaves out, in a sentence; empty: none."""
    rows_by_run = [{r.claim.id: r for r in run.rows} for run in runs]
    names = {r.claim.id for run in runs for r in run.rows}
    partial = {
        reading
        for name in names
        for reading in _split_readings([rows.get(name) for rows in rows_by_run]).partial
    }
    if not partial:
        return ""
    return f"Readings that are judged only where all runs have them: {', '.join(sorted(partial))}."


@dataclass(frozen=True)
class _Readings:
    """The readings of a claim, beside ours, that have a verdict in all judged runs, or in some."""

    shared: set[str]
    partial: set[str]


def _split_readings(rows: Sequence[ClaimResult | None]) -> _Readings:
    """Those of a claim, by its results in each run; None: the run has no such claim."""
    readings = [
        {o.basis.id for o in row.other_readings if o.verdict not in WITHOUT_NUMBERS}
        for row in _select_judged(rows)
    ]
    union = set[str]().union(*readings)
    shared = union.intersection(*readings)
    return _Readings(shared, union - shared)


def _select_judged(rows: Sequence[ClaimResult | None]) -> list[ClaimResult]:
    """The results that have a verdict by numbers."""
    return [r for r in rows if r is not None and r.verdict not in WITHOUT_NUMBERS]


def _keep_readings(row: ClaimResult, kept: Container[str]) -> ClaimResult:
    others = tuple(o for o in row.other_readings if o.basis.id in kept)
    return replace(row, other_readings=others)


def _format_corner(row: ClaimResult | None) -> str:
    if row is None or row.verdict in WITHOUT_NUMBERS:
        return "not measured"
    numbers = [n.form(n.ours.median) for n in row.numbers[:NUMBERS_MAX] if n.ours is not None]
    return f"{row.verdict} ({'; '.join(numbers)})"


def list_claim_records(rows: Sequence[ClaimResult]) -> list[ClaimRecord]:
    """A record for each number of each reading."""
    return [
        _make_record(r.claim.id, reading, verdict, number)
        for r in rows
        for reading, verdict, numbers in (
            (FIRST_READING, r.first, r.numbers),
            *((o.basis.id, o.verdict, o.numbers) for o in r.other_readings),
        )
        for number in numbers
    ]


def _make_record(
    claim: str, reading: str, verdict: ClaimVerdict, claim_number: ClaimNumber
) -> ClaimRecord:
    ours = claim_number.ours
    return ClaimRecord(
        claim=claim,
        reading=reading,
        verdict=verdict,
        number=claim_number.label,
        paper=claim_number.paper,
        n=ours.n if ours else 0,
        min=ours.min if ours else None,
        median=ours.median if ours else None,
        max=ours.max if ours else None,
    )


def list_corner_records(runs: Sequence[CornerRun]) -> list[CornerRecord]:
    """The records of each run, with its board."""
    return [
        CornerRecord(board=run.name, **dict(record))
        for run in runs
        for record in list_claim_records(run.rows)
    ]


def _format_numbers(numbers: Sequence[ClaimNumber]) -> str:
    shown = "; ".join(n.text() for n in numbers[:NUMBERS_MAX])
    more = len(numbers) - NUMBERS_MAX
    return f"{shown}; and {more} more" if more > 0 else shown


def _format_readings(row: ClaimResult) -> str:
    """The verdicts of the readings that were run, by their names in the paper's file, and the
    names of those that were not.
    """
    if row.first in WITHOUT_NUMBERS:
        return ""
    names: dict[ClaimVerdict, list[str]] = {row.first: ["ours"]}
    for o in row.other_readings:
        names.setdefault(o.verdict, []).append(o.basis.id)
    unmeasured_bases = names.pop("not measured", [])
    names.pop("not comparable", None)
    readings = sum(map(len, names.values()))
    clauses = [f"{', '.join(bases)}: {verdict}" for verdict, bases in names.items()]
    if len(names) == 1:
        clauses = [f"each of {readings}"] if readings > 1 else []
    if row.verdict not in names and len(names) == 1:
        clauses = [f"each of {readings} {row.first}, {_format_number_sides(row)}"]
    untried = {o.basis.id for o in row.other_readings if o.basis.untried}
    for words, bases in (
        ("not in this run", [b for b in unmeasured_bases if b not in untried]),
        ("not run", [b for b in unmeasured_bases if b in untried]),
    ):
        clauses += [f"{words}: {', '.join(bases)}"] if bases else []
    return "; ".join(clauses)


def _format_number_sides(row: ClaimResult) -> str:
    """Which readings lie above the paper's number and which below, of parts that have both."""
    names = ["ours", *(o.basis.id for o in row.other_readings)]
    by_name = list(zip(names, row.number_sides, strict=True))
    clauses = []
    for number in row.numbers:
        above, below = (
            [name for name, sides in by_name if sides.get(number.label) == side]
            for side in ("above", "below")
        )
        if above and below:
            label = f"{number.label} " if len(row.numbers) > 1 else ""
            clauses += [f"{label}above its figure: {', '.join(above)}; below: {', '.join(below)}"]
    return "; ".join(clauses)
