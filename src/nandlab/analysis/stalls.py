# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls: operations of which one takes far longer than nearly all others.

A median, even a p99, does not show them, and a device that waits for one misses a deadline. An
operation stalls where its longest, by the median over the trials, is :data:`TIMES` times its p99
and :data:`LEAST_NS` or more.
"""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.analysis.groups import Ensemble, Setting
from nandlab.analysis.ranking import Finding
from nandlab.analysis.spread import Spread, quotient, spread
from nandlab.base import units

TIMES = 10
LEAST_NS = 100_000_000
"""Below a tenth of a second nobody notices."""
TOPIC = "Stalls"


def findings(setting: Setting, ensembles: Sequence[Ensemble]) -> list[Finding]:
    """A clause for each subject and kind of operation that stalls in a state; empty: none does."""
    told = [text for e in ensembles for text in of(setting, e)]
    firm = all(len(e.ok) > 1 for e in ensembles)
    return [Finding(TOPIC, ". ".join(told) + ".", firm)] if told else []


def of(setting: Setting, ensemble: Ensemble) -> list[str]:
    """A clause for each kind of operation of one ensemble that stalls, the longest first."""
    found: list[tuple[float, str]] = []
    for operation in setting.words.operations:
        kind, title = operation.name, operation.title or operation.name
        longest = ensemble.spread(setting.figure(f"latency.{kind}.max"))
        p99 = ensemble.spread(setting.figure(f"latency.{kind}.p99"))
        if longest is None or p99 is None or not _stalls(longest, p99):
            continue
        found.append((longest.median, _clause(ensemble, kind, title, longest, p99)))
    return [text for _, text in sorted(found, reverse=True)]


def _stalls(longest: Spread, p99: Spread) -> bool:
    return longest.median >= LEAST_NS and longest.median >= TIMES * p99.median


def _clause(ensemble: Ensemble, kind: str, title: str, longest: Spread, p99: Spread) -> str:
    known = [t.latency_ns.get(kind) for t in ensemble.ok]
    counts = spread(latency.count for latency in known if latency is not None)
    some = f"{units.count(round(counts.median))} " if counts else ""
    times = quotient(longest, p99)
    factor = f", {units.figures3(times.median)} times their p99" if times else ""
    return (
        f"{ensemble.subject}: the longest of {some}{title} operations takes "
        f"{longest.text(units.time)}{factor} ({units.time(p99.median)})"
    )
