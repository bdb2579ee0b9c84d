# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar ``draw`` of a workload's parameter: a number, or what it is drawn from.

``device/programs/lib/draws`` has the grammar in C, and draws; this module knows means and
deviations. Both accept and refuse the same texts, but for ``table(NAME)``: the catalog's table of
that name (catalog/tables), which programs get as its sizes and counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

from nandlab.base.errors import UsageError
from nandlab.catalog import files
from nandlab.catalog.tables import BINS_MAX, COUNT_MAX, TABLES_FOLDER, TableModel

DistributionKind = Literal["number", "norm", "uniform", "lognormal", "pow2", "table"]

VALUE_MAX = 10**12
"""The most that a draw gives, and that a number in a text is."""
SIGMA_MAX = 10
POW2_MAX = 2**39
CHARACTERS_MAX = 40
"""Of a number."""
USAGE: dict[DistributionKind, str] = {
    "norm": "norm(MEAN,DEVIATION)",
    "uniform": "uniform(LEAST,MOST)",
    "lognormal": "lognormal(MEDIAN,SIGMA)",
    "pow2": "pow2(LEAST,MOST)",
    "table": "table(SIZE:COUNT,SIZE:COUNT,...) or table(NAME)",
}
WHOLE_KINDS: tuple[DistributionKind, ...] = ("number", "uniform", "pow2")
"""Kinds whose numbers are whole."""
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
FORM = re.compile(r"[ \t]*([a-z]+[0-9]*)[ \t]*\((.*)\)[ \t]*", re.DOTALL)
NAME = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)
SUM_LIMIT = 4096
"""Below it each whole number's probability is summed; above, rounding changes no mean."""

STANDARD = NormalDist()


@dataclass(frozen=True)
class Distribution:
    """A distribution of whole numbers."""

    kind: DistributionKind
    a: float = 0
    """The number; or the mean, the least, the median."""
    b: float = 0
    """The deviation, the most, sigma."""
    bins: tuple[tuple[int, int], ...] = ()
    """Of a table: sizes with their counts."""

    @property
    def text(self) -> str:
        """As programs take it, without blanks."""
        if self.kind == "number":
            return _format_number(self.a)
        if self.kind == "table":
            return f"table({','.join(f'{size}:{count}' for size, count in self.bins)})"
        return f"{self.kind}({_format_number(self.a)},{_format_number(self.b)})"

    @property
    def mean(self) -> float:
        """Of the whole numbers that are drawn: rounded, and cut at 0.

        The cut at MOST is left out. Of pow2, over whole turns.
        """
        if self.kind in ("norm", "lognormal"):
            return _compute_rounded_mean(self)
        values = self._values()
        return sum(v * n for v, n in values) / sum(n for _, n in values)

    @property
    def sd(self) -> float:
        """The deviation; of norm and lognormal before rounding and cut."""
        if self.kind == "norm":
            return self.b
        if self.kind == "lognormal":
            square = self.b**2
            return self.a * math.sqrt(math.expm1(square) * math.exp(square))
        if self.kind == "uniform":
            return math.sqrt(((self.b - self.a + 1) ** 2 - 1) / 12)
        values, mean = self._values(), self.mean
        return math.sqrt(sum(n * (v - mean) ** 2 for v, n in values) / sum(n for _, n in values))

    @property
    def at_least(self) -> int:
        """The least that a draw can be."""
        if self.kind == "norm":
            return 0 if self.b else math.floor(self.a + 0.5)
        if self.kind == "lognormal":
            return 0 if self.b else math.floor(self.a + 0.5)
        return min(int(v) for v, _ in self._values())

    def _values(self) -> list[tuple[float, int]]:
        """Values with their weights, that have the distribution's mean."""
        if self.kind == "table":
            return [(float(size), count) for size, count in self.bins]
        if self.kind == "pow2":
            turns = int(self.b).bit_length() - int(self.a).bit_length() + 1
            return [(self.a * 2**i, 1) for i in range(turns)]
        return [(self.a, 1)] if self.kind == "number" else [(self.a, 1), (self.b, 1)]

    def above(self) -> Callable[[float], float]:
        """The probability that the distribution, not yet rounded, is above a value over 0."""
        if self.kind == "norm":
            return lambda x: STANDARD.cdf((self.a - x) / self.b)
        return lambda x: STANDARD.cdf(math.log(self.a / x) / self.b)

    def beyond(self, x: float) -> float:
        """The mean of how far the distribution, not yet rounded, is above a value; below it, 0."""
        if self.kind == "norm":
            away = (self.a - x) / self.b
            return (self.a - x) * STANDARD.cdf(away) + self.b * STANDARD.pdf(away)
        away = math.log(self.a / x) / self.b
        mean = self.a * math.exp(self.b**2 / 2)
        return mean * STANDARD.cdf(away + self.b) - x * STANDARD.cdf(away)


@lru_cache(maxsize=4096)
def _compute_rounded_mean(draw: Distribution) -> float:
    """The sum over k from 1 of the probability that a draw is k or more.

    Kept: a study asks for it at each of its trials.
    """
    if not draw.b:
        return math.floor(draw.a + 0.5)
    above, beyond = draw.above(), draw.beyond(SUM_LIMIT + 0.5)
    return sum(above(k - 0.5) for k in range(1, SUM_LIMIT + 1)) + beyond


class ExpectedTree(NamedTuple):
    """What a tree has on the mean."""

    folders: float
    files: float
    bytes: float


def compute_expected_tree(depth: int, dirs: str, files: str, size: str) -> ExpectedTree:
    """What ``filetree make`` makes on the mean over all seeds; the top folder counts.

    Exact for plain numbers. pow2 and tables as if whole turns and whole tables were drawn.
    """
    each = parse_distribution(dirs).mean
    folders = sum(each**level for level in range(depth))
    count = folders * parse_distribution(files).mean
    return ExpectedTree(folders, count, count * parse_distribution(size).mean)


def check_distribution(text: str) -> str | None:
    """What is wrong with a text, or None."""
    try:
        parse_distribution(text)
    except UsageError as e:
        return str(e)
    return None


def expand_distribution(text: str) -> str:
    """A text as programs take it: without blanks, a table's name replaced by its counts."""
    return parse_distribution(text).text


def parse_distribution(text: str) -> Distribution:
    """The distribution of a text; UsageError tells what is wrong and what to give."""
    kind: DistributionKind = "number"
    form = FORM.fullmatch(text)
    try:
        if not form:
            return Distribution("number", _parse_number(text, is_whole=True))
        kind = _parse_kind(form[1])
        if kind == "table":
            return Distribution("table", bins=_parse_bins(form[2]))
        return _parse_pair(kind, form[2])
    except UsageError as e:
        usage = USAGE.get(kind) or f"a whole number, {', '.join(USAGE.values())}"
        raise UsageError(f"{text!r}: {e}; give {usage}") from None


def _parse_kind(name: str) -> DistributionKind:
    for kind in USAGE:
        if kind == name:
            return kind
    raise UsageError(f"there is no distribution {name!r}")


def _parse_pair(kind: DistributionKind, text: str) -> Distribution:
    """A distribution of two numbers."""
    numbers = text.split(",")
    if len(numbers) != 2:
        raise UsageError("it takes two numbers with a comma between")
    a, b = (_parse_number(n, is_whole=kind in WHOLE_KINDS) for n in numbers)
    if kind == "lognormal" and a <= 0:
        raise UsageError("the median must be above 0")
    if kind == "lognormal" and b > SIGMA_MAX:
        raise UsageError(f"sigma must be {SIGMA_MAX} at the most")
    if kind == "pow2" and not (_is_power_of_two(a) and _is_power_of_two(b)):
        raise UsageError("both must be powers of two")
    if kind in ("uniform", "pow2") and a > b:
        raise UsageError("the first must not be above the second")
    return Distribution(kind, a, b)


def _is_power_of_two(number: float) -> bool:
    n = int(number)
    return 0 < n <= POW2_MAX and not n & (n - 1)


def _parse_bins(text: str) -> tuple[tuple[int, int], ...]:
    """The sizes and counts of a table, or of the catalog's of that name."""
    if ":" not in text and NAME.fullmatch(text.strip(" \t")):
        text = files.load_noun(TABLES_FOLDER, text.strip(" \t"), TableModel).text[
            len("table(") : -1
        ]
    weights: dict[int, int] = {}
    for each in text.split(","):
        size, colon, count = each.partition(":")
        if not colon:
            raise UsageError(f"expected SIZE:COUNT at {each!r}")
        value, number = (
            int(_parse_number(size, is_whole=True)),
            int(_parse_number(count, is_whole=True)),
        )
        if not 1 <= number <= COUNT_MAX:
            raise UsageError(f"a count must be 1 to {COUNT_MAX}, is {number}")
        if value in weights:
            raise UsageError(f"size {value} is there twice")
        weights[value] = number
    if len(weights) > BINS_MAX:
        raise UsageError(f"over {BINS_MAX} sizes")
    return tuple(weights.items())


def _parse_number(text: str, *, is_whole: bool) -> float:
    """A number that is not negative: digits, and a fraction unless it must be whole."""
    word = text.strip(" \t")
    if word.startswith("-"):
        raise UsageError(f"{word} is negative")
    if not NUMBER.fullmatch(word):
        raise UsageError(f"{word!r} is not a number" if word else "a number is missing")
    if is_whole and "." in word:
        raise UsageError(f"{word} is not a whole number")
    if len(word) > CHARACTERS_MAX or float(word) > VALUE_MAX:
        raise UsageError(f"{word} is over {VALUE_MAX}, or has over {CHARACTERS_MAX} characters")
    return float(word)


def _format_number(number: float) -> str:
    """A number as the grammar has it: its shortest digits that read back the same."""
    return f"{Decimal(repr(number)).normalize():f}"
