# SPDX-License-Identifier: GPL-2.0-or-later
"""The one set of verdicts on papers' claims, and the rules that give them.

A verdict has two steps. :func:`judge_claim_parts` judges one reading of the paper by the numbers of
all members. :func:`join_reading_verdicts` then sets the readings side by side: where one that was
run turns the verdict, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from nandlab.analysis.curves import fits
from nandlab.analysis.figures.spread import Spread
from nandlab.catalog.claimbounds import (
    FACTOR_BOUNDS,
    NEAR_ONE_BOUND,
    ONE_MEMBER_BOUND,
    SAVED_SHARE_MIN,
    SAVING_BOUND,
    UNCHANGED_BOUND,
)
from nandlab.catalog.paper import ClaimPart

ClaimVerdict = Literal[
    "reproduced", "same direction", "different", "not decided", "not measured", "not comparable"
]
ClaimSide = Literal["right", "wrong", "both"]
NumberSide = Literal["above", "below", ""]
"""Of the paper's number; empty: near it, on both sides of it, or the part claims a way."""
CLAIM_VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
"""All of them, in the order of a tally."""
WITHOUT_NUMBERS: tuple[ClaimVerdict, ...] = ("not measured", "not comparable")
"""Verdicts of a reading that say nothing of the paper."""

VERDICT_RULES: dict[ClaimVerdict, str] = {
    "reproduced": "by each reading that was run, every member goes the way that the paper says, "
    "and our median is near each of its numbers, or our range holds it. "
    f"Near is within a factor of {FACTOR_BOUNDS['number']:g}; {FACTOR_BOUNDS['spread']:g} for a "
    f"deviation, a most and a least; {NEAR_ONE_BOUND:g} for a quotient near 1, "
    f"{UNCHANGED_BOUND:g} for one of 1; {FACTOR_BOUNDS['magnitude']:g} for a power of ten; "
    f"{SAVING_BOUND * 100:g} points for a saving. What the paper gives as a bound (over, under) is "
    "met where our median lies beyond it, and by nothing less. Where it says by far without a "
    f"number, a quotient is away from 1 by a factor of {FACTOR_BOUNDS['number']:g}",
    "same direction": "by each reading every member goes the paper's way, and by one a number is "
    "not near",
    "different": "by each reading some part of the claim goes another way in every member, or "
    f"nowhere (a saving of less than {SAVED_SHARE_MIN * 100:g} % is none); where only a number is "
    "claimed, ours is not near it, and by each reading on the same side of it",
    "not decided": "members disagree about the way; or readings do; or one member alone was run, "
    f"whose quotient is within a factor of {ONE_MEMBER_BOUND:g} of the other way, or its saving "
    f"within {SAVING_BOUND * 100:g} points; or R² lies in its bound's own doubt",
    "not measured": "no member has all that a number needs: trials are missing or did not end "
    "well. Where some members have it, the verdict is of these, and the row tells how many",
    "not comparable": "no number of the paper's can be set beside ours; the row says why",
}
"""When each verdict is given, as reports and pages say it."""


def judge_claim_parts(parts: Sequence[tuple[ClaimPart, Spread | None]]) -> ClaimVerdict:
    """The verdict of one reading."""
    comparable_parts = [(p, s) for p, s in parts if not p.incomparable]
    if parts and not comparable_parts:
        return "not comparable"
    measured_parts = [(p, s) for p, s in comparable_parts if s is not None]
    if len(measured_parts) < len(comparable_parts):
        return "not measured"
    sides = [find_claim_side(p, s) for p, s in measured_parts if p.sided]
    if "wrong" in sides:
        return "different"
    if "both" in sides:
        return "not decided"
    if all(_is_near_paper(p, s) for p, s in measured_parts):
        return "reproduced"
    return "same direction" if sides else "different"


def join_reading_verdicts(
    first: ClaimVerdict,
    other_verdicts: Sequence[ClaimVerdict],
    sides: Sequence[Mapping[str, NumberSide]] = (),
) -> ClaimVerdict:
    """The verdict of all readings: the weaker one where all go one way, else not decided.

    first: of the reading that is ours; what was not run of the others has no part. sides: where
    each reading's numbers lie beside the paper's, by their parts: on both sides of one that no
    reading is near, nothing is decided.
    """
    if first in WITHOUT_NUMBERS:
        return first
    verdicts = {first, *other_verdicts} - {*WITHOUT_NUMBERS}
    if verdicts == {"different"}:
        return "not decided" if are_on_both_sides(sides) else first
    if len(verdicts) == 1:
        return first
    return "same direction" if verdicts == {"reproduced", "same direction"} else "not decided"


def are_on_both_sides(sides: Sequence[Mapping[str, NumberSide]]) -> bool:
    """Whether a part lies above the paper's number in one mapping and below it in another."""
    parts = dict.fromkeys(part for mapping in sides for part in mapping)
    return any({"above", "below"} <= {mapping.get(part, "") for mapping in sides} for part in parts)


def find_claim_side(part: ClaimPart, ours: Spread) -> ClaimSide:
    """On which side of 1 all members lie; a saving is 1 less its quotient."""
    if part.along:
        return fits.judge_trend_claim(part.along, part.nearness, ours)
    low, high = (1 - ours.max, 1 - ours.min) if part.saving else (ours.min, ours.max)
    if ours.n == 1 and part.direction != "not above 1":
        return _find_side_of_one_member(part, low)
    least = SAVED_SHARE_MIN if part.saving else 0.0
    if part.direction == "above 1":
        right, wrong = low > 1 + least, high <= 1 + least
    elif part.direction == "below 1":
        right, wrong = high < 1 - least, low >= 1 - least
    else:
        right, wrong = high <= 1, low > 1
    return "right" if right else "wrong" if wrong else "both"


def _find_side_of_one_member(part: ClaimPart, quotient: float) -> ClaimSide:
    """The same of a member without a range: near 1 it shows no side."""
    far = 1 + SAVING_BOUND if part.saving else ONE_MEMBER_BOUND
    below = 1 - SAVING_BOUND if part.saving else 1 / ONE_MEMBER_BOUND
    if below < quotient < far:
        return "both"
    return "right" if (quotient > 1) == (part.direction == "above 1") else "wrong"


def find_number_side(part: ClaimPart, ours: Spread | None) -> NumberSide:
    """On which side of the paper's number all members lie, of a part that claims no way."""
    if ours is None or part.sided or part.incomparable or part.paper is None:
        return ""
    if _is_near_paper(part, ours):
        return ""
    return "above" if ours.min > part.paper else "below" if ours.max < part.paper else ""


def _is_near_paper(part: ClaimPart, ours: Spread) -> bool:
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
