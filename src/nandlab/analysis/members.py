# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of an ensemble that are one trial: a seed that only draws bytes changes nothing.

Where no compressor looks at the bytes, such a seed makes the very same trial, to the nanosecond, at
the same phase offset. Two of these tell no spread: they count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nandlab.results.record import Trial


def course(trial: Trial) -> tuple[object, ...] | None:
    """What two trials that are one share: the offset, and the time of each step, phase and latency.

    None: no time is known of it, or it failed, so it is like no other.
    """
    steps = tuple((s.name, s.ns) for s in trial.steps)
    phases = tuple((p.name, p.ns, p.sync_ns) for p in trial.phases)
    if not trial.ok or not any(ns for _, ns, *_ in (*steps, *phases)):
        return None
    latencies = tuple(
        (kind, *told.model_dump().values()) for kind, told in trial.latency_ns.items() if told
    )
    return trial.phase_offset_ms, steps, phases, latencies, tuple(trial.operations.items())


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of one configuration without those that are one with an earlier one."""
    seen: set[tuple[object, ...]] = set()
    found = []
    for trial in trials:
        own = course(trial)
        if own is None or own not in seen:
            found.append(trial)
        if own is not None:
            seen.add(own)
    return found


def counts(trials: Iterable[Trial]) -> Counter[tuple[str, ...]]:
    """Members of each configuration that ended well, those that are one trial counted once."""
    return Counter(of for of, each in _grouped(trials).items() for _ in distinct(each))


def lines(trials: Iterable[Trial]) -> list[str]:
    """A line where members are one trial; the first such configuration stands for all."""
    found = [each for each in _grouped(trials).values() if len(distinct(each)) < len(each)]
    if not found:
        return []
    first, n = found[0], len(found)
    who = f"{first[0].filesystem_title}, {first[0].state.name}"
    has = "configuration has" if n == 1 else "configurations have"
    return [
        f"{n} {has} members that are one trial to the nanosecond, for their seeds only draw bytes: "
        f"{who} has {len(distinct(first))} instead of {len(first)}. Leave phase_offsets_ms out of "
        "the study, and each seed has an offset of its own."
    ]


def _grouped(trials: Iterable[Trial]) -> dict[tuple[str, ...], list[Trial]]:
    found: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        if trial.ok:
            found.setdefault(trial.configuration(), []).append(trial)
    return found
