# SPDX-License-Identifier: GPL-2.0-or-later
"""The bounds of all verdicts on papers' claims, in one place; they are ours, no paper gives any.

A part of a claim may have a bound of its own (``within``) where its paper names one, as "strongly"
and "highly" do. All other parts have these.
"""

from __future__ import annotations

from typing import Literal

TrendKind = Literal["linear", "grows", "does not depend", "falls below"]
PartKind = Literal["number", "spread", "magnitude"]

FACTOR_BOUNDS: dict[PartKind, float] = {"number": 1.25, "spread": 1.5, "magnitude": 3.16}
"""By what factor a number may be off: one of any kind; a deviation, a most, a least, or a
difference of such; and "about ten times", where only the power of ten is meant."""
NEAR_ONE_BOUND = 1.15
"""The same of a quotient that the paper puts near 1."""
NEAR_ONE_MAX = 1.35
"""Up to here, and down to its inverse, a quotient of a paper is near 1."""
UNCHANGED_BOUND = 1.1
"""The same of a quotient that the paper puts at 1: nothing changes."""
SAVING_BOUND = 0.1
"""By how much a saving may be off, as a share of the whole."""
TREND_BOUNDS: dict[TrendKind, float] = {
    "linear": 0.01,
    "grows": 0.1,
    "does not depend": 0.1,
    "falls below": 1.25,
}
"""Of a part along something: what R² may lack of 1, a change, and a place's factor."""
LINEAR_DOUBT = 0.02
"""What R² may lack of 1 before a line is refused: over places that double, x^1.5 lacks as much."""
SAVED_SHARE_MIN = 0.01
"""A saving of less is none."""
ONE_MEMBER_BOUND = 1.25
"""One member has no range: a quotient within this factor of 1 does not show its side."""


def find_quotient_bound(paper: float) -> float:
    """By what factor ours may be off a paper's quotient."""
    if paper == 1:
        return UNCHANGED_BOUND
    near = 1 / NEAR_ONE_MAX <= paper <= NEAR_ONE_MAX
    return NEAR_ONE_BOUND if near else FACTOR_BOUNDS["number"]
