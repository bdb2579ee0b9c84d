# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar ``draw`` of a workload's parameter: a number, or what it is drawn from.

``target/programs/lib/draws`` has the grammar in C, and draws; this module knows means and
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
from nandlab.catalog.tables import BINS_MOST, COUNT_MOST, KIND, TableModel

Kind = Literal["number", "norm", "uniform", "lognormal", "pow2", "table"]

MOST = 10**12
"""The most that a draw gives, and that a number in a text is."""
SIGMA_MOST = 10
POW2_MOST = 2**39
CHARACTERS_MOST = 40
"""Of a number."""
USAGE: dict[Kind, str] = {
    "norm": "norm(MEAN,DEVIATION)",
    "uniform": "uniform(LEAST,MOST)",
    "lognormal": "lognormal(MEDIAN,SIGMA)",
    "pow2": "pow2(LEAST,MOST)",
    "table": "table(SIZE:COUNT,SIZE:COUNT,...) or table(NAME)",
}
WHOLE: tuple[Kind, ...] = ("number", "uniform", "pow2")
"""Kinds whose numbers are whole."""
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
FORM = re.compile(r"[ \t]*([a-z]+[0-9]*)[ \t]*\((.*)\)[ \t]*", re.DOTALL)
NAME = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)
SUMMED = 4096
"""Below it each whole number's probability is summed; above, rounding changes no mean."""

STANDARD = NormalDist()


@dataclass(frozen=True)
class Draw:
    """A distribution of whole numbers."""

    kind: Kind
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
            return _word(self.a)
        if self.kind == "table":
            return f"table({','.join(f'{size}:{count}' for size, count in self.bins)})"
        return f"{self.kind}({_word(self.a)},{_word(self.b)})"

    @property
    def mean(self) -> float:
        """Of the whole numbers that are drawn: rounded, and cut at 0.

        The cut at MOST is left out. Of pow2, over whole turns.
        """
        if self.kind in ("norm", "lognormal"):
            return _mean_of_rounded(self)
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
def _mean_of_rounded(draw: Draw) -> float:
    """The sum over k from 1 of the probability that a draw is k or more.

    Kept: a study asks for it at each of its trials.
    """
    if not draw.b:
        return math.floor(draw.a + 0.5)
    above, beyond = draw.above(), draw.beyond(SUMMED + 0.5)
    return sum(above(k - 0.5) for k in range(1, SUMMED + 1)) + beyond


class Expected(NamedTuple):
    """What a tree has on the mean."""

    folders: float
    files: float
    bytes: float


def expected(depth: int, dirs: str, files: str, size: str) -> Expected:
    """What ``filetree make`` makes on the mean over all seeds; the top folder counts.

    Exact for plain numbers. pow2 and tables as if whole turns and whole tables were drawn.
    """
    each = parse(dirs).mean
    folders = sum(each**level for level in range(depth))
    count = folders * parse(files).mean
    return Expected(folders, count, count * parse(size).mean)


def mistake(text: str) -> str | None:
    """What is wrong with a text, or None."""
    try:
        parse(text)
    except UsageError as e:
        return str(e)
    return None


def expanded(text: str) -> str:
    """A text as programs take it: without blanks, a table's name replaced by its counts."""
    return parse(text).text


def parse(text: str) -> Draw:
    """The distribution of a text; UsageError tells what is wrong and what to give."""
    kind: Kind = "number"
    form = FORM.fullmatch(text)
    try:
        if not form:
            return Draw("number", _number(text, whole=True))
        kind = _kind(form[1])
        if kind == "table":
            return Draw("table", bins=_bins(form[2]))
        return _pair(kind, form[2])
    except UsageError as e:
        usage = USAGE.get(kind) or f"a whole number, {', '.join(USAGE.values())}"
        raise UsageError(f"{text!r}: {e}; give {usage}") from None


def _kind(name: str) -> Kind:
    for kind in USAGE:
        if kind == name:
            return kind
    raise UsageError(f"there is no distribution {name!r}")


def _pair(kind: Kind, text: str) -> Draw:
    """A distribution of two numbers."""
    numbers = text.split(",")
    if len(numbers) != 2:
        raise UsageError("it takes two numbers with a comma between")
    a, b = (_number(n, whole=kind in WHOLE) for n in numbers)
    if kind == "lognormal" and a <= 0:
        raise UsageError("the median must be above 0")
    if kind == "lognormal" and b > SIGMA_MOST:
        raise UsageError(f"sigma must be {SIGMA_MOST} at the most")
    if kind == "pow2" and not (_power_of_two(a) and _power_of_two(b)):
        raise UsageError("both must be powers of two")
    if kind in ("uniform", "pow2") and a > b:
        raise UsageError("the first must not be above the second")
    return Draw(kind, a, b)


def _power_of_two(number: float) -> bool:
    n = int(number)
    return 0 < n <= POW2_MOST and not n & (n - 1)


def _bins(text: str) -> tuple[tuple[int, int], ...]:
    """The sizes and counts of a table, or of the catalog's of that name."""
    if ":" not in text and NAME.fullmatch(text.strip(" \t")):
        text = files.load(KIND, text.strip(" \t"), TableModel).text[len("table(") : -1]
    found: dict[int, int] = {}
    for each in text.split(","):
        size, colon, count = each.partition(":")
        if not colon:
            raise UsageError(f"expected SIZE:COUNT at {each!r}")
        value, number = int(_number(size, whole=True)), int(_number(count, whole=True))
        if not 1 <= number <= COUNT_MOST:
            raise UsageError(f"a count must be 1 to {COUNT_MOST}, is {number}")
        if value in found:
            raise UsageError(f"size {value} is there twice")
        found[value] = number
    if len(found) > BINS_MOST:
        raise UsageError(f"over {BINS_MOST} sizes")
    return tuple(found.items())


def _number(text: str, *, whole: bool) -> float:
    """A number that is not negative: digits, and a fraction unless it must be whole."""
    word = text.strip(" \t")
    if word.startswith("-"):
        raise UsageError(f"{word} is negative")
    if not NUMBER.fullmatch(word):
        raise UsageError(f"{word!r} is not a number" if word else "a number is missing")
    if whole and "." in word:
        raise UsageError(f"{word} is not a whole number")
    if len(word) > CHARACTERS_MOST or float(word) > MOST:
        raise UsageError(f"{word} is over {MOST}, or has over {CHARACTERS_MOST} characters")
    return float(word)


def _word(number: float) -> str:
    """A number as the grammar has it: its shortest digits that read back the same."""
    return f"{Decimal(repr(number)).normalize():f}"
