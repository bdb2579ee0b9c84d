# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls: operations of which one takes far longer than nearly all others.

A median, even a p99, does not show them, and a device that waits for one misses a deadline. An
operation stalls where its longest, in any trial, is :data:`STALL_FACTOR_MIN` times its p99, the
median over the trials, and :data:`STALL_NS_MIN` or more.
"""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis.figures import doubts
from nandlab.analysis.figures.figure import Figure
from nandlab.analysis.figures.groups import Ensemble, Setting
from nandlab.analysis.figures.ranking import Finding
from nandlab.analysis.figures.spread import Spread, compute_spread
from nandlab.base import units

STALL_FACTOR_MIN = 10
STALL_NS_MIN = 100_000_000
"""Below a tenth of a second nobody notices."""
STALLS_TOPIC = "Stalls"


def list_stall_findings(setting: Setting, ensembles: Sequence[Ensemble]) -> list[Finding]:
    """A clause for each subject and kind of operation that stalls in a state; empty: none does."""
    stalls = [(e, figure, text) for e in ensembles for figure, text in _list_stalls(setting, e)]
    if not stalls:
        return []
    firm = all(len(e.ok) > 1 for e, _, _ in stalls)
    finding = Finding(STALLS_TOPIC, ". ".join(text for _, _, text in stalls) + ".", firm)
    return [doubts.add_doubts_to_finding(finding, ((e, figure) for e, figure, _ in stalls))]


def _list_stalls(setting: Setting, ensemble: Ensemble) -> list[tuple[Figure, str]]:
    """The figures of the longest operations that are stalls, each with its clause."""
    stalls: list[tuple[float, Figure, str]] = []
    for operation in setting.words.operations:
        kind, title = operation.name, operation.title or operation.name
        figure = setting.figure(f"latency.{kind}.max")
        longest = ensemble.spread(figure)
        p99 = ensemble.spread(setting.figure(f"latency.{kind}.p99"))
        if longest is not None and p99 is not None and _is_stall(longest, p99):
            text = _format_stall(ensemble, kind, title, longest, p99)
            stalls.append((longest.median, figure, text))
    return [(figure, text) for _, figure, text in sorted(stalls, key=lambda f: -f[0])]


def _is_stall(longest: Spread, p99: Spread) -> bool:
    return longest.max >= STALL_NS_MIN and longest.max >= STALL_FACTOR_MIN * p99.median


def _format_stall(ensemble: Ensemble, kind: str, title: str, longest: Spread, p99: Spread) -> str:
    known = [t.latency_ns.get(kind) for t in ensemble.ok]
    counts = compute_spread(latency.count for latency in known if latency is not None)
    some = f"{units.format_count(round(counts.median))} " if counts else ""
    times = units.format_three_figures(longest.max / p99.median) if p99.median else "many"
    extent = units.format_time(longest.max) if longest.n == 1 else longest.extent(units.format_time)
    return (
        f"{ensemble.subject}: the longest of {some}{title} operations takes {extent} "
        f"(n = {longest.n}), up to {times} times their p99 ({units.format_time(p99.median)})"
    )
