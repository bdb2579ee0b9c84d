# SPDX-License-Identifier: GPL-2.0-or-later
"""A parameter of a workload: what values a study may set it to, and what templates have of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from nandlab.base.strings import Empty, Lines, Word
from nandlab.catalog import countlist, distributions, readpoints
from nandlab.catalog.noun import Scalar, StrictModel


@dataclass(frozen=True)
class TextGrammar:
    """What a text means that is more than a word."""

    check: Callable[[str], str | None]
    """What is wrong with a text, or None."""
    expand: Callable[[str], str]
    """A text as templates have it."""


GRAMMARS: Mapping[str, TextGrammar] = {
    "points": TextGrammar(readpoints.check_read_points, readpoints.expand_read_points),
    "counts": TextGrammar(countlist.check_count_list, countlist.expand_count_list),
    "draw": TextGrammar(distributions.check_distribution, distributions.expand_distribution),
}


COUNT_MAX = 2**63 - 1
"""The greatest number that a program of the board may be given."""


class Parameter(StrictModel):
    """A number or word that a study may set for a workload."""

    help: Lines = Field(description="in a sentence with unit: what it is")
    default: Scalar = Field(description="the value when a study names none; its type is the type")
    min: float | None = Field(default=None, description="least value")
    max: float | None = Field(default=None, description="greatest value")
    at_most: Word | Empty = Field(
        default="", description="a parameter of the workload that its value may not exceed"
    )
    one_of: list[Lines] | list[int] | None = Field(
        default=None, description="the words or whole numbers that it may be"
    )
    circumstance: bool = Field(
        default=False,
        description="whether a product meets each of its values, as it meets each flash state; a "
        "verdict then judges all of them together, by the worst",
    )
    grammar: Literal["", "points", "counts", "draw"] = Field(
        default="",
        description="points: its text is a list of points (docs/readbench.md), checked before the "
        "board starts; templates have it expanded, a point a line; counts: numbers from 1 up, "
        "between commas; draw: a number or a distribution (docs/filetree.md)",
    )

    @model_validator(mode="after")
    def _grammar_is_of_texts(self) -> Parameter:
        if self.grammar and not isinstance(self.default, str):
            raise ValueError("a grammar is of a text")
        if self.grammar in ("counts", "draw"):
            wrong = GRAMMARS[self.grammar].check(str(self.default))
            if wrong:
                raise ValueError(f"default: {wrong}")
        return self

    def word(self, value: Scalar) -> str:
        """A value as templates have it."""
        if self.grammar:
            return GRAMMARS[self.grammar].expand(str(value))
        return str(value).lower() if isinstance(value, bool) else str(value)

    def check(self, value: object) -> str | None:
        """What is wrong with a value, or None."""
        default_type = type(self.default)
        comparable = type(value) in (int, default_type)
        number = value if comparable and isinstance(value, int | float) else 0
        if not -COUNT_MAX <= number <= COUNT_MAX:
            return "must be a number up to 2^63"
        if default_type is float and type(value) is int:
            value = float(value)
        if type(value) is not default_type:
            return f"must be of type {default_type.__name__}, is {value!r}"
        if self.one_of is not None and value not in self.one_of:
            return f"must be one of {', '.join(map(str, self.one_of))}, is {value!r}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.min is not None and value < self.min:
                return f"must be at least {self.min:g}, is {value!r}"
            if self.max is not None and value > self.max:
                return f"must be at most {self.max:g}, is {value!r}"
        return GRAMMARS[self.grammar].check(str(value)) if self.grammar else None
