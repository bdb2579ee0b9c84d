# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of an ensemble that are one trial, and those of which RAM was measured in another trial.

A seed that only draws bytes changes nothing. Where no compressor looks at the bytes, such a seed
makes the very same trial, to the nanosecond, at the same phase offset. Two of these tell no spread:
they count once.

Measuring memory takes time. So a member may have two trials: one tells its times, and the one
apart, with memory measured, its RAM. They are told as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nandlab.results.record import Trial
from nandlab.results.recordparts import Series

MEMORY_INSTRUMENTS = frozenset({"memory", "memory-series"})
"""What a study measures to know RAM."""
RAM_PREFIX = "memory."
"""How names of figures and series of RAM begin."""
RAM_MEMBERS_MAX = 2
"""Members of a configuration whose RAM is measured in trials apart: two tell a range."""
RAM_DOUBTS = ("memory_lost", "memory_series_lost")
"""Doubts about RAM, which a trial apart carries into the trial of the times."""


def make_trial_timing_key(trial: Trial) -> tuple[object, ...] | None:
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


def list_distinct_trials(trials: Iterable[Trial]) -> list[Trial]:
    """The trials of one configuration without those that are one with an earlier one."""
    identities: set[tuple[object, ...]] = set()
    distinct = []
    for trial in trials:
        own = make_trial_timing_key(trial)
        if own is None or own not in identities:
            distinct.append(trial)
        if own is not None:
            identities.add(own)
    return distinct


def count_members_by_configuration(trials: Iterable[Trial]) -> Counter[tuple[str, ...]]:
    """Members of each configuration that ended well, those that are one trial counted once."""
    return Counter(
        of
        for of, each in _group_by_configuration(trials).items()
        for _ in list_distinct_trials(each)
    )


def format_duplicate_trial_notes(trials: Iterable[Trial]) -> list[str]:
    """A line where members are one trial; the first such configuration stands for all."""
    notes = [
        each
        for each in _group_by_configuration(trials).values()
        if len(list_distinct_trials(each)) < len(each)
    ]
    if not notes:
        return []
    first, n = notes[0], len(notes)
    who = f"{first[0].filesystem_title}, {first[0].state.name}"
    has = "configuration has" if n == 1 else "configurations have"
    return [
        f"{n} {has} members that are one trial to the nanosecond, for their seeds only draw bytes: "
        f"{who} has {len(list_distinct_trials(first))} instead of {len(first)}. Leave "
        f"phase_offsets_ms out of "
        "the study, and each seed has an offset of its own."
    ]


def _group_by_configuration(trials: Iterable[Trial]) -> dict[tuple[str, ...], list[Trial]]:
    found: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        if trial.ok:
            found.setdefault(trial.configuration(), []).append(trial)
    return found


def _measures_memory(trial: Trial) -> bool:
    """Whether memory was to be measured in it."""
    return bool(MEMORY_INSTRUMENTS & set(trial.measure)) or "memory" in trial.measured


def _make_member_key(trial: Trial) -> tuple[object, ...]:
    return (*trial.configuration(), trial.seed, trial.phase_offset_ms, trial.setup_seed)


def split_off_memory_trials(trials: Iterable[Trial]) -> tuple[list[Trial], list[Trial]]:
    """The trials, and those apart: with memory measured, beside one of that member without."""
    all_trials = list(trials)
    plain = (
        {_make_member_key(t) for t in all_trials if not _measures_memory(t)}
        if any(map(_measures_memory, all_trials))
        else set()
    )
    aside_flags = [_measures_memory(t) and _make_member_key(t) in plain for t in all_trials]
    return (
        [t for t, is_aside in zip(all_trials, aside_flags, strict=True) if not is_aside],
        [t for t, is_aside in zip(all_trials, aside_flags, strict=True) if is_aside],
    )


def join_memory_trials(trials: Iterable[Trial]) -> list[Trial]:
    """A trial for each member: those apart are no longer there, and their RAM is."""
    told, apart = split_off_memory_trials(trials)
    by_member = {_make_member_key(t): t for t in apart if t.ok}
    return [_add_ram(t, by_member.get(_make_member_key(t))) for t in told] if apart else told


def _add_ram(trial: Trial, with_memory: Trial | None) -> Trial:
    """A trial with the RAM of the one apart."""
    if with_memory is None or not trial.ok:
        return trial
    series: list[Series] = [line for line in with_memory.series if line.name.startswith(RAM_PREFIX)]
    memory = with_memory.measured.get("memory")
    doubts = [doubt for doubt in with_memory.warnings if doubt.code in RAM_DOUBTS]
    return trial.model_copy(
        update={
            "series": [*trial.series, *series],
            "measured": trial.measured | ({"memory": memory} if memory else {}),
            "warnings": [*trial.warnings, *doubts],
        }
    )
