# SPDX-License-Identifier: GPL-2.0-or-later
"""A limit as people write it: a figure of the registry, a sign, a value with its unit.

``commit.p99 < 50ms`` is short for ``latency.commit.p99 < 50ms``; ``ram`` and ``flash_reserve`` are
short for the figures that mean them. The same words stand on the command line and in a study.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.analysis.figures import figures
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.readyfigures import LOST_FIGURE
from nandlab.analysis.figures.workloadwords import PERCENTILES, Words
from nandlab.base import amounts
from nandlab.base.errors import UsageError

FIGURE_ALIASES = {"ram": "memory.peak", "flash_reserve": "state.before", "power": LOST_FIGURE}
"""Short names, and the figures that they stand for."""
LIMIT_TITLES = {"memory.peak": "RAM", "state.before": "flash reserve", LOST_FIGURE: "power cuts"}
"""What a limit on these figures is called."""
NO_LOSS_TEXT = "no synced data lost"
"""What a limit on power cuts is in words."""
MAY_LOSE_TEXT = "may lose data"
"""What stands in its place for a product whose data may be lost."""
COMPARISON_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LIMIT_PATTERN = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*")
LIMIT_EXAMPLE = "'record.p99 < 50ms'"


@dataclass(frozen=True)
class Limit:
    """One limit, as written; :meth:`find_figure` has the workload's figure that it is about."""

    name: str
    sign: str
    value: str

    @property
    def text(self) -> str:
        return f"{self.name} {self.bound_text}"

    @property
    def bound_text(self) -> str:
        """Sign and value; of power cuts the words."""
        return NO_LOSS_TEXT if self == NO_LOSS_LIMIT else f"{self.sign} {self.value}"

    @property
    def figure(self) -> str:
        """The figure's name in the registry."""
        name = FIGURE_ALIASES.get(self.name, self.name).replace("p99.9", "p99_9")
        kind, _, last = name.rpartition(".")
        known = kind.partition(".")[0] in figures.list_figure_families()
        return f"latency.{name}" if last in PERCENTILES and kind and not known else name

    def find_figure(self, words: Words) -> Figure:
        """The figure in a workload's words; UsageError if it has none."""
        wrong = figures.explain_unavailable_figure(self.figure, words)
        if wrong:
            raise UsageError(wrong)
        return figures.find_workload_figure(self.figure, words)

    def find_known_figure(self, words: Words) -> Figure | None:
        """The figure; None where the workload has none, so that the limit is not about it."""
        return (
            None
            if figures.explain_unavailable_figure(self.figure, words)
            else figures.find_workload_figure(self.figure, words)
        )

    def parse_bound(self, figure: Figure) -> float:
        """The value, in the figure's base unit."""
        return amounts.parse_amount(self.value, figure.quantity.name, f"limit {self.text!r}:")

    def is_met(self, value: float, bound: float) -> bool:
        """Whether a trial's value is within it."""
        return COMPARISON_SIGNS[self.sign](value, bound)

    @property
    def at_most(self) -> bool:
        """Whether it is the greatest value that is allowed; else it is the least."""
        return self.sign.startswith("<")

    def title(self, figure: Figure) -> str:
        """What it is called."""
        return LIMIT_TITLES.get(figure.name, figure.title)


NO_LOSS_LIMIT = Limit("power", "<", "1")
"""No point of a campaign may lose what was synced."""


def parse_limit(text: str) -> Limit:
    """A limit as it is written; UsageError if it is none."""
    if re.fullmatch(rf"\s*{NO_LOSS_LIMIT.name}\s*=?\s*{NO_LOSS_TEXT}\s*", text):
        return NO_LOSS_LIMIT
    match = LIMIT_PATTERN.fullmatch(text)
    if not match and text.split()[:1] == [NO_LOSS_LIMIT.name]:
        raise UsageError(
            f"limit {text!r}: write {NO_LOSS_LIMIT.name} = {NO_LOSS_TEXT!r}, or {MAY_LOSE_TEXT!r}"
        )
    if not match:
        raise UsageError(
            f"limit {text!r}: write a figure, < or >, and a value, such as {LIMIT_EXAMPLE}"
        )
    return Limit(match[1], match[2], match[3])


def make_limits_from_table(table: Mapping[str, Any], prefix: str = "") -> list[Limit]:
    """The limits of a study's table: ``commit.p99 = "< 50ms"``; UsageError lists what is wrong."""
    limits: list[Limit] = []
    wrong: list[str] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        try:
            if isinstance(value, Mapping):
                limits += make_limits_from_table(value, f"{name}.")
            else:
                limits.append(parse_limit(f"{name} {value}"))
        except UsageError as e:
            wrong += e.lines
    if wrong:
        raise UsageError(*wrong)
    return limits


def check_limits(limits: Iterable[Limit], workloads: Sequence[tuple[str, Words]]) -> list[str]:
    """What is wrong with limits on these workloads, by name: each must be of one of them at least,
    its value an amount of what its figure is."""
    wrong: list[str] = []
    for limit in limits:
        figures = [
            figure
            for _, words in workloads
            if (figure := limit.find_known_figure(words)) is not None
        ]
        try:
            for figure in figures:
                limit.parse_bound(figure)
        except UsageError as e:
            wrong += e.lines
        if not figures and workloads:
            wrong += [f"limit {limit.text!r}: {_explain_missing_figure(limit, workloads)}"]
    return wrong


def _explain_missing_figure(limit: Limit, workloads: Sequence[tuple[str, Words]]) -> str:
    """Why no workload has the figure, and which names there are."""
    family, _, rest = limit.figure.partition(".")
    kind, _, percentile = rest.rpartition(".")
    if family == "latency" and percentile in PERCENTILES:
        percentiles = ", ".join(p for p in PERCENTILES if p != "median")
        there = {
            f"{name} has {', '.join(o.name for o in words.operations) or 'none'}": None
            for name, words in workloads
        }
        return f"no operation is called {kind}: {'; '.join(there)}; each has {percentiles}"
    reason = next(
        filter(None, (figures.explain_unavailable_figure(limit.figure, w) for _, w in workloads)),
        "",
    )
    return f"{reason}; or ram, flash_reserve, commit.p99 of an operation; docs/workloads.md has all"
